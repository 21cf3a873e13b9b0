"""Moves time, carries out the steps of a walk on a real server, and has the promises checked after each request.

A step is a list: its name and its arguments. A step that makes no sense now (its client is gone) does nothing, so a walk stays
one when some of its steps are taken out. Times are ms by the clients' clock; the server's is `ahead` of it."""

import damage
import protocol
from clients import NEVER, Client, Request
from promises import Failure, Promises, demand
from protocol import Look
from redisson import Redisson
from server import BEGIN_US, ServerError

REQUEST_US = 150  # each request takes so long
MOST_REQUESTS = 20000  # of one walk
LATEST_MS = 540000  # no copy comes later
PAUSE_MS = 2000  # after a restart


class World:
    def __init__(self, servers, trace=None):
        self.servers, self.trace = servers, trace
        self.us, self.ahead, self.requests = BEGIN_US, 0, 0
        self.set_clock()
        servers.connection.ask("FLUSHALL")
        servers.connection.heard.clear()
        self.clients, self.limbo, self.channels, self.copies = {}, [], {}, []
        self.memory_full, self.damaged, self.odd_type, self.may_stay = False, False, False, set()
        self.look = self.look_now()
        self.promises = Promises(self)

    def close(self):
        self.do_memory(False)
        for name in list(self.channels):
            self.servers.connection.send("UNSUBSCRIBE", protocol.channel(name))
        self.servers.connection.ask("PING")
        self.servers.second.ask("RESET")
        self.servers.second.ask("HELLO", "3")

    def say(self, text):
        if self.trace is not None:
            self.trace.append(f"{(self.us - BEGIN_US) / 1000:12.3f} {text}")

    # Time

    def ms(self):
        return self.us // 1000

    def server_ms(self):
        return self.us // 1000 + self.ahead

    def set_clock(self):
        self.servers.clock.set(self.us + self.ahead * 1000)

    def run_until(self, ms):
        """Everybody does what is due, until then."""
        while True:
            client = min(self.clients.values(), key=lambda other: other.due(), default=None)
            due = client.due() if client else NEVER
            if due > ms:
                break
            self.us = max(self.us, due * 1000)
            self.promises.check_idle()
            client.step()
        self.us = max(self.us, ms * 1000)
        self.promises.check_idle()

    # Subscriptions

    def listen(self, client, name):
        if name in client.channels:
            return
        client.channels.add(name)
        self.channels[name] = self.channels.get(name, 0) + 1
        self.subscribe("SUBSCRIBE", name, self.channels[name])

    def hush(self, client):
        """It listens to nothing any more."""
        for name in client.channels:
            self.subscribe("UNSUBSCRIBE", name, self.channels[name])
            self.channels[name] -= 1
            if self.channels[name] == 0:
                del self.channels[name]
        client.channels.clear()

    def subscribe(self, command, name, number):
        """For the first listener of a channel, and for the second, whom the server is to count, too."""
        if number == 1:
            self.servers.connection.send(command, protocol.channel(name))
        elif number == 2:
            self.servers.second.send(command, protocol.channel(name))
            self.servers.second.ask("PING")
            self.servers.second.heard.clear()

    # Requests

    def execute(self, words):
        """Returns the answer, and what the keys say then."""
        self.us += REQUEST_US
        self.set_clock()
        self.requests += 1
        demand(self.requests < MOST_REQUESTS, "spins", f"a walk makes {self.requests} requests")
        connection = self.servers.connection
        connection.send(*words)
        connection.send("EVALSHA", self.servers.shas["keys"], len(protocol.KEYS), *protocol.KEYS)
        answer, found = connection.answers(2)
        if isinstance(found, ServerError):
            raise found
        return answer, Look(found, self.server_ms())

    def look_now(self):
        return self.execute(["PING"])[1]

    def dispatch(self):
        """Everybody hears what was said. Returns it: (name, text)."""
        heard, said = self.servers.connection.heard, []
        for where, text in heard:
            name = where[len(protocol.CHANNEL) + 1:]
            said.append((name, text))
            for client in self.clients.values():
                if name in client.channels and client.connected:
                    client.told.append((self.ms() + client.delay, text, self.requests))
        heard.clear()
        return said

    def run(self, request, late=False):
        """A script of ours runs. Its sender gets the answer, but not to a late copy."""
        script, words, _ = request.words
        before = self.look
        value, after = self.execute(protocol.command(self.servers.shas, request.words))
        self.look, said = after, self.dispatch()
        if self.trace is not None:
            self.say(f"{'LATE ' if late else ''}{script} {words} -> {value}; {said}; {after.key} {after.holders} {after.list}")
        answer = self.read(script, words, value, before, after)
        if not late:
            request.answer, request.heard, request.number = answer, self.ms() + request.client.delay, self.requests
        self.check_keys(script, before, after)
        for name, text in said:
            demand(protocol.message(text) or self.damaged, "message", f"{name} is told {text!r}")
        if not self.damaged:
            self.promises.check(request, answer, before, after, said, late)
        return answer

    def read(self, script, words, value, before, after):
        if isinstance(value, ServerError):
            text = str(value)
            if self.memory_full and "OOM" in text and (script in ("acquire", "renew") or not before.agrees()):
                return {"is": "OOM"}
            demand(self.odd_type and text.startswith("WRONGTYPE"), "error", f"{script} {words} is answered: {text}")
            demand(before.contents(after.now) == after.contents(after.now), "half",
                   f"{script} fails on a key of another type, and has changed something")
            return {"is": "OOM"}
        answer = protocol.answer(script, value)
        demand(answer, "answer", f"{script} {words} answers {value}")
        demand(self.damaged or answer["is"] not in ("version", "spelled"), "answer", f"{script} {words} answers {value}")
        return answer

    def run_other(self, words):
        """A request of a process that does nothing else."""
        return self.run(Request(None, "", words, self.ms(), self.ms()), late=True)

    def run_redisson(self, client, name, *words):
        before = self.look
        value, after = self.execute(["EVALSHA", self.servers.shas[name], 3, *protocol.KEYS[:3], *words])
        self.look, said = after, self.dispatch()
        if self.trace is not None:
            self.say(f"{name} {words} -> {value}; {said}; {after.key} {after.list}")
        if isinstance(value, ServerError):
            is_full = self.memory_full and "OOM" in str(value)
            demand(self.damaged or not before.agrees() or is_full, "redisson", f"{name} {words} is answered: {value}")
            return None
        if not self.damaged:
            self.promises.check_redisson(client, name, value, before, after, words[0])
        return value

    def check_keys(self, script, before, after):
        """In whatever state the keys were before."""
        demand(len(after.key) <= 1 or len(before.key) > 1, "owners", f"key 1 has two owners: {after.key}")
        for i, key in enumerate(protocol.KEYS):
            if after.ttl[i] == -1 and key not in (protocol.LIST, protocol.SET):
                demand(key in self.may_stay and before.ttl[i] == -1, "stays", f"{key} has no time to live behind {script}")
        if script in protocol.CHANGING and not self.odd_type:
            demand(after.agrees() or not before.agrees(), "queue",
                   f"list and sorted set disagree behind {script}: {after.list}, {sorted(after.scores)}")
            demand(self.damaged or not protocol.emptied(before, after), "queue", f"a marker stays without its batch: {after.list}")

    # Steps: clients

    def do(self, step):
        getattr(self, "do_" + step[0])(*step[1:])

    def waiting(self, id, *states):
        """This client, if it is in one of these states."""
        client = self.clients.get(id)
        return client if client and client.alive and client.state in states else None

    def do_start(self, id, options):
        self.clients[id] = Client(self, id, **options)
        self.run_until(self.ms())

    def do_inner(self, id, outer, options):
        """A process inside the COMMAND of another one."""
        if self.waiting(outer, "holds"):
            self.do_start(id, {**options, "inherited": [self.clients[outer].owner]})

    def do_redisson(self, id, options):
        self.clients[id] = Redisson(self, id, **options)
        self.run_until(self.ms())

    def do_wait(self, ms):
        self.run_until(self.ms() + ms)

    def do_quit(self, id):
        client = self.waiting(id, "waits")
        if client:
            client.gives_up = self.ms()
            self.run_until(self.ms())

    def do_end(self, id):
        client = self.waiting(id, "holds")
        if client:
            client.ends_at = self.ms()
            self.run_until(self.ms())

    def do_kill(self, id, lost):
        client = self.waiting(id, "waits", "holds", "releases", "leaves")
        if client:
            self.say(f"{id} is killed")
            client.kill(lost)

    def do_hang(self, id):
        client = self.waiting(id, "waits", "holds")
        if client:
            self.say(f"{id} hangs")
            client.awake = False

    def do_wake(self, id):
        client = self.clients.get(id)
        if client and not client.awake:
            self.say(f"{id} goes on")
            client.wake()
            self.run_until(self.ms())

    def do_cut(self, id, noticed, lost, back_ms):
        client = self.waiting(id, "waits", "holds", "releases", "leaves")
        if client and client.ours:
            self.say(f"{id} loses its connection for {back_ms} ms")
            client.cut(noticed, lost, back_ms)

    def do_late(self, number):
        """A request that was given up comes to the server all the same."""
        if self.limbo:
            request = self.limbo.pop(number % len(self.limbo))
            if self.ms() - request.sent < LATEST_MS:
                self.run(request, late=True)

    # Steps: what is done to others

    def do_any(self, request, owner):
        """The release command gives back a hold that acquire took."""
        words = protocol.release_any(request, owner, self)
        client = self.clients.get(owner)
        if client:
            client.broken = True
        self.run_other(words)

    def do_force(self, request, owner, with_token):
        words = protocol.force(request, owner, with_token, self)
        if words:
            owners = [other for other in self.look.holders if owner in ("", other)]
            if with_token:
                owners = [other for other in owners if self.promises.tokens.get(other) == words[1][3]]
            self.promises.force(owners)
            self.promises.forced(self.run_other(words), owners)

    def do_remove(self, request, id):
        client = self.waiting(id, "waits")
        if client and client.ours:
            before, client.gone = client.gone, "removed"
            if self.run_other(protocol.remove(request, id, self))["is"] != "left":
                client.gone = before

    def do_forget(self, request):
        self.run_other(protocol.forget(request, self))
        self.promises.starts, self.promises.successes = [], []

    def do_stop(self, request, only):
        """Somebody asks the holders to stop, and looks once whether they have."""
        holds, look_in = protocol.stops(self.run_other(protocol.stop(request, only, [], self)))
        self.run_until(self.ms() + min(look_in, 10500))
        if holds:
            self.run_other(protocol.stop(request, only, holds, self))

    def do_show(self):
        """What only looks changes nothing."""
        before, self.look = self.servers.copy(), self.look_now()
        for words in protocol.READERS:
            answer = self.run_other(words)
            if not self.damaged:
                self.promises.check_shown(words, answer)
        before, after = ([copy for copy in copies if copy[1] < 0 or copy[1] > self.server_ms()]  # others have expired meanwhile
                         for copies in (before, self.servers.copy()))
        demand(after == before, "reads", "a script that only looks changes something")

    def do_break(self, id):
        """Redisson's forceUnlock."""
        client = self.clients.get(id)
        if client and not client.ours and client.alive:
            client.force()

    # Steps: the server

    def do_lose(self, key):
        """Somebody deletes a key, or all of them: -1."""
        self.say(f"key {key} is deleted")
        name = None if key < 0 else protocol.KEYS[key % len(protocol.KEYS)]
        self.servers.connection.ask(*(["DEL", name] if name else ["FLUSHALL"]))
        self.promises.lose(name)
        self.look = self.look_now()

    def do_copy(self):
        """A replica gets what there is."""
        self.copies = self.servers.copy()

    def do_restart(self, how):
        """kept: with its data; old: with what the replica has; lost: without. All connections are gone."""
        self.say(f"the server is restarted, its data {how}")
        self.do_memory(False)
        self.channels = {}
        for client in self.clients.values():
            client.channels.clear()
        self.promises.restart(how)
        self.servers.restart(self.servers.copy() if how == "kept" else self.copies if how == "old" else [])
        for number, client in enumerate(self.clients.values()):
            client.restarted(5 + number * 97 % 1300)
        self.look = self.look_now()

    def do_clock(self, ms):
        self.say(f"the server's clock is set {ms} ms ahead")
        self.ahead += ms
        self.promises.disturb(stepped=True)
        self.look = self.look_now()

    def do_stall(self, ms):
        """The server stands still: nobody is answered, and time passes."""
        self.say(f"the server stands still for {ms} ms")
        self.us += ms * 1000
        self.promises.disturb()
        self.run_until(self.ms())

    def do_memory(self, full):
        self.memory_full = full
        self.servers.connection.ask("CONFIG", "SET", "maxmemory", "1" if full else "0")

    def do_damage(self, *what):
        """From here on it is only promised that no script fails, and that the lock can be used in the end."""
        self.damaged = True
        self.do_memory(False)
        self.say(f"damage {what}")
        damage.do(self, *what)
        self.look = self.look_now()

    # The end

    def finish(self):
        """All that hung or was cut off goes on; all who wait get the lock in time, and nothing stays."""
        self.do_memory(False)
        for client in self.clients.values():
            if client.alive and not client.awake:
                client.wake()
            if client.state == "holds":
                client.ends_at = min(client.ends_at, self.ms() + 1000)
        if self.damaged:
            return damage.heal(self)
        ends = self.ms() + 400000 + 60000 * len(self.clients)
        while self.ms() < ends and any(client.is_busy() for client in self.clients.values() if client.ours):
            self.run_until(self.ms() + 1000)
        busy = [client.id for client in self.clients.values() if client.is_busy() and client.id[0] != "r"]
        demand(not busy, "served", f"{busy} are not done: {self.look.list}")
        for client in self.clients.values():
            client.kill(True)  # Redisson's may still wait, or sleep
        self.take_and_give_back("last", 400000)
        if self.promises.lost >= 0:
            self.look.members = 0  # of a lock whose key and hash were deleted the ends of its holders pass by themselves
        demand(self.look.is_empty(), "left", f"in the end there are {self.look.key}, {self.look.list}, {self.look.scores}")
        demand(self.look.fields <= protocol.MOST_FIELDS, "grows", f"our hash has {self.look.fields} fields in the end")
        self.us += 40 * 86400000000
        self.set_clock()
        left = self.servers.connection.ask("KEYS", "*")
        demand(not left, "left", f"these stay: {left}")

    def take_and_give_back(self, id, ms, want="x"):
        client = Client(self, id, want=want, runs=100)
        self.clients[id] = client
        ends = self.ms() + ms
        while self.ms() < ends and client.is_busy():
            self.run_until(self.ms() + 500)
        demand(client.state == "over" and client.why in ("released", "kept"), "served",
               f"{id} does not get the lock: it {client.state}; {self.look.key} {self.look.list}")
        return client


__all__ = ["Failure", "World"]

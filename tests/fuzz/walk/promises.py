"""What is promised to the clients of a lock, whoever its scripts are. Each check has the excuse that the manual gives."""

import itertools
import re

import protocol
from clients import NEVER

PAUSE_MS = 2000
IDLE_MS = 1500  # nobody hangs, and nothing was lost
SIGN_OF_LIFE_MS = 10500
FOR_GOOD = ("removed", "superseded", "left", "ran ok")  # another answer is worth asking again, if it was lost
NOWHERE = 1 << 62  # the place of a client that never waited


class Failure(Exception):
    """kind: shorter walks that fail so are looked for."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind

    def sort(self):
        """Failures of one sort differ in their numbers and names only."""
        return self.kind, " ".join(re.findall("[a-z]{4,}", str(self))[:3])


def demand(condition, kind, text):
    if not condition:
        raise Failure(kind, text)


def fit(mode, other):
    """Whether holds of these modes may be there at once."""
    return mode == other == "s" or mode[0] == other[0] == "=" and mode != other


def is_wanted(mode, want):
    if want[0] == "#":
        return mode[1:].isdigit() and 1 <= int(mode[1:]) <= int(want[1:])
    return mode[0] == "=" and mode[1:] in want[1:].split(",") if want[0] == "=" else mode == want


class Promises:
    """Moments are numbers of requests: see World.requests."""

    def __init__(self, world):
        self.world = world
        self.disturbed, self.broken, self.lost = -1, -1, -1  # when that was last
        self.stepped, self.is_loss_unseen, self.paused_until = False, False, 0
        self.free_since = world.ms()
        self.modes, self.tokens, self.allowed, self.entries, self.broken_by_force = {}, {}, {}, {}, {}
        self.last_token, self.last_ticket = 0, 0
        self.starts, self.successes = [], []  # [server's ms, owner, moment]; [ended, started, moment]

    # What excuses

    def disturb(self, stepped=False):
        """The server may know less from here on, or believe that more time has passed: who counts on a hold, or waits, is
        excused until the server has answered it again."""
        self.disturbed = self.broken = self.world.requests
        self.free_since, self.stepped = self.world.ms(), self.stepped or stepped
        for client in self.world.clients.values() if stepped else []:
            client.broken = client.broken or client.confirmed >= 0

    def lose(self, key=None):
        """All data, or one key."""
        if key == protocol.LOG:
            return
        self.disturb()
        if key in (protocol.LOCK, protocol.HOLDERS):
            self.break_all()
        if key in protocol.QUEUE:
            for client in self.world.clients.values():
                client.displaced = True
        if key in (None, protocol.STATE):
            self.lost, self.is_loss_unseen, self.paused_until = self.world.requests, key is None, 0
            self.lost_ms = self.world.server_ms()
            for client in self.world.clients.values():
                client.is_awaited = client.ours and client.place is not None
                client.displaced = True

    def break_all(self):
        """By DEL, or by Redisson's forceUnlock: no holder takes its hold up again."""
        for owner in self.world.look.holders:
            self.broken_by_force[owner] = self.world.requests

    def restart(self, how):
        for client in self.world.clients.values():
            client.is_awaited = client.ours and client.is_ready(self) and not client.displaced
        awaited = any(client.is_awaited for client in self.world.clients.values())
        if how == "kept":
            self.disturb()
            self.paused_until = self.world.ms() + PAUSE_MS if awaited else 0
        else:
            self.lose()

    def is_excused(self, client):
        return client.confirmed <= self.broken or client.broken

    def others(self, client):
        return [other for other in self.world.clients.values() if other is not client]

    # After each script of ours

    def check(self, request, answer, before, after, said, late):
        client, script, words = request.client, request.words[0], request.words[1]
        if script not in protocol.CHANGING:
            return
        was = before.live(after.now)
        new = set(after.holders) - was
        grants = []
        for name, text in said:
            found = protocol.message(text)
            if "secret" in found:
                demand(name in after.holders, "told", f"{name} is told that it has the lock: {text}; {after.key} {after.holders}")
                grants.append((int(found["token"]), name, "=" + found["slot"] if "slot" in found else None))
        if script == "acquire" and answer["is"] == "granted":
            if answer["owner"] in new:
                grants.append((int(answer["token"]), answer["owner"], answer["mode"]))
            else:
                self.went_in(answer["owner"], answer)
        for token, owner, mode in sorted(grants):
            self.granted(owner, token, mode)
        if client and script == "acquire" and client.place is not None and not before.has(client.id):
            client.was_away = True  # it comes back, and Redisson's clients that came later may stand before it
        self.follow(request, answer, late, new)
        for owner in new:
            is_taken_up = script == "renew" and owner == words[0]
            if is_taken_up:
                self.taken_up(owner, client)
            self.check_exclusion(owner)
            if not is_taken_up and owner in self.world.clients:
                self.check_grant(self.world.clients[owner], before, after)
        self.check_holders(after)
        self.check_confirmed(after)
        self.check_newest(after)
        if late and client:
            self.check_late(client, script, words, before, after)
        self.notice_free(before, after)

    def granted(self, owner, token, mode):
        """mode: None in a message without a slot, which says what the waiter wants."""
        client = self.world.clients[owner]
        mode = mode or client.want
        demand(is_wanted(mode, client.want), "fit", f"{owner} wants {client.want}, and gets {mode}")
        is_behind = self.lost >= 0 and self.world.server_ms() <= self.last_token + 1
        demand(token > self.last_token or is_behind, "token", f"{owner} gets token {token}, and there was {self.last_token}")
        self.last_token = max(token, self.last_token)
        self.modes[owner], self.tokens[owner] = mode, token
        self.allowed[owner] = client.lease
        client.joined = -1
        if client.kind == "w":
            self.starts.append([self.world.server_ms(), owner, self.world.requests])

    def went_in(self, owner, answer):
        token = int(answer["token"])
        known = self.tokens.setdefault(owner, token)
        demand(token == known or self.lost >= 0, "token", f"a process goes into {owner} with token {token}, and not {known}")

    def taken_up(self, owner, client):
        demand(self.broken_by_force.get(owner, NEVER) >= NEVER or self.lost >= self.broken_by_force[owner], "revived",
               f"{owner} was broken by force, and is taken up again")
        if client:
            self.modes[owner] = client.mode

    def follow(self, request, answer, late, new):
        """What is known of the sender by now."""
        client, script, words, what = request.client, request.words[0], request.words[1], answer["is"]
        if client is None or not client.ours:
            return
        world = self.world
        if script == "acquire" and what == "granted" or script == "renew" and what == "renewed":
            owner = answer.get("owner", client.owner)
            self.allowed[owner] = max(self.allowed.get(owner, 0), client.lease)
            self.entries.setdefault(owner, set()).add(client.id)
        if script == "renew" and client.starts and what == "renewed" and client.owner == client.id:
            self.starts.append([world.server_ms(), client.owner, world.requests])
        if script == "release" and what in ("released", "kept"):
            self.gave_back(client)
        if script == "leave" and what == "left":
            self.gave_back(client, left=True)
            client.gone = "left"
            is_held = client.id in self.world.look.holders and not self.entries.get(client.id)
            demand(not is_held or self.lost >= 0, "left", f"{client.id} has left, and holds")
        brings = int(client.ticket or NOWHERE) // 1000 if request.name == "ask" else int(client.token or NOWHERE)
        if self.is_loss_unseen and what != "OOM" and request.name in ("ask", "renew") and brings < self.lost_ms + 10:
            # if both were at nearly the same time, the scripts may or may not notice it
            self.is_loss_unseen, self.paused_until = False, world.ms() + PAUSE_MS if brings < self.lost_ms - 10 else 0
        if script == "acquire" and not late:
            self.asked(client, answer, new)
        elif script == "acquire" and what == "queued" and client.place is None:
            client.place, client.arrived, client.first_asked = int(answer["ticket"]), world.requests, world.server_ms()

    def gave_back(self, client, left=False):
        self.entries.get(client.owner, set()).discard(client.id)
        if client.min_hold and not left:
            self.allowed[client.owner] = max(self.allowed.get(client.owner, 0), client.min_hold)
        if client.owner != client.id or client.kind != "w":
            return
        if left or client.end == ["unused"]:
            self.starts = [start for start in self.starts if start[1] != client.id]
        elif client.end == ["0", "exit"]:
            self.successes.append([self.world.server_ms(), min(self.tokens.get(client.id, 0), self.world.server_ms()),
                                   self.world.requests])

    def asked(self, client, answer, new):
        world, what = self.world, answer["is"]
        if not client.is_ready(self):
            client.ready_since = world.ms()
        if what != "OOM":
            client.seen, client.first_asked = world.ms(), world.server_ms() if client.first_asked is None else client.first_asked
        if what == "queued":
            ticket = int(answer["ticket"])
            demand(1 <= answer["ask_in"] <= 10500, "ask_in", f"{client.id} is to ask again in {answer['ask_in']} ms")
            demand(not client.ticket or ticket == int(client.ticket), "ticket",
                   f"{client.id} had ticket {client.ticket}, and gets {ticket}")
            demand(client.gone not in FOR_GOOD or self.lost >= 0, "gone", f"{client.id} was {client.gone}, and waits again")
            client.gone = None
            if client.place != ticket:
                client.place, client.arrived = ticket, world.requests
                demand(ticket > self.last_ticket or client.newest or client.ticket or client.is_repeating or self.lost >= 0, "ticket",
                       f"newcomer {client.id} gets ticket {ticket}, and there was {self.last_ticket}")
                self.last_ticket = max(ticket, self.last_ticket)
            client.joined = world.requests
        elif what == "ran ok":
            self.check_ran_ok(client)
        if client.newest and (what == "queued" or client.id in new):
            for other in self.others(client):
                holds = other.owner in world.look.holders
                if other.ours and other.newest and other.first_asked is not None and other.state == "waits" and not (other.gone or holds):
                    other.gone = "superseded"
                    if other.place is not None and (what != "queued" or self.lost < 0):  # it has that place
                        client.place, client.displaced = min(client.place or NOWHERE, other.place), True
        if what not in ("queued", "granted", "OOM"):
            client.gone = what

    # Promise 1

    def check_exclusion(self, owner):
        now, mode = self.world.ms(), self.modes.get(owner, "x")
        for other in self.world.clients.values():
            if other.owner != owner and other.counts(now) and not self.is_excused(other):
                demand(fit(mode, self.modes.get(other.owner, "x")), "exclusion",
                       f"{owner} gets {mode} while {other.id} counts on {self.modes.get(other.owner)} of {other.owner}")

    def check_holders(self, after):
        """Holders fit together on the server, too, and no lease is longer than what was asked for."""
        known = [(owner, self.modes[owner]) for owner in after.holders if owner in self.modes]
        for i, (owner, mode) in enumerate(known):
            for other, its in known[i + 1:]:
                demand(fit(mode, its), "exclusion", f"the server has {owner} with {mode} beside {other} with {its}")
        if self.stepped:
            return
        for owner, end in after.holders.items():
            demand(end - after.now <= self.allowed.get(owner, NEVER) + 1, "lease",
                   f"{owner} has the lock for {end - after.now} ms, and asked for {self.allowed.get(owner)}")
        owner = next(iter(after.key), None)
        client = self.world.clients.get(owner)
        if client and client.ours and not after.beside and not self.is_excused(client) and self.lost < 0:
            inside = [other for other in self.world.clients.values() if other.ours and owner in other.inherited]
            demand(int(after.key[owner]) <= 1 + len(inside), "count", f"{owner} has {after.key[owner]} holds, and {len(inside)} inside")

    def check_confirmed(self, after):
        """The server knows the hold of everybody who counts on one, for as long as that."""
        now, ahead = self.world.ms(), self.world.ahead
        for client in self.world.clients.values():
            if client.counts(now) and not self.is_excused(client):
                end = after.holders.get(client.owner)
                demand(end is not None and end >= client.deadline + ahead - 1, "lost",
                       f"{client.id} counts on {client.owner} until {client.deadline + ahead}, and the server has it until {end}")

    # Promise 2

    def check_grant(self, client, before, after):
        world, now = self.world, self.world.ms()
        place = client.place if client.place is not None else NOWHERE
        demand(client.gone not in ("removed", "superseded", "left") or self.lost >= 0, "gone",
               f"{client.id} was {client.gone}, and gets the lock")
        for other in self.others(client):
            if other.owner in after.holders:
                continue
            if other.ours and other.is_ready(self):
                demand(other.place >= place or other.period, "order",
                       f"{client.id} with place {client.place} goes before {other.id} with {other.place}")
            elif other.ours and now < self.paused_until and other.is_awaited and other.alive and other.state == "waits":
                demand(other.place >= place or other.period or other.gone, "pause",
                       f"{client.id} goes before {other.id}, which may still come back")
            elif not other.ours and other.is_ready(self) and other.id in before.list and not self.stepped:
                is_behind = client.arrived is not None and client.arrived < other.arrived
                demand(is_behind or client.displaced or other.displaced or before.scores.get(other.id, 0) <= after.now, "order",
                       f"{client.id} goes before {other.id} of Redisson's: {before.list}")
        if client.period and client.kind == "w" and not self.stepped and self.lost < 0:
            self.check_period(client)

    def check_period(self, client):
        now = self.world.server_ms()
        if client.period.startswith("ok"):
            for ended, started, _ in self.successes:
                is_recent = (now - started) * 10 < int(client.period[2:]) * 9 - 1000
                waited = client.first_asked is not None and client.first_asked < ended
                demand(not is_recent and not waited, "once", f"{client.id} runs though a command ended with 0 at {ended}")
            return
        for started, owner, _ in self.starts:
            # one script may grant several
            is_before = owner != client.id and self.tokens.get(owner, 0) < self.tokens.get(client.owner, NOWHERE)
            is_recent = is_before and (now - started) * 10 < int(client.period) * 9 - 1000
            demand(not is_recent, "once", f"{client.id} runs {now - started} ms after {owner} did, and wants {client.period}")

    def check_ran_ok(self, client):
        now = self.world.server_ms()
        came = client.began + self.world.ahead - client.age if client.newest else client.first_asked
        good = [ended for ended, started, _ in self.successes
                if (now - started) * 10 <= int(client.period[2:]) * 9 + 1000 or came <= ended]
        demand(good or self.stepped, "once", f"{client.id} need not run, it is told: {self.successes}")

    def check_newest(self, after):
        newest = [other.id for other in self.world.clients.values()
                  if other.ours and other.newest and other.is_ready(self) and other.id not in after.holders]
        demand(len(newest) <= 1, "newest", f"several wait with --supersede: {newest}")
        for other in self.world.clients.values():
            if other.gone == "superseded" and self.lost < 0:
                demand(not after.has(other.id), "newest", f"{other.id} was superseded, and is in the queue")

    # Late copies

    def check_late(self, client, script, words, before, after):
        """A process that has ended is not brought back."""
        if client.ended is not None and client.ended > self.lost:
            demand(before.essence(after.now) == after.essence(after.now), "late",
                   f"a late {script} {words} of a process that has ended changes something: {before.essence(after.now)}, "
                   f"{after.essence(after.now)}")

    # Others

    def force(self, owners):
        """These holds are to be broken: who counts on one is excused."""
        for client in self.world.clients.values():
            client.broken = client.broken or client.owner in owners

    def forced(self, answer, owners):
        for owner in owners if answer["is"] == "forced" else []:
            demand(owner not in self.world.look.holders, "forced", f"{owner} was broken by force, and holds: {answer}")
            self.broken_by_force[owner] = self.world.requests

    def check_shown(self, words, answer):
        if words[1][0] == "status":
            shown, holders = {row[0] for row in answer["rest"][18]}, set(self.world.look.holders)
            demand(shown == holders, "shown", f"{words} shows {shown}, and {holders} hold")

    def check_redisson(self, client, name, value, before, after, its_ms):
        world = self.world
        if name.startswith("redisson_force") and value == 1:
            self.broken = world.requests
            for owner in before.holders:
                self.broken_by_force[owner] = world.requests
        gone = protocol.displaced(before, after, client.id)
        for other in world.clients.values():
            other.displaced = other.displaced or other.id in gone
        if value == "granted":
            if client.id not in before.holders:
                self.modes[client.id], self.allowed[client.id] = "x", NEVER
                self.check_exclusion(client.id)
                for other in self.others(client):
                    if other.ours and other.is_ready(self) and not (other.displaced or other.was_away or client.displaced or other.period):
                        demand(other.arrived > client.arrived, "order",
                               f"{client.id} of Redisson's goes before {other.id}: {before.list}")
            client.confirmed = world.requests
        elif value == "renewed":
            client.confirmed = world.requests
        elif client.id in after.list:
            client.joined = world.requests
            stale = list(itertools.takewhile(lambda id: before.scores.get(id, 0) <= its_ms, before.list))
            if client.id not in before.list or client.id in stale:  # it dropped itself, and is there anew
                client.arrived, client.displaced = world.requests, False
        self.notice_free(before, after)
        self.check_confirmed(after)

    # Promise 3

    def notice_free(self, before, after):
        if before.holders and not after.holders:
            last = max(before.holders.values()) - self.world.ahead
            self.free_since = max(self.free_since, min(self.world.ms(), last))

    def check_idle(self):
        """While the lock is free and somebody waits who is there, it is soon somebody's."""
        world, now = self.world, self.world.ms()
        ends = [end - world.ahead for end in world.look.holders.values()]
        if world.damaged or world.memory_full or any(end > now for end in ends):
            return
        free = max([self.free_since] + ends)
        # a Redisson client that gives up just when it is told its turn tells nobody
        bad = sum(not other.ours or not other.alive or not other.awake or not other.connected or other.delay > 100
                  for other in world.clients.values() if other.state != "over" or other.gave_up_at >= free)
        most = SIGN_OF_LIFE_MS + 2000 + 6000 * bad if bad or self.disturbed >= 0 or self.broken >= 0 else IDLE_MS
        # Redisson dropped a marker: its unlock speaks to the next one, to which nobody listens yet
        if any(client.displaced for client in world.clients.values() if client.state != "over"):
            most = max(most, SIGN_OF_LIFE_MS + 2000)
        for client in world.clients.values():
            if client.ours and client.is_ready(self) and now - max(free, client.ready_since) > most:
                raise Failure("idle", f"the lock is free since {free - now} ms, and {client.id} waits")

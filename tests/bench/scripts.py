"""(d) The server's time for a grant, a release, an enqueue, a cancel and a waiter's question, with few and many waiters.

This program sends the requests of both: ours as our client does, Redisson's as recorded from a real client. Our waiters
are real subscriptions over a few connections; Redisson's are entries in its keys, because its scripts do not ask who is
present. The waiter that cancels is the last one.
"""

import contextlib
import pathlib
import re
import subprocess
import time
import uuid

from crowd import Crowd
from peers import Fairlock, Redisson
from wire import Wire

MEASURE = "d server time"
NAME = "bench"
KEYS = [NAME] + [f"{prefix}:{{{NAME}}}" for prefix in
                 ("redisson_lock_queue", "redisson_lock_timeout", "fairlock", "fairlock_log",
                                "fairlock_queue")]
CHANNEL = f"redisson_lock__channel:{{{NAME}}}"
SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "lua"


def joined(name):
    return subprocess.run([SCRIPTS / "join", SCRIPTS / "scripts" / f"{name}.lua"], stdout=subprocess.PIPE, check=True,
                          text=True).stdout


@contextlib.contextmanager
def slow_log(server):
    """Logs every request meanwhile."""
    server.call("CONFIG", "SET", "slowlog-log-slower-than", 0)
    server.call("CONFIG", "SET", "slowlog-max-len", 1000)
    try:
        yield
    finally:
        server.call("CONFIG", "SET", "slowlog-log-slower-than", -1)


def timed(server, function, *words):
    """The microseconds of a script on the server, and its reply. (INFO would push the script out of the caches.)"""
    server.call("SLOWLOG", "RESET")
    result = function(*words)
    for many in (4, 1000):  # now and then all of Redisson's connections send PING at once
        for entry in server.call("SLOWLOG", "GET", many):
            if entry[3][0].lower() == "evalsha":
                return float(entry[2]), result
    raise RuntimeError("the slow log knows of no script")


class Ours:
    keys = KEYS

    def __init__(self, server):
        self.server = server
        self.sha = {name: server.call("SCRIPT", "LOAD", joined(name)) for name in ("acquire", "release", "leave")}
        self.subscribers = []

    def script(self, name, *words):
        return self.server.call("EVALSHA", self.sha[name], len(self.keys), *self.keys, CHANNEL, *words)

    def acquire(self, waiter, handed="", ticket="", want="x"):
        return self.script("acquire", waiter, waiter, "w", 600000, "wait", ticket, 0, "", "host\t1\tuser\tcommand", "", 0,
                           handed, want)

    def release(self, holder):
        return self.script("release", holder, holder, "own", "", 0, "")

    def leave(self, waiter):
        return self.script("leave", waiter, waiter)

    def present(self, waiters):
        subscriber = Wire(self.server.socket)
        subscriber.send("SUBSCRIBE", *(f"{CHANNEL}:{waiter}" for waiter in waiters))
        for _ in waiters:
            subscriber.read()
        self.subscribers.append(subscriber)

    def end(self):
        for subscriber in self.subscribers:
            subscriber.close()
        self.server.call("FLUSHALL")


def queue(side, waiters, count, handed=""):
    """Makes all present and `count` of them wait; returns their tickets."""
    for start in range(0, len(waiters), 1000):
        side.present(waiters[start:start + 1000])
    side.acquire("holder")
    return [side.acquire(waiter, handed)[1] for waiter in waiters[:count]]


def ours(bench, server, count, rounds):
    """Measures waiters that are told that it is their turn, and then ask for the lock."""
    side = Ours(server)
    waiters = [f"{count:08x}-0000-4000-8000-000000000000:{number}" for number in range(count + rounds)]
    comes_and_goes = f"{count:08x}-0000-4000-8000-00000000000a:1"
    side.present([comes_and_goes])
    tickets = queue(side, waiters, count)
    holder = "holder"
    for number in range(rounds):
        took = {}
        took["enqueue"], reply = timed(server, side.acquire, waiters[count + number])
        tickets.append(reply[1])
        first, last = (waiters[number], "", tickets[number]), (waiters[count + number], "", tickets[-1])
        took["question of the first"], _ = timed(server, side.acquire, *first)
        took["sign of life of the last"], _ = timed(server, side.acquire, *last)
        side.acquire(comes_and_goes)
        took["cancel"], _ = timed(server, side.leave, comes_and_goes)
        took["release"], _ = timed(server, side.release, holder)
        holder = waiters[number]
        took["grant"], reply = timed(server, side.acquire, holder, "", tickets[number])
        if reply[0] != "granted":
            raise RuntimeError(f"not granted: {reply}")
        for what, spent in took.items():
            bench.samples.add(MEASURE, f"{what} {count}", Fairlock.name, "µs", spent)
    side.end()


def hand_overs(bench, server, count, rounds):
    """Measures hand-overs: one script releases and grants."""
    side = Ours(server)
    waiters = [f"{count:08x}-0000-4000-8000-000000000000:{number}" for number in range(count + rounds)]
    queue(side, waiters, count, "1")
    holder = "holder"
    for number in range(rounds):
        side.acquire(waiters[count + number], "1")
        took, _ = timed(server, side.release, holder)
        holder = waiters[number]
        if server.call("HGET", NAME, holder) != "1":
            raise RuntimeError("not handed over")
        bench.samples.add(MEASURE, f"hand-over {count}", Fairlock.name, "µs", took)
    side.end()


def recorded(redisson, folder):
    """The requests of a Redisson client: lists of words, by what it does."""
    server = redisson.server
    crowd = Crowd(redisson, folder)
    try:
        crowd.hold()
        redisson.ask(f"try {crowd.lock} 50")
        crowd.release()
        crowd.await_times(1, 60)
        time.sleep(0.1)
    finally:
        crowd.end()
    # a thread of an earlier crowd may still send requests for its own lock
    requests = [entry[3] for entry in sorted(server.call("SLOWLOG", "GET", 1000))
                if entry[3][0].lower() == "evalsha" and any(f"{{{crowd.lock}}}" in word for word in entry[3])]
    return {"acquire": next(words for words in requests if words[2] == "3"),
            "cancel": next(words for words in requests if words[2] == "2"),
            "release": next(words for words in requests if words[2] in ("4", "5"))}


class Theirs:
    """Sends Redisson's requests with other ids."""

    def __init__(self, server, requests):
        self.server, self.requests = server, requests

    def send(self, what, waiter):
        words = []
        for word in self.requests[what]:
            if re.fullmatch(r"[0-9a-f-]{36}:\d+", word):
                word = waiter
            elif re.fullmatch(r"1\d{12}", word):
                word = int(time.time() * 1000)
            elif "latch" in word:
                word = word[:-32] + uuid.uuid4().hex  # a request sent twice would do nothing
            words.append(word)
        return self.server.call(*words)

    def fill(self, ids):
        """Puts waiters into the queue."""
        _, _, _, _, queue, timeouts, *_ = self.requests["acquire"]
        later = int(time.time() * 1000) + 1000 * 300000
        for start in range(0, len(ids), 1000):
            some = ids[start:start + 1000]
            self.server.call("RPUSH", queue, *some)
            self.server.call("ZADD", timeouts, *(word for waiter in some for word in (later, waiter)))


def redissons(bench, redisson, requests, count, rounds):
    server = redisson.server
    side = Theirs(server, requests)
    server.call("FLUSHALL")
    waiters = [f"{number:08x}-0000-4000-8000-000000000000:1" for number in range(count + rounds)]
    holder, comes_and_goes = (f"{number:08x}-0000-4000-8000-00000000000a:1" for number in range(2))
    side.send("acquire", holder)
    side.fill(waiters[:count])
    for number in range(rounds):
        took = {"enqueue": timed(server, side.send, "acquire", comes_and_goes)[0],
                "cancel": timed(server, side.send, "cancel", comes_and_goes)[0],
                "release": timed(server, side.send, "release", holder)[0]}
        holder = waiters[number]
        took["grant"], reply = timed(server, side.send, "acquire", holder)
        if reply is not None:
            raise RuntimeError(f"not granted: {reply}")
        side.fill(waiters[count + number:count + number + 1])
        for what, spent in took.items():
            bench.samples.add(MEASURE, f"{what} {count}", redisson.name, "µs", spent)
    server.call("FLUSHALL")


def run(bench):
    server = bench.peer(Fairlock).server
    redisson = bench.peer(Redisson)
    with contextlib.ExitStack() as logs:
        for one in {server, redisson.server} if redisson else {server}:
            logs.enter_context(slow_log(one))
        requests = recorded(redisson, bench.folder) if redisson else None
        for _ in range(bench.crowd_rounds):
            for count in bench.lengths:
                bench.say(f"{MEASURE}, {count}: {Fairlock.name}")
                ours(bench, server, count, bench.script_rounds)
                hand_overs(bench, server, count, bench.script_rounds)
                if redisson:
                    bench.trial(MEASURE, f"grant {count}", redisson, redissons, requests, count, bench.script_rounds)

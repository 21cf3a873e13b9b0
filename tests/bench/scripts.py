"""The server's time for a grant with few and many waiters, and how many grants it can do in a second.

This program sends what real clients were heard to send, with other ids. Our waiters have real subscriptions; Redisson's are entries
in its keys, because its scripts do not ask who is present.
"""

import re
import threading
import time
import uuid

import resp
from peers import OWNER, Fairlock, Redisson
from processes import timed

TABLE, NAME, SLOT = "On the server", "bench", "word"
RATE = "grants and releases in a second"
LOCKS = 50
FILLED = 1000  # entries of Redisson's keys that one request makes


class Replay:
    """The acquire and the release that somebody was heard to send, for other owners."""

    def __init__(self, server, acts):
        acts()  # the server knows the scripts now
        self.server = server
        self.acquire, self.release = [words for words in server.requests_of(acts) if words[0].lower() == "evalsha"]

    @staticmethod
    def own(words, owner, name=NAME):
        def put(word):
            if OWNER.fullmatch(word):
                return owner
            if re.fullmatch(r"1\d{12}", word):
                return str(int(time.time() * 1000))
            if "latch" in word:  # a request sent twice would do nothing
                return word[:-32] + uuid.uuid4().hex
            return word.replace(NAME, name).replace(f"={SLOT}", f"={owner[:8]}")  # a slot of its own

        return [put(word) for word in words]

    def acquires(self, owner):
        return self.server.call(*self.own(self.acquire, owner))

    def releases(self, owner):
        return self.server.call(*self.own(self.release, owner))

    def microseconds(self, act, owner):
        return next(spent for spent, words in self.server.heard(lambda: act(owner)) if words[0].lower() == "evalsha")


def wrap(fairlock, *options):
    return Replay(fairlock.server, lambda: timed(fairlock.does("wrap", *options, NAME, "true")))


def owners(count):
    return [f"{number:08x}-0000-4000-8000-000000000000:1" for number in range(count)]


def hand_overs(results, _folder, peer, who, replay, holders, count, rounds):
    """One of our scripts releases and grants."""
    server, ids = peer.server, owners(holders + count + rounds)
    listener = resp.Connection(server.port, 60)
    for number, owner in enumerate(ids):
        if number >= holders:
            listener.ask("SUBSCRIBE", f"redisson_lock__channel:{{{NAME}}}:{owner}")
        if number < holders + count:
            replay.acquires(owner)
    for number in range(rounds):
        replay.acquires(ids[holders + count + number])
        results.add(TABLE, f"a grant, {count} waiters: µs", who, replay.microseconds(replay.releases, ids[number]))
    if server.call("ZCARD", f"fairlock_queue:{{{NAME}}}") != count:
        raise RuntimeError("not handed over")
    listener.close()
    server.call("FLUSHALL")


def beside(results, _folder, peer, who, replay, count, rounds):
    """Beside so many holders."""
    ids = owners(count + rounds)
    for owner in ids[:count]:
        replay.acquires(owner)
    for owner in ids[count:]:
        results.add(TABLE, f"a grant, {count} holders: µs", who, replay.microseconds(replay.acquires, owner))
        if replay.releases(owner)[0] != "released":
            raise RuntimeError("not granted")
    peer.server.call("FLUSHALL")


def redissons(results, _folder, peer, replay, count, rounds):
    """After a release, the first of the waiters asks for the lock."""
    server, ids = peer.server, owners(1 + count + rounds)
    _, _, _, _, queue, timeouts, *_ = replay.own(replay.acquire, ids[0])
    replay.acquires(ids[0])
    later = int(time.time() * 1000) + 300000000
    for start in range(1, len(ids), FILLED):
        some = ids[start:start + FILLED]
        server.call("RPUSH", queue, *some)
        server.call("ZADD", timeouts, *(word for owner in some for word in (later, owner)))
    for holder, waiter in zip(ids, ids[1:rounds + 1]):
        replay.releases(holder)
        results.add(TABLE, f"a grant, {count} waiters: µs", peer.name, replay.microseconds(replay.acquires, waiter))
    if server.call("LLEN", queue) != count:
        raise RuntimeError("not granted")
    server.call("FLUSHALL")


def rate(results, _folder, peer, replay, pairs):
    """Sends requests for locks of their own as fast as the server reads them."""
    requests = []
    for number, owner in enumerate(owners(pairs)):
        for words in (replay.acquire, replay.release):
            own = replay.own(words, owner, f"rate{number % LOCKS}")
            requests.append(resp.request(own))
    connection = resp.Connection(peer.server.port, 60)
    sender = threading.Thread(target=connection.socket.sendall, args=(b"".join(requests) + b"PING\r\n",))
    begin, end = time.monotonic(), b""
    sender.start()
    while not end.endswith(b"+PONG\r\n"):
        end = (end + connection.socket.recv(1 << 20))[-7:]
    results.add(TABLE, RATE, peer.name, pairs / (time.monotonic() - begin))
    sender.join()
    connection.close()
    peer.server.call("FLUSHALL")


def run(bench):
    ours, redisson = bench.peer(Fairlock), bench.peer(Redisson)
    for _ in range(bench.crowd_rounds):
        if ours:
            alone, slots, words = wrap(ours), wrap(ours, "--slots", "8"), wrap(ours, "--slots", SLOT)
            for count in bench.queues:
                bench.trial(TABLE, "grants", ours, hand_overs, ours.name, alone, 1, count, bench.script_rounds)
                bench.trial(TABLE, "grants", ours, hand_overs, "one of 8 slots", slots, 8, count, bench.script_rounds)
            for count in bench.holders:
                bench.trial(TABLE, "grants", ours, beside, "a slot of another name", words, count, bench.script_rounds)
            bench.trial(TABLE, RATE, ours, rate, alone, bench.pairs)
        if redisson:
            jvm = redisson.jvm()
            replay = Replay(redisson.server, lambda: jvm.ask(f"lock {NAME}", f"unlock {NAME}"))
            for count in bench.queues:
                bench.trial(TABLE, "grants", redisson, redissons, replay, count, bench.script_rounds)
            bench.trial(TABLE, RATE, redisson, rate, replay, bench.pairs)

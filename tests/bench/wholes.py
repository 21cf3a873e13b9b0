"""Whole processes that lock, run `true` and unlock; and fairlock's short commands beside programs that only send requests."""

import random

from peers import Fairlock, Redisson
from processes import timed

FREE, SHORT = ("Locks", "lock, `true`, unlock: ms"), ("Short commands", "ms")
WARM_UP = 3


class Shots:
    """acquire and release, and relay with their requests and with a PING: each a process."""

    def __init__(self, fairlock):
        self.fairlock, self.said = fairlock, fairlock.folder / "owner"
        self.acquire(lambda *_: None)
        self.release(lambda *_: None)  # the server knows the scripts now
        sent = {"a PING": [["PING"]],
                "the requests of acquire": fairlock.server.requests_of(lambda: self.acquire(lambda *_: None)),
                "the requests of release": fairlock.server.requests_of(lambda: self.release(lambda *_: None))}
        self.programs = {name: fairlock.as_program(name, requests) for name, requests in sent.items()}

    def acquire(self, add):
        self.said.unlink(missing_ok=True)
        add("acquire", timed(self.fairlock.does("acquire", "shot"), self.said))

    def release(self, add):
        add("release", timed(self.fairlock.does("release", "--owner", self.said.read_text().strip(), "shot")))

    def run(self, add):
        self.acquire(add)
        self.release(add)
        for name, program in self.programs.items():
            add(name, timed(program))


def run(bench):
    def add(case, who, spent):
        if number >= WARM_UP:
            bench.results.add(*case, who, spent)

    def one(peer):
        if peer.often or number % 3 == 0:
            add(FREE, peer.name, timed(peer.command("job", ["true"])))

    tasks = [lambda peer=peer: one(peer) for peer in bench.peers if not isinstance(peer, Redisson)]
    fairlock = bench.peer(Fairlock)
    if fairlock:
        shots = Shots(fairlock)
        tasks.append(lambda: shots.run(lambda who, spent: add(SHORT, who, spent)))
    for number in range(bench.rounds + WARM_UP):
        for task in random.sample(tasks, len(tasks)):
            task()

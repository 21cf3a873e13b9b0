"""(f) How long the next waiter waits after a process or the server was killed."""

import time

from crowd import Crowd
from processes import kill, wait_until

MEASURE = "f recovery"


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class Trial:
    def __init__(self, bench, peer):
        self.bench, self.peer = bench, peer
        peer.lease_s = bench.lease_s if peer.has_lease else None
        peer.separate("holder")
        self.crowd = Crowd(peer, bench.folder)
        self.crowd.hold()

    def join(self, count, who="waiter"):
        self.peer.separate(who)
        self.crowd.join(count, 0)

    def started(self, number):
        """When the section of this number started, or None."""
        def found():
            return next((start for who, start, _ in self.crowd.times() if who == number), None)
        try:
            return wait_until(found, self.bench.limit_s, 0.01)
        except TimeoutError:
            return None

    def add(self, case, since_ns, number):
        start = self.started(number)
        limit = self.bench.limit_s
        self.bench.samples.add(MEASURE, case, self.peer.name, "s", (start - since_ns) / 1e9 if start else limit)
        if start and start < since_ns:
            self.bench.samples.note(MEASURE, case, self.peer.name, "OVERLAP")
        if not start:
            self.bench.samples.note(MEASURE, case, self.peer.name, f"not within {limit} s")
        return start

    def end_of_holder(self):
        return next(end for who, _, end in self.crowd.times() if who == 0)

    def end(self):
        self.crowd.end()
        self.peer.lease_s = None


def plain(trial):
    trial.join(1)
    trial.crowd.release()
    started = trial.started(1)
    if started:
        trial.add("nobody was killed", trial.end_of_holder(), 1)


def dead_waiters(trial, count, case):
    trial.join(count, "the dead")
    trial.join(1)
    for waiter in trial.crowd.waiters[:-1]:
        waiter.kill()
    wait_until(lambda: all(waiter.ended() for waiter in trial.crowd.waiters[:-1]))
    time.sleep(0.3)
    trial.crowd.release()
    if trial.started(count + 1):
        trial.add(case, trial.end_of_holder(), count + 1)
    else:
        trial.add(case, now_ns(), count + 1)


def one_killed(trial):
    """Kills the holder's tool, whose command may live on."""
    trial.join(1)
    family = [pid for pid in trial.crowd.holder.family() if pid != getattr(trial.crowd.holder, "pid", 0)]
    killed = now_ns()
    trial.crowd.holder.kill()
    start = trial.add("holder's tool killed", killed, 1)
    if start and any(is_stamp(pid) for pid in family):
        trial.bench.samples.note(MEASURE, "holder's tool killed", trial.peer.name, "OVERLAP: its command lives on")
    kill(family)


def is_stamp(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip() == "stamp"
    except FileNotFoundError:
        return False


def all_killed(trial):
    """Kills the holder with all its processes, as if its machine was lost."""
    trial.join(1)
    killed = now_ns()
    kill(trial.crowd.holder.family())
    trial.add("holder killed with all it started", killed, 1)


def server_killed(trial):
    """Kills the server, which comes back at once; the holder ends a second later."""
    trial.peer.server.persist()
    trial.join(1)
    trial.peer.server.service.end()
    trial.peer.server.start()
    time.sleep(1)
    trial.crowd.release()
    back = now_ns()
    trial.add("server killed, back for 1 s", back, 1)


def tried(bench, peer, case):
    trial = Trial(bench, peer)
    try:
        case(trial)
    finally:
        trial.end()


def run(bench):
    dead = bench.dead
    cases = {"nobody was killed": plain,
             "holder's tool killed": one_killed,
             "holder killed with all it started": all_killed,
             "a waiter killed": lambda trial: dead_waiters(trial, 1, "a waiter killed"),
             f"{dead} waiters killed": lambda trial: dead_waiters(trial, dead, f"{dead} waiters killed"),
             "server killed, back for 1 s": server_killed}
    for number in range(bench.crowd_rounds):
        for peer in bench.shuffled():
            if number and peer.slow > 1:
                continue
            for name, case in cases.items():
                if peer.server or case is not server_killed:
                    bench.trial(MEASURE, name, peer, tried, case)

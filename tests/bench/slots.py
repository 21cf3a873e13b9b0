"""Locks with several holders: jobs through eight slots, and a writer among readers that keep coming."""

import time

from crowd import Crowd
from processes import wait_until

TABLE = "Slots and shared holds"
SLOTS, WORK_MS = 8, 50
SURE_NS = 25000000  # processes that come or start closer to each other are in no order that can be seen
PACE_S, BEFORE = 0.01, 30  # between readers; so many come before the writer
WRITERS = 3
LIMIT_S = 60


def at_once(times):
    """The largest number of sections at the same time."""
    return max(sum(start <= moment < end for _, start, end in times) for _, moment, _ in times)


def late(times):
    """Counts the jobs that started well after one that had come later."""
    return sum(any(number > other and start + SURE_NS <= begin for number, start, _ in times)
               for other, begin, _ in times)


def through(results, folder, peer, count):
    """Jobs of 50 ms, from the first start to the last end, as part of the least that it can take."""
    with Crowd(peer, folder, "slot") as crowd:
        crowd.hold()
        crowd.join(count, WORK_MS * 1000)
        crowd.release()
        times = crowd.await_times(count, LIMIT_S)
    case = f"{count} jobs of {WORK_MS} ms through {SLOTS} slots, of {count}/{SLOTS} x {WORK_MS} ms"
    if len(times) < count:
        results.note(TABLE, case, peer.name, f"{len(times)} of {count} in {LIMIT_S} s")
        return
    spent = (max(end for _, _, end in times) - times[0][1]) / 1e6
    results.add(TABLE, case, peer.name, spent / (count / SLOTS * WORK_MS))
    results.add(TABLE, "of them out of order: %", peer.name, 100 * late(times) / count)
    if at_once(times) > SLOTS:
        results.note(TABLE, case, peer.name, f"{at_once(times)} AT ONCE")


def readers_come(crowd, limit_s):
    """One reader every 10 ms until the writer among them has started, or for limit_s. Returns when each came, and who the writer is."""
    came, writer, due = {}, None, time.monotonic()

    def comes(way, work_us):
        came[len(came) + 1] = time.monotonic_ns()
        crowd.waiters.append(crowd.peer.section(crowd.lock, crowd.stamps, len(came), work_us, way))

    while not writer or time.monotonic() < end and all(number != writer for number, _, _ in crowd.times()):
        if len(came) == BEFORE:
            comes("alone", 0)
            writer, end = len(came), time.monotonic() + limit_s
        comes("shared", WORK_MS * 1000)
        due = max(due + PACE_S, time.monotonic())
        time.sleep(max(0, due - time.monotonic()))
    return came, writer


def writer_starts(results, folder, peer, limit_s):
    with Crowd(peer, folder, "shared") as crowd:
        crowd.hold()  # a JVM is started only now
        crowd.release()
        came, writer = readers_come(crowd, limit_s)
        wait_until(lambda: len(crowd.times()) == len(came), LIMIT_S, 0.02, f"{peer.name}: the readers")
        times = crowd.times()
    start = next(start for number, start, _ in times if number == writer)
    last = max(end for number, _, end in times if number < writer)
    waited = (start - came[writer]) / 1e6
    case = f"a writer among readers of {WORK_MS} ms waits: ms"
    results.add(TABLE, case, peer.name, waited)
    results.add(TABLE, "after the readers before it: ms", peer.name, (start - last) / 1e6)
    # one that came a moment later may have asked first
    overtook = sum(begin < start and came[number] > came[writer] + SURE_NS for number, begin, _ in times)
    results.add(TABLE, "readers that overtook it", peer.name, overtook)
    if waited > limit_s * 1000:
        results.note(TABLE, case, peer.name, f"until no more readers came, after {limit_s} s")


def run(bench):
    for _ in range(bench.crowd_rounds):
        for peer in bench.shuffled():
            if "slot" in peer.ways:
                bench.trial(TABLE, "jobs", peer, through, bench.jobs)
            if "shared" in peer.ways:
                for _ in range(WRITERS):
                    bench.trial(TABLE, "writer", peer, writer_starts, bench.reader_s)

"""Many that wait for one lock: how it passes from one to the next, and what becomes of it when some die."""

import time

from crowd import Crowd
from processes import kill, pss_kb, wait_until

TABLE = "Locks"
WORK_US = 5000  # long enough for the last section to be cleaned up
LIMIT_S = 60
RECOVERY_S = 15  # for the next one to start behind those that died


def inversions(numbers):
    """Counts the waiters that went before one that had come earlier."""
    return sum(any(later < number for later in numbers[index + 1:]) for index, number in enumerate(numbers))


def idle(results, peer, crowd, count, seconds):
    """What the waiters take while nothing happens."""
    time.sleep(min(2, seconds))  # after this, they have done what they do at first
    if peer.server:
        calls = peer.server.calls()
        time.sleep(seconds)
        results.add(TABLE, f"requests while {count} wait {seconds} s", peer.name, peer.server.calls() - calls)
    results.add(TABLE, "memory of a waiter: kB", peer.name, pss_kb(crowd.pids(crowd.waiters)) / count)


def hand_over(results, folder, peer, count, idle_s=0):
    """The time from the end of one section to the start of the next, and whether waiters go in the order of arrival."""
    with Crowd(peer, folder) as crowd:
        crowd.hold()
        crowd.join(count, WORK_US)
        if idle_s:
            idle(results, peer, crowd, count, idle_s)
        crowd.release()
        times = crowd.await_times(count, LIMIT_S)
    between = [(later[1] - earlier[2]) / 1e6 for earlier, later in zip(times, times[1:])]
    case = f"hand-over, {count} waiters: ms"
    # only those during which at least half of the waiters still wait
    results.add(TABLE, case, peer.name, *between[:max(1, count // 2)])
    results.add(TABLE, "out of order: %", peer.name, 100 * inversions([number for number, _, _ in times]) / count)
    note_missing(results, case, peer, times, count)
    if between and min(between) < 0:
        results.note(TABLE, case, peer.name, "OVERLAP")


def drain(results, folder, peer, count):
    """The time that many waiters need to be through."""
    with Crowd(peer, folder) as crowd:
        crowd.hold()
        crowd.join(count, 0, in_order=False)
        crowd.release()
        times = crowd.await_times(count, LIMIT_S)
    case = f"{count} waiters, each: ms"
    if len(times) > 1:
        results.add(TABLE, case, peer.name, (times[-1][1] - times[0][1]) / 1e6 / (len(times) - 1))
    note_missing(results, case, peer, times, count)


def note_missing(results, case, peer, times, count):
    if len(times) < count:
        results.note(TABLE, case, peer.name, f"{len(times)} of {count} in {LIMIT_S} s")


def dead_waiters(results, folder, peer, count):
    """Kills all that wait before the last one."""
    with Crowd(peer, folder) as crowd:
        crowd.hold()
        crowd.join(count, 0, group="dead")
        crowd.join(1, 0)
        kill(pid for waiter in crowd.waiters[:-1] for pid in waiter.pids())
        wait_until(lambda: all(waiter.ended() for waiter in crowd.waiters[:-1]))
        time.sleep(0.3)
        released = crowd.release()
        start = crowd.started(count + 1, RECOVERY_S)
    case = f"start behind {count} dead: s"
    results.add(TABLE, case, peer.name, (start - released) / 1e9 if start else RECOVERY_S)
    if not start:
        results.note(TABLE, case, peer.name, f"not within {RECOVERY_S} s")
    elif start < released:
        results.note(TABLE, case, peer.name, "OVERLAP")


def run(bench):
    for number in range(bench.crowd_rounds):
        for peer in bench.shuffled():
            if number and not peer.often:
                continue
            bench.trial(TABLE, "hand-over", peer, hand_over, bench.waiters, 0 if number else bench.idle_s)
            bench.trial(TABLE, "drain", peer, drain, bench.drain)
            if peer.survives:
                bench.trial(TABLE, "dead waiters", peer, dead_waiters, bench.waiters)

"""(b) The time from the end of one section to the start of the next, and whether waiters go in the order of arrival.
(c) The time that many waiters need to be through."""

import os
import subprocess

from crowd import Crowd, inversions, read_stamps
from overhear import overhear
from peers import Fairlock

WORK_US = 5000   # long enough for the last section to be cleaned up
LIMIT_S = 60
RELAY = "relay: the requests of wrap"


def gaps(times):
    """Milliseconds between sections; a negative one is an overlap."""
    return [(later[1] - earlier[2]) / 1e6 for earlier, later in zip(times, times[1:])]


def drained(bench, peer, count, work_us, in_order):
    crowd = Crowd(peer, bench.folder)
    try:
        crowd.hold()
        crowd.join(count, work_us, in_order)
        crowd.release()
        return crowd.await_times(count + 1, LIMIT_S)
    finally:
        crowd.end()


def hand_over(bench, peer, count):
    times = drained(bench, peer, count, WORK_US, True)
    between = gaps(times)
    if not between:
        return
    # only those during which at least half of the waiters still wait
    bench.samples.add("b hand-over", count, peer.name, "ms", *between[:max(1, count // 2)])
    passed_over = inversions([number for number, _, _ in times])
    bench.samples.add("b out of order", count, peer.name, "%", 100 * passed_over / count)
    if len(times) <= count:
        bench.samples.note("b hand-over", count, peer.name, f"{len(times) - 1} of {count} in {LIMIT_S} s")
    if min(between) < 0:
        bench.samples.note("b hand-over", count, peer.name, "OVERLAP")


def drain(bench, peer, count):
    times = drained(bench, peer, count, 0, False)
    if len(times) < 3:
        return
    # from the start of the first waiter's section: waking it does not count
    spent = (times[-1][1] - times[1][1]) / 1e6 / (len(times) - 2)
    bench.samples.add("c drain", count, peer.name, "ms", spent)
    if len(times) <= count:
        bench.samples.note("c drain", count, peer.name, f"{len(times) - 1} in {LIMIT_S} s")


def relay(bench, requests, count, work_us):
    """Runs a relay of relay.c with these requests."""
    stamps = bench.folder / "relay"
    stamps.unlink(missing_ok=True)
    programs = os.path.join(os.environ["BUILD"], "bench")
    subprocess.run([f"{programs}/relay", str(count), bench.peer(Fairlock).server.socket, f"{programs}/stamp", str(stamps),
                    str(work_us), *requests], check=True, timeout=LIMIT_S)
    return read_stamps(stamps)


def requests_of_wrap(bench):
    """Overhears a wrap; returns its id, the file of requests for the lock, how many, and the file of the release."""
    command = [os.environ["FAIRLOCK"], "wrap", "passed", "printenv", "FAIRLOCK_OWNER"]
    for _ in range(2):  # the second time the server knows the scripts
        owner, words = overhear(bench.peer(Fairlock).server.socket, bench.folder, "passed", command)
    ask, answers, release, _ = words
    return [owner, ask, answers, release]


def relays(bench):
    """Measures the relay."""
    requests = requests_of_wrap(bench)
    for count in bench.waiters:
        between = gaps(relay(bench, requests, count, WORK_US))
        bench.samples.add("b hand-over", count, RELAY, "ms", *between[:max(1, count // 2)])
    times = relay(bench, requests, bench.drain, 0)
    bench.samples.add("c drain", bench.drain, RELAY, "ms", (times[-1][1] - times[0][1]) / 1e6 / (len(times) - 1))


def run(bench):
    for number in range(bench.crowd_rounds):
        if bench.peer(Fairlock):
            relays(bench)
        for count in bench.waiters:
            for peer in bench.shuffled():
                if peer.slow < 10 or number == 0:
                    bench.trial("b hand-over", count, peer, hand_over, count)
        for peer in bench.shuffled():
            if peer.slow == 1 or number == 0:
                bench.trial("c drain", bench.drain, peer, drain, bench.drain)

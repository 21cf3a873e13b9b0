"""(b) The time from the end of one section to the start of the next, and whether waiters go in the order of arrival.
(c) The time that many waiters need to be through."""

import os
import subprocess

from bare import requests_of_bare_lock
from crowd import Crowd, inversions, read_stamps
from overhear import calls_of_scripts, overhear, with_script
from peers import Fairlock

WORK_US = 5000   # long enough for the last section to be cleaned up
LIMIT_S = 60


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


def relay(bench, kind, lock, count, work_us):
    """Runs a relay of floor.c. kind: its word; lock: nothing, or an id and its requests."""
    stamps = bench.folder / "relay"
    stamps.unlink(missing_ok=True)
    programs = os.path.join(os.environ["BUILD"], "bench")
    subprocess.run([f"{programs}/floor", str(count), kind, bench.peer(Fairlock).server.socket, f"{programs}/stamp",
                    str(stamps), str(work_us), *lock], check=True, timeout=LIMIT_S)
    return read_stamps(stamps)


def requests_of_wrap(bench):
    """Overhears a wrap; returns its id, the file of requests for the lock, how many, and the file of the release."""
    command = [os.environ["FAIRLOCK"], "wrap", "passed", "printenv", "FAIRLOCK_OWNER"]
    for _ in range(2):  # the second time the server knows the scripts
        owner, words = overhear(bench.peer(Fairlock).server.socket, bench.folder, "passed", command)
    ask, answers, release, _ = words
    return [owner, ask, answers, release]


def calls_of_wrap(bench, requests):
    """The same with another release script, which makes the calls that ours makes when two wait, and decides nothing."""
    server = bench.peer(Fairlock).server
    queue = "fairlock_queue:{passed}"
    crowd = Crowd(bench.peer(Fairlock), bench.folder)
    crowd.lock = "passed"
    try:
        crowd.hold()
        crowd.join(2, 0)
        places = {server.call("HKEYS", crowd.lock)[0]: "ARGV[2]"}
        places.update(zip(server.call("ZRANGE", queue, 0, -1), ("ids[1]", "ids[2]")))
        calls = calls_of_scripts(server.socket, lambda: crowd.release() or crowd.await_times(3, LIMIT_S))
    finally:
        crowd.end()
    if calls[0] != ['"TIME"']:
        raise RuntimeError(f"this is not the beginning of a release: {calls[0]}")
    script = f"""local ids = redis.call('ZRANGE', '{queue}', 0, 1)
if not ids[1] then
    return redis.call('DEL', KEYS[1])
end
ids[2] = ids[2] or ids[1]
"""
    for call in calls[:calls.index(['"TIME"'], 1)]:  # there the next release begins
        line = f"redis.call({', '.join(call)})\n"
        for id, place in places.items():
            line = line.replace(id, f'" .. {place} .. "')
        script += line
    *ask, release = requests
    return [*ask, with_script(server.socket, release, script)]


def relays(bench):
    """Measures the relays of floor.c."""
    requests = requests_of_wrap(bench)
    kinds = {"no lock": ("relay", []), "a bare fair lock": ("relay", requests_of_bare_lock(bench.folder)),
             "the calls of wrap": ("relay", calls_of_wrap(bench, requests)),
             "the requests of wrap": ("relay", requests), "requests and processes of wrap": ("guarded", requests)}
    for what, (kind, lock) in kinds.items():
        name = f"relay: {what}"
        for count in bench.waiters:
            between = gaps(relay(bench, kind, lock, count, WORK_US))
            bench.samples.add("b hand-over", count, name, "ms", *between[:max(1, count // 2)])
        times = relay(bench, kind, lock, bench.drain, 0)
        bench.samples.add("c drain", bench.drain, name, "ms", (times[-1][1] - times[0][1]) / 1e6 / (len(times) - 1))


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

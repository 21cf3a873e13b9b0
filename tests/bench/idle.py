"""(e) The cost of many waiters while nothing happens."""

import functools
import time

from crowd import Crowd
from processes import pss_kb, ticks


def requests(peer):
    return peer.server.calls() if peer.server else 0


def idle(bench, peer):
    count, seconds = bench.idle
    crowd = Crowd(peer, bench.folder)
    try:
        peer.lease_s = 3600 if peer.has_lease else None  # so that the holder does nothing
        crowd.hold()
        peer.lease_s = None
        crowd.join(count, 0, False)
        time.sleep(min(2, seconds))  # after this, the waiters have done what they do at first
        pids = {pid for waiter in crowd.waiters for pid in waiter.family()}
        calls, used = requests(peer), ticks(pids)
        time.sleep(seconds)
        used, calls = ticks(pids) - used, requests(peer) - calls
        add = functools.partial(bench.samples.add, "e idle")
        add("requests", peer.name, f"in {seconds} s", calls)
        add("processor", peer.name, f"ticks in {seconds} s", used)
        add("memory", peer.name, "kB PSS each", pss_kb(pids) / count)
        add("processes", peer.name, "each", len(pids) / count)
    finally:
        crowd.end()


def run(bench):
    for number in range(bench.crowd_rounds):
        for peer in bench.shuffled():
            if number == 0 or peer.fair and peer.slow == 1:
                bench.trial("e idle", "requests", peer, idle)

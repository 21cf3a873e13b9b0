"""(h) Locks with several holders: jobs through eight slots, a writer among readers that keep coming, and the server's time
for a grant beside others."""

import os
import time

from crowd import Crowd
from peers import Fairlock
from processes import wait_until
from scripts import KEYS, NAME, Ours, slow_log, timed

SLOTS = 8
WORK_MS = 50
SURE_NS = 25000000  # processes that come or start closer to each other are in no order that can be seen
LIMIT_S = 60
MEASURE, ORDER, WRITER, SERVER = "h slots", "h out of order", "h writer", "h server time"


class Jobs(Crowd):
    """A crowd of which the holders write no times into `stamps`."""

    def sections(self):
        return len(self.waiters)


class SlotCrowd(Jobs):
    """Eight that hold all slots, and jobs that wait for one."""

    files = holders = ()

    def hold(self):
        self.files = [f"{self.stamps}.{slot}" for slot in range(SLOTS)]
        self.holders = [self.peer.section(self.lock, file, 0, self.fifo, "slot") for file in self.files]
        self.holder = self.holders[0]
        wait_until(lambda: all(map(os.path.exists, self.files)), what=f"{self.peer.name}: the holders")
        time.sleep(0.1)

    def join(self, count, work_us, in_order=True):
        for number in range(1, count + 1):
            self.waiters.append(self.peer.section(self.lock, self.stamps, number, work_us, "slot"))
            if self.peer.slot_pause_s is None:
                self.await_waiting(number)
            else:
                time.sleep(self.peer.slot_pause_s)
        time.sleep(0.1)

    def end(self):
        super().end()
        for holder in self.holders:
            holder.end()
        for file in filter(os.path.exists, self.files):
            os.unlink(file)


def at_once(times):
    """The largest number of sections at the same time."""
    events = sorted([(start, 1) for _, start, _ in times] + [(end, -1) for _, _, end in times])
    most = count = 0
    for _, change in events:
        count += change
        most = max(most, count)
    return most


def late(times):
    """Counts the jobs that started well after one that had come later."""
    return sum(any(number > other and start + SURE_NS <= begin for number, start, _ in times)
               for other, begin, _ in times)


def through(bench, peer):
    """Jobs of 50 ms through eight slots, from the first start to the last end, as part of the least that it can take."""
    count = bench.slot_jobs
    crowd = SlotCrowd(peer, bench.folder)
    try:
        crowd.hold()
        crowd.join(count, WORK_MS * 1000)
        crowd.release()
        times = crowd.await_times(count, LIMIT_S)
    finally:
        crowd.end()
    case = f"{count} jobs"
    if len(times) < count:
        bench.samples.note(MEASURE, case, peer.name, f"{len(times)} of {count} in {LIMIT_S} s")
    if not times:
        return
    spent = (max(end for _, _, end in times) - times[0][1]) / 1e6
    bench.samples.add(MEASURE, case, peer.name, "", spent / (len(times) / SLOTS * WORK_MS))
    bench.samples.add(ORDER, case, peer.name, "%", 100 * late(times) / len(times))
    if at_once(times) > SLOTS:
        bench.samples.note(MEASURE, case, peer.name, f"{at_once(times)} AT ONCE")


class Readers:
    """Readers that keep coming, one every 10 ms, and a writer among them."""

    pace_s = 0.01
    before = 30        # readers before the writer
    limit_s = 3

    def __init__(self, peer, folder):
        self.crowd = Jobs(peer, folder)
        self.peer, self.jobs, self.came = peer, [], {}

    def comes(self, way, work_us):
        number = len(self.jobs) + 1
        self.came[number] = time.monotonic_ns()
        self.jobs.append(self.peer.section(self.crowd.lock, self.crowd.stamps, number, work_us, way))
        return number

    def run(self):
        """Returns the writer's number, and the times of all sections that are over."""
        warm_up = self.crowd.stamps + ".warm-up"  # a JVM is started only now
        self.peer.section("warm-up", warm_up, 0, 0, "shared").end()
        os.unlink(warm_up)
        due, writer, end = time.monotonic(), None, None
        while not writer or time.monotonic() < end:
            if len(self.jobs) == self.before:
                writer, end = self.comes("alone", 0), time.monotonic() + self.limit_s
            self.comes("shared", WORK_MS * 1000)
            due = max(due + self.pace_s, time.monotonic())
            time.sleep(max(0, due - time.monotonic()))
            if any(number == writer for number, _, _ in self.crowd.times()):
                break
        wait_until(lambda: len(self.crowd.times()) == len(self.jobs), LIMIT_S, 0.02, f"{self.peer.name}: the readers")
        return writer, self.crowd.times()

    def end(self):
        self.crowd.waiters = self.jobs
        self.crowd.end()


def writer_starts(bench, peer):
    readers = Readers(peer, bench.folder)
    try:
        writer, times = readers.run()
    finally:
        readers.end()
    start = next(start for number, start, _ in times if number == writer)
    last = max(end for number, _, end in times if number < writer)
    waited = (start - readers.came[writer]) / 1e6
    bench.samples.add(WRITER, "waits", peer.name, "ms", waited)
    bench.samples.add(WRITER, "after the readers before it", peer.name, "ms", (start - last) / 1e6)
    # one that came a moment later may have asked first
    overtook = sum(begin < start and readers.came[number] > readers.came[writer] + SURE_NS for number, begin, _ in times)
    bench.samples.add(WRITER, "readers that overtook it", peer.name, "", overtook)
    if waited > readers.limit_s * 1000:
        bench.samples.note(WRITER, "waits", peer.name, f"until no more readers came, after {readers.limit_s} s")


class Beside(Ours):
    """Holders that stand beside each other, and those that come and go."""

    keys = [*KEYS, f"fairlock_holders:{{{NAME}}}"]

    def take(self, owner, want, handed=""):
        reply = self.acquire(owner, handed, "", want)
        if reply[0] != ("queued" if handed else "granted"):
            raise RuntimeError(f"not so: {reply}")


def beside_holders(bench, server, count, rounds):
    """Beside so many holders: a grant and the release of a shared hold, and of a slot; a slot that is handed over."""
    side = Beside(server)
    ids = [f"{number:08x}-0000-4000-8000-00000000000b:1" for number in range(count + rounds + 1)]
    side.present(ids[count:])
    for kind in ("shared hold", "slot"):
        wants = ["s"] * len(ids) if kind == "shared hold" else [f"=word{number}" for number in range(len(ids))]
        for owner, want in zip(ids[:count], wants):
            side.take(owner, want)
        for owner, want in zip(ids[count:], wants[count:]):
            took, _ = timed(server, side.take, owner, want)
            bench.samples.add(SERVER, f"grant of a {kind} {count}", Fairlock.name, "µs", took)
            took, _ = timed(server, side.release, owner)
            bench.samples.add(SERVER, f"release of a {kind} {count}", Fairlock.name, "µs", took)
        if kind == "slot":
            holder = ids[0]
            for waiter in ids[count:]:
                side.take(waiter, wants[0], "1")
                took, _ = timed(server, side.release, holder)
                bench.samples.add(SERVER, f"hand-over of a slot {count}", Fairlock.name, "µs", took)
                holder = waiter
        server.call("FLUSHALL")
    side.end()


def before_waiters(bench, server, count, rounds):
    """With so many waiters: a slot of eight that is handed over."""
    side = Beside(server)
    ids = [f"{number:08x}-0000-4000-8000-00000000000c:1" for number in range(SLOTS + count + rounds)]
    for start in range(SLOTS, len(ids), 1000):
        side.present(ids[start:start + 1000])
    for owner in ids[:SLOTS]:
        side.take(owner, f"#{SLOTS}")
    for waiter in ids[SLOTS:]:
        side.take(waiter, f"#{SLOTS}", "1")
    for holder in ids[:rounds]:
        took, _ = timed(server, side.release, holder)
        bench.samples.add(SERVER, f"hand-over to the first of the waiters {count}", Fairlock.name, "µs", took)
    if server.call("ZCARD", f"fairlock_queue:{{{NAME}}}") != count:
        raise RuntimeError("not handed over")
    side.end()


def run(bench):
    for number in range(bench.crowd_rounds):
        for peer in bench.shuffled():
            if "slot" in peer.ways and (peer.slow < 10 or number == 0):
                bench.trial(MEASURE, "jobs", peer, through)
            if "shared" in peer.ways:
                for _ in range(bench.writers):
                    bench.trial(WRITER, "writer", peer, writer_starts)
        ours = bench.peer(Fairlock)
        if not ours:
            continue
        with slow_log(ours.server):
            for count in bench.holders:
                beside_holders(bench, ours.server, count, bench.script_rounds)
            for count in bench.lengths:
                before_waiters(bench, ours.server, count, bench.script_rounds)

"""Checks the history of a round of the torture test: did fairlock keep its promises, whatever was done to it?

usage: python3 -B check.py FOLDER        prints each violation, and the history around it

FOLDER has `history`, which the driver and the critical sections wrote: a JSON object a line, with the time in ns of
CLOCK_BOOTTIME (`at`, often also `until`: not before, not after). No clock of the server counts.
Some faults excuse what fairlock(7) does not promise:

    both guards of a COMMAND killed, or one killed  its section counts no more from then on. Stops alone, of
    and then the other one stopped                  both or of COMMAND, excuse nothing
    COMMAND killed                                  what it left behind counts no more
    the lock broken by force                        its section may go on for FORCED_S; a script, for ever
    a script with a keeper                          counts until the keeper, or its way to the server, was hit
    the server lost its data                        a holder of that time counts again after LOST_S
    the server's clock was set forward              a holder of that time counts again a third of its lease and
                                                    LOST_S later; a script, never
    the machine of a holder stood still, with       its section counts again a lease after that. If it was
    its clock                                       still seen waiting in that time, nothing is excused
    the machine stood still                         overlaps for as long as that, which are counted
    a Redisson client                               counts for as long as it knows of its lease: like a script, it
                                                    goes on when the lock is broken or the server loses its data

Nothing excuses disorder among waiters that were present, or had RESTART_S to come back: no loss of data, no failover.
After a loss of data a newcomer may go first as long as no waiter is back. Setting the server's clock excuses what
happens in the next SET_S. A clock that runs up to 8 % fast
excuses nothing, nor does a waiter's clock that stood still.

Redisson clients stand in the same order, with one gap: one of them may pass a waiter of ours that has no place in
Redisson's list any more, for PUT_BACK_S at most. Redisson's own place ends with a loss of data, --remove, and a fault that
made it be passed over: then it counts from its return. For what is idle, one that was hit costs HUNG_S, however many they are.

Holds fit together if all are shared, or all have slots, each another one. A hold that is broken or whose holder dies
excuses nothing of the others. What fits together may begin in any order; its tokens tell the order of the grants.

How long a lock was idle is checked for waiters to which nothing was done, while the server was there. Of the waiters
ahead, each of the first three that were hit earlier costs HUNG_S, and so does each that is hit meanwhile; a holder that
was hit costs its lease and ORPHANED_S. A lock is idle for a waiter if it has no holder beside which the waiter does not
fit; for one that wants a slot, if that slot is free. A waiter may wait behind another one that does not fit.
"""

import sys

from history import FOREVER, LOST_S, MS, S, WAITERS, meets, met, overlap
from order import PUT_BACK_S, Queue
from sections import Sections

UNHEARD_MS = 100  # a waiter that never had an answer leaves within that time
LEAVING_S = 6  # a waiter that leaves waits no longer for a connection and the server
DEAD_S = 5  # a guard that is left gives up, on a busy machine
CONNECT_S = 5  # the connect timeout


class Checker(Sections):
    """A history with the checks of it."""

    PROPERTIES = ("exclusion", "tokens", "forged", "order", "idle", "served", "statuses", "left")

    def check(self):
        self.find_grants()
        self.check_starts()
        self.check_exclusion()
        self.check_kept()
        self.check_once()
        self.check_asked()
        self.check_newest()
        for lock in list(self.looks):
            Queue(self, lock).check()
        self.check_ends()
        self.check_left()
        self.check_ghosts()
        return self.violations

    # ---- Exit statuses

    def check_ends(self):
        end = self.of["over"][0].at if self.of["over"] else FOREVER
        for job in self.jobs.values():
            if job.status is None or job.ended > end:
                text = f"{job.name} ({job.kind}, lock {job.lock}) had not ended when all was over"
                text += "" if job.started else ": it never got the lock"
                self.violated("served", text, end, job.name, job.lock)
            elif job.kind == "wrap":
                self.judge_status(job, "it", job.status, self.of_wrap(job))
            elif job.kind == "redisson":
                self.judge_status(job, "it", job.status, self.of_redisson(job))
            else:
                self.check_script(job)

    def judge_status(self, job, what, status, allowed):
        """allowed: [(status, whether it is right)...]"""
        allowed = {number for number, is_right in allowed if is_right}
        if status not in allowed:
            done = ", ".join(f"{event.fault} {event.role}" for event in job.faults) or "nothing was done to it"
            text = f"{job.name} (lock {job.lock}, lease {job.lease // MS} ms): {what} ended with {status}, "
            text += f"not with any of {sorted(allowed)}; {done}"
            self.violated("statuses", text, job.ended, job.name, job.lock)

    def lost_its_lock(self, job, since=None, until=None):
        """Whether the job had a reason to end with 76."""
        since = since or max(job.spawned, (job.started or job.ended) - job.lease)
        return (
            self.late(job, since, until) >= job.lease * 0.1
            or self.was_forced(job)
            or met(self.steps + self.losses, job.life, LOST_S)
            or job.pauses
        )

    def was_forced(self, job):
        return any(self.forced(lock, job) for lock in job.locks)

    def outages_of(self, job, times):
        """The outages for which a command may give up: the server refused, or did not answer for long, or not before
        the wait was over. After a break, the command connects again. Those within a second of each other are one,
        because a TCP connection may wait so long before it tries again."""
        spans = []  # [since, until, kinds]
        for event in self.ways(job):
            if spans and event.at <= spans[-1][1] + S:
                spans[-1][1] = max(spans[-1][1], event.until)
                spans[-1][2].add(event.kind)
            else:
                spans.append([event.at, event.until, {event.kind}])
        over = FOREVER if job.wait is None else job.spawned + job.wait * MS
        return [
            since
            for since, until, kinds in spans
            if meets((since, until + S), times)
            and (
                kinds & {"killed", "forget"}
                or until + S >= over
                or overlap((since, until + S), times) >= (CONNECT_S - 1) * S
            )
        ]

    def has_waited(self, job, until):
        """Whether its wait was over."""
        return job.wait is not None and until - job.spawned >= job.wait * MS

    def is_impatient(self, job):
        """Whether its wait may be over before a connection stands, on a busy machine."""
        return job.wait is not None and job.wait * MS < S

    def of_wrap(self, job):
        waited = job.started is None
        outages, lost = self.outages_of(job, job.life), self.lost_its_lock(job)
        # the whole machine may have stood still until the wait was over
        patience = S if job.wait is None else min(S, job.wait * MS // 2)
        stopped = sum(overlap(job.life, down) for down in job.down("wrapper"))
        # somebody takes its place, or breaks its lock before it knows of the grant
        removed = job.removed or self.may_be_superseded(job) or self.was_forced(job)
        # the status of the inner wrap is that of COMMAND
        inner = job.inner and job.finished
        inside = inner and (outages or job.faults or job.removed or lost)
        return [
            (job.own, job.finished),
            (0, waited and self.may_have_succeeded(job)),
            (69, waited and (outages or job.hit("stop") or self.late(job) > patience or self.is_impatient(job)) or inside),
            (75, waited and (self.has_waited(job, job.ended) or removed or job.once_per) or inside),
            (76, lost or job.hit("kill", "guard") or job.hit("stop", "guard") or inside),
            (76, waited and stopped >= job.lease * 0.1),
            (124, job.max_hold is not None and job.ended - job.spawned >= job.max_hold * MS),
            # it was asked to stop, or may have been
            (124, any(self.aimed_at("asked", lock, job, (job.spawned - S, job.ended)) for lock in job.locks)),
            (-9, job.hit("kill", "wrapper", "command")),
            (-15, job.hit("term")),
            # what got the signal may have been about to become the inner wrap
            (128 + 9, inner and job.hit("kill", "command")),
            (128 + 15, inner and job.hit("term", "command")),
        ]

    def of_redisson(self, job):
        lost = self.lost_its_lock(job)
        return [
            (-9, job.hit("kill")),
            (0, job.started and (job.finished or job.hit("stop") or lost)),
            (75, self.has_waited(job, job.ended)),
            # a reply that was lost may have been the one that it gave the lock back
            (76, lost or job.hit("stop") or self.outages_of(job, job.life) or job.hit("cut")),
        ]

    def check_script(self, job):
        """Checks the status of each command of a script."""
        since = job.spawned
        for report in job.reports:
            asks = report.command == "acquire"
            lost = report.at - since > job.lease * 0.5 or self.lost_its_lock(job) or job.hit("kill", "keeper", "script")
            orphaned = job.kind == "keeper" and job.hit("kill", "script")
            away = self.outages_of(job, (since, report.at)) or job.hit("stop")
            allowed = [
                (0, True),
                (69, away or asks and self.is_impatient(job)),
                (71, asks and job.hit("kill", "keeper")),  # it was killed before it was ready
                (75, asks and (job.removed or self.has_waited(job, report.at) or orphaned)),
                (76, self.was_forced(job) if asks else lost or job.hit("stop")),
                (128 + 9, job.hit("kill")),
                (128 + 15, job.hit("term")),
            ]
            self.judge_status(job, report.command, report.status, allowed)
            since = report.at
        if not job.reports and not job.faults:
            self.judge_status(job, "the script", job.status, [])

    # ---- What is left, and what was seen meanwhile

    def check_left(self):
        for event in self.of["left"]:
            self.violated("left", event.text, event.at)
        for event in self.of["descriptors"]:
            self.violated("left", f"{event.job} got descriptors that are none of its business", event.at)
        renewed = {}  # when a Redisson client waited for each lock: its scripts take the time to live away
        for look in self.of["seen"]:
            lock = look.lock
            # one that was dead before the looker could see whose it is, too
            if any(self.is_redisson(owner) or self.whose(owner) is None for owner in look.ids):
                renewed[lock] = look.until + PUT_BACK_S * S
            for is_so, text in (
                (look.ttl == -1, f"lock {lock} had no time to live"),
                (look.queue_ttl == -1 and look.at > renewed.get(lock, 0), f"the queue of lock {lock} had no time to live"),
                (look.agree is False, f"list and sorted set of lock {lock} did not agree"),
                (look.sound is False, f"the key and the holders of lock {lock} did not agree"),
            ):
                if is_so:
                    self.violated("left", text, look.at, lock)
        for event in self.of["look"]:
            if event.status not in (0, 1) and not (event.status == 69 and met(self.outages, event.times, 1)):
                self.violated("statuses", f"{event.command} ended with {event.status}", event.at)

    def check_ghosts(self):
        """A job that ends by itself first leaves the queue, or gives the lock back. Of any other job the hold ends
        with its lease."""
        said, waited = set(), {}  # when each owner was seen in the queue last
        for look in self.of["seen"]:
            waited.update((owner, look.until) for owner in look.ids)
            ghosts = []
            for owner, did in [(owner, "held") for owner in look.holders] + [(owner, "waited for") for owner in look.ids]:
                job = self.whose(owner)
                # an inner wrap that COMMAND left behind may go on
                if job is None or look.lock not in job.taken or owner in said:
                    continue
                how = ""
                if did == "held" and not (job.kind == "wrap" and self.gave_back(job, look.at)):
                    if not self.outlived(job, look.at, waited.get(owner, 0)):
                        continue
                    how = f" {(look.at - job.ended) / S:.1f} s later, with a lease of {job.lease // MS} ms"
                elif look.at <= job.ended or self.could_not_leave(job):
                    continue
                said.add(owner)
                text = f"{job.name} had ended with {job.status}, and still {did} lock {look.lock}{how}"
                self.violated("left", text, look.at, look.lock, job.name)

    def gave_back(self, job, at):
        """Whether it ended with a status with which a job has given its locks back by then. When one of several is not
        obtained, it has had others. Its --min-hold may go on."""
        if job.min_hold and job.started and at < job.started + job.min_hold * MS + self.set_back() + S:
            return False
        return job.status in (job.own, 124) or job.status == 75 and len(job.taken) > 1 and not job.started

    def outlived(self, job, at, waited):
        """Whether a job ended so long ago that its lease must have ended, too. An acquire by hand whose script was
        killed waits on, gets the lock, and can tell nobody; and a dead waiter seems alive on a wire that was
        forgotten: then the lease counts from the grant."""
        if job.status is None or job.inner:  # an inner wrap may renew the lease
            return False
        wires = [event for event in self.ways(job) if event.kind == "forget"]
        waits_on = job.kind == "script" or met(wires, (job.spawned, job.ended))
        ended = max(job.ended, waited) if waits_on else job.ended
        last = max([ended, *(cont.until for cont in job.hit("cont"))])
        return at > last + job.lease + self.set_back() + self.late(job, ended, at) + DEAD_S * S

    def could_not_leave(self, job):
        end = (job.ended - LEAVING_S * S, job.ended)
        return (
            job.hit("kill")
            or met(self.ways(job) + job.hit("cut"), end)
            or any(meets(stop, end) for stop in job.down(*WAITERS))
            # one that never had an answer waits for none when it leaves
            or self.late(job, *end) > (UNHEARD_MS * MS if job.status == 69 else S)
        )


def report(checker, most=5):
    """The violations as lines for people."""
    lines = []
    for name, text, at, about in checker.violations[:most]:
        lines.append(f"{name}: {text}")
        lines += ["    " + line for line in (checker.excerpt(at, about) if about else [])]
    if len(checker.violations) > most:
        lines.append(f"... and {len(checker.violations) - most} more")
    return lines


if __name__ == "__main__":
    checked = Checker(sys.argv[1])
    checked.check()
    print(*report(checked), sep="\n")
    print(f"{len(checked.of['start'])} critical sections, {len(checked.violations)} violations, {len(checked.stalled)} excused")
    sys.exit(1 if checked.violations else 0)

"""Checks the history of a round of the torture test: did fairlock keep its promises, whatever was done to it?

usage: check.py FOLDER        prints each violation, and the history around it

FOLDER has `history`, which the critical sections wrote, and `events`, which the driver wrote: a JSON object a line,
with the time in ns of CLOCK_BOOTTIME (`at`, often also `until`: not before, not after). No clock of the server counts.
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
happens in the next SET_S; set back before a loss of data, it excuses smaller tokens. A clock that runs up to 8 % fast
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

import collections
import sys

sys.dont_write_bytecode = True  # nothing is left beside the tests
from history import FOREVER, LOST_S, MS, S, WAITERS, meets, overlap
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
        self.check_forged()
        self.check_exclusion()
        self.check_slots()
        self.check_all_taken()
        self.check_kept()
        self.check_once()
        self.check_asked()
        self.check_newest()
        self.check_order()
        self.check_ends()
        self.check_left()
        self.check_ghosts()
        return self.violations

    # ---- Order

    def check_order(self):
        granted = collections.defaultdict(dict)  # by lock: owner -> (token, time)
        for event in self.history:
            if event["what"] == "start" and event["owner"] not in granted[event["lock"]]:
                granted[event["lock"]][event["owner"]] = event["token"], event["at"]
        for lock, looks in self.looks.items():
            queue = Queue(self, lock, looks, granted[lock])
            queue.check()
            queue.check_places()
            queue.check_idle([event for event in self.history if event.get("lock") == lock])

    # ---- Exit statuses

    def check_ends(self):
        end = next((event["at"] for event in self.of("end")), FOREVER)
        for job in self.jobs.values():
            if job.status is None or job.ended > end:
                text = f"{job.name} ({job.kind}, lock {job.lock}) had not ended when all was over"
                text += "" if job.started else ": it never got the lock"
                self.violated("served", text, end, (job.name, job.lock))
            elif job.kind == "wrap":
                self.check_wrap(job)
            elif job.kind == "redisson":
                self.check_redisson(job)
            else:
                self.check_script(job)

    def lost_its_lock(self, job, since=None, until=None):
        """Whether the job had a reason to end with 76."""
        since = since or max(job.spawned, (job.started or job.ended) - job.lease)
        return (
            self.late(job, since, until) >= job.lease * 0.1
            or any(self.forced(lock, job) for lock in job.locks)
            or any(meets((event["at"], event["until"] + LOST_S * S), job.life) for event in self.steps)
            or job.pauses
            or any(
                event.get("lost") and meets((event["at"], event["until"] + LOST_S * S), job.life)
                for event in self.outages
            )
        )

    def spans_of(self, job):
        """The outages of the way between a job and the server, [since, until, kinds]. Those within a second of each
        other are one, because a TCP connection may wait so long before it tries again."""
        spans = []
        for event in sorted(self.ways(job), key=lambda event: event["at"]):
            if spans and event["at"] <= spans[-1][1] + S:
                spans[-1][1] = max(spans[-1][1], event["until"])
                spans[-1][2].add(event["kind"])
            else:
                spans.append([event["at"], event["until"], {event["kind"]}])
        return spans

    def outages_of(self, job, times):
        """The outages for which a command may give up: the server refused, or did not answer for long, or not before
        the wait was over. After a break, the command connects again."""
        over = FOREVER if job.wait is None else job.spawned + job.wait * MS
        return [
            (since, until)
            for since, until, kinds in self.spans_of(job)
            if meets((since, until + S), times)
            and (
                kinds & {"killed", "forget"}
                or until + S >= over
                or overlap((since, until + S), times) >= (CONNECT_S - 1) * S
            )
        ]

    def is_impatient(self, job):
        """Whether its wait may be over before a connection stands, on a busy machine."""
        return job.wait is not None and job.wait * MS < S

    def check_wrap(self, job):
        allowed = {job.own} if job.finished else set()
        stopped = sum(overlap(job.life, (since, until)) for since, until in job.down("wrapper"))
        outages = self.outages_of(job, job.life)
        if job.started is None:
            if job.wait is not None and job.ended - job.spawned >= job.wait * MS or job.removed or job.once_per:
                allowed.add(75)
            if self.may_be_superseded(job) or any(self.forced(lock, job) for lock in job.locks):
                allowed.add(75)  # somebody took its place, or broke its lock before it knew of the grant
            if self.may_have_succeeded(job):
                allowed.add(0)
            # the whole machine may have stood still until the wait was over
            patience = S if job.wait is None else min(S, job.wait * MS // 2)
            if outages or job.hit("stop") or self.late(job) > patience or self.is_impatient(job):
                allowed.add(69)
        if self.lost_its_lock(job) or job.hit("kill", "guard") or job.hit("stop", "guard"):
            allowed.add(76)
        if job.max_hold is not None and job.ended - job.spawned >= job.max_hold * MS:
            allowed.add(124)
        if any(self.asked(lock, job) for lock in job.locks):
            allowed.add(124)
        if job.started is None and stopped >= job.lease * 0.1:
            allowed.add(76)
        if job.hit("kill", "wrapper"):
            allowed.add(-9)
        if job.hit("kill", "command"):
            allowed.add(-9)
        if job.hit("term"):
            allowed.add(-15)
        if job.inner and job.finished:
            # the status of the inner wrap is that of COMMAND
            allowed |= (
                {69, 75, 76} if outages or job.faults or job.removed or self.lost_its_lock(job) else set()
            )
            # what got the signal may have been about to become the inner wrap
            allowed |= {128 + number for word, number in (("kill", 9), ("term", 15)) if job.hit(word, "command")}
        if job.status not in allowed:
            self.wrong(job, "it", job.status, allowed)

    def check_redisson(self, job):
        allowed = {-9} if job.hit("kill") else set()
        if job.started and (job.finished or job.hit("stop") or self.lost_its_lock(job)):
            allowed.add(0)
        if job.wait is not None and job.ended - job.spawned >= job.wait * MS:
            allowed.add(75)
        # a reply that was lost may have been the one that it gave the lock back
        if self.lost_its_lock(job) or job.hit("stop") or self.outages_of(job, job.life) or job.hit("cut"):
            allowed.add(76)
        if job.status not in allowed:
            self.wrong(job, "it", job.status, allowed)

    def check_script(self, job):
        """Checks the status of each command of a script."""
        signals = {128 + number for word, number in (("kill", 9), ("term", 15)) if job.hit(word)}
        since = job.spawned
        for report in job.reports:
            allowed, command = {0} | signals, report["command"]
            if self.outages_of(job, (since, report["at"])) or job.hit("stop"):
                allowed.add(69)
            if command == "acquire":
                if self.is_impatient(job):
                    allowed.add(69)
                if (
                    job.removed
                    or job.wait is not None
                    and report["at"] - since >= job.wait * MS
                    or job.kind == "keeper"
                    and job.hit("kill", "script")
                ):
                    allowed.add(75)
                if job.hit("kill", "keeper"):
                    allowed.add(71)  # it was killed before it was ready
            elif (
                report["at"] - since > job.lease * 0.5
                or self.lost_its_lock(job)
                or job.hit("stop")
                or job.hit("kill", "keeper", "script")
            ):
                allowed.add(76)
            if report["status"] not in allowed:
                self.wrong(job, command, report["status"], allowed)
            since = report["at"]
        if not job.reports and not job.faults and job.status is not None:
            self.wrong(job, "the script", job.status, set())

    def wrong(self, job, what, status, allowed):
        done = ", ".join(f"{event['fault']} {event['role']}" for event in job.faults) or "nothing was done to it"
        text = f"{job.name} (lock {job.lock}, lease {job.lease // MS} ms): {what} ended with {status}, "
        text += f"not with any of {sorted(allowed)}; {done}"
        self.violated("statuses", text, job.ended, (job.name, job.lock))

    # ---- What is left, and what was seen meanwhile

    def check_left(self):
        for event in self.of("left"):
            self.violated("left", event["text"], event["at"])
        for event in self.history:
            if event["what"] == "descriptors":
                self.violated("left", f"{event['job']} got descriptors that are none of its business", event["at"])
        renewed = {}  # when a Redisson client waited for each lock: its scripts take the time to live away
        for event in self.of("seen"):
            lock = event["lock"]
            if any(self.is_redisson(owner) for owner, _ in event["queue"]):
                renewed[lock] = event["until"] + PUT_BACK_S * S
            endless = event.get("queue_ttl") == -1 and event["at"] > renewed.get(lock, 0)
            for is_so, text in (
                (event.get("ttl") == -1, f"lock {lock} had no time to live"),
                (endless, f"the queue of lock {lock} had no time to live"),
                (not event.get("agree", True), f"list and sorted set of lock {lock} did not agree"),
                (not event.get("sound", True), f"the key and the holders of lock {lock} did not agree"),
            ):
                if is_so:
                    self.violated("left", text, event["at"], (lock,))
        for event in self.of("look"):
            away = any(
                meets((outage["at"], outage["until"] + S), (event["at"], event["until"]))
                for outage in self.outages
            )
            if event["status"] not in (0, 1) and not (away and event["status"] == 69):
                self.violated("statuses", f"{event['command']} ended with {event['status']}", event["at"])

    def check_ghosts(self):
        """A job that ends by itself first leaves the queue, or gives the lock back. Of any other job the hold ends
        with its lease."""
        said = set()
        waited = {}  # when each owner was seen in the queue last
        for event in self.of("seen"):
            ghosts = []
            waited.update((owner, event["until"]) for owner, _ in event["queue"])
            for owner in event["holders"]:
                holder = self.job_of(self.owners.get(owner) or "")
                if holder is None or event["lock"] not in holder.taken:
                    continue
                if holder.kind == "wrap" and holder.status in self.gives_back(holder) and not self.is_kept(holder, event):
                    ghosts.append((holder, owner, "held"))
                elif self.outlived(holder, event["at"], waited.get(owner, 0)) and owner not in said:
                    after = (event["at"] - holder.ended) / S
                    how = f" {after:.1f} s later, with a lease of {holder.lease // MS} ms"
                    said.add(owner)
                    self.haunts(holder, event, "held", how)
            for owner, _ in event["queue"]:
                job = self.job_of(self.owners.get(owner) or "")
                # an inner wrap that COMMAND left behind may go on waiting
                if job is not None and event["lock"] in job.taken:
                    ghosts.append((job, owner, "waited for"))
            for job, owner, did in ghosts:
                if event["at"] > job.ended and owner not in said and not self.could_not_leave(job):
                    said.add(owner)
                    self.haunts(job, event, did)

    def haunts(self, job, look, did, how=""):
        text = f"{job.name} had ended with {job.status}, and still {did} lock {look['lock']}{how}"
        self.violated("left", text, look["at"], (look["lock"], job.name))

    def gives_back(self, job):
        """The statuses with which a job ends only when it has given its locks back. When one of several is not
        obtained, it has had others."""
        return (job.own, 124, 75) if len(job.taken) > 1 and not job.started else (job.own, 124)

    def is_kept(self, job, look):
        """Whether the lock may still be kept for the --min-hold of a job that has ended."""
        least = (job.min_hold or 0) * MS + sum(max(0, -step["ms"]) * MS for step in self.steps)
        return job.min_hold and job.started and look["at"] < job.started + least + S

    def outlived(self, job, at, waited):
        """Whether a job ended so long ago that its lease must have ended, too. An acquire by hand whose script was
        killed waits on, gets the lock, and can tell nobody: its lease counts from then."""
        if job.status is None or job.inner:  # an inner wrap may renew the lease
            return False
        still = [cont["until"] for cont in job.hit("cont")]
        steps = sum(max(0, -step["ms"]) * MS for step in self.steps)
        ended = max(job.ended, waited) if job.by_hand else job.ended
        return at > max([ended, *still]) + job.lease + steps + self.late(job, ended, at) + DEAD_S * S

    def could_not_leave(self, job):
        end = (job.ended - LEAVING_S * S, job.ended)
        return (
            bool(job.hit("kill"))
            or any(meets((event["at"], event["until"]), end) for event in self.ways(job) + job.hit("cut"))
            or any(meets(stop, end) for stop in job.down(*WAITERS))
            # one that never had an answer waits for none when it leaves
            or self.late(job, *end) > (UNHEARD_MS * MS if job.status == 69 else S)
        )


def report(checker, most=5):
    """The violations as lines for people."""
    lines = []
    for name, text, at, about in checker.violations[:most]:
        lines.append(f"{name}: {text}")
        if about:
            lines += ["    " + line for line in checker.excerpt(at, about)]
    if len(checker.violations) > most:
        lines.append(f"... and {len(checker.violations) - most} more")
    return lines


if __name__ == "__main__":
    checked = Checker(sys.argv[1])
    checked.check()
    for line in report(checked):
        print(line)
    print(
        f"{checked.sections} critical sections, {len(checked.violations)} violations, "
        f"{checked.excused} excused"
    )
    sys.exit(1 if checked.violations else 0)

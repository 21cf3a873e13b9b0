"""Checks the critical sections for check.py: which of them were there at once, and their tokens."""

import bisect
import collections

from history import LOST_S, MS, S, History, fit_together, meets, met
from machine import FASTEST, NEVER_TOKEN

FORCED_S = 5  # a COMMAND whose lock was broken is stopped within 1 s; a busy machine takes longer
LATE_MS = 100  # the driver sees so late that a command has ended, and a section that it has begun
STALL_MS = 50  # after such a stall a guard may be late to stop COMMAND


def shown(hold):
    return f"slot {hold[1]}" if hold[0] == "slots" else hold[0]


class Sections(History):
    """A history with the checks of its sections."""

    def find_grants(self):
        """Finds the first line of each hold, by lock, and when its owner was seen to wait for the last time before."""
        self.starts, self.waits, begun = collections.defaultdict(list), {}, {}
        for line in self.of["start"]:
            if (line.lock, line.owner) not in begun:
                begun[line.lock, line.owner] = line.at
                self.starts[line.lock].append(line)
        for look in self.of["seen"]:
            for owner in look.ids:
                if look.at < begun.get((look.lock, owner), 0):
                    self.waits[look.lock, owner] = look.at

    def evidence(self):
        """The lines of the sections that count, by lock."""
        found, void = collections.defaultdict(list), {}
        for line in self.lines:
            job = self.job_of(line.job)
            if job is not None and line.job not in void:
                void[line.job] = self.void(job, line.job)
            if not any(since <= line.at <= until for since, until in void.get(line.job, ())):
                found[line.lock].append(line)
        return found

    def check_exclusion(self):
        """At each moment the holds that are there fit together, and each is younger than all before it that do not
        fit beside it. A token is that of one hold."""
        for lock, lines in self.evidence().items():
            largest, first, said = {}, {}, set()
            for line in lines:
                begun = first.setdefault(line.token, line)
                newer = max(
                    (other for hold, other in largest.items() if not fit_together(hold, line.hold)),
                    key=lambda other: other.token,
                    default=line,
                )
                if (begun.root, begun.hold) != (line.root, line.hold) and (line.token, line.job) not in said:
                    said.add((line.token, line.job))
                    text = f"{line.job} and {begun.job} both had token {line.token}"
                    if line.root == begun.root:
                        text = f"{line.job} had it as {shown(line.hold)}, and {begun.job} as {shown(begun.hold)}"
                    self.wrong_at(lock, "tokens", text, line.at)
                elif line.token < newer.token and (line.token, newer.token) not in said:
                    if self.judge_overlap(lock, line, begun, newer):
                        said.add((line.token, newer.token))
                elif line.hold not in largest or line.token > largest[line.hold].token:
                    largest[line.hold] = line
            self.check_growth(lock, list(first.values()))

    def check_growth(self, lock, firsts):
        """Holds that fit together begin in any order, but one that was asked for after another one had begun has a
        larger token."""
        firsts.sort(key=lambda line: line.at)
        times, largest = [line.at for line in firsts], []
        for line in firsts:
            largest.append(line if not largest or line.token > largest[-1].token else largest[-1])
        for line in firsts:
            before = bisect.bisect_left(times, self.waited_until(lock, line))
            other = largest[before - 1] if before else line
            if other.token > line.token and fit_together(line.hold, other.hold):
                text = f"{line.job} asked after {other.job} had begun with token {other.token}, and got {line.token}"
                self.wrong_at(lock, "tokens", text, line.at)

    def waited_until(self, lock, line):
        """A time before the grant of this section: the job began, or was seen to wait."""
        job = self.job_of(line.job)
        if job is None:
            return 0
        return max(self.waits.get((lock, line.owner), 0), job.spawned if line.job == job.name else job.started or 0)

    def judge_overlap(self, lock, line, begun, newer):
        """Judges a line of a section after a newer one has begun that does not fit beside it. Returns whether it is a
        violation."""
        at, since = line.at, newer.at
        if begun.at > since:
            text = f"{line.job} began with token {line.token} after {newer.job}, with {newer.token}"
            self.wrong_at(lock, "tokens", text, at)
            return True
        job = self.job_of(line.job)
        # Its wrapper may be dead by then, and its guard stops COMMAND.
        if job is not None and any(
            event.at <= since and at <= event.until + FORCED_S * S
            for event in self.aimed_at("force", lock, job, (job.spawned, at))
        ):
            return False
        # the machine stood still shortly before, for longer than the old section ran on
        least = max(STALL_MS * MS, at - since)
        if any(stall.until - stall.at >= least and meets(stall.times, (since - S, at)) for stall in self.stalls):
            self.stalled.add((lock, line.token))
            return False
        self.wrong_at(
            lock, "exclusion",
            f"{line.job} (token {line.token}, {shown(line.hold)}) ran {(at - since) / MS:.1f} ms after "
            f"{newer.job} (token {newer.token}, {shown(newer.hold)}) had begun", at,
        )  # fmt: skip
        return True

    def check_starts(self):
        """No forged message starts a section. A section has all locks that its job takes, and no other; it has a slot if
        it asked for slots, and then one of these. So there are never more holders than slots, since check_exclusion sees
        that no slot has two."""
        begun = collections.defaultdict(list)  # by process
        for line in self.of["start"]:
            if line.token >= NEVER_TOKEN:
                text = f"{line.job} began with token {line.token}, of a forged message"
                self.wrong_at(line.lock, "forged", text, line.at)
            job = self.job_of(line.job)
            if job is None:
                continue
            (mode, slot), is_inner = line.hold, "/" in line.job
            asked = job.slots[-1 if is_inner else 0]
            if slot not in asked if mode == "slots" else slot:
                text = f"{line.job} has slot '{slot}', and asked for {asked}"
                self.wrong_at(line.lock, "exclusion", text, line.at)
            if not is_inner:
                begun[line.job, line.pid, line.at].append(line.lock)
        for (name, _, at), locks in begun.items():
            if sorted(locks) != sorted(self.jobs[name].taken):
                self.violated("exclusion", f"{name} began with {locks}, and asked for {self.jobs[name].taken}", at, name)

    def check_kept(self):
        """With --min-hold nothing that does not fit begins before that time is over."""
        for lock, line, job in self.starts_of_jobs():
            if not job.min_hold or job.faults or job.pauses or job.status != job.own or not job.finished:
                continue
            until = self.waited_until(lock, line) + int(job.min_hold * MS / FASTEST)
            times = line.at, until
            if any(self.aimed_at(what, lock, job, times) for what in ("force", "asked")) or self.has_changed(*times):
                continue
            for other in self.starts[lock]:
                if other.token > line.token and other.at < until and not fit_together(line.hold, other.hold):
                    early = (until - other.at) / MS
                    text = f"{other.job} began {early:.0f} ms before the --min-hold of {line.job} was over"
                    self.wrong_at(lock, "exclusion", text, other.at)

    def check_once(self):
        """With --once-per no COMMAND begins too short a time after the COMMAND of another wrap, however it holds."""
        for lock, line, job in self.starts_of_jobs():
            if not job.once_per or line.job != job.name:
                continue
            for _, other, before in self.starts_of_jobs(lock):
                least = self.waited_until(lock, other) + int(job.once_per * 0.9 * MS / FASTEST)
                if (
                    before.kind == "wrap"
                    and other.token < line.token
                    and line.at < least
                    and not self.has_changed(other.at, line.at)
                ):
                    early = (least - line.at) / MS
                    text = f"{line.job} began {early:.0f} ms too early for its --once-per after {other.job}"
                    self.wrong_at(lock, "exclusion", text, line.at)

    def starts_of_jobs(self, *locks):
        """[(lock, first line of a hold, job)...], of these locks or of all"""
        found = [(lock, line, self.job_of(line.job)) for lock in locks or self.starts for line in self.starts[lock]]
        return [start for start in found if start[2] is not None]

    def has_changed(self, since, until):
        """Whether the server's clock or data had."""
        times = (since - S, until)
        return met(self.steps, times, 1) or met(self.losses, times, LOST_S)

    # ---- What jobs and people want of others: that one stops, that only the newest waits, that it went well

    def check_asked(self):
        """When `release --stop` has ended with 0, nothing runs any more under a hold that was there when it began."""
        evidence = self.evidence()
        for event in self.of["asked"]:
            if event.status != 0 or self.has_changed(event.at - LOST_S * S, event.until):
                continue
            begun, said = {}, set()
            for line in evidence[event.lock]:
                first = begun.setdefault(line.token, line)
                if (
                    first.at < event.at
                    and line.at > event.until + LATE_MS * MS
                    and event.owner in (None, line.owner)
                    and event.slot in (None, line.hold[1])
                    and line.token not in said
                    and not self.forced(event.lock, self.job_of(line.job))
                ):
                    said.add(line.token)
                    late = (line.at - event.until) / MS
                    text = f"{line.job} ran {late:.0f} ms after release --stop had said that its hold is over"
                    self.wrong_at(event.lock, "exclusion", text, line.at)

    def check_newest(self):
        """At each moment at most one waiter of a lock has --supersede."""
        said = set()
        for look in self.of["seen"]:
            newest = [owner for owner in look.ids if self.is_newest(owner)]
            if len(newest) > 1 and (look.lock, newest[0]) not in said:
                said.add((look.lock, newest[0]))
                names = " and ".join(self.owners[owner] for owner in newest)
                self.wrong_at(look.lock, "order", f"{names} waited at once, both with --supersede", look.at)

    def is_newest(self, owner):
        job = self.whose(owner)
        return job is not None and job.newest

    def may_be_superseded(self, job):
        """Whether another job with --supersede came while this one waited; or just before, where clocks were set back."""
        life = (job.spawned - self.set_back(), job.ended)
        return job.newest and any(
            other.newest and other is not job and other.lock == job.lock and meets(other.life, life)
            for other in self.jobs.values()
        )

    def set_back(self):
        """By how much the server's clock was set back in all, in ns."""
        return sum(max(0, -step.ms) * MS for step in self.steps)

    def may_have_succeeded(self, job):
        """Whether a COMMAND of this lock may have ended with 0, late enough for --once-ok of this job; also one of an
        inner wrap, which may have ended long before the outer one."""
        if not job.once_ok:
            return False
        steps = sum(abs(step.ms) for step in self.steps)
        times = job.spawned - int((job.once_ok * FASTEST + steps) * MS) - S, job.ended + S
        wraps = {other.name: other for other in self.jobs.values() if other.kind == "wrap" and other.own == 0}
        ends = [other.ended for other in wraps.values() if job.lock in other.taken and other.finished]
        ends += [line.at for line in self.of["end"] if line.lock == job.lock and "/" in line.job and line.root in wraps]
        return any(times[0] <= at <= times[1] for at in ends)

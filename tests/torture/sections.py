"""Checks the critical sections for check.py: which of them were there at once, and their tokens."""

import bisect
import collections

from history import LOST_S, MS, S, History, fit_together, meets

FORCED_S = 5  # a COMMAND whose lock was broken is stopped within 1 s; a busy machine takes longer
NEVER = 4102444800000  # tokens from here on are forged
FASTEST = 1.08  # the server's clock
LATE_MS = 100  # the driver sees so late that a command has ended, and a section that it has begun
STALL_MS = 50  # after such a stall a guard may be late to stop COMMAND


class Line:
    """A line of a section."""

    def __init__(self, event, hold):
        self.at, self.token, self.name, self.hold = event["at"], event["token"], event["job"], hold
        self.owner, self.root = event.get("owner"), event["job"].split("/")[0]


def shown(hold):
    return f"slot {hold[1]}" if hold[0] == "slots" else hold[0]


def also(hold):
    """What a message says of a hold that is not exclusive."""
    return "" if hold[0] == "exclusive" else f", {shown(hold)}"


class Sections(History):
    """A history with the checks of its sections."""

    def find_grants(self):
        """Finds the first line of each hold, by lock, and when its owner was seen to wait for the last time before."""
        self.starts, self.waits, begun = collections.defaultdict(list), {}, {}
        for event in self.history:
            key = event.get("lock"), event.get("owner")
            if event["what"] == "start" and key not in begun:
                begun[key] = event["at"]
                self.starts[event["lock"]].append(Line(event, self.hold_of(event)))
        for lock, looks in self.looks.items():
            for look in looks:
                for owner, _ in look["queue"]:
                    if look["at"] < begun.get((lock, owner), 0):
                        self.waits[lock, owner] = look["at"]

    def evidence(self):
        """The lines of the sections that count, by lock."""
        found = collections.defaultdict(list)
        void = {}
        for event in self.history:
            if event["what"] not in ("start", "beat", "end"):
                continue
            name, at = event["job"], event["at"]
            job = self.job_of(name)
            if job is not None:
                if name not in void:
                    void[name] = self.void(job, name)
                if any(since <= at <= until for since, until in void[name]):
                    continue
            found[event["lock"]].append(Line(event, self.hold_of(event)))
        return found

    def stood_still(self, since, at):
        """Whether the machine stood still shortly before this time, for longer than the old section ran on."""
        least = max(STALL_MS * MS, at - since)
        return any(stall[1] - stall[0] >= least and meets(stall, (since - S, at)) for stall in self.stalls)

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
                if (begun.root, begun.hold) != (line.root, line.hold) and (line.token, line.name) not in said:
                    said.add((line.token, line.name))
                    self.judge_double(lock, line, begun)
                elif line.token < newer.token and (line.token, newer.token) not in said:
                    if self.judge_overlap(lock, line, begun, newer):
                        said.add((line.token, newer.token))
                elif line.hold not in largest or line.token > largest[line.hold].token:
                    largest[line.hold] = line
            self.check_growth(lock, list(first.values()))

    def judge_double(self, lock, line, begun):
        if line.root != begun.root:
            text = f"{line.name} and {begun.name} both had token {line.token} of lock {lock}"
        else:
            text = f"lock {lock}: {line.name} had it as {shown(line.hold)}, and {begun.name} as {shown(begun.hold)}"
        self.violated("tokens", text, line.at, (lock,))

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
            fits = fit_together(line.hold, other.hold)
            if other.token > line.token and fits and not self.was_set_back(other, line):
                self.wrong_at(
                    lock, "tokens",
                    f"{line.name} asked after {other.name} had begun with token {other.token}, "
                    f"and got {line.token}", line.at,
                )

    def was_set_back(self, earlier, later):
        """Whether the later one has a smaller token because the clock was set back by more than the difference, and the
        server lost the tokens that it had given."""
        times = earlier.at, later.at
        # one from before the earlier one counts, too, if its clock had not caught up yet
        ms = sum(
            step["ms"] for step in self.steps
            if times[0] <= step["at"] + max(0, -step["ms"]) * MS and step["at"] <= times[1]
        )
        has_lost = any(event.get("lost") and meets((event["at"], event["until"]), times) for event in self.outages)
        return has_lost and -ms > earlier.token - later.token

    def waited_until(self, lock, line):
        """A time before the grant of this section: the job began, or was seen to wait."""
        job = self.job_of(line.name)
        if job is None:
            return 0
        return max(self.waits.get((lock, line.owner), 0), job.spawned if line.name == job.name else job.started or 0)

    def judge_overlap(self, lock, line, begun, newer):
        """Judges a line of a section after a newer one has begun that does not fit beside it. Returns whether it is a
        violation."""
        at, since = line.at, newer.at
        if begun.at > since and self.was_set_back(newer, begun):
            return False
        if begun.at > since:
            self.wrong_at(
                lock, "tokens",
                f"{line.name} began with token {line.token} after {newer.name}, with {newer.token}", at,
            )
            return True
        job = self.job_of(line.name)
        # Its wrapper may be dead by then, and its guard stops COMMAND.
        if job is not None and any(
            event["at"] <= at <= event["until"] + FORCED_S * S and event["at"] <= since
            for event in self.aimed_at("force", lock, job, (job.spawned, at))
        ):
            return False
        if self.stood_still(since, at):
            self.stalled.add((lock, line.token))
            return False
        self.wrong_at(
            lock, "exclusion",
            f"{line.name} (token {line.token}{also(line.hold)}) ran {(at - since) / MS:.1f} ms after "
            f"{newer.name} (token {newer.token}{also(newer.hold)}) had begun", at,
        )
        return True

    def check_slots(self):
        """A section has a slot if it asked for slots, and then one of these. So there are never more holders than
        slots, since check_exclusion sees that no slot has two."""
        for event in self.history:
            job = self.job_of(event.get("job") or "")
            if event["what"] != "start" or job is None:
                continue
            (mode, slot), inner = self.hold_of(event), "/" in event["job"]
            if slot not in job.slots[-1 if inner else 0] if mode == "slots" else slot:
                self.wrong_at(
                    event["lock"], "exclusion",
                    f"{event['job']} has slot '{slot}', and asked for "
                    f"{job.slots[-1 if inner else 0]}", event["at"],
                )
            if inner and job.misfit and event["owner"] == job.owner:
                self.wrong_at(
                    event["lock"], "exclusion",
                    f"{event['job']} went into a hold that is not what it asked for", event["at"],
                )

    def check_all_taken(self):
        """A section has all locks that its job takes, and no other."""
        begun = collections.defaultdict(list)  # by process
        for event in self.history:
            if event["what"] == "start" and "/" not in event["job"] and self.job_of(event["job"]) is not None:
                begun[event["job"], event["pid"], event["at"]].append(event["lock"])
        for (name, _, at), locks in begun.items():
            if sorted(locks) != sorted(self.job_of(name).taken):
                self.violated(
                    "exclusion", f"{name} began with {locks}, and asked for {self.job_of(name).taken}", at, (name,)
                )

    def check_kept(self):
        """With --min-hold nothing that does not fit begins before that time is over."""
        for lock, starts in self.starts.items():
            for line in starts:
                job = self.job_of(line.name)
                if job is None or not job.min_hold or job.faults or job.pauses:
                    continue
                if job.status != job.own or not job.finished:
                    continue
                until = self.waited_until(lock, line) + int(job.min_hold * MS / FASTEST)
                times = line.at, until
                if self.aimed_at("force", lock, job, times) or self.aimed_at("asked", lock, job, times):
                    continue
                if self.clock_or_data_changed(*times):
                    continue
                for other in starts:
                    if other.token > line.token and other.at < until and not fit_together(line.hold, other.hold):
                        self.wrong_at(
                            lock, "exclusion",
                            f"{other.name} began {(until - other.at) / MS:.0f} ms before the --min-hold "
                            f"of {line.name} was over", other.at,
                        )

    def check_once(self):
        """With --once-per no COMMAND begins too short a time after the COMMAND of another wrap, however it holds."""
        for lock, starts in self.starts.items():
            for line in starts:
                job = self.job_of(line.name)
                if job is None or not job.once_per or line.name != job.name:
                    continue
                for other in starts:
                    before = self.job_of(other.name)
                    least = self.waited_until(lock, other) + int(job.once_per * 0.9 * MS / FASTEST)
                    if (
                        before is not None
                        and before.kind == "wrap"
                        and other.token < line.token
                        and line.at < least
                        and not self.clock_or_data_changed(other.at, line.at)
                    ):
                        self.wrong_at(
                            lock, "exclusion",
                            f"{line.name} began {(least - line.at) / MS:.0f} ms too early for its "
                            f"--once-per after {other.name}", line.at,
                        )

    def clock_or_data_changed(self, since, until):
        times = (since - S, until)
        return any(meets((event["at"], event["until"] + S), times) for event in self.steps) or any(
            event.get("lost") and meets((event["at"], event["until"] + LOST_S * S), times) for event in self.outages
        )

    def check_forged(self):
        """No forged message starts a section."""
        for event in self.history:
            if event["what"] == "start" and event["token"] >= NEVER:
                self.wrong_at(
                    event["lock"], "forged",
                    f"{event['job']} began with token {event['token']}, of a forged message", event["at"],
                )

    # ---- What jobs and people want of others: that one stops, that only the newest waits, that it went well

    def asked(self, lock, job):
        """The events that asked this job, or may have asked it, to stop."""
        return self.aimed_at("asked", lock, job, (job.spawned - S, job.ended))

    def check_asked(self):
        """When `release --stop` has ended with 0, nothing runs any more under a hold that was there when it began."""
        evidence = self.evidence()
        for event in self.of("asked"):
            if event["status"] != 0 or self.clock_or_data_changed(event["at"] - LOST_S * S, event["until"]):
                continue
            begun, said = {}, set()
            for line in evidence[event["lock"]]:
                first = begun.setdefault(line.token, line)
                if (
                    first.at < event["at"]
                    and line.at > event["until"] + LATE_MS * MS
                    and event.get("owner", line.owner) == line.owner
                    and event.get("slot", line.hold[1]) == line.hold[1]
                    and line.token not in said
                    and not self.forced(event["lock"], self.job_of(line.name))
                ):
                    said.add(line.token)
                    self.wrong_at(
                        event["lock"], "exclusion",
                        f"{line.name} ran {(line.at - event['until']) / MS:.0f} ms after "
                        "release --stop had said that its hold is over", line.at,
                    )

    def check_newest(self):
        """At each moment at most one waiter of a lock has --supersede."""
        for lock, looks in self.looks.items():
            said = set()
            for look in looks:
                newest = [owner for owner, _ in look["queue"] if self.is_newest(owner)]
                if len(newest) > 1 and newest[0] not in said:
                    said.add(newest[0])
                    names = " and ".join(self.owners[owner] for owner in newest)
                    self.wrong_at(lock, "order", f"{names} waited at once, both with --supersede", look["at"])

    def is_newest(self, owner):
        job = self.job_of(self.owners.get(owner) or "")
        return job is not None and job.newest

    def may_be_superseded(self, job):
        """Whether another job with --supersede came while this one waited; or just before, where clocks were set back."""
        back = sum(max(0, -step["ms"]) * MS for step in self.steps)
        return job.newest and any(
            other.newest and other is not job and other.locks[0] == job.locks[0] and meets(other.life, (job.life[0] - back, job.life[1]))
            for other in self.jobs.values()
        )

    def inner_ends(self, job, lock):
        """When COMMANDs of the inner wrap of a job came to their end."""
        return [
            event["at"]
            for event in self.history
            if event["what"] == "end" and event["job"] == job.name + "/inner" and event["lock"] == lock
        ]

    def may_have_succeeded(self, job):
        """Whether a COMMAND of this lock may have ended with 0, late enough for --once-ok of this job; also one of an
        inner wrap, which may have ended long before the outer one."""
        if not job.once_ok:
            return False
        steps = sum(abs(step["ms"]) for step in self.steps)
        since = job.spawned - int((job.once_ok * FASTEST + steps) * MS) - S
        return any(
            other.kind == "wrap"
            and other.own == 0
            and (
                job.locks[0] in other.taken
                and other.finished
                and since <= other.ended <= job.ended + S
                or any(since <= at <= job.ended + S for at in self.inner_ends(other, job.locks[0]))
            )
            for other in self.jobs.values()
        )

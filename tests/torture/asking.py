"""Checks for check.py what jobs and people want of others: that one stops, that only the newest waits, that it went well."""

from history import LOST_S, MS, S, meets
from sections import FASTEST, Sections

LATE_MS = 100  # the driver sees so late that a command has ended, and a section that it has begun


class Requests(Sections):
    """A history with the checks of these."""

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
                    self.violated(
                        "exclusion",
                        f"lock {event['lock']}: {line.name} ran {(line.at - event['until']) / MS:.0f} ms after "
                        "release --stop had said that its hold is over",
                        line.at,
                        (event["lock"],),
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
                    self.violated(
                        "order", f"lock {lock}: {names} waited at once, both with --supersede", look["at"], (lock,)
                    )

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

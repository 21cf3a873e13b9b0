"""The history of a round, and what the faults in it excuse; see check.py."""

import bisect
import collections
import json
import os

MS = 1_000_000
S = 1_000_000_000
FOREVER = 1 << 62

LOST_S = 8  # a holder finds the server within 1.3 s, and stops within 1 s
BACK_S = 3  # after a fault a waiter takes so long to be present again on a busy machine
CUT_S = 10  # a waiter that is absent for longer was not cut off by that
FORGOTTEN_S = 25  # a waiter on a dead wire finds out with its sign of life (11 s), and connects anew
TOLD_MS = 30  # a message takes no longer, or the history has the delay

BETWEEN = 2**-8  # tokens are whole numbers
GUARDS = ("wrapper", "guard")
UNGUARDED = ("keeper", "script", "redisson")  # nothing stops their sections
WAITERS = ("wrapper", "acquire", "script", "redisson")


def load(path):
    """The events of a file, without a last line that is incomplete because its writer died."""
    events = []
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):
                    events.append(json.loads(line))
    except FileNotFoundError:
        pass
    return events


def overlap(a, b):
    """The length of the overlap of two intervals, in ns."""
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def fit_together(one, other):
    """Whether two holds, (mode, slot) each, may be there at once."""
    if one[0] != other[0]:
        return False
    return one[0] == "shared" or one[0] == "slots" and one[1] != other[1] and None not in (one[1], other[1])


def meets(a, b):
    return a[0] <= b[1] and b[0] <= a[1]


# What an event "job" may leave out.
DEFAULTS = {
    "inner": [], "also": [], "wait": None, "path": "direct", "own": 0, "told": None, "max_hold": None, "min_hold": None,
    "once_per": None, "once_ok": None, "newest": False, "mode": "exclusive", "slots": [], "inner_mode": "exclusive",
    "inner_slots": [], "misfit": False,
}  # fmt: skip


class Job:
    """What the driver has said of a job (see Job.fields in jobs.py), and what became of it."""

    def __init__(self, event):
        self.__dict__.update(DEFAULTS, **event)
        self.name, self.lease, self.spawned = self.job, self.lease * MS, self.at
        self.taken = [self.lock, *self.also]  # the locks that it takes itself
        self.locks = self.taken + self.inner  # an inner wrap may want the same lock
        self.by_hand = self.told == "turns"  # no process of the lock's watches the script
        # how it wants its locks, and in the end those of an inner wrap: exclusive, shared, slots; and which slots
        self.modes = [self.mode] + ["exclusive"] * len(self.also) + [self.inner_mode]
        self.slots = [self.slots] + [[]] * len(self.also) + [self.inner_slots]
        self.slot = self.owner = None  # that it got; as which it held the lock
        self.ended, self.status = FOREVER, None
        self.faults, self.pauses, self.reports, self.removed = [], [], [], []
        self.started = None  # when its first section began
        self.finished = False  # its main process came to the end of its section

    def wants_of(self, lock):
        """The holds that would do: {(mode, slot)...}. A job inside that wants the same lock goes in, and does not wait."""
        for name, mode, slots in zip(self.locks, self.modes, self.slots):
            if name == lock:
                return {(mode, slot) for slot in slots} if mode == "slots" else {(mode, "")}
        return set()

    @property
    def hold(self):
        """How it has its lock; the slot is None if that is not known."""
        return self.modes[0], (self.slot if self.modes[0] == "slots" else "")

    @property
    def life(self):
        return self.spawned, self.ended

    def hit(self, fault, *roles):
        return [
            event
            for event in self.faults
            if event["fault"] == fault and (not roles or event["role"] in roles)
        ]

    def down(self, *roles):
        """When processes of these roles were dead or stopped: [(from, until)...]."""
        found = [(event["at"], FOREVER) for event in self.hit("kill", *roles)]
        for event in self.hit("stop", *roles):
            goes_on = [
                cont["until"]
                for cont in self.hit("cont")
                if cont["pid"] == event["pid"] and cont["at"] > event["at"]
            ]
            found.append((event["at"], min(goes_on, default=FOREVER)))
        return sorted(found)

    def unguarded(self):
        """Since when nothing guards COMMAND: both guards were killed, or one was killed and then the other stopped.
        (If one was stopped earlier, the death of the other continues it; one that is stopped for too long dies.)"""
        return min(
            (
                max(event["at"], since)
                for one, other in (GUARDS, GUARDS[::-1])
                for event in self.hit("kill", one)
                for since, _ in self.down(other)
                if since >= event["at"] or since in [kill["at"] for kill in self.hit("kill", other)]
            ),
            default=FOREVER,
        )


class History:
    def __init__(self, folder):
        self.events = sorted(load(os.path.join(folder, "events")), key=lambda event: event["at"])
        self.history = sorted(load(os.path.join(folder, "history")), key=lambda event: event["at"])
        self.violations = []  # (property, text, at, about)
        self.stalled = set()  # overlaps that a stall of the machine excuses
        self.sections = 0
        self.jobs = {event["job"]: Job(event) for event in self.of("job")}
        self.number_holds()
        self.outages = self.of("outage")
        self.steps = self.of("step")
        self.looks = collections.defaultdict(list)
        for event in self.of("seen"):
            self.looks[event["lock"]].append(event)
        self.stalls = [(event["at"], event["until"]) for event in self.history if event["what"] == "stall"]
        self.mode = next((event["mode"] for event in self.of("round")), "kept")
        self.owners = {event["owner"]: event["job"] for event in self.of("waiter")}
        self.assign()

    @property
    def excused(self):
        return len(self.stalled)

    def hold_of(self, event):
        """How the section that wrote this line has the lock: (mode, slot). Going in again keeps both."""
        job, mode = self.job_of(event["job"]), event.get("mode", "exclusive")
        if job is not None and "/" in event["job"] and event["lock"] == job.locks[0] and event["owner"] == job.owner:
            mode = job.modes[0]
        return mode, event.get("slot", "")

    def number_holds(self):
        """Gives the sections of Redisson clients, which have no tokens, numbers between the tokens of those around them."""
        largest, numbers = collections.defaultdict(int), {}
        for event in self.history:
            if event["what"] in ("start", "beat", "end"):
                if "token" not in event:
                    key = event["job"], event["lock"]
                    if event["what"] == "start" or key not in numbers:
                        numbers[key] = largest[event["lock"]] + BETWEEN
                    event["token"] = numbers[key]
                largest[event["lock"]] = max(largest[event["lock"]], event["token"])

    def is_redisson(self, owner):
        job = self.job_of(self.owners.get(owner) or "")
        return job is not None and job.kind == "redisson"

    def of(self, what):
        return [event for event in self.events if event["what"] == what]

    def job_of(self, name):
        """The job of this name, or of its part NAME/inner; or None."""
        return self.jobs.get(name.split("/")[0])

    def assign(self):
        for event in self.events:
            job = self.job_of(event.get("job") or "")
            if job is None:
                continue
            if event["what"] == "exit":
                job.ended, job.status = event["at"], event["status"]
            kept = {"fault": job.faults, "paused": job.pauses, "removed": job.removed}
            if event["what"] in kept:
                kept[event["what"]].append(event)
        for event in self.history:
            job = self.job_of(event.get("job") or "")
            if job is None:
                continue
            if event["what"] == "status":
                job.reports.append(event)
            elif event["what"] == "start" and event["job"] == job.name:
                self.sections += 1
                job.started = job.started or event["at"]
                if event["lock"] == job.locks[0]:
                    job.slot, job.owner = event.get("slot"), event["owner"]
                job.finished = False
            elif event["what"] == "start":
                self.sections += 1
            elif event["what"] == "end" and event["job"] == job.name:
                job.finished = True
            if event["what"] == "start":
                self.owners[event["owner"]] = event["job"]

    def violated(self, name, text, at=0, about=()):
        self.violations.append((name, text, at, about))

    def wrong_at(self, lock, name, text, at, *about):
        """A violation at this lock."""
        self.violated(name, f"lock {lock}: {text}", at, (lock, *about))

    def excerpt(self, at, about, around=S // 2, most=40):
        """The lines of the history around a violation."""
        lines, beats = [], set()
        for event in sorted(self.events + self.history, key=lambda event: event["at"]):
            if (
                abs(event["at"] - at) > around
                or about
                and event["what"] not in ("outage", "stall")
                and not {event.get("lock"), (event.get("job") or "").split("/")[0]} & set(about)
            ):
                continue
            key = event["what"], event.get("token"), event.get("pid")
            if event["what"] == "beat" and key in beats and event["at"] < at - 20 * MS:
                continue
            beats.add(key)
            lines.append(json.dumps(event, ensure_ascii=False))
        middle = bisect.bisect_left([json.loads(line)["at"] for line in lines], at)
        return lines[max(0, middle - most // 2) : middle + most // 2]

    # ---- What counts

    def ways(self, job):
        """The outages of the way between a job and the server."""
        return [event for event in self.outages if event["path"] in ("server", job.path)]

    def late(self, job, since=None, until=None):
        """For how long, at most, outages and stalls may have delayed the job."""
        life = (since or job.spawned, until or job.ended)
        return (
            sum(overlap(life, (event["at"], event["until"])) for event in self.ways(job))
            + sum(overlap(life, stall) for stall in self.stalls)
            + sum(overlap(life, (event["at"], event["until"])) for event in self.of("slow"))
        )

    def void(self, job, name):
        """When the lines of a job's section do not count: [(from, until)...]."""
        found = []
        if job.kind == "keeper":
            hits = [
                event["at"]
                for event in job.faults
                if event["role"] == "keeper" and event["fault"] in ("kill", "stop")
            ]
            hits += [event["at"] for event in self.ways(job) if event["until"] - event["at"] > job.lease // 3]
            hits += [stall[0] for stall in self.stalls if stall[1] - stall[0] > job.lease // 3]
            found += [(at + job.lease // 3, FOREVER) for at in hits]
            found += [
                (event["at"], FOREVER)
                for event in job.faults
                if event["role"] == "script" and event["fault"] == "kill"
            ]
        elif job.kind == "wrap":
            found.append((job.unguarded(), FOREVER))
            found += [(event["at"], FOREVER) for event in job.hit("kill", "command")]
            found += [(event["at"], FOREVER) for event in job.hit("term", "command", "wrapper")]
        if job.kind in UNGUARDED:
            found += [
                (event["at"], FOREVER) for lock in job.locks for event in self.forced(lock, job)
            ]
        lost = FOREVER if job.kind in UNGUARDED else LOST_S * S
        found += [
            (event["at"], min(FOREVER, event["until"] + lost))
            for event in self.outages
            if event.get("lost") and job.started and job.started <= event["until"]
        ]
        found += self.set_under(job) + self.paused_holding(job, name)
        if "/" in name and job.faults:  # a fault of the outer wrap may kill both guards of the inner one
            found.append((job.faults[0]["at"], FOREVER))
        return [interval for interval in found if interval[0] < FOREVER]

    def set_under(self, job):
        """When the server's clock had been set while the job held: [(from, until)...]."""
        lasts = FOREVER if job.kind in UNGUARDED else job.lease // 3 + LOST_S * S
        return [
            (step["at"], min(FOREVER, step["until"] + lasts))
            for step in self.steps
            if step["ms"] > 0 and job.started and job.started <= step["until"] + S // 2
        ]

    def paused_holding(self, job, name):
        """When the job's clock had stood still while it held: [(from, until)...]. A job that still waited is no
        holder, unless it was granted the lock meanwhile."""
        return [
            (pause["at"], pause["until"] + job.lease + S)
            for pause in job.pauses
            if "/" in name
            or not self.waited_at(job, pause["at"] + TOLD_MS * MS)
            # when the server's clock was set, too, its time does not tell the job about the pause
            or any(meets((step["at"], step["until"]), (job.spawned, pause["until"])) for step in self.steps)
        ]

    def waited_at(self, job, at):
        """Whether the looker saw the job wait then, or later, before its section began. One of several locks may be
        lost meanwhile: the wrap asks for all of them before it starts COMMAND."""
        return any(
            at <= look["at"] <= (job.started or FOREVER)
            and any(self.owners.get(owner) == job.name for owner, _ in look["queue"])
            for lock in job.taken
            for look in self.looks[lock]
        )

    def forced(self, lock, job):
        """The events that broke this lock, or the hold of this job, or may have, while the job lived."""
        return self.aimed_at("force", lock, job, job.life)

    def aimed_at(self, what, lock, job, times):
        """The events of this kind between these times that were, or may have been, about the hold of this job."""
        return [
            event
            for event in self.of(what)
            if event["lock"] == lock
            and meets((event["at"], event["until"]), times)
            and self.may_break(event, lock, job)
        ]

    def may_break(self, event, lock, job):
        """Whether the event breaks the lock for all, or the hold of this job, or may do so."""
        if event.get("owner"):
            return self.owners.get(event["owner"], "").split("/")[0] == job.name
        if event.get("slot") and lock == job.locks[0]:
            # what was broken before it had started is unknown
            return event["slot"] in ([job.slot] if job.started else job.slots[0])
        return not event.get("slot") or event["slot"] in job.slots[-1]

    # ---- Waiters that were away

    def was_away(self, job, lock, since, until):
        """Whether a fault may have kept a waiter from taking a turn of the lock then, though it looked present."""
        for event in job.faults:
            if event["fault"] == "cut" and meets(
                (event["at"] - 50 * MS, event["until"] + 50 * MS), (since, until)
            ):
                return True
        for stop in job.down(*WAITERS):
            if meets((stop[0], min(FOREVER, stop[1] + BACK_S * S)), (since, until)):
                return True
        restarted = max(
            (
                event["at"]
                for event in self.outages
                if self.restarts(event, lock) and event["up"] <= since
            ),
            default=0,
        )
        for event in self.ways(job):
            if self.restarts(event, lock) or event["path"] == "server" and event["until"] < restarted:
                continue  # then all waiters have the time to come back
            back = FORGOTTEN_S if event["kind"] == "forget" else BACK_S
            if meets((event["at"], event["until"] + back * S), (since, until)):
                return True
        return any(
            stall[1] - stall[0] > S and meets((stall[0] - 5 * S, stall[1] + S), (since, until))
            for stall in self.stalls
        )

    def restarts(self, event, lock):
        """Whether the event killed the server of this lock: then the whole cluster is down for a while."""
        return event["kind"] == "killed" and lock in event.get("hit", [lock])

    def was_cut(self, job, at):
        """Whether the job lost its connection a short time ago."""
        lost = [event["until"] for event in job.hit("cut")] + [event["until"] for event in self.ways(job)]
        return any(moment <= at <= moment + CUT_S * S for moment in lost)

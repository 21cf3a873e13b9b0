"""The history of a round, and what the faults in it excuse; see check.py."""

import collections
import json
import os

from machine import FOREVER, MS, S

LOST_S = 8  # a holder finds the server within 1.3 s, and stops within 1 s
BACK_S = 3  # after a fault a waiter takes so long to be present again on a busy machine
FORGOTTEN_S = 25  # a waiter on a dead wire finds out with its sign of life (11 s), and connects anew
TOLD_MS = 30  # a message takes no longer, or the history has the delay

BETWEEN = 2**-8  # tokens are whole numbers
GUARDS = ("wrapper", "guard")
UNGUARDED = ("keeper", "script", "redisson")  # nothing stops their sections
WAITERS = ("wrapper", "acquire", "script", "redisson")


def overlap(a, b):
    """The length of the overlap of two intervals, in ns."""
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def meets(a, b):
    return a[0] <= b[1] and b[0] <= a[1]


def met(events, times, after=0):
    """Whether one of the events was at these times, or not longer than `after` s before."""
    return any(meets((event.at, event.until + after * S), times) for event in events)


def spent(events, times):
    """How much of these times the events took, in ns."""
    return sum(overlap(event.times, times) for event in events)


def fit_together(one, other):
    """Whether two holds, (mode, slot) each, may be there at once."""
    if one[0] != other[0]:
        return False
    return one[0] == "shared" or one[0] == "slots" and one[1] != other[1] and None not in (one[1], other[1])


class Event:
    """A line of the history. What it does not say is None; without `until`, that is `at`."""

    def __init__(self, fields):
        self.__dict__.update({"until": fields["at"], **fields})

    def __getattr__(self, _name):
        return None

    @property
    def times(self):
        return self.at, self.until

    def by_lock(self):
        """A section that has several locks says NAME=TOKEN|..., and the owner of the first lock before those of the others."""
        if not self.tokens:
            return [self]
        (first, *others), found = self.held.split(), []
        for name, _, token in (pair.rpartition("=") for pair in self.tokens.split("|")):
            owner = first if name == self.lock else others.pop(0)
            found.append(Event({**self.__dict__, "lock": name, "token": int(token), "owner": owner}))
        return found


class Job(Event):
    """What the driver has said of a job (see Job.fields in jobs.py), and what became of it."""

    also = inner = slots = inner_slots = ()
    path, mode, inner_mode, own = "direct", "exclusive", "exclusive", 0
    ended = FOREVER
    finished = False  # its main process came to the end of its section
    # None: when its first section began; the slot that it got; as which it held the lock; its status

    def __init__(self, event):
        super().__init__(event.__dict__)
        self.name, self.lease, self.spawned = self.job, self.lease * MS, self.at
        self.taken = [self.lock, *self.also]  # the locks that it takes itself
        self.locks = [*self.taken, *self.inner]  # an inner wrap may want the same lock
        # how it wants its locks, and in the end those of an inner wrap: exclusive, shared, slots; and which slots
        self.modes = [self.mode] + ["exclusive"] * len(self.also) + [self.inner_mode]
        self.slots = [list(self.slots)] + [[]] * len(self.also) + [list(self.inner_slots)]
        self.slot = None
        self.faults, self.pauses, self.reports, self.removed = [], [], [], []

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
        return [event for event in self.faults if event.fault == fault and event.role in (roles or [event.role])]

    def down(self, *roles):
        """When processes of these roles were dead or stopped: [(from, until)...]."""
        found = [(event.at, FOREVER) for event in self.hit("kill", *roles)]
        for event in self.hit("stop", *roles):
            goes_on = [cont.until for cont in self.hit("cont") if cont.pid == event.pid and cont.at > event.at]
            found.append((event.at, min(goes_on, default=FOREVER)))
        return sorted(found)

    def unguarded(self):
        """Since when nothing guards COMMAND: both guards were killed, or one was killed and then the other stopped.
        (If one was stopped earlier, the death of the other continues it; one that is stopped for too long dies.)"""
        return min(
            (
                max(event.at, since)
                for one, other in (GUARDS, GUARDS[::-1])
                for event in self.hit("kill", one)
                for since, _ in self.down(other)
                if since >= event.at or since in [kill.at for kill in self.hit("kill", other)]
            ),
            default=FOREVER,
        )


class History:
    def __init__(self, folder):
        with open(os.path.join(folder, "history"), encoding="utf-8") as file:
            # what a writer wrote as it died is incomplete: the end of the file, or in front of the next one's line
            lines = [line[max(line.rfind('{"at":'), 0):] for line in file if line.endswith("\n")]
        events = [Event({**json.loads(line), "raw": line.strip()}) for line in lines]
        self.events = sorted((each for event in events for each in event.by_lock()), key=lambda event: event.at)
        self.of = collections.defaultdict(list)
        for event in self.events:
            self.of[event.what].append(event)
        self.violations = []  # (property, text, at, what it is about)
        self.stalled = set()  # overlaps that a stall of the machine excuses
        self.jobs = {event.job: Job(event) for event in self.of["job"]}
        self.owners = {event.owner: event.job for event in self.of["waiter"]}
        self.stalls, self.steps, self.outages = self.of["stall"], self.of["step"], self.of["outage"]
        self.losses = [event for event in self.outages if event.lost]  # of data
        self.looks = collections.defaultdict(list)
        for look in self.of["seen"]:
            look.ids = [owner for owner, _ in look.queue]
            self.looks[look.lock].append(look)
        self.lines = [event for event in self.events if event.what in ("start", "beat", "end")]  # of the sections
        self.number_holds()
        self.assign()

    def number_holds(self):
        """Gives the sections of Redisson clients, which have no tokens, numbers between the tokens of those around them."""
        largest, numbers = collections.defaultdict(int), {}
        for line in self.lines:
            if line.token is None:
                key = line.job, line.lock
                if line.what == "start" or key not in numbers:
                    numbers[key] = largest[line.lock] + BETWEEN
                line.token = numbers[key]
            largest[line.lock] = max(largest[line.lock], line.token)

    def assign(self):
        """Tells each job what was done to it, and what became of it."""
        for event in self.events:
            job = self.job_of(event.job)
            if job is None:
                continue
            kept = {"fault": job.faults, "paused": job.pauses, "removed": job.removed, "status": job.reports}
            kept.get(event.what, []).append(event)
            if event.what == "exit":
                job.ended, job.status = event.at, event.status
            elif event.what == "start" and event.job == job.name:
                job.started = job.started or event.at
                job.finished = False
                if event.lock == job.locks[0]:
                    job.slot = event.slot
            elif event.what == "end" and event.job == job.name:
                job.finished = True
        for line in self.lines:
            if line.what == "start":
                self.owners[line.owner] = line.job
            line.root, line.hold = line.job.split("/")[0], (line.mode or "exclusive", line.slot or "")

    def job_of(self, name):
        """The job of this name, or of its part NAME/inner; or None."""
        return self.jobs.get((name or "").split("/")[0])

    def whose(self, owner):
        """The job with this owner id, or None."""
        return self.job_of(self.owners.get(owner))

    def is_redisson(self, owner):
        job = self.whose(owner)
        return job is not None and job.kind == "redisson"

    def violated(self, name, text, at, *about):
        self.violations.append((name, text, at, about))

    def wrong_at(self, lock, name, text, at, *about):
        """A violation at this lock."""
        self.violated(name, f"lock {lock}: {text}", at, lock, *about)

    def excerpt(self, at, about, around=S // 2, most=20):
        """The lines of the history around a violation."""
        near = [event for event in self.events if abs(event.at - at) <= around and event.what != "beat"]
        near = [
            event
            for event in near
            if event.what in ("outage", "stall") or {event.lock, (event.job or "").split("/")[0]} & set(about)
        ]
        before = sum(event.at < at for event in near)
        return [event.raw for event in near[max(0, before - most) : before + most]]

    # ---- What counts

    def ways(self, job):
        """The outages of the way between a job and the server."""
        return [event for event in self.outages if event.path in ("server", job.path)]

    def late(self, job, since=None, until=None):
        """For how long, at most, outages and stalls may have delayed the job."""
        return spent(self.ways(job) + self.stalls + self.of["slow"], (since or job.spawned, until or job.ended))

    def void(self, job, name):
        """When the lines of a job's section do not count: [(from, until)...]."""
        found = []  # since when, for ever
        if job.kind == "keeper":
            third = job.lease // 3
            hits = [event.at for event in job.hit("kill", "keeper") + job.hit("stop", "keeper")]
            hits += [event.at for event in self.ways(job) + self.stalls if event.until - event.at > third]
            found += [at + third for at in hits] + [event.at for event in job.hit("kill", "script")]
        elif job.kind == "wrap":
            hits = job.hit("kill", "command") + job.hit("term", "command", "wrapper")
            found += [job.unguarded(), *(event.at for event in hits)]
        if job.kind in UNGUARDED:
            found += [event.at for lock in job.locks for event in self.forced(lock, job)]
        if "/" in name and job.faults:  # a fault of the outer wrap may kill both guards of the inner one
            found.append(job.faults[0].at)
        found = [(at, FOREVER) for at in found]
        if job.started:
            # the server lost its data, or its clock was set
            lost, third = (FOREVER, 0) if job.kind in UNGUARDED else (LOST_S * S, job.lease // 3)
            found += [(event.at, event.until + lost) for event in self.losses if job.started <= event.until]
            found += [
                (step.at, step.until + third + lost)
                for step in self.steps
                if step.ms > 0 and job.started <= step.until + S // 2
            ]
        return found + self.paused_holding(job, name)

    def paused_holding(self, job, name):
        """When the job's clock had stood still while it held: [(from, until)...]. A job that still waited is no
        holder, unless it was granted the lock meanwhile."""
        return [
            (pause.at, pause.until + job.lease + S)
            for pause in job.pauses
            if "/" in name
            or not self.waited_at(job, pause.at + TOLD_MS * MS)
            # when the server's clock was set, too, its time does not tell the job about the pause
            or met(self.steps, (job.spawned, pause.until))
        ]

    def waited_at(self, job, at):
        """Whether the looker saw the job wait then, or later, before its section began. One of several locks may be
        lost meanwhile: the wrap asks for all of them before it starts COMMAND."""
        return any(
            at <= look.at <= (job.started or FOREVER) and any(self.owners.get(owner) == job.name for owner in look.ids)
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
            for event in self.of[what]
            if event.lock == lock and meets(event.times, times) and self.may_break(event, lock, job)
        ]

    def may_break(self, event, lock, job):
        """Whether the event breaks the lock for all, or the hold of this job, or may do so."""
        if event.owner:
            return self.whose(event.owner) is job
        if event.slot and lock == job.locks[0]:
            # what was broken before it had started is unknown
            return event.slot in ([job.slot] if job.started else job.slots[0])
        return not event.slot or event.slot in job.slots[-1]

    # ---- Waiters that were away

    def was_away(self, job, lock, since, until):
        """Whether a fault may have kept a waiter from taking a turn of the lock then, though it looked present."""
        times = since, until
        if met(job.hit("cut"), (since - 50 * MS, until + 50 * MS)):
            return True
        if any(meets((at, back + BACK_S * S), times) for at, back in job.down(*WAITERS)):
            return True
        restarts = [event for event in self.outages if self.restarts(event, lock)]
        restarted = max((event.at for event in restarts if event.up <= since), default=0)
        for event in self.ways(job):
            if event in restarts or event.path == "server" and event.until < restarted:
                continue  # then all waiters have the time to come back
            if met([event], times, FORGOTTEN_S if event.kind == "forget" else BACK_S):
                return True
        stalls = [stall for stall in self.stalls if stall.until - stall.at > S]
        return met(stalls, (since, until + 5 * S), 1)

    def restarts(self, event, lock):
        """Whether the event killed the server of this lock: then the whole cluster is down for a while."""
        return event.kind == "killed" and (event.hit is None or lock in event.hit)

"""Checks one lock for check.py: the order of its grants, and how long it was idle."""

from history import BACK_S, MS, S, TOLD_MS, fit_together, meets, met, overlap, spent

RESTART_S = 2  # for so long after a restart, no waiter is passed over
SET_S = 3  # a hold that was handed over ends at once when the clock is set
HUNG_S = 5  # the time that a waiter costs that does not take its turn
MOST_HUNG = 3  # so many of them: then the others are silent, and passed over together
PUT_BACK_S = 13  # a script of ours comes by within 10 s, on a busy machine later
ORPHANED_S = 10  # the time that it costs to lose a holder and the first waiter at once
IDLE_S = 3  # for everything else on a busy machine
SLOW_MS = 100  # a server may take so long to answer
CUT_S = 10  # a waiter that is absent for longer was not cut off by that


class Queue:
    """The queue of one lock, as the looker saw it every few milliseconds."""

    def __init__(self, history, lock):
        self.history, self.lock = history, lock
        self.whose, self.is_redisson = history.whose, history.is_redisson
        self.lines = [line for line in history.lines if line.lock == lock]
        self.granted = {}  # owner -> (token, time)
        for line in self.lines:
            if line.what == "start":
                self.granted.setdefault(line.owner, (line.token, line.at))
        self.looks = history.looks[lock]
        self.first, self.last = {}, {}  # by owner: the number of the look
        self.returned = set()
        self.find_stays()

    def find_stays(self):
        """A Redisson client that lost its place, and asks again, is a newcomer then."""
        for index, look in enumerate(self.looks):
            for owner in look.ids:
                if owner not in self.first or self.has_lost_its_place(owner, look.at, index - 1):
                    self.returned.update({owner} & set(self.first))
                    self.first[owner] = index
                self.last[owner] = index
        for owner, (_, at) in self.granted.items():
            if owner in self.first and self.has_lost_its_place(owner, at, len(self.looks) - 1):
                del self.first[owner], self.last[owner]

    def has_lost_its_place(self, owner, at, index):
        """Whether the queue may be lost since a Redisson client was seen, or something was done to it, and it was missed in the
        look of that number."""
        if not self.is_redisson(owner):
            return False
        job, seen = self.whose(owner), self.looks[self.last[owner]]
        if met(self.history.losses, (seen.at, at)):
            return True
        hits = [event.times for event in job.faults + job.removed] + job.down("redisson")
        return self.last[owner] < index and any(meets((seen.at - SET_S * S, at), hit) for hit in hits)

    def check(self):
        for owner, (token, at) in self.granted.items():
            before, after = self.around(owner, at)
            if before is not None:
                self.check_grant(owner, token, before, after)
        self.check_places()
        self.check_idle()

    def check_places(self):
        """A waiter of ours to which nothing was done has a place in Redisson's list, too, or gets it back in time."""
        since = {}
        for look in self.looks:
            displaced = [owner for owner in look.displaced or () if [owner, 1] in look.queue]
            since = {owner: since.get(owner, look.at) for owner in displaced}
            for owner, began in since.items():
                job, times = self.whose(owner), (began, look.at)
                # these could have put it right
                ours = [each for each in map(self.whose, look.ids) if each is not None and each.kind != "redisson"]
                if (
                    look.at - began > PUT_BACK_S * S + spent(self.history.stalls, times)
                    and job is not None
                    and not self.is_disturbed(*times)
                    and not any(self.history.was_away(each, self.lock, *times) for each in ours)
                ):
                    text = f"{job.name} had no place in Redisson's list for too long"
                    self.history.wrong_at(self.lock, "order", text, look.at, job.name)
                    return

    # ---- The order of the grants

    def around(self, owner, at):
        """The looks before and after the grant to this owner, at this time."""
        looks = list(enumerate(self.looks))
        after = next((index for index, look in looks if owner in look.holders), None)
        if after is None or self.looks[after].at > at:
            after = next((index for index, look in looks if look.at > at), None)
        if not after:
            return None, None
        before = after - 1
        while before > 0 and self.looks[before].until > at:
            before -= 1
        return before, after

    def came_before(self, waiter, owner):
        """Whether the waiter came before the other one, by the looks."""
        if owner not in self.first:
            job = self.whose(owner)
            return job is not None and self.looks[self.first[waiter]].until < job.spawned
        # the first look that may have seen both
        order = self.looks[max(self.first[waiter], self.first[owner])].ids
        if waiter in order and owner in order:
            stands_before = order.index(waiter) < order.index(owner)
            if self.first[waiter] == self.first[owner]:
                return stands_before
            # one of ours may come to a new master with the older ticket, and a server that lost data may know one of Redisson's
            if not stands_before and (owner in self.returned or not self.is_redisson(owner)):
                return False
        return self.first[waiter] < self.first[owner]

    def check_grant(self, owner, token, before, after):
        since, until = self.looks[before].at, self.looks[after].until
        for waiter, first in self.first.items():
            job = self.whose(waiter)
            if (
                waiter != owner
                and first <= before
                and job is not None
                # it went on waiting
                and (self.granted[waiter][0] > token if waiter in self.granted else self.last[waiter] > after)
                and self.came_before(waiter, owner)
                and not self.is_excused(job, waiter, owner, self.looks[before : after + 1], (since, until))
            ):
                there = "" if [waiter, 1] in self.looks[before].queue else ", which was not there"
                self.history.wrong_at(
                    self.lock, "order",
                    f"{self.history.owners.get(owner, owner)} was granted "
                    f"token {token} before {job.name}{there}, who waited longer", until, job.name,
                )  # fmt: skip

    def is_excused(self, job, waiter, owner, looks, times):
        until = times[1]
        if (
            job.ended < until
            or any(event.at < until for event in job.removed + job.hit("kill") + job.hit("term"))
            or self.history.was_away(job, self.lock, *times)
            or self.may_have_taken_over(owner, waiter)
            or self.is_newcomer_after_loss(owner, until)
            # the waiter had no place in Redisson's list then
            or self.is_redisson(owner) and any(waiter in (look.displaced or ()) for look in looks)
            or met(self.history.steps, times, SET_S)
        ):
            return True
        is_there = all([waiter, 1] in look.queue for look in (looks[0], looks[-1]))
        cuts = job.hit("cut") + self.history.ways(job)
        if is_there or not any(event.until <= until <= event.until + CUT_S * S for event in cuts):
            return False
        return self.was_handed_in_vain(job, times) or not self.is_just_restarted(job, until)

    def may_have_taken_over(self, owner, waiter):
        """Whether the owner has --supersede, and can have the place of another one with it that came before the waiter."""
        return self.history.is_newest(owner) and any(
            self.history.is_newest(other) and self.first[other] <= self.first[waiter]
            for other in self.first
            if other not in (owner, waiter)
        )

    def was_handed_in_vain(self, job, times):
        """Whether one release may have handed holds to both, and that of this job was over when the server was back. A
        waiter has a hold that was handed to it for its lease, or for a turn; the server's clock may be fast."""
        shortest = min(job.lease, HUNG_S * S) * 9 // 10
        return any(
            event.path == "server"
            and times[0] < event.at
            and event.until < times[1]
            and event.until - event.at >= shortest
            for event in self.history.outages
        )

    def is_just_restarted(self, job, at):
        """Whether the server knows of waiters for so short a time; after a loss of data, since the first of them is back."""
        for event in self.history.ways(job):
            if self.history.restarts(event, self.lock):
                back = self.first_back(event) if event.lost else None
                since = (back and back.at) if event.lost else event.up
                if since and since <= at < since + RESTART_S * S - SLOW_MS * MS:
                    return True
        return False

    def first_back(self, outage):
        """The first look that saw one of the waiters from before the loss again, or None."""
        known = {owner for owner, first in self.first.items() if self.looks[first].at < outage.at}
        return next((look for look in self.looks if look.at >= outage.up and known & {*look.holders, *look.ids}), None)

    def is_newcomer_after_loss(self, owner, at):
        """Whether this owner came after a loss of data: an empty server grants the lock to whichever asks first."""
        first = self.looks[self.first[owner]].at if owner in self.first else at
        for event in self.history.losses:
            if event.at <= first and event.at <= at <= event.until + BACK_S * S:
                back = self.first_back(event)
                if back is None or at <= back.until + TOLD_MS * MS:
                    return True
        return False

    # ---- How long the lock was idle

    def check_idle(self):
        """Checks each time in which the lock, or one of its slots, was free while a waiter waited for that to which
        nothing was done."""
        jobs = self.history.jobs.values()
        for hold in sorted({hold for job in jobs for hold in job.wants_of(self.lock)}):
            before, since = None, self.looks[0].at
            busy = [line for line in self.lines if not fit_together(hold, line.hold)]
            for line in [*busy, None]:
                until = line.at if line else self.looks[-1].until
                if until - since > IDLE_S * S:
                    self.judge_idle(hold, before, since, until)
                before, since = line, until

    def is_disturbed(self, since, until):
        servers = [event for event in self.history.outages if event.path == "server"]
        return met(self.history.steps + servers, (since - 2 * S, until), BACK_S)

    def judge_idle(self, hold, before, since, until):
        """Judges a time in which nobody had what does not fit beside this hold. before: the last line before."""
        for patient in self.first:
            begins, ends = times = self.first_in_line(patient, hold, since, until)
            if ends - begins <= IDLE_S * S or self.is_disturbed(begins, ends):
                continue
            allowed, count = self.may_be_idle(patient, hold, before, begins, ends)
            if ends - begins > allowed:
                name = self.history.owners.get(patient, patient)
                texts = {"exclusive": "nobody had it", "shared": "nobody but shared holders had it"}
                text = texts.get(hold[0], f"nobody had slot {hold[1]}")
                self.history.wrong_at(
                    self.lock, "idle",
                    f"{text} for {(times[1] - times[0]) / S:.1f} s, not {allowed / S:.1f}, while "
                    f"{name} waited, behind {count} that were hit", ends, name,
                )  # fmt: skip
                return

    def may_be_idle(self, patient, hold, before, since, until):
        """For how long that may be so, in ns; and how many that were hit cost a part of it."""
        times = since, until
        ahead = [owner for owner in self.ahead_of(patient, since, until) if self.hit_since(owner, until) is not None]
        hit = [self.hit_since(owner, until) for owner in ahead if not self.is_redisson(owner)]
        early = sum(at < since + S for at in hit)
        allowed = (HUNG_S * (len(ahead) - early + min(early, MOST_HUNG)) + IDLE_S) * S
        if ahead and hold[0] != "exclusive":
            allowed += ORPHANED_S * S  # the first for which there is no room was killed: its death tells nobody
        allowed += self.cost_of_holders(hold, before, since, until) + spent(self.history.stalls + self.history.of["slow"], times)
        # wraps of several locks held this one, and may still have waited for the others
        for look, later in zip(self.looks, self.looks[1:]):
            if any(self.takes_several(owner) for owner in {*look.holders} & {*later.holders}):
                allowed += overlap(times, (look.at, later.at))
        return allowed, len(ahead)

    def cost_of_holders(self, hold, before, since, until):
        """What holders cost that were hit: the rest of a lease. One that has another slot costs nothing."""
        owners = {owner for look in self.looks if meets(look.times, (since, until)) for owner in look.holders}
        jobs = [job for job in map(self.whose, owners) if job is not None and not fit_together(hold, job.hold)]
        if before is not None:
            jobs.append(self.history.job_of(before.job))
        hit = [
            job.lease if job is not None else 0
            for job in jobs
            if job is None or job.faults or job.pauses or job.path != "direct"
        ]
        return max(hit) + ORPHANED_S * S if hit else 0

    def takes_several(self, owner):
        job = self.whose(owner)
        return job is not None and len(job.taken) > 1

    def first_in_line(self, owner, hold, since, until):
        """The end of this time in which the waiter waited for such a hold, and stood behind none but waiters that were
        hit; nothing was done to it. Returns an empty time if there is none."""
        job = self.whose(owner)
        nothing = until, until
        if job is None or job.faults or job.pauses or job.path != "direct" or hold not in job.wants_of(self.lock):
            return nothing
        if job.kind == "redisson":
            return nothing  # who is behind it would do it no good if one ahead were dead
        # a wrap of several locks begins when it has all of them
        has_begun = owner in self.granted and not self.takes_several(owner)
        until = min(until, self.granted[owner][1] if has_begun else self.looks[self.last[owner]].until)
        begins = max(since, self.looks[self.first[owner]].at)
        for look in self.looks:
            if look.at < begins or look.at >= until:
                continue
            if [owner, 1] not in look.queue:
                if owner not in look.holders:
                    return nothing
            elif any(self.blocks(*other, hold, until) for other in look.queue[: look.ids.index(owner)]):
                begins = look.until
        return begins, max(begins, until)

    def blocks(self, other, present, hold, until):
        """Whether a waiter ahead may go first: nothing was done to it; or it hangs, and there is no room for it."""
        job = self.whose(other)
        if job is None or self.hit_since(other, until) is None:
            return True
        return bool(present) and hold not in job.wants_of(self.lock)

    def ahead_of(self, patient, since, until):
        """All owners that held, or waited ahead of it, at some time between these."""
        found = set()
        for look in self.looks:
            if meets(look.times, (since - S, until)):
                found.update(look.ids[: look.ids.index(patient)] if patient in look.ids else ())
                found.update(look.holders if look.at > since else ())
        dead = {owner for owner in found if self.is_redisson(owner)}  # it stays in the list until it is passed over
        # a waiter that left the queue because it hung may come back
        found |= {owner for owner in self.first if self.first[owner] < self.first[patient]}
        jobs = {owner: self.whose(owner) for owner in found - {patient}}
        return {
            owner
            for owner, job in jobs.items()
            if owner in dead or job is not None and job.ended > since and (job.started or since) >= since
        }

    def hit_since(self, owner, until):
        """When the first fault hit this waiter, or None."""
        job = self.whose(owner)
        if job.path != "direct":
            return job.spawned
        return min((event.at for event in job.faults if event.at < until), default=None)

"""Checks one lock for check.py: the order of its grants, and how long it was idle."""

import collections

from history import BACK_S, MS, S, TOLD_MS, fit_together, meets, overlap

RESTART_S = 2  # for so long after a restart, no waiter is passed over
SET_S = 3  # a hold that was handed over ends at once when the clock is set
HUNG_S = 5  # the time that a waiter costs that does not take its turn
MOST_HUNG = 3  # so many of them: then the others are silent, and passed over together
PUT_BACK_S = 13  # a script of ours comes by within 10 s, on a busy machine later
ORPHANED_S = 10  # the time that it costs to lose a holder and the first waiter at once
IDLE_S = 3  # for everything else on a busy machine
SLOW_MS = 100  # a server may take so long to answer


class Queue:
    """The queue of one lock, as the looker saw it every few milliseconds."""

    def __init__(self, history, lock, looks, granted):
        self.history, self.lock, self.looks, self.granted = history, lock, looks, granted
        self.first, self.last = {}, {}
        self.tell_stays_apart()
        for index, look in enumerate(self.looks):
            for owner, _ in look["queue"]:
                self.first.setdefault(owner, index)
                self.last[owner] = index

    def tell_stays_apart(self):
        """A Redisson client that lost its place, and asks again, gets another name from then on: it is a newcomer."""
        names, seen, times = {}, {}, collections.Counter()
        looks, self.looks = self.looks, []
        for index, look in enumerate(looks):
            here = [owner for owner, _ in look["queue"]] + look["holders"]
            for owner in here:
                if self.history.is_redisson(owner):
                    was_missed = owner in seen and seen[owner] < index - 1
                    if (
                        owner in seen
                        and self.has_lost_its_place(owner, looks[seen[owner]], look["at"], was_missed)
                        and not self.is_before_the_same(owner, looks[seen[owner]], look)
                    ):
                        times[owner] += 1
                        names[owner] = f"{owner} {times[owner]}"
                        self.history.owners[names[owner]] = self.history.owners[owner]
                    seen[owner] = index
            queue = [[names.get(owner, owner), present] for owner, present in look["queue"]]
            holders = [names.get(owner, owner) for owner in look["holders"]]
            self.looks.append({**look, "queue": queue, "holders": holders})
        for owner in list(self.granted):
            if self.history.is_redisson(owner):
                granted = self.granted.pop(owner)
                name = names.get(owner, owner)
                if owner in seen and self.has_lost_its_place(owner, looks[seen[owner]], granted[1], seen[owner] < len(looks) - 1):
                    name = f"{owner} back"
                    self.history.owners[name] = self.history.owners[owner]
                self.granted[name] = granted

    def is_before_the_same(self, owner, *looks):
        """Whether a waiter of ours stood behind a Redisson client in both looks: then a server that lost data had kept its
        place. A newcomer's place is behind ours, which come back with their tickets."""
        behind = []
        for look in looks:
            order = [other for other, _ in look["queue"]]
            behind.append(set(order[order.index(owner) :] if owner in order else []))
        return any(not self.history.is_redisson(other) for other in set.intersection(*behind))

    def has_lost_its_place(self, owner, seen, at, was_missed):
        """Whether the queue may be lost since a Redisson client was seen, or it was missed after something was done to it."""
        job = self.history.job_of(self.history.owners[owner])
        if any(event.get("lost") and meets((seen["at"], at), (event["at"], event["until"])) for event in self.history.outages):
            return True
        hits = [[event["at"], event["until"]] for event in [*job.faults, *job.removed]] + job.down("redisson")
        return was_missed and any(meets((seen["at"] - SET_S * S, at), hit) for hit in hits)

    def check_places(self):
        """A waiter of ours to which nothing was done has a place in Redisson's list, too, or gets it back in time."""
        since = {}
        for look in self.looks:
            displaced = [owner for owner in look.get("displaced", ()) if [owner, 1] in look["queue"]]
            since = {owner: since.get(owner, look["at"]) for owner in displaced}
            for owner, began in list(since.items()):
                job = self.history.job_of(self.history.owners.get(owner, ""))
                times = began, look["at"]
                late = sum(overlap(times, stall) for stall in self.history.stalls)
                if (
                    look["at"] - began > PUT_BACK_S * S + late
                    and job is not None
                    and not self.is_disturbed(*times)
                    and not any(self.history.was_away(each, self.lock, *times) for each in self.jobs_of(look))
                ):
                    text = f"{job.name} had no place in Redisson's list for too long"
                    self.history.wrong_at(self.lock, "order", text, look["at"], job.name)
                    return

    def jobs_of(self, look):
        """The jobs of ours that could have put it right."""
        jobs = [self.history.job_of(self.history.owners.get(owner, "")) for owner, _ in look["queue"]]
        return [job for job in jobs if job is not None and job.kind != "redisson"]

    def check(self):
        for owner, (token, at) in self.granted.items():
            before, after = self.around(owner, at)
            if before is not None:
                self.check_grant(owner, token, before, after)

    def around(self, owner, at):
        """The looks before and after the grant to this owner, at this time."""
        after = next(
            (index for index, look in enumerate(self.looks) if owner in look["holders"]), len(self.looks)
        )
        if after == len(self.looks) or self.looks[after]["at"] > at:
            after = next((index for index, look in enumerate(self.looks) if look["at"] > at), None)
        if not after:
            return None, None
        before = after - 1
        while before > 0 and self.looks[before]["until"] > at:
            before -= 1
        return before, after

    def came_before(self, waiter, owner, before):
        """Whether the waiter came before the other one, by the looks."""
        if owner in self.first:
            if self.first[waiter] != self.first[owner] and not self.history.is_redisson(owner):
                # one of ours may come to a new master with the older ticket
                common = max(self.first[waiter], self.first[owner])
                order = [other for other, _ in self.looks[common]["queue"]]
                if waiter in order and owner in order and order.index(waiter) > order.index(owner):
                    return False
            if self.first[waiter] != self.first[owner]:
                return self.first[waiter] < self.first[owner]
            order = [other for other, _ in self.looks[self.first[owner]]["queue"]]
            return order.index(waiter) < order.index(owner)
        job = self.history.job_of(self.history.owners.get(owner, ""))
        return job is not None and self.looks[self.first[waiter]]["until"] < job.spawned

    def waits_still(self, waiter, token, after):
        """Whether the waiter went on waiting after the grant of this token."""
        if waiter in self.granted:
            return self.granted[waiter][0] > token
        return self.last[waiter] > after

    def is_there(self, waiter, index):
        return any(owner == waiter and present for owner, present in self.looks[index]["queue"])

    def check_grant(self, owner, token, before, after):
        since, until = self.looks[before]["at"], self.looks[after]["until"]
        for waiter, first in self.first.items():
            if (
                waiter == owner
                or first > before
                or not self.waits_still(waiter, token, after)
                or not self.came_before(waiter, owner, before)
            ):
                continue
            job = self.history.job_of(self.history.owners.get(waiter, ""))
            if job is not None and not self.is_excused(job, waiter, owner, (before, after), (since, until)):
                there = "" if self.is_there(waiter, before) else ", which was not there"
                self.history.wrong_at(
                    self.lock, "order",
                    f"{self.history.owners.get(owner, owner)} was granted "
                    f"token {token} before {job.name}{there}, who waited longer", until, job.name,
                )

    def is_excused(self, job, waiter, owner, looks, times):
        since, until = times
        if (
            job.ended < until
            or any(event["at"] < until for event in [*job.removed, *job.hit("kill"), *job.hit("term")])
            or self.history.was_away(job, self.lock, since, until)
            or self.may_have_taken_over(owner, waiter)
            or self.is_newcomer_after_loss(owner, until)
            or self.has_older_ticket(waiter, owner)
            or self.may_pass_displaced(owner, waiter, looks)
            or any(meets((step["at"], step["until"] + SET_S * S), times) for step in self.history.steps)
        ):
            return True
        if all(self.is_there(waiter, index) for index in looks) or not self.history.was_cut(job, until):
            return False
        return self.was_handed_in_vain(job, times) or not self.is_just_restarted(job, until)

    def may_pass_displaced(self, owner, waiter, looks):
        """Whether the owner is a Redisson client, and the waiter had no place in Redisson's list then."""
        return self.history.is_redisson(owner) and any(
            waiter in look.get("displaced", ()) for look in self.looks[looks[0] : looks[1] + 1]
        )

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
            event["path"] == "server"
            and times[0] < event["at"]
            and event["until"] < times[1]
            and event["until"] - event["at"] >= shortest
            for event in self.history.outages
        )

    def is_just_restarted(self, job, at):
        for event in self.history.ways(job):
            since = self.history.restarts(event, self.lock) and self.known_since(event)
            if since and since <= at < since + RESTART_S * S - SLOW_MS * MS:
                return True
        return False

    def known_since(self, outage):
        """When the new server knows of waiters: after a loss of data, when the first of them is back."""
        if not outage.get("lost"):
            return outage["up"]
        look = self.first_back(outage)
        return look and look["at"]

    def first_back(self, outage):
        """The first look that saw one of the waiters from before the loss again, or None."""
        known = {owner for owner in self.first if self.looks[self.first[owner]]["at"] < outage["at"]}
        return next(
            (
                look
                for look in self.looks
                if look["at"] >= outage["up"]
                and (known & set(look["holders"]) or any(owner in known for owner, _ in look["queue"]))
            ),
            None,
        )

    def is_newcomer_after_loss(self, owner, at):
        """Whether this owner came after a loss of data: an empty server grants the lock to whichever asks first."""
        first = self.looks[self.first[owner]]["at"] if owner in self.first else at
        for event in self.history.outages:
            if event.get("lost") and event["at"] <= first and event["at"] <= at <= event["until"] + BACK_S * S:
                back = self.first_back(event)
                if back is None or at <= back["until"] + TOLD_MS * MS:
                    return True
        return False

    def has_older_ticket(self, waiter, owner):
        """Whether the owner came later, and has the older ticket: the clock was set back, and the server then lost the
        tickets that it had given."""
        if waiter not in self.first or owner not in self.first:
            return False
        came, first = (self.looks[self.first[who]]["at"] for who in (waiter, owner))
        was_set = sum(step["ms"] * MS for step in self.history.steps if came <= step["at"] <= first)
        has_lost = any(event.get("lost") and came <= event["at"] <= first for event in self.history.outages)
        return has_lost and first + was_set < came

    # ---- How long the lock was idle

    def check_idle(self, points):
        """Checks each time in which the lock, or one of its slots, was free while a waiter waited for that to which
        nothing was done. points: the lines of the sections."""
        lines = [(event["at"], event, self.history.hold_of(event)) for event in points]
        ends = self.looks[-1]["until"]
        for hold in self.holds():
            busy = [(at, event) for at, event, other in lines if not fit_together(hold, other)]
            for (since, before), (until, _) in zip(
                [(self.looks[0]["at"], None), *busy], [*busy, (ends, None)]
            ):
                if until - since > IDLE_S * S:
                    self.judge_idle(hold, before, since, until)

    def holds(self):
        """What jobs want of this lock: (mode, slot)..."""
        jobs = self.history.jobs.values()
        return sorted({hold for job in jobs for hold in job.wants_of(self.lock)})

    def is_disturbed(self, since, until):
        times = (since - 2 * S, until)
        return any(meets((event["at"], event["until"] + BACK_S * S), times) for event in self.history.steps) or any(
            event["path"] == "server" and meets((event["at"], event["until"] + BACK_S * S), times)
            for event in self.history.outages
        )

    def judge_idle(self, hold, before, since, until):
        """Judges a time in which nobody had what does not fit beside this hold. before: the last line before."""
        for patient in self.first:
            begins, ends = self.first_in_line(patient, hold, since, until)
            if ends - begins > IDLE_S * S and not self.is_disturbed(begins, ends):
                allowed, count = self.may_be_idle(patient, hold, before, begins, ends)
                if ends - begins > allowed:
                    self.say_idle(patient, hold, (begins, ends), allowed, count)
                    return

    def say_idle(self, patient, hold, times, allowed, count):
        name = self.history.owners.get(patient, patient)
        texts = {"exclusive": "nobody had it", "shared": "nobody but shared holders had it"}
        text = texts.get(hold[0], f"nobody had slot {hold[1]}")
        self.history.wrong_at(
            self.lock, "idle",
            f"{text} for {(times[1] - times[0]) / S:.1f} s, not {allowed / S:.1f}, while "
            f"{name} waited, behind {count} that were hit", times[1],
        )

    def may_be_idle(self, patient, hold, before, since, until):
        """For how long that may be so, in ns; and how many that were hit cost a part of it."""
        ahead = [owner for owner in self.ahead_of(patient, since, until) if self.hit_since(owner, until) is not None]
        hit = [self.hit_since(owner, until) for owner in ahead if not self.history.is_redisson(owner)]
        redissons = len(ahead) - len(hit)
        early = sum(at < since + S for at in hit)
        allowed = (HUNG_S * (min(early, MOST_HUNG) + len(hit) - early + redissons) + IDLE_S) * S
        if ahead and hold[0] != "exclusive":
            allowed += ORPHANED_S * S  # the first for which there is no room was killed: its death tells nobody
        allowed += self.cost_of_holders(hold, before, since, until) + self.held_for_others(since, until)
        allowed += sum(overlap((since, until), stall) for stall in self.history.stalls)
        allowed += sum(overlap((since, until), (event["at"], event["until"])) for event in self.history.of("slow"))
        return allowed, len(ahead)

    def cost_of_holders(self, hold, before, since, until):
        """What holders cost that were hit: the rest of a lease. One that has another slot costs nothing."""
        looks = [look for look in self.looks if meets((look["at"], look["until"]), (since, until))]
        owners = {owner for look in looks for owner in look["holders"]}
        jobs = [self.history.job_of(self.history.owners.get(owner, "")) for owner in owners]
        jobs = [job for job in jobs if job is not None and not fit_together(hold, job.hold)]
        if before is not None:
            jobs.append(self.history.job_of(before["job"]))
        hit = [
            job.lease if job is not None else 0
            for job in jobs
            if job is None or job.faults or job.pauses or job.path != "direct"
        ]
        return max(hit) + ORPHANED_S * S if hit else 0

    def takes_several(self, owner):
        job = self.history.job_of(self.history.owners.get(owner, ""))
        return job is not None and len(job.taken) > 1

    def held_for_others(self, since, until):
        """For how long wraps of several locks held this one: such a wrap may still have waited for the others."""
        return sum(
            overlap((since, until), (look["at"], later["at"]))
            for look, later in zip(self.looks, self.looks[1:])
            if any(self.takes_several(owner) for owner in {*look["holders"]} & {*later["holders"]})
        )

    def first_in_line(self, owner, hold, since, until):
        """The end of this time in which the waiter waited for such a hold, and stood behind none but waiters that were
        hit; nothing was done to it. Returns an empty time if there is none."""
        job = self.history.job_of(self.history.owners.get(owner, ""))
        nothing = until, until
        if job is None or job.faults or job.pauses or job.path != "direct" or hold not in job.wants_of(self.lock):
            return nothing
        if job.kind == "redisson":
            return nothing  # who is behind it would do it no good if one ahead were dead
        # a wrap of several locks begins when it has all of them
        has_begun = owner in self.granted and not self.takes_several(owner)
        until = min(until, self.granted[owner][1] if has_begun else self.looks[self.last[owner]]["until"])
        begins = max(since, self.looks[self.first[owner]]["at"])
        for look in self.looks:
            if look["at"] < begins or look["at"] >= until:
                continue
            here = [other for other, _ in look["queue"]]
            if [owner, 1] in look["queue"]:
                ahead = look["queue"][: here.index(owner)]
            elif owner in look["holders"]:
                ahead = []
            else:
                return nothing
            if any(self.blocks(other, present, hold, until) for other, present in ahead):
                begins = look["until"]
        return begins, max(begins, until)

    def blocks(self, other, present, hold, until):
        """Whether a waiter ahead may go first: nothing was done to it; or it hangs, and there is no room for it."""
        job = self.history.job_of(self.history.owners.get(other, ""))
        if job is None or self.hit_since(other, until) is None:
            return True
        return bool(present) and hold not in job.wants_of(self.lock)

    def ahead_of(self, patient, since, until):
        """All owners that held, or waited ahead of it, at some time between these."""
        found = set()
        for look in self.looks:
            if look["until"] < since - S or look["at"] > until:
                continue
            owners = [owner for owner, _ in look["queue"]]
            if patient in owners:
                found |= set(owners[: owners.index(patient)])
            if look["at"] > since:
                found |= set(look["holders"])
        dead = {owner for owner in found if self.history.is_redisson(owner)}  # it stays in the list until it is passed over
        # a waiter that left the queue because it hung may come back
        found |= {owner for owner in self.first if self.first[owner] < self.first[patient]}
        return {owner for owner in found if owner != patient and (owner in dead or self.may_return(owner, since))}

    def may_return(self, owner, since):
        job = self.history.job_of(self.history.owners.get(owner, ""))
        return job is not None and job.ended > since and not (job.started and job.started < since)

    def hit_since(self, owner, until):
        """When the first fault hit this waiter, or None."""
        job = self.history.job_of(self.history.owners.get(owner, ""))
        if job.path != "direct":
            return job.spawned
        return min((event["at"] for event in job.faults if event["at"] < until), default=None)

"""Checks the history of a round of the torture test: what fairlock promises, against what was done to it.

usage: check.py FOLDER        prints each violation, and what stands in the history around it

FOLDER has `history`, which the critical sections themselves wrote, and `events`, of the driver: an object
a line, with the time in ns of CLOCK_BOOTTIME (`at`, often also `until`: not before, not after). No clock of
the server is looked at. What is excused, since fairlock(7) does not promise it, is found from the faults as
they were logged:

    both guards of a COMMAND killed, or one killed  its section counts no more from then on. That both, or
    and then the other one stopped                  COMMAND, were stopped excuses nothing
    COMMAND killed                                  what it left behind counts no more
    the lock broken by force                        its section may go on for FORCED_S; a script, for ever
    a script with a keeper                          counts until the keeper, or its way to the server, was hit
    the server lost its data                        a holder of that time counts again after LOST_S
    the server's clock was set forward              a holder of that time counts again a third of its lease and
                                                    LOST_S later; a script, never
    the machine of a holder stood still, with       its section counts again a lease after that. If it was
    its clock                                       still seen waiting in that time, nothing is excused
    the machine stood still                         for as long as that; such overlaps are counted

Nothing excuses disorder among waiters that were there, or had RESTART_S to come back: no loss of data, no
failover. After a loss of data a newcomer may go first as long as no waiter is back. A server's clock that is
set excuses what comes in the SET_S behind it. A clock that runs up to 8 % fast excuses nothing, nor does a
waiter's that stood still.

How long a lock was idle is judged for the waiters that nothing was done to, while the server was there: each of
the first three ahead of them that were hit by something costs HUNG_S, as does each that is hit meanwhile;
a holder that was hit costs its lease and ORPHANED_S.
"""

import bisect
import collections
import json
import os
import sys

MS = 1_000_000
S = 1_000_000_000
FOREVER = 1 << 62

FORCED_S = 5  # a COMMAND whose lock was broken is stopped within 1 s; a busy machine takes longer
LOST_S = 8  # a holder finds the server within 1.3 s, and stops within 1 s
BACK_S = 3  # who was away, and is back, takes so long to be there on a busy machine
CUT_S = 10  # who is not there after so long was not cut off by that
FORGOTTEN_S = 25  # a waiter on a dead wire finds out with its sign of life (11 s), and connects anew
LEAVING_S = 6  # who leaves waits no longer for the server, and before that for a connection
RESTART_S = 2  # after a restart nobody who waited is passed over for so long
SET_S = 3  # a hold that was handed over ends at once when the clock is set
HUNG_S = 5  # costs a waiter that does not take its turn
MOST_HUNG = 3  # of them: they are silent by then, and passed over together
ORPHANED_S = 10  # costs it that a holder and the first waiter are lost at once
IDLE_S = 3  # is for what else there is to do on a busy machine
TOLD_MS = 30  # a message takes no longer, or was seen to be late
CONNECT_S = 5  # the connect timeout
NEVER = 4102444800000  # a token from there on was in a forged message
STALL_MS = 50  # a machine that stood still for so long may be late to stop a COMMAND
SLOW_MS = 100  # so is a server that took so long to answer

GUARDS = ("wrapper", "guard")


def load(path):
    """The events of a file, but for a last line that somebody died over."""
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
    """Of two intervals, in ns."""
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


def meets(a, b):
    return a[0] <= b[1] and b[0] <= a[1]


class Job:
    def __init__(self, event):
        self.name = event["job"]
        self.kind = event["kind"]
        self.locks = [event["lock"]] + event.get("inner", [])  # that of the inner wrap may be the same
        self.lease = event["lease"] * MS
        self.wait = event.get("wait")
        self.path = event.get("path", "direct")
        self.own = event.get("own", 0)
        self.max_hold = event.get("max_hold")
        self.spawned = event["at"]
        self.ended = FOREVER
        self.status = None
        self.faults = []
        self.pauses = []
        self.reports = []
        self.removed = []
        self.started = None  # its first section
        self.finished = False  # its main process came to the end of it
        self.queued = False

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
        """When a process of these roles was dead or stopped: [(from, until)...]."""
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
        """Since when nothing guards COMMAND: both processes were killed, or the one that was left was stopped
        after that. The end of one continues the other, and one that is stopped for too long ends."""
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


class Round:
    def __init__(self, folder):
        self.events = sorted(load(os.path.join(folder, "events")), key=lambda event: event["at"])
        self.history = sorted(load(os.path.join(folder, "history")), key=lambda event: event["at"])
        self.violations = []  # (property, text, at, about)
        self.stalled = set()  # overlaps while the machine stood still
        self.sections = 0
        self.jobs = {event["job"]: Job(event) for event in self.of("job")}
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

    def of(self, what):
        return [event for event in self.events if event["what"] == what]

    def job_of(self, name):
        """A part of a job, NAME/inner, is the job's."""
        return self.jobs.get(name.split("/")[0])

    def assign(self):
        for event in self.events:
            job = self.job_of(event.get("job") or "")
            if job is None:
                continue
            if event["what"] == "exit":
                job.ended, job.status = event["at"], event["status"]
            elif event["what"] == "fault":
                job.faults.append(event)
            elif event["what"] == "paused":
                job.pauses.append(event)
            elif event["what"] == "removed":
                job.removed.append(event)
            elif event["what"] == "waiter":
                job.queued = True
        for event in self.history:
            job = self.job_of(event.get("job") or "")
            if job is None:
                continue
            if event["what"] == "status":
                job.reports.append(event)
            elif event["what"] == "start" and event["job"] == job.name:
                self.sections += 1
                job.started = job.started or event["at"]
                job.finished = False
            elif event["what"] == "start":
                self.sections += 1
            elif event["what"] == "end" and event["job"] == job.name:
                job.finished = True
            if event["what"] == "start":
                self.owners[event["owner"]] = event["job"]

    def violated(self, name, text, at=0, about=()):
        self.violations.append((name, text, at, about))

    # ---- What counts

    def ways(self, job):
        """The outages of the way between a job and the server."""
        return [event for event in self.outages if event["path"] in ("server", job.path)]

    def late(self, job, since=None, until=None):
        """For how long, at most, its requests and processes may have been held up."""
        life = (since or job.spawned, until or job.ended)
        return (
            sum(overlap(life, (event["at"], event["until"])) for event in self.ways(job))
            + sum(overlap(life, stall) for stall in self.stalls)
            + sum(overlap(life, (event["at"], event["until"])) for event in self.of("slow"))
        )

    def void(self, job, name):
        """When what a job says of its section does not count: [(from, until)...]."""
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
        if job.kind in ("keeper", "script"):  # nothing stops a script
            found += [
                (event["at"], FOREVER) for lock in job.locks for event in self.forced(lock, job)
            ]
        lost = FOREVER if job.kind in ("keeper", "script") else LOST_S * S
        found += [
            (event["at"], min(FOREVER, event["until"] + lost))
            for event in self.outages
            if event.get("lost") and job.started and job.started <= event["until"]
        ]
        found += self.set_under(job) + self.paused_holding(job, name)
        if "/" in name and job.faults:  # what is inside is not hit by itself, but may lose both of its guards
            found.append((job.faults[0]["at"], FOREVER))
        return [interval for interval in found if interval[0] < FOREVER]

    def set_under(self, job):
        """The server's clock was set when it held."""
        lasts = FOREVER if job.kind in ("keeper", "script") else job.lease // 3 + LOST_S * S
        return [
            (step["at"], min(FOREVER, step["until"] + lasts))
            for step in self.steps
            if step["ms"] > 0 and job.started and job.started <= step["until"] + S // 2
        ]

    def paused_holding(self, job, name):
        """The holder's clock stood still, unless it waited: also unless the grant came meanwhile."""
        return [
            (pause["at"], pause["until"] + job.lease + S)
            for pause in job.pauses
            if "/" in name
            or not self.waited_at(job, pause["at"] + TOLD_MS * MS)
            # the server's time cannot tell it what its own did not
            or any(meets((step["at"], step["until"]), (job.spawned, pause["until"])) for step in self.steps)
        ]

    def waited_at(self, job, at):
        """Whether it was seen waiting then, or later, before its section began."""
        return any(
            at <= look["at"] <= (job.started or FOREVER)
            and any(self.owners.get(owner) == job.name for owner, _ in look["queue"])
            for look in self.looks[job.locks[0]]
        )

    def forced(self, lock, job):
        """When this lock was broken, or may have been, while the job lived."""
        return [
            event
            for event in self.of("force")
            if event["lock"] == lock and meets((event["at"], event["until"]), job.life)
        ]

    # ---- Exclusion, and the tokens

    def evidence(self):
        """What counts, by lock: [(at, token, name of the job, what)...]."""
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
            found[event["lock"]].append((at, event["token"], name, event["what"]))
        return found

    def stood_still(self, since, at):
        """Whether the machine stood still shortly before this time, for longer than somebody was late."""
        least = max(STALL_MS * MS, at - since)
        return any(stall[1] - stall[0] >= least and meets(stall, (since - S, at)) for stall in self.stalls)

    def check_exclusion(self):
        """At each moment there is one token; each is larger than those before, and does not come back."""
        for lock, points in self.evidence().items():
            largest, owner, said, begun = 0, "", set(), {}
            for at, token, name, _ in points:
                begun.setdefault(token, at)
                if token > largest:
                    largest, owner = token, name
                elif (
                    token < largest
                    and (token, largest) not in said
                    and self.judge_overlap(
                        lock, at, (token, name, begun[token]), (largest, owner, begun[largest])
                    )
                ):
                    said.add((token, largest))
                elif (
                    token == largest
                    and name.split("/")[0] != owner.split("/")[0]
                    and (token, name) not in said
                ):
                    said.add((token, name))
                    self.violated(
                        "tokens", f"{name} and {owner} both had token {token} of lock {lock}", at, (lock,)
                    )

    def judge_overlap(self, lock, at, older, newer):
        """The older token was used at this time, when the newer one had been already. Returns whether that
        is settled."""
        (token, name, begun), (largest, owner, since) = older, newer
        if begun > since:
            self.violated(
                "tokens",
                f"lock {lock}: {name} began with token {token} after {owner}, with {largest}",
                at,
                (lock,),
            )
            return True
        job = self.job_of(name)
        if job is not None and any(
            event["at"] <= at <= event["until"] + FORCED_S * S and event["at"] <= since
            for event in self.forced(lock, job)
        ):
            return False
        if self.stood_still(since, at):
            self.stalled.add((lock, token))
            return False
        self.violated(
            "exclusion",
            f"lock {lock}: {name} (token {token}) ran {(at - since) / MS:.1f} ms after "
            f"{owner} (token {largest}) had begun",
            at,
            (lock,),
        )
        return True

    def check_forged(self):
        """No message that somebody made up starts anything."""
        for event in self.history:
            if event["what"] == "start" and event["token"] >= NEVER:
                self.violated(
                    "forged",
                    f"lock {event['lock']}: {event['job']} began with token {event['token']}, of a forged message",
                    event["at"],
                    (event["lock"],),
                )

    # ---- Order

    def check_order(self):
        granted = collections.defaultdict(dict)  # by lock: owner -> (token, time)
        for event in self.history:
            if event["what"] == "start" and event["owner"] not in granted[event["lock"]]:
                granted[event["lock"]][event["owner"]] = event["token"], event["at"]
        for lock, looks in self.looks.items():
            line = Line(self, lock, looks, granted[lock])
            line.check()
            line.check_idle([event for event in self.history if event.get("lock") == lock])

    def was_away(self, job, since, until):
        """Whether a fault may have kept a waiter from taking a turn then, though it looked present."""
        for event in job.faults:
            if event["fault"] == "cut" and meets(
                (event["at"] - 50 * MS, event["until"] + 50 * MS), (since, until)
            ):
                return True
        for stop in job.down("wrapper", "acquire", "script"):
            if meets((stop[0], min(FOREVER, stop[1] + BACK_S * S)), (since, until)):
                return True
        restarted = max(
            (
                event["at"]
                for event in self.outages
                if self.restarts(event, job.locks[0]) and event["up"] <= since
            ),
            default=0,
        )
        for event in self.ways(job):
            if self.restarts(event, job.locks[0]) or event["path"] == "server" and event["until"] < restarted:
                continue  # all have the time to come back then
            back = FORGOTTEN_S if event["kind"] == "forget" else BACK_S
            if meets((event["at"], event["until"] + back * S), (since, until)):
                return True
        return any(
            stall[1] - stall[0] > S and meets((stall[0] - 5 * S, stall[1] + S), (since, until))
            for stall in self.stalls
        )

    def restarts(self, event, lock):
        """Whether the server of this lock was killed: a cluster is down for a while without any of them."""
        return event["kind"] == "killed" and lock in event.get("hit", [lock])

    def was_cut(self, job, at):
        """Whether its connection was lost a short time ago."""
        lost = [event["until"] for event in job.hit("cut")] + [event["until"] for event in self.ways(job)]
        return any(moment <= at <= moment + CUT_S * S for moment in lost)

    # ---- Everybody's end

    def check_ends(self):
        end = next((event["at"] for event in self.of("end")), FOREVER)
        for job in self.jobs.values():
            if job.status is None or job.ended > end:
                self.violated(
                    "served",
                    f"{job.name} ({job.kind}, lock {job.locks[0]}) had not ended when all was over"
                    + ("" if job.started else ": it never got the lock"),
                    end,
                    (job.name, job.locks[0]),
                )
            elif job.kind == "wrap":
                self.check_wrap(job)
            else:
                self.check_script(job)

    def lost_its_lock(self, job, since=None, until=None):
        """Whether there was a reason for 76."""
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
        """The outages of the way between a job and the server, [since, until, kinds]. What follows within a second
        is the same one: for as long a TCP connection may wait before it tries again."""
        spans = []
        for event in sorted(self.ways(job), key=lambda event: event["at"]):
            if spans and event["at"] <= spans[-1][1] + S:
                spans[-1][1] = max(spans[-1][1], event["until"])
                spans[-1][2].add(event["kind"])
            else:
                spans.append([event["at"], event["until"], {event["kind"]}])
        return spans

    def outages_of(self, job, times):
        """Those for which a command may give up: the server refused, or did not answer for long, or until the
        wait was over. A connection that breaks is made again."""
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

    def check_wrap(self, job):
        allowed = {job.own} if job.finished else set()
        stopped = sum(overlap(job.life, (since, until)) for since, until in job.down("wrapper"))
        outages = self.outages_of(job, job.life)
        if job.started is None:
            if job.wait is not None and job.ended - job.spawned >= job.wait * MS or job.removed:
                allowed.add(75)
            if outages or job.hit("stop") or self.late(job) > S:
                allowed.add(69)
        if self.lost_its_lock(job) or job.hit("kill", "guard") or job.hit("stop", "guard"):
            allowed.add(76)
        if job.max_hold is not None and job.ended - job.spawned >= job.max_hold * MS:
            allowed.add(124)
        if job.started is None and stopped >= job.lease * 0.1:
            allowed.add(76)
        if job.hit("kill", "wrapper"):
            allowed.add(-9)
        if job.hit("kill", "command"):
            allowed.add(-9)
        if job.hit("term"):
            allowed.add(-15)
        if len(job.locks) > 1 and job.finished:
            # what became of the inner one is COMMAND's own status
            allowed |= (
                {69, 75, 76} if outages or job.faults or job.removed or self.lost_its_lock(job) else set()
            )
        if job.status not in allowed:
            self.wrong(job, "it", job.status, allowed)

    def check_script(self, job):
        """What each command of a script ended with."""
        signals = {128 + number for word, number in (("kill", 9), ("term", 15)) if job.hit(word)}
        since = job.spawned
        for report in job.reports:
            allowed, command = {0} | signals, report["command"]
            if self.outages_of(job, (since, report["at"])) or job.hit("stop"):
                allowed.add(69)
            if command == "acquire":
                if (
                    job.removed
                    or job.wait is not None
                    and report["at"] - since >= job.wait * MS
                    or job.kind == "keeper"
                    and job.hit("kill", "script")
                ):
                    allowed.add(75)
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
        done = (
            ", ".join(f"{event['fault']} {event['role']}" for event in job.faults) or "nothing was done to it"
        )
        self.violated(
            "statuses",
            f"{job.name} (lock {job.locks[0]}, lease {job.lease // MS} ms): {what} ended with {status}, "
            f"not with any of {sorted(allowed)}; {done}",
            job.ended,
            (job.name, job.locks[0]),
        )

    # ---- What is left, and what was seen meanwhile

    def check_left(self):
        for event in self.of("left"):
            self.violated("left", event["text"], event["at"])
        for event in self.history:
            if event["what"] == "descriptors":
                self.violated(
                    "left", f"{event['job']} got descriptors that are none of its business", event["at"]
                )
        for event in self.of("seen"):
            if event.get("ttl") == -1:
                self.violated(
                    "left", f"lock {event['lock']} had no time to live", event["at"], (event["lock"],)
                )
            if event.get("queue_ttl") == -1:
                self.violated(
                    "left",
                    f"the queue of lock {event['lock']} had no time to live",
                    event["at"],
                    (event["lock"],),
                )
            if not event.get("agree", True):
                self.violated(
                    "left",
                    f"list and sorted set of lock {event['lock']} did not agree",
                    event["at"],
                    (event["lock"],),
                )
        for event in self.of("look"):
            away = any(
                meets((outage["at"], outage["until"] + S), (event["at"], event["until"]))
                for outage in self.outages
            )
            if event["status"] not in (0, 1) and not (away and event["status"] == 69):
                self.violated("statuses", f"{event['command']} ended with {event['status']}", event["at"])

    def check_ghosts(self):
        """Who ends by itself leaves the queue, or gives the lock back, first."""
        said = set()
        for event in self.of("seen"):
            holder = self.job_of(self.owners.get(event["holder"]) or "")
            ghosts = []
            if holder is not None and holder.kind == "wrap" and holder.status in (holder.own, 124):
                ghosts.append((holder, event["holder"], "held"))
            for owner, _ in event["queue"]:
                job = self.job_of(self.owners.get(owner) or "")
                # what a COMMAND left behind may go on waiting inside it
                if job is not None and event["lock"] == job.locks[0]:
                    ghosts.append((job, owner, "waited for"))
            for job, owner, did in ghosts:
                if event["at"] <= job.ended or owner in said or self.could_not_leave(job):
                    continue
                said.add(owner)
                self.violated(
                    "left",
                    f"{job.name} had ended with {job.status}, and still {did} lock {event['lock']}",
                    event["at"],
                    (event["lock"], job.name),
                )

    def could_not_leave(self, job):
        end = (job.ended - LEAVING_S * S, job.ended)
        return (
            bool(job.hit("kill"))
            or any(meets((event["at"], event["until"]), end) for event in self.ways(job) + job.hit("cut"))
            or any(meets(stop, end) for stop in job.down("wrapper", "acquire", "script"))
            or self.late(job, *end) > S
        )

    PROPERTIES = ("exclusion", "tokens", "forged", "order", "idle", "served", "statuses", "left")

    def check(self):
        self.check_forged()
        self.check_exclusion()
        self.check_order()
        self.check_ends()
        self.check_left()
        self.check_ghosts()
        return self.violations

    def excerpt(self, at, about, around=S // 2, most=40):
        """What happened around a violation, in the words of those who saw it."""
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


class Line:
    """The queue of one lock, as somebody saw it who looked every few milliseconds."""

    def __init__(self, round_, lock, looks, granted):
        self.round, self.lock, self.looks, self.granted = round_, lock, looks, granted
        self.first, self.last = {}, {}
        for index, look in enumerate(looks):
            for owner, _ in look["queue"]:
                self.first.setdefault(owner, index)
                self.last[owner] = index

    def check(self):
        for owner, (token, at) in self.granted.items():
            before, after = self.around(owner, at)
            if before is not None:
                self.check_grant(owner, token, before, after)

    def around(self, owner, at):
        """The looks before and after its grant."""
        after = next(
            (index for index, look in enumerate(self.looks) if look["holder"] == owner), len(self.looks)
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
        """Whether the waiter was seen in the queue when the other one was not, and had not come before."""
        if owner in self.first:
            if self.first[waiter] != self.first[owner]:
                common = max(self.first[waiter], self.first[owner])
                order = [other for other, _ in self.looks[common]["queue"]]
                if waiter in order and owner in order and order.index(waiter) > order.index(owner):
                    return False
                return self.first[waiter] < self.first[owner]
            order = [other for other, _ in self.looks[self.first[owner]]["queue"]]
            return order.index(waiter) < order.index(owner)
        job = self.round.job_of(self.round.owners.get(owner, ""))
        return job is not None and self.looks[self.first[waiter]]["until"] < job.spawned

    def waits_still(self, waiter, token, after):
        """Whether it went on waiting behind a grant that was seen then."""
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
            job = self.round.job_of(self.round.owners.get(waiter, ""))
            if job is not None and not self.is_excused(job, waiter, owner, (before, after), (since, until)):
                there = "" if self.is_there(waiter, before) else ", which was not there"
                self.round.violated(
                    "order",
                    f"lock {self.lock}: {self.round.owners.get(owner, owner)} was granted "
                    f"token {token} before {job.name}{there}, who waited longer",
                    until,
                    (self.lock, job.name),
                )

    def is_excused(self, job, waiter, owner, looks, times):
        since, until = times
        if (
            self.round.was_away(job, since, until)
            or job.ended < until
            or job.hit("kill")
            and job.hit("kill")[0]["at"] < until
        ):
            return True
        if (
            any(event["at"] < until for event in job.removed)
            or job.hit("term")
            and job.hit("term")[0]["at"] < until
        ):
            return True
        if self.is_newcomer_after_loss(owner, until):
            return True
        if any(meets((step["at"], step["until"] + SET_S * S), times) for step in self.round.steps):
            return True
        return (
            not all(self.is_there(waiter, index) for index in looks)
            and self.round.was_cut(job, until)
            and not self.is_just_restarted(job, until)
        )

    def is_just_restarted(self, job, at):
        for event in self.round.ways(job):
            since = self.round.restarts(event, self.lock) and self.known_since(event)
            if since and since <= at < since + RESTART_S * S - SLOW_MS * MS:
                return True
        return False

    def known_since(self, outage):
        """When the new server knows that there are waiters: after a loss of data, when the first is back."""
        if not outage.get("lost"):
            return outage["up"]
        return self.back_since(outage)

    def back_since(self, outage):
        """When one of those who had come before the server was lost was there again, or None."""
        known = {owner for owner in self.first if self.looks[self.first[owner]]["at"] < outage["at"]}
        return next(
            (
                look["at"]
                for look in self.looks
                if look["at"] >= outage["up"]
                and (look["holder"] in known or any(owner in known for owner, _ in look["queue"]))
            ),
            None,
        )

    def is_newcomer_after_loss(self, owner, at):
        """An empty server knows nobody: one who had not waited before is granted if it asks first."""
        first = self.looks[self.first[owner]]["at"] if owner in self.first else at
        for event in self.round.outages:
            if event.get("lost") and event["at"] <= first and event["at"] <= at <= event["until"] + BACK_S * S:
                since = self.back_since(event)
                if since is None or at <= since + TOLD_MS * MS:
                    return True
        return False

    # ---- How long nobody had it

    def check_idle(self, points):
        """Between two sections, while somebody waited to whom nothing was done."""
        for before, after in zip(points, points[1:]):
            if (
                after["what"] == "start"
                and after["at"] - before["at"] > (HUNG_S + IDLE_S) * S
                and not self.is_disturbed(before["at"], after["at"])
            ):
                self.judge_idle(before, after)

    def is_disturbed(self, since, until):
        times = (since - 2 * S, until)
        return any(meets((event["at"], event["until"] + BACK_S * S), times) for event in self.round.steps) or any(
            event["path"] == "server" and meets((event["at"], event["until"] + BACK_S * S), times)
            for event in self.round.outages
        )

    def judge_idle(self, before, after):
        since, until = before["at"], after["at"]
        patient = self.patient(since, until)
        if patient is None:
            return
        hit = [
            self.hit_since(owner, until)
            for owner in self.ahead_of(patient, since, until)
            if self.hit_since(owner, until) is not None
        ]
        early = sum(at < since + S for at in hit)
        allowed = (HUNG_S * (min(early, MOST_HUNG) + len(hit) - early) + IDLE_S) * S
        holder = self.round.job_of(before["job"])
        if holder is None or holder.faults or holder.pauses or holder.path != "direct":
            allowed += (holder.lease if holder else 0) + ORPHANED_S * S
        allowed += sum(overlap((since, until), stall) for stall in self.round.stalls)
        allowed += sum(overlap((since, until), (event["at"], event["until"])) for event in self.round.of("slow"))
        if until - since > allowed:
            name = self.round.owners.get(patient, patient)
            self.round.violated(
                "idle",
                f"lock {self.lock}: nobody had it for {(until - since) / S:.1f} s, not {allowed / S:.1f}, while "
                f"{name} waited, behind {len(hit)} that were hit",
                until,
                (self.lock,),
            )

    def patient(self, since, until):
        """One who waited all that time, and to whom nothing was done: the first of them."""
        here = [look for look in self.looks if since <= look["at"] and look["until"] <= until]
        if not here:
            return None
        for owner, _ in here[0]["queue"]:
            job = self.round.job_of(self.round.owners.get(owner, ""))
            if (
                job is not None
                and not job.faults
                and not job.pauses
                and job.path == "direct"
                and self.looks[self.first[owner]]["at"] <= since
                and all([owner, 1] in look["queue"] or look["holder"] == owner for look in here)
            ):
                return owner
        return None

    def ahead_of(self, patient, since, until):
        """All who held, or waited before it, at some time between these."""
        found = set()
        for look in self.looks:
            if look["until"] < since - S or look["at"] > until:
                continue
            owners = [owner for owner, _ in look["queue"]]
            if patient in owners:
                found |= set(owners[: owners.index(patient)])
            if look["holder"] and look["at"] > since:
                found.add(look["holder"])
        # who went out of the queue because it hung may come back
        found |= {owner for owner in self.first if self.first[owner] < self.first[patient]}
        return {owner for owner in found if owner != patient and self.may_return(owner, since)}

    def may_return(self, owner, since):
        job = self.round.job_of(self.round.owners.get(owner, ""))
        return job is not None and job.ended > since and not (job.started and job.started < since)

    def hit_since(self, owner, until):
        """When this waiter was first hit by something, or None."""
        job = self.round.job_of(self.round.owners.get(owner, ""))
        if job.path != "direct":
            return job.spawned
        return min((event["at"] for event in job.faults if event["at"] < until), default=None)


def report(round_, most=5):
    """What is wrong, for people."""
    lines = []
    for name, text, at, about in round_.violations[:most]:
        lines.append(f"{name}: {text}")
        if about:
            lines += ["    " + line for line in round_.excerpt(at, about)]
    if len(round_.violations) > most:
        lines.append(f"... and {len(round_.violations) - most} more")
    return lines


if __name__ == "__main__":
    checked = Round(sys.argv[1])
    checked.check()
    for line in report(checked):
        print(line)
    print(
        f"{checked.sections} critical sections, {len(checked.violations)} violations, "
        f"{checked.excused} excused"
    )
    sys.exit(1 if checked.violations else 0)

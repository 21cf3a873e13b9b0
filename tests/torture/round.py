"""One round of the torture test: starts a server and jobs, does harm, waits for the end, looks for what is left."""

import collections
import contextlib
import heapq
import itertools
import os
import random
import signal
import sys
import time
import uuid

from clockwork import Clockwork
from grounds import new_ground
from harm import Harm
from jobs import DRIFTING, HUNG, LOCKS, Job, Plan, Want, behind_hung, cut_off, newcomer
from machine import Journal, Machine, now
from server import Looker

S = 1_000_000_000
FOREVER = 1 << 62
# The hashes of locks whose last job has found the ends of all holds.
HASHES = ["fairlock:" + (lock if "{" in lock else "{" + lock + "}") for lock in LOCKS]
CUT_OFF_S = 34  # a holder with a lease of 30 s
NEWCOMERS = 35  # in the seconds in which that lease ends
DRAIN_S = 150  # for all jobs that are left
POPULATION = 48  # jobs at a time
PER_S = 40  # new jobs, at most

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

Tools = collections.namedtuple("Tools", "fairlock shared section script history folder urls variables")

# Ground, faults, the rate of the server's clock, and whether it is set now and then. The seed of a round chooses one of
# these, so that rounds that follow each other have all.
KINDS = [
    ("kept", "chaos", 1.0, False),
    ("volatile", "chaos", 1.08, False),
    ("kept", "calm", 1.08, False),
    ("sentinel", "chaos", 1.0, False),
    ("tls", "chaos", 1.08, False),
    ("cluster", "chaos", 1.0, False),
    ("kept", "chaos", 1.0, True),
    ("volatile", "chaos", 1.0, False),
    ("tls", "calm", 1.08, False),
    ("kept", "chaos", 1.08, False),
    ("sentinel", "chaos", 1.08, False),
    ("volatile", "chaos", 1.0, True),
    ("cluster", "calm", 1.08, False),
]


class Round:
    def __init__(self, seed, folder, build, server_program):
        self.seed, self.folder, self.build = seed, folder, build
        for name in "server", "proxy", "home", "said", "clocks":
            os.makedirs(os.path.join(folder, name))
        self.machine = Machine(uuid.uuid4().hex)
        self.journal = Journal(os.path.join(folder, "events"))
        self.kind = KINDS[seed % len(KINDS)]
        mode, faults, rate, self.steps = self.kind
        self.is_calm = faults == "calm"
        self.looked = now()
        self.without = os.environ.get("WITHOUT", "").split()
        self.commands = {}
        self.actions = []
        self.leases = {}
        self.spared = set()  # jobs that faults do not choose
        self.clocks = {}
        self.redissons = {}  # the locks of Redisson clients, by job
        self.sequence = itertools.count()
        self.attending = {}  # a job of ours, by lock
        self.counts = collections.Counter()
        self.journal.say("round", seed=seed, mode=mode, faults=faults, rate=rate, steps=self.steps)
        self.preload = os.path.join(build, "programs/clockwork.so")
        self.server_clock = Clockwork(self.preload, os.path.join(folder, "clock"), rate)
        self.ground = new_ground(
            mode,
            self.machine,
            server_program,
            os.path.join(folder, "server"),
            self.server_clock.environment() if rate != 1 or self.steps else {},
        )
        self.ground.start()
        self.await_server()
        if not self.ground.fails_over:
            self.ground.open_proxy(os.path.join(folder, "proxy"))
        self.history = os.path.join(folder, "history")
        self.stalls = self.machine.start([sys.executable, os.path.join(TESTS, "torture/stalls.py"), self.history], os.environ)
        fairlock = os.environ.get("FAIRLOCK") or os.path.join(build, "fairlock")
        dynamic = os.path.join(build, "dynamic/fairlock")
        ports = [node.port for node in self.ground.nodes]  # for Redisson clients
        channels = "sharded" if self.ground.numsub == "SHARDNUMSUB" else "plain"
        self.tools = Tools(
            fairlock,
            dynamic if os.path.exists(dynamic) else fairlock,
            os.path.join(build, "programs/section"),
            os.path.join(TESTS, "torture/script"),
            self.history,
            os.path.join(folder, "home"),
            self.ground.urls(),
            {**self.ground.variables, "PORTS": ",".join(map(str, ports)), "CHANNELS": channels},
        )
        self.looker = Looker(self.ground, self.machine, self.journal, [*LOCKS, *DRIFTING, *HUNG])
        self.looker.start()

    @property
    def described(self):
        mode, faults, rate, steps = self.kind
        clock = ", the clock is set" if steps else ", a fast clock" if rate != 1 else ""
        return f"{mode}, {faults}{clock}"

    # ---- Writing down faults

    def say_fault(self, word, process, at):
        self.counts[f"{word} {process.role}"] += 1
        self.journal.say(
            "fault", at=at, until=now(), fault=word, job=process.job, role=process.role, pid=process.pid
        )

    def say_outage(self, kind, path, at, **fields):
        self.counts[f"{path} {kind}"] += 1
        self.journal.say("outage", at=at, until=now(), kind=kind, path=path, **fields)

    def say_pause(self, job, at):
        self.counts["paused machines"] += 1
        self.journal.say("paused", at=at, until=now(), job=job)

    # ---- Starting jobs and commands

    def later(self, lasts, action):
        heapq.heappush(self.actions, (now() + lasts, next(self.sequence), action))

    def do_due(self, until):
        while self.actions and self.actions[0][0] <= until:
            heapq.heappop(self.actions)[2]()

    def start_job(self, job):
        if job.path not in self.tools.urls:
            job.path = "direct"
        if job.clocked:
            path = os.path.join(self.folder, "clocks", job.name)
            self.clocks[job.name] = Clockwork(self.preload, path)
        self.leases[job.name] = job.lease
        if job.what == "redisson":
            self.redissons[job.name] = job.lock
        at = now()
        pid = self.machine.start(
            job.argv(self.tools),
            job.environment(self.tools, self.clocks.get(job.name)),
            job.name,
            os.path.join(self.folder, "said", job.name),
        )
        self.journal.say("job", at=at, pid=pid, **job.fields())
        self.counts["jobs"] += 1

    def run_command(self, words, what, **fields):
        """Starts a command beside the jobs; command_ended writes down its end."""
        output = os.path.join(self.folder, "said", f"c{next(self.sequence)}")
        at = now()
        environment = dict(
            os.environ,
            **self.tools.variables,
            FAIRLOCK_URL=self.tools.urls["direct"],
            HOME=self.tools.folder,
        )
        pid = self.machine.start([self.tools.fairlock, *words], environment, output=output)
        self.commands[pid] = at, what, fields, output

    def command_ended(self, pid, status):
        at, what, fields, output = self.commands.pop(pid)
        with open(output, encoding="utf-8") as file:
            said = file.read()
        if what != "look" and "free" in said or what in ("force", "removed") and status not in (0, 69):
            return
        self.counts[what] += 1
        self.journal.say(what, at=at, until=now(), status=status, **fields)

    def reap(self):
        for job, pid, status, at in self.machine.reap():
            if job:
                self.counts[f"ended {status}"] += 1
                self.journal.say("exit", at=at, job=job, status=status)
                if job in self.clocks:
                    self.clocks.pop(job).close()
            elif pid in self.commands:
                self.command_ended(pid, status)

    def await_server(self):
        until = now() + 60 * S
        while not self.ground.is_up():
            if now() > until:
                raise RuntimeError("the server does not come up")
            time.sleep(0.005)

    # ---- The course of a round

    def chaos(self, seconds):
        plan, harm = Plan(self.seed, self.is_calm), Harm(self.seed, self)
        end = now() + int(seconds * S)
        if self.is_calm:
            self.let_hang(harm)
        if self.is_calm and self.ground.proxy:
            self.let_drift(harm)
        fault = harm.next()
        fault_at, job_at = now() + S // 2, now()
        while now() < end:
            self.reap()
            self.do_due(now())
            if now() >= fault_at:
                harm.do(fault)
                fault = harm.next()
                fault_at = now() + fault.after
            if now() >= job_at and len(self.machine.jobs) < POPULATION:
                self.start_job(plan.next())
                job_at = max(job_at, now() - S // 10) + S // PER_S
            self.look_at_ground(harm)
            time.sleep(0.003)

    def let_hang(self, harm):
        """Hangs waiters that are next, on locks to which no newcomer comes that would notice."""
        for lock in HUNG:
            jobs = behind_hung(lock)
            self.spared |= {job.name for job in jobs}
            for number, job in enumerate(jobs):
                self.later(number * S // 4, lambda job=job: self.start_job(job))
            names = [job.name for job in jobs[1:-1]]
            self.later(2 * S, lambda names=names: harm.hang_all(names))

    def let_drift(self, harm):
        """Cuts a holder off for longer than its lease; others come when the lease ends."""
        for lock in DRIFTING:
            for holder in cut_off(lock):
                self.spared.add(holder.name)
                self.start_job(holder)
        self.later(S, lambda: harm.proxy_for("cut", "cut", CUT_OFF_S * S))
        for number in range(NEWCOMERS):
            for lock in DRIFTING:
                job = newcomer(number, lock)
                self.later(27 * S + number * S // 10, lambda job=job: self.start_job(job))

    def look_at_ground(self, harm):
        """Writes down a failover without a fault: on a busy machine a server may be taken for dead."""
        if not self.ground.fails_over or now() - self.looked < S:
            return
        since, self.looked = self.looked, now()
        if "server" not in harm.busy and self.ground.has_moved():
            self.say_outage("killed", "server", since - 3 * S, up=since, lost=True, hit=[])

    def drain(self):
        """Ends the faults and waits for all jobs. Then one last job for each lock must find it free."""
        self.do_due(FOREVER)
        begun = now()
        self.await_nobody(begun + DRAIN_S * S, attends=True)
        if self.machine.jobs:
            return now() - begun
        for index, lock in enumerate(LOCKS):
            job = Job(random.Random(f"{self.seed} last {index}"), f"last{index}", "plain", lock)
            job.want = Want()
            self.start_job(job)
        self.await_nobody(begun + DRAIN_S * S)
        return now() - begun

    def attend(self):
        """Sees that one of ours waits behind Redisson clients: alone they wait for their dead for five minutes each."""
        jobs = self.machine.jobs.values()
        for lock in {self.redissons[job] for job in jobs if job in self.redissons}:
            name = self.attending.get(lock)
            if name not in jobs:
                job = Job(random.Random(lock), f"attends{next(self.sequence)}", "plain", lock)
                job.patiently(random.Random(lock))
                job.want, job.ms, job.clocked = Want(), 10, False
                self.attending[lock] = job.name
                self.start_job(job)

    def await_nobody(self, until, attends=False):
        while now() < until:
            self.reap()
            if attends:
                self.attend()
            processes = self.machine.processes()
            if not self.machine.jobs and not self.commands and not processes:
                return
            for process in processes:
                # both guards of a wrap were killed after one had stopped what COMMAND had started
                if process.state == "T" and process.job not in self.machine.jobs.values():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process.pid, signal.SIGCONT)
            time.sleep(0.02)

    def look_for_leftovers(self):
        for _, what, fields, _ in self.commands.values():
            self.journal.say("left", text=f"a command that does not end: {what} {fields}")
        for process in self.machine.processes():
            if process.pid not in self.machine.jobs:  # the checker misses the end of jobs
                self.journal.say("left", text=f"process {process.pid}, the {process.role} of {process.job}")
        if self.machine.jobs:
            return
        self.await_leases()
        for server in self.ground.masters():
            self.look_for_keys(server)
        for name in os.listdir(self.tools.folder):
            self.journal.say("left", text=f"file {name} in the home of the jobs")

    def look_for_keys(self, server):
        for key in server.ask("KEYS", "*"):
            ttl = server.ask("PTTL", key)
            if not key.startswith(("fairlock:", "fairlock_log:", "fairlock_done:")):
                self.journal.say("left", text=f"key {key}")
            elif ttl <= 0:
                self.journal.say("left", text=f"key {key} without a time to live")
            if key.startswith("fairlock:"):
                for field in server.ask("HKEYS", key):
                    if field.startswith("s:") and key in HASHES:
                        self.journal.say("left", text=f"a slot in {key}: {field}")
                    if field.startswith("w:"):
                        self.journal.say("left", text=f"a waiter in {key}: {field}")
        sharded = self.ground.numsub == "SHARDNUMSUB"
        for channel in server.ask("PUBSUB", "CHANNELS") + (server.ask("PUBSUB", "SHARDCHANNELS") if sharded else []):
            if not channel.startswith("__sentinel__"):
                self.journal.say("left", text=f"channel {channel}")

    def await_leases(self):
        """Waits for leases: a last holder may have lost its lock in a stall of the machine, or been cut off."""
        until = now() + 35 * S  # the longest lease is 30 s
        locks = [*LOCKS, *HUNG, *DRIFTING]
        while now() < until and any(self.ground.server_of(lock).ask("EXISTS", lock) for lock in locks):
            time.sleep(0.05)

    def clients(self):
        """Counts the connections of fairlock: all but ours and those of servers."""
        count = 0
        for server in self.ground.masters():
            for line in server.ask("CLIENT", "LIST").splitlines():
                flags = line.partition(" flags=")[2].partition(" ")[0]
                count += line != "" and " name=sentinel-" not in line and not set("SM") & set(flags)
            count -= 2  # the looker's, and this one
        return count

    def await_connections(self):
        """Waits until the server has noticed that the processes have ended."""
        until = now() + 20 * S
        while now() < until:
            if self.clients() <= 0:
                return
            time.sleep(0.05)
        self.journal.say("left", text=f"{self.clients()} connections")

    def end(self):
        self.looker.over.set()
        self.looker.join(10)
        self.journal.say("end")
        self.kill_all()
        if self.ground.proxy:
            self.ground.proxy.close()
        self.ground.forget_connections()
        for clock in [*self.clocks.values(), self.server_clock]:
            clock.close()
        self.journal.close()

    def kill(self, *pids):
        for pid in pids:
            if pid not in self.machine.gone:
                os.kill(pid, signal.SIGKILL)
                self.machine.await_end(pid)

    def kill_all(self):
        for pid in {process.pid for process in self.machine.processes()} | set(self.machine.jobs):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.kill(*self.ground.processes(), self.stalls)

    def run(self, seconds):
        try:
            self.chaos(seconds)
            took = self.drain()
            if self.ground.proxy:
                self.kill(self.ground.proxy.pid)  # it still has the connections that it forgot
            if not self.machine.jobs:
                self.await_connections()
            self.look_for_leftovers()
        finally:
            self.end()
        return took

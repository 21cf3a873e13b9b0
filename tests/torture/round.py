"""One round of the torture test: starts a server and jobs, does harm, waits for the end, looks for what is left."""

import contextlib
import heapq
import itertools
import os
import signal
import time
import uuid

from clockwork import Clockwork
from grounds import new_ground
from harm import Fault, Harm
from jobs import LOCKS, extra, nth
from machine import FOREVER, S, Journal, Machine, now
from server import Looker

DRAIN_S = 150  # for all jobs that are left
POPULATION = 48  # jobs at a time
PER_S = 40  # new jobs, at most
# Ground, faults, the rate of the server's clock, and whether it is set now and then, where the server keeps its data: a server
# that loses its tokens may give smaller ones then. The seed of a round chooses one of these, so that rounds that follow each
# other have all.
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
    ("cluster", "calm", 1.08, False),
]


class Round:
    def __init__(self, seed, folder, build, server_program):
        self.seed, self.folder = seed, folder
        for name in "server", "proxy", "home", "said", "clocks":
            os.makedirs(os.path.join(folder, name))
        self.machine = Machine(uuid.uuid4().hex)
        self.journal = Journal(os.path.join(folder, "history"))
        self.mode, faults, rate, self.steps = KINDS[seed % len(KINDS)]
        self.is_calm = faults == "calm"
        clock = ", the clock is set" if self.steps else ", a fast clock" if rate != 1 else ""
        self.described = f"{self.mode}, {faults}{clock}"
        self.looked = now()
        self.commands, self.actions, self.sequence = {}, [], itertools.count()
        self.jobs, self.clocks = {}, {}  # by name
        self.attending = {}  # a job of ours, by lock
        self.preload = os.path.join(build, "programs/clockwork.so")
        self.server_clock = Clockwork(self.preload, os.path.join(folder, "clock"), rate)
        environment = self.server_clock.environment() if rate != 1 or self.steps else {}
        self.stalls = self.journal.watch()
        self.ground = new_ground(self.mode, self.machine, server_program, os.path.join(folder, "server"), environment)
        self.ground.start()
        self.await_server()
        if not self.ground.fails_over:
            self.ground.open_proxy(os.path.join(folder, "proxy"))
        self.urls = self.ground.urls()
        fairlock = os.environ.get("FAIRLOCK") or os.path.join(build, "fairlock")
        dynamic = os.path.join(build, "dynamic/fairlock")
        self.variables = {
            **self.ground.variables,
            "FAIRLOCK": fairlock,
            "DYNAMIC": dynamic if os.path.exists(dynamic) else fairlock,
            "SECTION": os.path.join(build, "programs/section"),
            "HISTORY": self.journal.path,
            "HOME": os.path.join(folder, "home"),
            # for Redisson clients
            "PORTS": ",".join(str(node.port) for node in self.ground.nodes),
            "CHANNELS": "sharded" if self.ground.numsub == "SHARDNUMSUB" else "plain",
        }
        self.looker = Looker(self.ground, self.machine, self.journal, LOCKS)
        self.looker.start()

    # ---- Starting jobs and commands

    def later(self, lasts, action):
        heapq.heappush(self.actions, (now() + lasts, next(self.sequence), action))

    def do_due(self, until):
        while self.actions and self.actions[0][0] <= until:
            heapq.heappop(self.actions)[2]()

    def start_job(self, job):
        if job.path not in self.urls:
            job.path = "direct"
        environment = {**self.variables, **job.environment, "FAIRLOCK_URL": self.urls[job.path]}
        if job.clocked:
            self.clocks[job.name] = Clockwork(self.preload, os.path.join(self.folder, "clocks", job.name))
            environment.update(self.clocks[job.name].environment())
        self.jobs[job.name] = job
        at = now()
        pid = self.machine.start(
            job.argv(self.variables), environment, job.name, os.path.join(self.folder, "said", job.name)
        )
        self.journal.say("job", at=at, pid=pid, **job.fields())

    def run_command(self, words, what, **fields):
        """Starts a command beside the jobs; command_ended writes down its end."""
        output = os.path.join(self.folder, "said", f"c{next(self.sequence)}")
        at, environment = now(), {**self.variables, "FAIRLOCK_URL": self.urls["direct"]}
        pid = self.machine.start([self.variables["FAIRLOCK"], *words], environment, output=output)
        self.commands[pid] = at, what, fields, output

    def command_ended(self, pid, status):
        at, what, fields, output = self.commands.pop(pid)
        with open(output, encoding="utf-8") as file:
            said = file.read()
        if what != "look" and "free" in said or what in ("force", "removed") and status not in (0, 69):
            return
        self.journal.say(what, at=at, until=now(), status=status, **fields)

    def reap(self):
        for job, pid, status, at in self.machine.reap():
            if job:
                self.journal.say("exit", at=at, job=job, status=status)
                self.clocks.pop(job, None)
            elif pid in self.commands:
                self.command_ended(pid, status)

    def await_that(self, condition, seconds):
        """Whether it becomes true in this time."""
        until = now() + seconds * S
        while not condition():
            if now() > until:
                return False
            time.sleep(0.005)
        return True

    def await_server(self):
        if not self.await_that(self.ground.is_up, 60):
            raise RuntimeError("the server does not come up")

    # ---- The course of a round

    def chaos(self, seconds):
        harm = Harm(self)
        end = now() + int(seconds * S)
        faults = (Fault(self.seed, number, self.mode, self.is_calm) for number in itertools.count(1))
        fault, count = next(faults), 0
        fault_at, job_at = now() + S // 2, now()
        while now() < end:
            self.reap()
            self.do_due(now())
            if now() >= fault_at:
                harm.do(fault)
                fault = next(faults)
                fault_at = now() + fault.after
            if now() >= job_at and len(self.machine.jobs) < POPULATION:
                count += 1
                self.start_job(nth(self.seed, count, self.is_calm))
                job_at = max(job_at, now() - S // 10) + S // PER_S
            self.look_at_ground(harm)
            time.sleep(0.003)

    def look_at_ground(self, harm):
        """Writes down a failover without a fault: on a busy machine a server may be taken for dead."""
        if not self.ground.fails_over or now() - self.looked < S:
            return
        since, self.looked = self.looked, now()
        if "server" not in harm.busy and self.ground.has_moved():
            moved = {"kind": "killed", "path": "server", "up": since, "lost": True, "hit": []}
            self.journal.say("outage", at=since - 3 * S, until=now(), **moved)

    def drain(self):
        """Ends the faults and waits for all jobs. Then one last job for each lock must find it free."""
        self.do_due(FOREVER)
        begun = now()
        self.await_nobody(begun + DRAIN_S * S, attends=True)
        if not self.machine.jobs:
            for index, lock in enumerate(LOCKS):
                self.start_job(extra(f"last{index}", lock, 100))
            self.await_nobody(begun + DRAIN_S * S)
        return now() - begun

    def attend(self):
        """Sees that one of ours waits behind Redisson clients: alone they wait for their dead for five minutes each."""
        names = self.machine.jobs.values()
        for lock in {self.jobs[name].lock for name in names if self.jobs[name].what == "redisson"}:
            if self.attending.get(lock) not in names:
                job = extra(f"attends{next(self.sequence)}", lock, 10)
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

    # ---- What is left

    def left(self, text):
        self.journal.say("left", text=text)

    def look_for_leftovers(self):
        for _, what, fields, _ in self.commands.values():
            self.left(f"a command that does not end: {what} {fields}")
        for process in self.machine.processes():
            if process.pid not in self.machine.jobs:  # the checker misses the end of jobs
                self.left(f"process {process.pid}, the {process.role} of {process.job}")
        if self.machine.jobs:
            return
        # until the server has noticed that the processes have ended
        if not self.await_that(lambda: self.clients() <= 0, 20):
            self.left(f"{self.clients()} connections")
        # a last holder may have lost its lock in a stall of the machine, or been cut off; the longest lease is 10 s
        self.await_that(lambda: not any(self.ground.server_of(lock).ask("EXISTS", lock) for lock in LOCKS), 15)
        for server in self.ground.masters():
            self.look_for_keys(server)
        for name in os.listdir(self.variables["HOME"]):
            self.left(f"file {name} in the home of the jobs")

    def look_for_keys(self, server):
        for key in server.ask("KEYS", "*"):
            if not key.startswith(("fairlock:", "fairlock_log:", "fairlock_done:")):
                self.left(f"key {key}")
            elif server.ask("PTTL", key) <= 0:
                self.left(f"key {key} without a time to live")
            if key.startswith("fairlock:"):
                for field in server.ask("HKEYS", key):
                    if field.startswith(("w:", "s:")):
                        self.left(f"a waiter or a slot in {key}: {field}")
        for channels in "CHANNELS", "SHARDCHANNELS":
            if channels == "CHANNELS" or self.ground.numsub == "SHARDNUMSUB":
                for channel in server.ask("PUBSUB", channels):
                    if not channel.startswith("__sentinel__"):
                        self.left(f"channel {channel}")

    def clients(self):
        """Counts the connections of fairlock: all but ours and those of servers."""
        count = 0
        for server in self.ground.masters():
            for line in server.ask("CLIENT", "LIST").splitlines():
                flags = line.partition(" flags=")[2].partition(" ")[0]
                count += line != "" and " name=sentinel-" not in line and not set("SM") & set(flags)
            count -= 2  # the looker's, and this one
        return count

    def end(self):
        self.looker.over.set()
        self.looker.join(10)
        self.journal.say("over")
        for pid in {process.pid for process in self.machine.processes()} | set(self.machine.jobs):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.machine.kill(*self.stalls)
        self.ground.end()
        self.journal.close()

    def run(self, seconds):
        """Returns how long it took until all was over, in ns."""
        try:
            self.chaos(seconds)
            took = self.drain()
            if self.ground.proxy:
                self.machine.kill(self.ground.proxy.pid)  # it still has the connections that it forgot
            self.look_for_leftovers()
        finally:
            self.end()
        return took

"""The driver of the torture test; `run`, beside it, starts it and tells what it is."""

import argparse
import collections
import heapq
import itertools
import os
import random
import shutil
import signal
import sys
import time
import uuid

sys.dont_write_bytecode = True  # nothing is left beside the tests
import check
from clockwork import Clockwork
from faults import Faults
from grounds import new_ground
from jobs import DRIFTING, HUNG, LOCKS, Job, Plan, behind_hung, cut_off, newcomer
from machine import Journal, Machine, now
from server import Looker

S = 1_000_000_000
CHAOS_S = 25  # of one round
CALM_S = 45  # of one in which the server is always there
CUT_OFF_S = 34  # a holder with a lease of 30 s
NEWCOMERS = 35  # in the seconds in which that lease ends
DRAIN_S = 150  # everybody who is left has had his turn by then
POPULATION = 48  # jobs at a time
PER_S = 40  # new ones, at most
MOST_FAILURES = 5  # rounds; there is no use in more

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

Tools = collections.namedtuple("Tools", "fairlock shared section script history folder urls variables")

# What a round is like is up to its seed: ground, faults, how much faster the server's clock runs, and whether that
# is set now and then. Rounds that follow each other see all of it.
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
        os.makedirs(os.path.join(folder, "server"))
        os.mkdir(os.path.join(folder, "proxy"))
        os.mkdir(os.path.join(folder, "home"))
        os.mkdir(os.path.join(folder, "said"))
        os.mkdir(os.path.join(folder, "clocks"))
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
        self.spared = set()  # jobs to which nothing is done at random
        self.clocks = {}
        self.sequence = itertools.count()
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
        self.stalls = self.machine.start([os.path.join(build, "programs/stalls"), self.history], os.environ)
        fairlock = os.environ.get("FAIRLOCK") or os.path.join(build, "fairlock")
        self.tools = Tools(
            fairlock,
            fairlock + "-full" if os.path.exists(fairlock + "-full") else fairlock,
            os.path.join(build, "programs/section"),
            os.path.join(TESTS, "torture/script"),
            self.history,
            os.path.join(folder, "home"),
            self.ground.urls(),
            self.ground.variables,
        )
        self.looker = Looker(self.ground, self.machine, self.journal, [*LOCKS, DRIFTING, *HUNG])
        self.looker.start()

    @property
    def described(self):
        mode, faults, rate, steps = self.kind
        clock = ", the clock is set" if steps else ", a fast clock" if rate != 1 else ""
        return f"{mode}, {faults}{clock}"

    # ---- What happened

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

    # ---- Doing

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
        """A fairlock beside the jobs; what becomes of it is written down when it ends."""
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
        if what != "look" and (status not in (0, 69) or "free" in said):
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

    # ---- The course of it

    def chaos(self, seconds):
        plan, faults = Plan(self.seed, self.is_calm), Faults(self.seed, self)
        end = now() + int(seconds * S)
        if self.is_calm:
            self.let_hang(faults)
        if self.is_calm and self.ground.proxy:
            self.let_drift(faults)
        fault = faults.next()
        fault_at, job_at = now() + S // 2, now()
        while now() < end:
            self.reap()
            self.do_due(now())
            if now() >= fault_at:
                faults.do(fault)
                fault = faults.next()
                fault_at = now() + fault.after
            if now() >= job_at and len(self.machine.jobs) < POPULATION:
                self.start_job(plan.next())
                job_at = max(job_at, now() - S // 10) + S // PER_S
            self.look_at_ground(faults)
            time.sleep(0.003)

    def let_hang(self, faults):
        """Some who are next hang, and nobody comes who would see that."""
        for lock in HUNG:
            jobs = behind_hung(lock)
            self.spared |= {job.name for job in jobs}
            for number, job in enumerate(jobs):
                self.later(number * S // 4, lambda job=job: self.start_job(job))
            names = [job.name for job in jobs[1:-1]]
            self.later(2 * S, lambda names=names: faults.hang_all(names))

    def let_drift(self, faults):
        """A holder is cut off for longer than its lease, and others come when that ends."""
        holder = cut_off()
        self.spared.add(holder.name)
        self.start_job(holder)
        self.later(S, lambda: faults.proxy_for("cut", "cut", CUT_OFF_S * S))
        for number in range(NEWCOMERS):
            self.later((27 * S + number * S // 10), lambda number=number: self.start_job(newcomer(number)))

    def look_at_ground(self, faults):
        """On a machine as busy as this one a server may be taken for dead, and replaced."""
        if not self.ground.fails_over or now() - self.looked < S:
            return
        since, self.looked = self.looked, now()
        if "server" not in faults.busy and self.ground.has_moved():
            self.say_outage("killed", "server", since - 3 * S, up=since, lost=True, hit=[])

    def drain(self):
        """No more faults: all go on, and all who are left get their turn. The last is to find nobody."""
        self.do_due(check.FOREVER)
        begun = now()
        self.await_nobody(begun + DRAIN_S * S)
        if self.machine.jobs:
            return now() - begun
        for index, lock in enumerate(LOCKS):
            self.start_job(Job(random.Random(f"{self.seed} last {index}"), f"last{index}", "plain", lock))
        self.await_nobody(begun + DRAIN_S * S)
        return now() - begun

    def await_nobody(self, until):
        while now() < until:
            self.reap()
            processes = self.machine.processes()
            if not self.machine.jobs and not self.commands and not processes:
                return
            time.sleep(0.02)

    def look_for_leftovers(self):
        for _, what, fields, _ in self.commands.values():
            self.journal.say("left", text=f"a command that does not end: {what} {fields}")
        for process in self.machine.processes():
            if process.pid not in self.machine.jobs:  # those the checker misses anyhow
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
            if not key.startswith(("fairlock:", "fairlock_log:")):
                self.journal.say("left", text=f"key {key}")
            elif ttl <= 0:
                self.journal.say("left", text=f"key {key} without a time to live")
            if key.startswith("fairlock:"):
                for field in server.ask("HKEYS", key):
                    if field[:2] in ("t:", "d:"):
                        self.journal.say("left", text=f"a waiter in {key}: {field}")
        sharded = self.ground.numsub == "SHARDNUMSUB"
        for channel in server.ask("PUBSUB", "CHANNELS") + (server.ask("PUBSUB", "SHARDCHANNELS") if sharded else []):
            if not channel.startswith("__sentinel__"):
                self.journal.say("left", text=f"channel {channel}")

    def await_leases(self):
        """The last holder may have lost its lock, when the machine stood still or it was cut off: that ends by itself."""
        until = now() + 35 * S  # the longest lease is 30 s
        locks = [*LOCKS, *HUNG, DRIFTING]
        while now() < until and any(self.ground.server_of(lock).ask("EXISTS", lock) for lock in locks):
            time.sleep(0.05)

    def clients(self):
        """Connections of fairlock, so far as one can tell: not ours, and not those of servers."""
        count = 0
        for server in self.ground.masters():
            for line in server.ask("CLIENT", "LIST").splitlines():
                flags = line.partition(" flags=")[2].partition(" ")[0]
                count += line != "" and " name=sentinel-" not in line and not set("SM") & set(flags)
            count -= 2  # the looker's, and this one
        return count

    def await_connections(self):
        """The server sees a moment later that a process has ended."""
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
                self.kill(self.ground.proxy.pid)  # it keeps connections that it forgot
            if not self.machine.jobs:
                self.await_connections()
            self.look_for_leftovers()
        finally:
            self.end()
        return took


class Run:
    def __init__(self, options):
        self.options = options
        self.started = now()
        self.totals = collections.Counter()
        self.sections = self.excused = self.violations = 0
        self.passed = self.failed = 0
        self.failures = []

    def left_s(self):
        return self.options.duration - (now() - self.started) / S

    def is_over(self, rounds):
        return rounds > 0 and self.left_s() < 10 or len(self.failures) >= MOST_FAILURES

    def all(self):
        rounds = 0
        while not self.is_over(rounds):
            self.one(self.options.seed + rounds)
            rounds += 1
        self.summary(rounds)

    def one(self, seed):
        folder = os.path.join(self.options.folder, str(seed))
        shutil.rmtree(folder, ignore_errors=True)
        round_ = Round(seed, folder, self.options.build, self.options.server)
        took = round_.run(max(5, min(CALM_S if round_.is_calm else CHAOS_S, self.left_s() - 10)))
        checked = check.Round(folder)
        checked.check()
        broken = {name for name, *_ in checked.violations}
        self.passed += len(check.Round.PROPERTIES) - len(broken)
        self.failed += len(broken)
        self.sections += checked.sections
        self.excused += checked.excused
        self.violations += len(checked.violations)
        self.totals += round_.counts
        faults = sum(count for what, count in round_.counts.items() if what != "jobs" and "ended" not in what)
        print(
            f"seed {seed} ({round_.described}): {round_.counts['jobs']} jobs, "
            f"{checked.sections} critical sections, "
            f"{faults} faults, all over after {took / S:.0f} s more: "
            f"{', '.join(sorted(broken)) + ' VIOLATED' if broken else 'ok'}",
            flush=True,
        )
        if broken:
            self.failures.append(seed)
            for line in check.report(checked):
                print(f"    # {line}")
            print(f"    # all of it is in {folder}; again: make torture SEED={seed} DURATION=30s", flush=True)
        else:
            shutil.rmtree(folder)

    def summary(self, rounds):
        print(
            f"\n{rounds} rounds in {(now() - self.started) / S:.0f} s, "
            f"seeds {self.options.seed} to {self.options.seed + rounds - 1}"
        )
        for what, count in sorted(self.totals.items()):
            print(f"{count:8} {what}" if "ended" not in what else f"{count:8} jobs {what}")
        print(f"{self.sections:8} critical sections")
        print(f"{self.excused:8} overlaps excused, since the machine stood still")
        print(f"{self.violations:8} violations")
        for seed in self.failures:
            print(f"failed: seed {seed}")
        if self.options.result:
            with open(self.options.result, "w", encoding="ascii") as file:
                file.write(f"{self.passed} {self.failed} 0\n")
        print(f"{self.passed} passed, {self.failed} failed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--duration", type=int, required=True)
    parser.add_argument("--seed", type=int, default=None)
    for name in "--folder", "--build", "--server":
        parser.add_argument(name, required=True)
    parser.add_argument("--result")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1_000_000)
    for name in [name for name in os.environ if name.startswith("FAIRLOCK_")] + ["REDISCLI_AUTH"]:
        os.environ.pop(name, None)
    os.closerange(3, 256)  # a COMMAND is to find none that fairlock did not leave it
    run = Run(options)
    run.all()
    sys.exit(1 if run.failed else 0)


if __name__ == "__main__":
    main()

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
from faults import Faults
from jobs import LOCKS, Job, Plan
from machine import Journal, Machine, now
from server import Looker, Proxy, Server

S = 1_000_000_000
CHAOS_S = 25  # of one round
DRAIN_S = 150  # everybody who is left has had his turn by then
POPULATION = 48  # jobs at a time
PER_S = 40  # new ones, at most
MOST_FAILURES = 5  # rounds; there is no use in more

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

Tools = collections.namedtuple("Tools", "fairlock section script history folder urls")


class Round:
    def __init__(self, seed, folder, build, server_program):
        self.seed, self.folder, self.build = seed, folder, build
        os.makedirs(os.path.join(folder, "server"))
        os.mkdir(os.path.join(folder, "proxy"))
        os.mkdir(os.path.join(folder, "home"))
        os.mkdir(os.path.join(folder, "said"))
        self.machine = Machine(uuid.uuid4().hex)
        self.journal = Journal(os.path.join(folder, "events"))
        self.mode = "volatile" if random.Random(f"{seed} mode").random() < 0.25 else "kept"
        self.gone = set()
        self.commands = {}
        self.actions = []
        self.sequence = itertools.count()
        self.counts = collections.Counter()
        self.journal.say("round", seed=seed, mode=self.mode)
        self.server = Server(
            self.machine, server_program, os.path.join(folder, "server"), self.mode == "volatile"
        )
        self.server.start()
        self.await_server()
        self.proxy = Proxy(self.machine, os.path.join(folder, "proxy"), self.server.port)
        self.history = os.path.join(folder, "history")
        self.stalls = self.machine.start([os.path.join(build, "programs/stalls"), self.history], os.environ)
        self.tools = Tools(
            os.environ.get("FAIRLOCK") or os.path.join(build, "fairlock"),
            os.path.join(build, "programs/section"),
            os.path.join(TESTS, "torture/script"),
            self.history,
            os.path.join(folder, "home"),
            {"direct": f"redis://127.0.0.1:{self.server.port}", "proxy": f"redis://{self.proxy.address}"},
        )
        self.looker = Looker(self.server, self.machine, self.journal, LOCKS)
        self.looker.start()

    # ---- What happened

    def say_fault(self, word, process, at):
        self.counts[f"{word} {process.role}"] += 1
        self.journal.say(
            "fault", at=at, until=now(), fault=word, job=process.job, role=process.role, pid=process.pid
        )

    def say_outage(self, kind, path, at, **fields):
        self.counts[f"{path} {kind}"] += 1
        self.journal.say("outage", at=at, until=now(), kind=kind, path=path, **fields)

    # ---- Doing

    def later(self, lasts, action):
        heapq.heappush(self.actions, (now() + lasts, next(self.sequence), action))

    def do_due(self, until):
        while self.actions and self.actions[0][0] <= until:
            heapq.heappop(self.actions)[2]()

    def start_job(self, job):
        at = now()
        pid = self.machine.start(
            job.argv(self.tools),
            job.environment(self.tools),
            job.name,
            os.path.join(self.folder, "said", job.name),
        )
        self.journal.say("job", at=at, pid=pid, **job.fields())
        self.counts["jobs"] += 1

    def run_command(self, words, what, **fields):
        """A fairlock beside the jobs; what becomes of it is written down when it ends."""
        output = os.path.join(self.folder, "said", f"c{next(self.sequence)}")
        at = now()
        environment = dict(os.environ, FAIRLOCK_URL=self.tools.urls["direct"], HOME=self.tools.folder)
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
        for job, pid, status in self.machine.reap():
            self.gone.add(pid)
            if job:
                self.counts[f"ended {status}"] += 1
                self.journal.say("exit", job=job, status=status)
            elif pid in self.commands:
                self.command_ended(pid, status)

    def await_end(self, pid):
        while pid not in self.gone:
            self.reap()
            time.sleep(0.002)

    def await_server(self):
        until = now() + 60 * S
        while not self.server.is_up():
            if now() > until:
                raise RuntimeError("the server does not come up")
            time.sleep(0.005)

    # ---- The course of it

    def chaos(self, seconds):
        plan, faults = Plan(self.seed), Faults(self.seed, self)
        end = now() + int(seconds * S)
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
            time.sleep(0.003)

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
            self.continue_orphans(processes)
            time.sleep(0.02)

    def continue_orphans(self, processes):
        """A guard stops the wrapper when COMMAND was stopped. Without a guard only a shell's fg would
        continue it."""
        guarded = {process.job for process in processes if process.role == "guard"}
        for process in processes:
            if process.role == "wrapper" and process.state == "T" and process.job not in guarded:
                at = now()
                os.kill(process.pid, signal.SIGCONT)
                self.say_fault("cont", process, at)

    def look_for_leftovers(self):
        for _, what, fields, _ in self.commands.values():
            self.journal.say("left", text=f"a command that does not end: {what} {fields}")
        for process in self.machine.processes():
            if process.pid not in self.machine.jobs:  # those the checker misses anyhow
                self.journal.say("left", text=f"process {process.pid}, the {process.role} of {process.job}")
        if self.machine.jobs:
            return
        self.await_leases()
        for key in self.server.ask("KEYS", "*"):
            ttl = self.server.ask("PTTL", key)
            if not key.startswith(("fairlock:", "fairlock_log:")):
                self.journal.say("left", text=f"key {key}")
            elif ttl <= 0:
                self.journal.say("left", text=f"key {key} without a time to live")
            if key.startswith("fairlock:"):
                for field in self.server.ask("HKEYS", key):
                    if field[:2] in ("t:", "d:"):
                        self.journal.say("left", text=f"a waiter in {key}: {field}")
        for channel in self.server.ask("PUBSUB", "CHANNELS"):
            self.journal.say("left", text=f"channel {channel}")
        for name in os.listdir(self.tools.folder):
            self.journal.say("left", text=f"file {name} in the home of the jobs")

    def await_leases(self):
        """The last holder may have lost its lock, when the machine stood still: that ends by itself."""
        until = now() + 20 * S
        while now() < until and self.server.ask("EXISTS", *LOCKS) > 0:
            time.sleep(0.05)

    def await_connections(self):
        """The server sees a moment later that a process has ended."""
        until = now() + 20 * S
        while now() < until:
            clients = [line for line in self.server.ask("CLIENT", "LIST").splitlines() if line]
            if len(clients) <= 2:  # the looker and we
                return
            time.sleep(0.05)
        self.journal.say("left", text=f"{len(clients) - 2} connections")

    def end(self):
        self.looker.over.set()
        self.looker.join(10)
        self.journal.say("end")
        self.kill_all()
        self.proxy.close()
        self.server.forget_connection()
        self.journal.close()

    def kill(self, *pids):
        for pid in pids:
            if pid not in self.gone:
                os.kill(pid, signal.SIGKILL)
                self.await_end(pid)

    def kill_all(self):
        for pid in {process.pid for process in self.machine.processes()} | set(self.machine.jobs):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.kill(self.server.pid, self.proxy.pid, self.stalls)

    def run(self, seconds):
        try:
            self.chaos(seconds)
            took = self.drain()
            self.kill(self.proxy.pid)  # it keeps connections that it forgot
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
        took = round_.run(max(5, min(CHAOS_S, self.left_s() - 10)))
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
            f"seed {seed} ({round_.mode}): {round_.counts['jobs']} jobs, "
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

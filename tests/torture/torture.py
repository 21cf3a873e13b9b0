"""The driver of the torture test: runs rounds, and checks each. `run`, beside it, starts it and tells what it is."""

import argparse
import collections
import os
import random
import shutil
import sys

sys.dont_write_bytecode = True  # nothing is left beside the tests
import check
from machine import now
from round import Round

S = 1_000_000_000
CHAOS_S = 25  # the faults of a round
CALM_S = 45  # the same in a calm round, in which the server is always there
MOST_FAILURES = 5  # rounds that fail; more are of no use


class Run:
    def __init__(self, options):
        self.options = options
        self.started = now()
        self.totals = collections.Counter()
        self.sections = self.redisson = self.excused = self.violations = 0
        self.passed = self.failed = 0
        self.failures = []

    def left_s(self):
        return self.options.duration - (now() - self.started) / S

    def is_over(self, rounds):
        return rounds > 0 and self.left_s() < 10 or len(self.failures) >= MOST_FAILURES

    def run_all(self):
        rounds = 0
        while not self.is_over(rounds):
            self.run_one(self.options.seed + rounds)
            rounds += 1
        self.summary(rounds)

    def run_one(self, seed):
        folder = os.path.join(self.options.folder, str(seed))
        shutil.rmtree(folder, ignore_errors=True)
        round_ = Round(seed, folder, self.options.build, self.options.server)
        took = round_.run(max(5, min(CALM_S if round_.is_calm else CHAOS_S, self.left_s() - 10)))
        checked = check.Checker(folder)
        checked.check()
        broken = {name for name, *_ in checked.violations}
        self.passed += len(check.Checker.PROPERTIES) - len(broken)
        self.failed += len(broken)
        self.sections += checked.sections
        self.redisson += sum(job.kind == "redisson" and job.started is not None for job in checked.jobs.values())
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
        print(f"{self.redisson:8} of them Redisson clients'")
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
    os.closerange(3, 256)  # so that COMMAND finds only descriptors that fairlock left it
    run = Run(options)
    run.run_all()
    sys.exit(1 if run.failed else 0)


if __name__ == "__main__":
    main()

"""Fuzzes the readers and writers of the records in our hash: the scripts of lua/ on a real server.

usage: fuzz.py [--seconds 60] [--seed N] [--lua FOLDER] [--found FOLDER] [HISTORY...]

HISTORY is a file: a step a line, in JSON. All of these are carried out first, and then what chance makes, from the seed
on. Always the usual case of acquire, renew and release must answer and leave the same as the long way. Half of the
histories are undamaged: there the records must say exactly what was asked for, and what is shown must be what they say.
Into the others damages are mixed; the scripts may not fail, and the lock is usable in the end. Of a history that fails,
the shortest that fails so is looked for, printed, and written into the folder. checks.py and ways.py say what is looked
at."""

import argparse
import json
import os
import random
import sys
import time
import traceback

sys.dont_write_bytecode = True  # nothing is left beside the tests
from checks import Failure
from choose import Chooser
from server import ROOT, Server
from world import World

LONGEST = 40
SHRINK_S = 20


def carry_out(server, steps, chooser=None, done=None):
    """Returns the failure of a history, or None. With a chooser, it makes the steps, and adds them to `done`."""
    world = World(server)
    try:
        for step in steps:
            world.do(step)
        while chooser and len(done) < chooser.length:
            chooser.world = world
            for step in chooser.steps():
                done.append(step)
                world.do(step)
        world.heal()
        carry_out.compared += world.ways_compared
    except Failure as failure:
        return failure
    finally:
        world.close()
    return None


carry_out.compared = 0


def shortest(server, steps, sort):
    """Leaves out as many steps, and words of these, as can be. Returns the steps and the last failure."""
    ends, last = time.monotonic() + SHRINK_S, None
    size = len(steps) // 2 or 1
    while size:
        at = 0
        while at < len(steps) and time.monotonic() < ends:
            fewer = steps[:at] + steps[at + size:]
            failure = carry_out(server, fewer)
            if failure and failure.sort() == sort:
                steps, last = fewer, failure
            else:
                at += size
        size //= 2
    for at, step in enumerate(steps):
        for name in list(step[-1]) if isinstance(step[-1], dict) else []:
            less = step[:-1] + [{key: value for key, value in steps[at][-1].items() if key != name}]
            fewer = steps[:at] + [less] + steps[at + 1:]
            failure = carry_out(server, fewer) if time.monotonic() < ends else None
            if failure and failure.sort() == sort:
                steps, last = fewer, failure
    return steps, last


def told(failure, steps, seed):
    """The failure, for people."""
    yield f"{failure.kind}: {failure}"
    yield f"seed {seed}, the step {json.dumps(failure.step)}" if failure.step else f"seed {seed}, in the end"
    yield from map(json.dumps, steps)


def read_history(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


class Fuzzer:
    def __init__(self, options):
        self.options, self.histories, self.steps, self.failures = options, 0, 0, []
        self.server = Server(options.lua)

    def fail(self, name, failure, steps):
        if failure.sort() in self.failures and not self.options.all:
            return
        fewer, last = shortest(self.server, steps, failure.sort())
        self.failures.append(failure.sort())
        print(f"failed: {name}")
        for line in told(last or failure, fewer, name):
            print("    # " + ascii(line)[1:-1] if not line.isascii() else "    # " + line)
        sys.stdout.flush()
        if self.options.found:
            os.makedirs(self.options.found, exist_ok=True)
            path = os.path.join(self.options.found, f"records-{failure.kind}-{name}".replace("/", "_"))
            with open(path, "w", encoding="utf-8") as file:
                file.write("".join(json.dumps(step) + "\n" for step in fewer))
            print(f"    # repeat: python3 tests/fuzz/records/fuzz.py --seconds 0 {path}")
            sys.stdout.flush()

    def repeat(self, path):
        steps = read_history(path)
        self.histories += 1
        self.steps += len(steps)
        failure = carry_out(self.server, steps)
        if failure:
            self.fail(os.path.basename(path), failure, steps)

    def invent(self, seed):
        chance, steps = random.Random(seed), []
        chooser = Chooser(chance, None)
        chooser.damages, chooser.length = seed % 2 == 1, len(chooser.opening) + chance.randint(3, LONGEST)
        failure = carry_out(self.server, [], chooser, steps)
        self.histories += 1
        self.steps += len(steps)
        if failure:
            self.fail(str(seed), failure, steps)

    def go(self):
        """Returns whether all went well."""
        began = time.monotonic()
        try:
            for path in self.options.histories:
                self.repeat(path)
            seed = self.options.seed
            while time.monotonic() < began + self.options.seconds and len(self.failures) < self.options.most:
                self.invent(seed)
                seed += 1
        finally:
            self.server.stop()
        # for tests/fuzz/run
        spent = max(1, round(time.monotonic() - began))
        print(f"stat::number_of_executed_units: {self.steps}\nstat::average_exec_per_sec: {self.steps // spent}")
        print(f"seeds {self.options.seed} to {seed - 1}: {self.histories} histories of {self.steps} steps, "
              f"{carry_out.compared} compared with the long way, {len(self.failures)} failed")
        return not self.failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--lua", default=os.path.join(ROOT, "lua"))
    parser.add_argument("--found")
    parser.add_argument("--most", type=int, default=5, help="end after so many failures")
    parser.add_argument("--all", action="store_true", help="tell several failures of one kind, too")
    parser.add_argument("histories", nargs="*")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(10 ** 9)
    try:
        sys.exit(0 if Fuzzer(options).go() else 1)
    except Exception:
        traceback.print_exc()
        sys.exit(2)


if __name__ == "__main__":
    main()

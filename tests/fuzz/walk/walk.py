#!/usr/bin/env python3
"""Walks at random through what clients, networks and servers can do, with the scripts of lua/ on a real server, and checks what
is promised to everybody.

usage: walk.py [--requests 100000] [--seed N] [--lua FOLDER] [--found FOLDER] [WALK...]

WALK is a file: a step a line, in JSON; these are carried out first. Then come walks that chance makes, each from a seed of its
own, until so many requests are made. In a quarter of them, the keys are damaged. The server's clock stands still but for us, so
that a seed, and a file, always do the same. Of a walk that fails, the shortest that fails so is looked for, printed, and written
into the folder.

world.py has the steps, promises.py what is checked, clients.py and redisson.py those who ask, protocol.py the forms of requests,
answers and keys, chance.py what is likely."""

import argparse
import json
import os
import random
import sys
import time
import traceback

sys.dont_write_bytecode = True  # nothing is left beside the tests
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import protocol  # noqa: E402
import redisson  # noqa: E402
from chance import Chance  # noqa: E402
from server import ROOT, Servers  # noqa: E402
from world import Failure, World  # noqa: E402

SHRINK_S = 25
LAST_LINES, LINE = 40, 600


def carry_out(servers, steps, chance=None, length=0, trace=None):
    """Returns the failure of a walk, or None, and how many requests there were. With `chance`, this adds to the steps."""
    world = World(servers, trace)
    try:
        for step in steps:
            world.do(step)
        while chance and len(steps) < length:
            for step in chance.steps(world):
                steps.append(step)
                world.do(step)
        world.finish()
    except Failure as failure:
        return failure, world.requests
    finally:
        world.close()
    return None, world.requests


def shortest(servers, steps, sort):
    """Leaves out as many steps as can be."""
    ends, size = time.monotonic() + SHRINK_S, len(steps) // 2 or 1
    while size and time.monotonic() < ends:
        at = 0
        while at < len(steps) and time.monotonic() < ends:
            fewer = steps[:at] + steps[at + size:]
            failure, _ = carry_out(servers, fewer)
            if failure and failure.sort() == sort:
                steps = fewer
            else:
                at += size
        size //= 2
    return steps


class Walker:
    def __init__(self, options):
        self.options, self.walks, self.requests, self.failures = options, 0, 0, []
        self.servers = Servers({**protocol.texts(options.lua), **redisson.TEXTS, "keys": protocol.LOOK})

    def fail(self, name, failure, steps):
        if failure.sort() in self.failures:
            return
        self.failures.append(failure.sort())
        if self.options.shrink:
            steps = shortest(self.servers, steps, failure.sort())
        trace = []
        last, _ = carry_out(self.servers, steps, trace=trace)
        print(f"failed: {name}")
        lines = [f"{failure.kind}: {last or failure}"] + list(map(json.dumps, steps)) + trace[-LAST_LINES:]
        for line in lines:
            print("    # " + line.encode("ascii", "backslashreplace").decode()[:LINE])
        if self.options.found:
            os.makedirs(self.options.found, exist_ok=True)
            path = os.path.join(self.options.found, f"walk-{failure.kind}-{name}".replace("/", "_"))
            with open(path, "w", encoding="utf-8") as file:
                file.write("".join(json.dumps(step) + "\n" for step in steps))
            print(f"    # repeat: python3 tests/fuzz/walk/walk.py --requests 0 {path}")
        sys.stdout.flush()

    def walk(self, name, steps, chance=None, length=0):
        failure, requests = carry_out(self.servers, steps, chance, length)
        self.walks += 1
        self.requests += requests
        if failure:
            self.fail(name, failure, steps)

    def invent(self, seed):
        chance = random.Random(seed)
        self.walk(str(seed), [], Chance(chance), chance.randint(10, 80))

    def go(self):
        """Returns whether all went well."""
        options, seed = self.options, self.options.seed
        try:
            for path in options.walks:
                with open(path, encoding="utf-8") as file:
                    self.walk(os.path.basename(path), [json.loads(line) for line in file if line.strip()])
            known = self.requests
            while self.requests - known < options.requests and len(self.failures) < options.most:
                self.invent(seed)
                seed += 1
        finally:
            self.servers.stop()
        # for tests/fuzz/run
        print(f"stat::number_of_executed_units: {self.requests}")
        print(f"seeds {options.seed} to {seed - 1}: {self.walks} walks of {self.requests} requests, {len(self.failures)} failed")
        return not self.failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=100000)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--lua", default=os.path.join(ROOT, "lua"))
    parser.add_argument("--found")
    parser.add_argument("--most", type=int, default=5, help="end after so many failures")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    parser.add_argument("walks", nargs="*")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(10 ** 9)
    try:
        sys.exit(0 if Walker(options).go() else 1)
    except Exception:
        traceback.print_exc()
        sys.exit(2)


if __name__ == "__main__":
    main()

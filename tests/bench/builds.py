"""Builds of fairlock in turns, flock beside them: start to end of some commands, hand-over at 100 waiters, and how long 500 need.

usage: BUILD=build SERVER=redis-server tests/bench/builds.py ROUNDS FAIRLOCK FAIRLOCK...      prints medians in milliseconds,
                                                                   and how many times those of the first build they are
"""

import os
import pathlib
import random
import sys
import tempfile
import types

import handover
from peers import Fairlock
from samples import Samples
from wholes import timed

COMMANDS = (["wrap", "job", "true"], ["acquire", "-q", "other"], ["status", "job"])
CROWD_ROUNDS = 20


class Build(Fairlock):
    def __init__(self, program, folder):
        self.name = self.program = program
        super().__init__(folder)
        self.url = os.environ["FAIRLOCK_URL"]

    def command(self, lock, argv, way=None):
        return ["env", f"FAIRLOCK_URL={self.url}", self.program, "wrap", lock, *argv]


def shots(bench, build):
    os.environ["FAIRLOCK_URL"] = build.url
    for words in COMMANDS:
        bench.samples.add(words[0], "", build.name, "ms", timed([build.program, *words]))
    build.server.call("DEL", "other")
    bench.samples.add("wrap", "", "flock", "ms", timed(["flock", str(bench.folder / "flock"), "true"]))


def crowds(bench, build):
    handover.hand_over(bench, build, 100)
    handover.drain(bench, build, 500)


def print_medians(bench, first):
    for (measure, case, name), unit in sorted(bench.samples.units.items()):
        if unit != "ms":
            continue
        median, against = (bench.samples.median(measure, case, who) for who in (name, first))
        print(f"{measure} {case}: {median:.3f} {unit}, {median / against:.3f} times: {name}")


def main():
    rounds, programs = int(sys.argv[1]), sys.argv[2:]
    os.environ.setdefault("SERVER", "redis-server")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        bench = types.SimpleNamespace(folder=folder, samples=Samples())
        builds = [Build(program, folder / str(number)) for number, program in enumerate(programs)]
        for number in range(rounds):
            for build in random.sample(builds, len(builds)):
                shots(bench, build)
            if number % CROWD_ROUNDS == 0:
                for build in random.sample(builds, len(builds)):
                    crowds(bench, build)
        print_medians(bench, programs[0])
        for build in builds:
            build.end()


main()

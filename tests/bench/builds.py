"""Builds of fairlock in turns, flock beside them: start to end of some commands, hand-over at 100 waiters, and how long 500 need.

usage: BUILD=build SERVER=redis-server tests/bench/builds.py ROUNDS FAIRLOCK FAIRLOCK...      prints medians in milliseconds,
                                                                   and how many times those of the first build they are
"""

import pathlib
import random
import statistics
import sys
import tempfile

import crowds
from peers import Fairlock
from processes import timed
from results import Results

COMMANDS = (["wrap", "job", "true"], ["acquire", "-q", "other"], ["status", "job"])
CROWD_ROUNDS = 20


class Build(Fairlock):
    def __init__(self, program, folder):
        self.name = self.program = program
        super().__init__(folder)


def shots(results, folder, build):
    for command, *words in COMMANDS:
        results.add("Commands", f"{command}: ms", build.name, timed(build.does(command, *words)))
    build.server.call("DEL", "other")
    results.add("Commands", "wrap: ms", "flock", timed(["flock", str(folder / "flock"), "true"]))


def measure(results, folder, builds, rounds):
    for number in range(rounds):
        for build in random.sample(builds, len(builds)):
            shots(results, folder, build)
            if number % CROWD_ROUNDS == 0:
                crowds.hand_over(results, folder, build, 100)
                crowds.drain(results, folder, build, 500)


def main():
    rounds, programs = int(sys.argv[1]), sys.argv[2:]
    results = Results()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        builds = [Build(program, folder / str(number)) for number, program in enumerate(programs)]
        measure(results, folder, builds, rounds)
        for build in builds:
            build.end()
    for (table, case, who), values in sorted(results.values.items()):
        if case.endswith(": ms"):
            median, against = (statistics.median(found) for found in (values, results.values[table, case, programs[0]]))
            print(f"{case} {median:.3f}, {median / against:.3f} times: {who}")


main()

"""Runs commands against a server that means harm, and checks what they do.

usage: hostile.py [--seed N] [--mutants N] [--jobs N] [--list] [-v] [PATTERN...]

A case is SCENARIO/STEP/ITEM: up to STEP the server answers as a real one does, and there it says
ITEM. The answers of a real SERVER are recorded first. PATTERN, as in the shell, chooses cases:
'wrap/hello/*', or 'mutant/SEED/7' for one that the mutator made.

FAIRLOCK passes if it ends by itself, in time, with a status that the manual lists; if its output
cannot drive a terminal, its messages are single lines of moderate length, and its memory is bounded;
and if it succeeds, or starts COMMAND, only where the server really said so. Prints each failure, and
how to repeat it; the last line has the counts.

A process with sanitizers takes twenty times as long to start. Of its cases the seed chooses a third, unless they are
named in full: each answer is said at many steps, and the same code reads it there."""

import argparse
import collections
import fnmatch
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # nothing is left beside the tests
from corpus import (
    ADDRESSES, CLOSE, ELEMENTS, ERRORS, HARMLESS, HEAVY, ITEMS, LENGTHS, MESSAGES_SAID, PUSHES,
    REDIRECTIONS, TALK, TYPES, leaves, mutate, with_element,
)
from hostile_case import FAIRLOCK, IS_SANITIZED, SCENARIOS, SENTINEL, TIME_S, Case, split, wanted_of
from hostile_record import record
from hostile_server import Runner
from resp import encode, parse, push

# At these steps the server says all of LIGHT, at the others OFTEN: one piece of code reads both.
THOROUGH = {
    "wrap/hello", "wrap/subscribe", "wrap/acquire", "wait/message", "hold/message", "hold/renew",
    "status/status", "status-all/scan",
}
OFTEN = [*TYPES, *TALK, "array-2147483647", "push-message-null", "push-unknown", "error-ERR",
         "error-shown", "error-NOSCRIPT", "error-TRYAGAIN", "error-MOVED", "error-MOVED-shown"]
LIGHT = [*TYPES, *LENGTHS, *ERRORS, *PUSHES, *TALK]
HEAVILY = [
    ("wrap", "hello"), ("wrap", "acquire"), ("wait", "acquire"), ("wait", "message"), ("hold", "message"),
    ("hold", "renew"), ("status", "status"), ("status-all", "scan"), ("queue", "queue"),
]
# The code that reads answers at these steps is tried, element by element, at others.
ALIKE = {
    "wrap/hello", "wrap/subscribe", "wait/acquire2", "eval/acquire2", "status-all/status", "back/acquire2",
    "log-json/log", "log-stats/log", "doctor/hello",
}


def items_at(scenario, place):
    if scenario == "sentinel":
        return [*OFTEN, *ADDRESSES]
    if scenario.startswith("moved"):
        return REDIRECTIONS
    return LIGHT if place in THOROUGH else OFTEN


def cases_of(answers):
    """Yields all cases but the mutants."""
    for scenario, plan in SCENARIOS.items():
        for step in plan.steps:
            place = f"{scenario}/{step}"
            for name in items_at(scenario, place):
                harmless = name in HARMLESS and plan.success is not None
                yield Case(f"{place}/{name}", scenario, step, ITEMS[name], harmless)
            if place not in ALIKE and not plan.url:
                yield from element_cases(answers, scenario, step)
    for scenario, step in HEAVILY:
        for name, say in HEAVY.items():
            yield Case(f"{scenario}/{step}/{name}", scenario, step, say)
    for number, said in enumerate(MESSAGES_SAID):
        for scenario in ["wait", "hold"]:
            say = push("message", "c", said)
            yield Case(f"{scenario}/message/text-{number}", scenario, "message", say)


def recorded(answers, scenario, step):
    """The answer of the real server at this step, or None."""
    kind, number = split(step)
    wanted = wanted_of(SCENARIOS[scenario], kind, number)
    return answers.get((kind, wanted), (None, b""))[0]


def element_cases(answers, scenario, step):
    value = recorded(answers, scenario, step)
    if not value or not isinstance(value[1], list):
        return
    for path in leaves(value):
        place = ".".join(map(str, path))
        for name, data in [*ELEMENTS.items(), ("missing", None)]:
            say = lambda proper, path=path, data=data: with_element(parse(proper)[0], path, data)
            yield Case(f"{scenario}/{step}/{place}-{name}", scenario, step, say)


def knows(url):
    """Whether the program knows this kind of URL: then it finds no server there."""
    words = [FAIRLOCK, "status", "--connect-timeout", "300ms", "-u", url, "job"]
    return subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode == 69


def mutants(answers, seed, count):
    pool = [encode(answers[key][0]) for key in sorted(answers, key=str)] + [push("message", "c", "0")]
    steps = [(name, step) for name, plan in SCENARIOS.items() for step in plan.steps]
    for number in count:
        dice = random.Random(f"{seed}/{number}")
        scenario, step = dice.choice(steps)
        say = lambda proper, dice=dice: [
            mutate(proper or dice.choice(pool), pool, dice), *dice.choice([[], [], [CLOSE]])
        ]
        yield Case(f"mutant/{seed}/{number}", scenario, step, say)


def chosen(arguments, answers):
    patterns = arguments.patterns or ["*"]
    if not knows(SENTINEL + "1/master"):
        del SCENARIOS["sentinel"]
    for case in cases_of(answers):
        if any(fnmatch.fnmatchcase(case.name, pattern) for pattern in patterns):
            yield case
    for pattern in patterns:
        named = re.fullmatch(r"mutant/(\d+)/(\d+)", pattern)
        if named:
            yield from mutants(answers, named[1], [int(named[2])])
    if not arguments.patterns or "mutant" in patterns:
        yield from mutants(answers, arguments.seed, range(arguments.mutants))


def third(cases, seed, named):
    """A third of the cases, and those that are named."""
    for case in cases:
        if case.name in named or random.Random(f"{seed}/{case.name}").random() < 1 / 3:
            yield case


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="hostile.")
    counts = collections.Counter()

    def report(case, faults):
        counts["cases"] += 1
        counts["failed"] += bool(faults)
        if arguments.verbose:
            took = case.ended - case.started if case.ended else TIME_S
            memory = case.usage.ru_maxrss >> 10 if case.usage else 0
            print(f"{case.name}: status {case.process.returncode}, {took:.2f} s, {memory} MB")
            for name, data in case.output.items():
                print(f"  {name}: {bytes(data[:2000])!r}")
        if faults:
            print(f"failed: {case.name}: " + "; ".join(faults))
            print(f"    repeat: tests/lib/hostile.py -v '{case.name}'", flush=True)
            if case.name.startswith("mutant/") and case.shown:
                print(f"    said at {case.step}: {case.shown[0][:2000]!r}", flush=True)

    began = time.monotonic()
    try:
        answers = record(folder)
        cases = chosen(arguments, answers)
        if IS_SANITIZED:
            cases = third(cases, arguments.seed, arguments.patterns)
        if arguments.list:
            for case in cases:
                print(case.name)
            return 0
        Runner(folder, answers, arguments.jobs, report).run(cases)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(
        f"{counts['cases']} cases, {counts['failed']} failed, seed {arguments.seed},"
        f" {time.monotonic() - began:.0f} s"
    )
    return 1 if counts["failed"] or not counts["cases"] else 0


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())

"""The driver of the torture test: runs rounds, and checks each. `run`, beside it, starts it and tells what it is.

usage: torture.py FOLDER BUILD SERVER DURATION [SEED]"""

import collections
import os
import random
import re
import shutil
import sys

import check
from machine import S, now
from round import Round

CHAOS_S = 25  # the faults of a round
CALM_S = 45  # the same in a calm round, in which the server is always there
MOST_FAILURES = 5  # rounds that fail; more are of no use
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
COUNTED = ("job", "start", "fault", "outage", "paused", "step", "forged", "force", "removed", "asked", "look")


def run_one(seed, folder, build, server, seconds, totals):
    """Runs a round, and returns the properties that are broken."""
    shutil.rmtree(folder, ignore_errors=True)
    round_ = Round(seed, folder, build, server)
    took = round_.run(max(5, min(CALM_S if round_.is_calm else CHAOS_S, seconds)))
    checked = check.Checker(folder)
    checked.check()
    broken = sorted({name for name, *_ in checked.violations})
    counts = {what: len(checked.of[what]) for what in COUNTED}
    totals.update(counts, overlaps_excused=len(checked.stalled), violations=len(checked.violations))
    totals.update(f"{event.fault} {event.role}" for event in checked.of["fault"])
    totals.update(f"{event.path} {event.kind}" for event in checked.of["outage"])
    print(
        f"seed {seed} ({round_.described}): {counts['job']} jobs, {counts['start']} critical sections, "
        f"{sum(counts.values()) - counts['job'] - counts['start']} faults, all over after {took / S:.0f} s more: "
        f"{', '.join(broken) + ' VIOLATED' if broken else 'ok'}",
        flush=True,
    )
    if broken:
        print(*(f"    # {line}" for line in check.report(checked)), sep="\n")
        print(f"    # all of it is in {folder}; again: make torture SEED={seed} DURATION=30s", flush=True)
    else:
        shutil.rmtree(folder)
    return broken


def main(folder, build, server, duration, seed=""):
    length = re.fullmatch(r"(\d+)([smh]?)", duration) or sys.exit(f"a duration is a number and s, m or h, not '{duration}'")
    first = int(seed) if seed else random.SystemRandom().randrange(1_000_000)
    for name in [name for name in os.environ if name.startswith("FAIRLOCK_")] + ["REDISCLI_AUTH"]:
        os.environ.pop(name, None)
    os.closerange(3, 256)  # so that COMMAND finds only descriptors that fairlock left it
    end = now() + int(length[1]) * SECONDS[length[2]] * S
    totals, rounds, failed, failures = collections.Counter(), 0, 0, []
    while rounds == 0 or (end - now()) / S >= 10 and len(failures) < MOST_FAILURES:
        seed = first + rounds
        broken = run_one(seed, os.path.join(folder, str(seed)), build, server, (end - now()) / S - 10, totals)
        rounds, failed, failures = rounds + 1, failed + len(broken), failures + [seed] * bool(broken)
    passed = rounds * len(check.Checker.PROPERTIES) - failed
    print(f"\n{rounds} rounds, seeds {first} to {first + rounds - 1}")
    for what, count in sorted(totals.items()):
        print(f"{count:8} {what}")
    print(*(f"failed: seed {seed}\n" for seed in failures), sep="", end="")
    if os.environ.get("RESULT_FILE"):
        with open(os.environ["RESULT_FILE"], "w", encoding="ascii") as file:
            file.write(f"{passed} {failed} 0\n")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

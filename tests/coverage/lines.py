#!/usr/bin/env python3
"""Reports which lines and branches of src/ have run, as gcov counted them in a build with COVERAGE=yes.

usage: lines.py FOLDER LEAST     FOLDER is the build's. Prints both for each file and in all; fails if less than LEAST
                                 per cent of the lines have run. FOLDER/uncovered has the lines that have not.
"""
import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile


def counted(folder):
    """Two maps by file and line: how often the line ran, and how often each branch was taken."""
    lines, branches = {}, {}
    with tempfile.TemporaryDirectory() as place:
        notes = [os.path.abspath(path) for path in glob.glob(os.path.join(folder, "**/*.gcno"), recursive=True)]
        subprocess.run(["gcov", "--json-format", "--branch-probabilities", *notes], cwd=place, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for path in glob.glob(os.path.join(place, "*.gcov.json.gz")):
            with gzip.open(path) as file:
                told = json.load(file)
            for source in told["files"]:
                if not source["file"].startswith("src/"):
                    continue
                for line in source["lines"]:
                    at = (source["file"], line["line_number"])
                    lines[at] = max(lines.get(at, 0), line["count"])
                    taken = [branch["count"] for branch in line["branches"]]
                    known = branches.setdefault(at, [0] * len(taken))
                    branches[at] = [max(pair) for pair in zip(known, taken)]
    return lines, branches


def percent(part, whole):
    return 100 * part / whole if whole else 100


def print_row(name, lines, branches):
    print("%6.2f %% of %5d lines  %6.2f %% of %5d branches  %s" % (
        percent(sum(1 for count in lines if count), len(lines)), len(lines),
        percent(sum(1 for count in branches if count), len(branches)), len(branches), name))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, least = sys.argv[1], float(sys.argv[2])
    lines, branches = counted(folder)
    for name in sorted(glob.glob("src/**/*.c", recursive=True)):
        own = [count for at, count in lines.items() if at[0] == name]
        if not own and os.path.exists(os.path.join(folder, name[len("src/"):-2] + ".o")):
            continue  # a table: it has no code
        print_row(name, own or [0], [count for at, list in branches.items() if at[0] == name for count in list])
    print_row("in all", lines.values(), [count for list in branches.values() for count in list])
    with open(os.path.join(folder, "uncovered"), "w", encoding="utf-8") as file:
        for name, number in sorted(at for at, count in lines.items() if not count):
            with open(name, encoding="utf-8") as source:
                file.write("%s:%d:%s\n" % (name, number, source.read().split("\n")[number - 1]))
    return 1 if percent(sum(1 for count in lines.values() if count), len(lines)) < least else 0


if __name__ == "__main__":
    sys.exit(main())

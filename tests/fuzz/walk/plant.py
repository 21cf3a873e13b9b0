#!/usr/bin/env python3
"""Plants one fault after the other in the scripts, and sees that a walk finds each within the requests of CI.

usage: plant.py [--requests 100000] [--seed 1] [NAME...]

The faults are in faults.txt: a name, a file, and the text that is taken out and put in."""

import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
WALKS = sorted(glob.glob(os.path.join(ROOT, "tests", "fuzz", "corpus", "walk", "*")))


def faults():
    """{name: (file, old, new)}: a paragraph each, `NAME FILE`, then lines that begin with `-` or `+`."""
    found = {}
    with open(os.path.join(HERE, "faults.txt"), encoding="utf-8") as file:
        for paragraph in file.read().split("\n\n"):
            lines = [line for line in paragraph.splitlines() if line and not line.startswith("#")]
            if lines:
                name, path = lines[0].split(" ")
                old, new = ("\n".join(line[1:] for line in lines[1:] if line[0] == sign) for sign in "-+")
                found[name] = path, old, new
    return found


def plant(folder, path, old, new):
    path = os.path.join(folder, path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(old) == 0:
        sys.exit(f"{path} has no such text any more: {old}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new, 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", default="100000")
    parser.add_argument("--seed", default="1")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    missed = []
    for name, fault in faults().items():
        if options.names and name not in options.names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(os.path.join(ROOT, "lua"), folder, dirs_exist_ok=True)
            plant(folder, *fault)
            run = subprocess.run([sys.executable, os.path.join(HERE, "walk.py"), "--lua", folder, "--requests", options.requests,
                                  "--seed", options.seed, "--most", "1", "--no-shrink", *WALKS], capture_output=True, text=True)
        said = run.stdout.splitlines()
        how = next((line.strip("# ") for line in said if line.startswith("    # ")), "")
        verdict, last = "found" if run.returncode == 1 else "MISSED", said[-1] if said else run.stderr[-300:]
        print(f"{verdict}: {name}: {how[:150]} ({last})", flush=True)
        if run.returncode != 1:
            missed.append(name)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()

"""Runs all measurements and prints what they found. See README.md.

usage: tests/bench/run [--quick] [--only MEASURE,...] [--peers NAME,...] [ROUNDS]
"""

import argparse
import gc
import os
import pathlib
import platform
import random
import sys
import time

import crowds
import peers
import scripts
import slots
import wholes
from results import Results

MEASURES = {"wholes": wholes, "crowds": crowds, "slots": slots, "scripts": scripts}


class Bench:
    """The parameters of all measurements, the peers that take part, and the results."""

    waiters, idle_s, drain = 100, 10, 500
    queues, holders = (10, 10000), (1, 1000)  # on the server
    script_rounds, pairs = 40, 20000
    jobs, reader_s = 100, 3

    def __init__(self, words, folder):
        self.rounds, self.crowd_rounds, self.folder = words.rounds, max(1, words.rounds // 60), folder
        self.results, self.peers = Results(), []
        if words.quick:
            self.waiters, self.idle_s, self.drain, self.queues, self.holders = 3, 1, 5, (2, 4), (1, 3)
            self.script_rounds, self.pairs, self.jobs, self.reader_s = 2, 200, 10, 0.5
        self.heading = [time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
                        f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} processors, {processor()}",
                        f"load before the run: {os.getloadavg()[0]:.2f}", peers.says(os.environ["SERVER"], "--version")]
        for kind in peers.PEERS:
            if not words.peers or kind.__name__.lower() in words.peers.split(","):
                self.start(kind)

    def start(self, kind):
        try:
            peer = kind(self.folder / kind.__name__)
        except peers.Missing as why:
            self.heading.append(f"MISSING: {kind.name}: {why}")
            return
        self.peers.append(peer)
        self.heading.append(f"{peer.name}: {peer.version()}")

    def peer(self, kind):
        return next((peer for peer in self.peers if type(peer) is kind), None)

    def shuffled(self):
        return random.sample(self.peers, len(self.peers))

    def trial(self, table, case, peer, function, *words):
        """Runs one measurement; a failure becomes a note below the table."""
        if sys.stderr.isatty():
            print(f"\r\033[K{case}: {peer.name}", end="", file=sys.stderr, flush=True)
        try:
            function(self.results, self.folder, peer, *words)
        except (OSError, RuntimeError) as why:
            self.results.note(table, case, peer.name, f"FAILED: {why}")

    def text(self):
        titles = dict.fromkeys(table for table, _, _ in [*self.results.values, *self.results.notes])
        lines = ["# Benchmark", "", *(f"- {line}" for line in self.heading)]
        lines += [f"- {self.rounds} rounds, {self.crowd_rounds} of crowds; load after the run: {os.getloadavg()[0]:.2f}", "",
                  "Medians, and the quartiles in brackets."]
        for title in titles:
            lines += self.results.table(title)
        return "\n".join([*lines, ""])


def processor():
    with open("/proc/cpuinfo") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="only to see that it runs")
    parser.add_argument("--only", default=",".join(MEASURES))
    parser.add_argument("--peers", help="flock,fairlock,relay,etcdctl,redisson")
    parser.add_argument("rounds", type=int, nargs="?", default=300)
    words = parser.parse_args()
    gc.disable()
    bench = Bench(words, pathlib.Path(os.environ["PROGRAMS"]))
    try:
        for name in words.only.split(","):
            MEASURES[name].run(bench)
    finally:
        for peer in bench.peers:
            peer.end()
    results = pathlib.Path(os.environ["RESULTS"])
    results.mkdir(parents=True, exist_ok=True)
    bench.results.write(results / "samples.tsv")
    (results / "table.md").write_text(bench.text())
    print("\n" + bench.text())


main()

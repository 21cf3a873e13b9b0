"""Runs all measurements and writes what they found.

usage: tests/bench/bench.py [--quick] [--only MEASURE,...] [--peers NAME,...] ROUNDS FOLDER RESULTS
"""

import argparse
import gc
import os
import pathlib
import random
import sys
import time

import handover
import idle
import peers
import rate
import recovery
import report
import samples
import scripts
import slots
import wholes

MEASURES = {"a": wholes, "b": handover, "d": scripts, "e": idle, "g": rate, "h": slots, "f": recovery}


class Bench:
    """The parameters of all measurements, the peers that take part, and the results."""

    waiters = (2, 10, 100)
    drain = 500
    dead = 100
    idle = (100, 10)                    # waiters, seconds
    lengths = (10, 100, 1000, 10000)
    script_rounds = 40
    seconds = 2
    pairs = 20000
    slot_jobs, writers, holders = 100, 3, (1, 10, 100, 1000)
    lease_s = 3                         # of a holder that dies; it begins again with each renewal
    limit_s = 15                        # for the next holder to start then

    def __init__(self, rounds, folder, quick):
        self.rounds = rounds
        self.crowd_rounds = max(1, rounds // 60)
        self.folder = pathlib.Path(folder)
        self.samples = samples.Samples()
        self.missing = []
        self.peers = []
        if quick:
            self.waiters, self.drain, self.dead, self.idle = (2, 3), 5, 2, (3, 1)
            self.lengths, self.script_rounds, self.seconds, self.pairs = (2, 4), 2, 0.2, 200
            self.lease_s, self.limit_s = 2, 4
            self.slot_jobs, self.writers, self.holders = 10, 1, (1, 3)

    def start(self, wanted):
        for kind in peers.PEERS:
            if wanted and kind.name.split()[0] not in wanted:
                continue
            try:
                self.peers.append(kind(self.folder / kind.name.split()[0]))
            except peers.Missing as why:
                self.missing.append((kind.name, str(why)))

    def peer(self, kind):
        return next((peer for peer in self.peers if isinstance(peer, kind)), None)

    def shuffled(self):
        return random.sample(self.peers, len(self.peers))

    def trial(self, measure, case, peer, function, *words):
        """Runs one measurement; a failure becomes a note in the tables."""
        self.say(f"{measure}, {case}: {peer.name}")
        try:
            function(self, peer, *words)
        except (OSError, RuntimeError) as why:
            self.samples.note(measure, case, peer.name, f"FAILED: {why}")

    def say(self, text):
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def end(self):
        for peer in self.peers:
            peer.end()


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="only to see that it runs")
    parser.add_argument("--only", default="".join(MEASURES), help="letters of measures")
    parser.add_argument("--peers", default="", help="first words of names, comma-separated")
    parser.add_argument("rounds", type=int)
    parser.add_argument("folder")
    parser.add_argument("results")
    return parser.parse_args()


def main():
    words = arguments()
    bench = Bench(words.rounds, words.folder, words.quick)
    started = time.time()
    gc.disable()
    try:
        bench.start(words.peers.split(",") if words.peers else None)
        head = report.heading(bench)
        for letter, measure in MEASURES.items():
            if letter in words.only:
                measure.run(bench)
    finally:
        bench.end()
    bench.say("")
    results = pathlib.Path(words.results)
    results.mkdir(parents=True, exist_ok=True)
    bench.samples.write(results)
    text = report.whole(bench, head, time.time() - started)
    (results / "table.md").write_text(text)
    print(text)


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C")
    main()

"""The one file of "make static" beside the three programs: start to end of some commands, in turns.

usage: SERVER=redis-server tests/bench/one.py FAIRLOCK ONE_FILE [ROUNDS]      prints medians in milliseconds
"""

import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

from servers import Redis

COMMANDS = (["wrap", "job", "true"], ["status", "job"])


def take(program, words):
    began = time.perf_counter()
    subprocess.run([program, *words], stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - began) * 1000


def main():
    programs, rounds = sys.argv[1:3], int(sys.argv[3]) if len(sys.argv) > 3 else 300
    os.environ.setdefault("SERVER", "redis-server")
    with tempfile.TemporaryDirectory() as folder:
        server = Redis(pathlib.Path(folder) / "server")
        os.environ["FAIRLOCK_URL"] = "unix:" + server.socket
        for words in COMMANDS:
            times = {program: [] for program in programs}
            for _ in range(rounds):
                for program in random.sample(programs, len(programs)):
                    times[program].append(take(program, words))
            medians = [statistics.median(times[program]) for program in programs]
            print(f"{' '.join(words)}: {medians[0]:.2f} ms and {medians[1]:.2f} ms, "
                  f"{medians[1] / medians[0]:.2f} times", flush=True)
            server.call("FLUSHALL")
        server.end()


main()

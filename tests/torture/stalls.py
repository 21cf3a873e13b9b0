"""Writes into a history when the machine stood still: a process on each processor sleeps for a moment, again and again, and tells
when it woke much too late. A guard that had to stop COMMAND at that time may have been late, too.

usage: stalls.py HISTORY        ends when it is killed, and its processes with it
"""

import json
import os
import signal
import sys
import time

sys.dont_write_bytecode = True  # nothing is left beside the tests
from machine import now

PAUSE_NS = 10_000_000
LATE_NS = 40_000_000


def watch(history, parent):
    before = now()
    while os.getppid() == parent:
        time.sleep(PAUSE_NS / 1e9)
        at = now()
        if at - before > PAUSE_NS + LATE_NS:
            line = json.dumps({"at": before + PAUSE_NS, "what": "stall", "until": at})
            os.write(history, line.encode() + b"\n")
        before = at


def main():
    parent = os.getpid()
    history = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for processor in os.sched_getaffinity(0):
        if os.fork() == 0:
            os.sched_setaffinity(0, [processor])
            watch(history, parent)
            return
    signal.pause()


main()

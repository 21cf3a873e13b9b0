"""Stops a waiter that has just become the first, and lets the holder before it go while the waiter's guard listens.

usage: stop_first.py WAITER CLOCK FIFO [group]

Waits until the wrapper WAITER has made its guard, and a millisecond more. Then sends the wrapper SIGSTOP, or with `group` SIGTSTP to
its process group; and writes a line into FIFO, which ends the holder's command. Prints "ready" when it looks, and then the guard's
process id.

A guard listens for milliseconds. CLOCK is the file of the waiter's clock (tests/torture/clockwork.py). This clock is a second ahead
until the wrapper is stopped; so the guard listens for a second longer, and a slow machine has the time to hand the lock over."""

import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../torture"))
from clockwork import Clockwork  # noqa: E402

AHEAD_NS = 10**9


def child_of(parent):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
                if stat.read().rpartition(")")[2].split()[1] == str(parent):
                    return int(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return 0


def await_child(parent, until):
    while not (pid := child_of(parent)):
        if time.monotonic() > until:
            sys.exit(f"process {parent} makes no child")
    return pid


def main():
    waiter, clock, fifo = int(sys.argv[1]), Clockwork(None, sys.argv[2]), sys.argv[3]
    holder_end = os.open(fifo, os.O_RDWR)  # without waiting for the reader
    until = time.monotonic() + 20
    clock.step(AHEAD_NS)
    print("ready", flush=True)
    guard = await_child(waiter, until)
    time.sleep(0.001)
    if sys.argv[4:] == ["group"]:
        os.killpg(waiter, signal.SIGTSTP)
    else:
        os.kill(waiter, signal.SIGSTOP)
    clock.step(-AHEAD_NS)
    os.write(holder_end, b"\n")
    print(guard, flush=True)
    time.sleep(1)  # the pipe keeps its line as long as somebody has it open
    return 0


if __name__ == "__main__":
    sys.exit(main())

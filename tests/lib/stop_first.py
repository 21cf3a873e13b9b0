"""Stops a waiter that has just become the first, and lets the holder before it go while the waiter's guard listens.

usage: stop_first.py WAITER CLOCK FIFO [group]

Waits until the wrapper WAITER has made its guard, and the guard is asleep. Then sends the wrapper SIGSTOP, or with `group` SIGTSTP to its
process group; and writes a line into FIFO, which ends the holder's command. Prints "ready" when it looks, and then the guard's process
id.

A guard listens for milliseconds, and a slow machine needs longer to make it and to hand the lock over. So CLOCK, the file of the
waiter's clock (tests/torture/clockwork.py), is six seconds ahead until the wrapper is stopped, and all but stands still. Then it is
right again, and the guard listens for what is left of the six seconds. With more than ten the waiter would ask the server again, and
its guard would not listen."""

import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../torture"))
from clockwork import Clockwork  # noqa: E402

AHEAD_NS = 6 * 10**9
RATE = 0.005


def stat_of(pid):
    """The fields of /proc/PID/stat behind the name: the state is the first, the parent the second."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        return stat.read().rpartition(")")[2].split()


def child_of(parent):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if stat_of(pid)[1] == str(parent):
                return int(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return 0


def await_child(parent, until):
    while not (pid := child_of(parent)):
        if time.monotonic() > until:
            sys.exit(f"process {parent} makes no child")
    return pid


def await_sleep(pid, until):
    """Returns when it was asleep in five looks in a row."""
    asleep = 0
    while asleep < 5:
        if time.monotonic() > until:
            sys.exit(f"process {pid} does not sleep")
        try:
            asleep = asleep + 1 if stat_of(pid)[0] == "S" else 0
        except FileNotFoundError:
            sys.exit(f"process {pid} has ended")
        time.sleep(0.005)


def main():
    waiter, clock, fifo = int(sys.argv[1]), Clockwork(None, sys.argv[2]), sys.argv[3]
    holder_end = os.open(fifo, os.O_RDWR)  # without waiting for the reader
    until = time.monotonic() + 20
    clock.step(AHEAD_NS, rate=RATE)
    print("ready", flush=True)
    guard = await_child(waiter, until)
    await_sleep(guard, until)
    if sys.argv[4:] == ["group"]:
        os.killpg(waiter, signal.SIGTSTP)
    else:
        os.kill(waiter, signal.SIGSTOP)
    clock.correct()
    os.write(holder_end, b"\n")
    print(guard, flush=True)
    time.sleep(1)  # the pipe keeps its line as long as somebody has it open
    return 0


if __name__ == "__main__":
    sys.exit(main())

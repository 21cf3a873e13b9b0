"""Holders of a lock, and waiters behind them."""

import itertools
import os
import pathlib
import time

from processes import family, kill, wait_until

numbers = itertools.count(1)


class Crowd:
    """With one holder, or with eight that have a slot each."""

    def __init__(self, peer, folder, way=None):
        number = next(numbers)
        self.peer, self.way, self.lock = peer, way, f"lock{number}"
        self.stamps, self.fifo = str(folder / f"stamps{number}"), str(folder / f"fifo{number}")
        self.files = [f"{self.stamps}.{slot}" for slot in range(8 if way == "slot" else 1)]  # of the holders
        self.holders, self.waiters = [], []
        os.mkfifo(self.fifo)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if len(self.times()) < len(self.waiters):
            kill(self.pids(self.holders + self.waiters))
        for section in self.holders + self.waiters:
            wait_until(section.ended, what=f"{self.peer.name}: the end")
        for path in (self.fifo, self.stamps, *self.files):
            pathlib.Path(path).unlink(missing_ok=True)

    @staticmethod
    def pids(sections):
        return family({pid for section in sections for pid in section.pids()})

    def hold(self):
        """Starts the holders, which keep the lock until release()."""
        self.holders = [self.peer.section(self.lock, file, 0, self.fifo, self.way, "holder") for file in self.files]
        wait_until(lambda: all(map(os.path.exists, self.files)), what=f"{self.peer.name}: the holder")
        time.sleep(0.02)

    def join(self, count, work_us, in_order=True, group=None):
        """Starts so many waiters, one after the other, or as fast as possible."""
        for _ in range(count):
            number = len(self.waiters) + 1
            self.waiters.append(self.peer.section(self.lock, self.stamps, number, work_us, self.way, group))
            if in_order or number % 8 == 0:
                self.await_waiting(number)
        self.await_waiting(len(self.waiters))
        time.sleep(0.1)

    def await_waiting(self, count):
        if self.way == "slot" and isinstance(self.peer.ways["slot"], str):
            time.sleep(0.02)  # who waits for a semaphore of Redisson's cannot be seen
        else:
            wait_until(lambda: self.peer.waiting(self.lock) >= count, what=f"{self.peer.name}: {count} waiters")

    def release(self):
        """Ends the holders; returns when that was."""
        wait_until(self.has_let_go, what=f"{self.peer.name}: the holder's end")
        return time.monotonic_ns()

    def has_let_go(self):
        try:
            os.close(os.open(self.fifo, os.O_WRONLY | os.O_NONBLOCK))
            return True
        except OSError:
            if all(holder.ended() for holder in self.holders):
                raise RuntimeError("the holder has lost the lock") from None
            return False

    def times(self):
        """(number, start, end) in ns of each waiter's section that is over, by start."""
        if not os.path.exists(self.stamps):
            return []
        with open(self.stamps) as file:
            lines = [line.split() for line in file.read().split("\n")[:-1]]  # the last may not be whole yet
        return sorted((tuple(map(int, words)) for words in lines), key=lambda time: time[1])

    def await_times(self, count, limit):
        """Waits for so many sections; returns the times of those that are over in time."""
        try:
            wait_until(lambda: len(self.times()) >= count, limit, 0.02)
        except TimeoutError:
            pass
        return self.times()

    def started(self, number, limit):
        """When the section of this number started; None if it has not."""
        try:
            return wait_until(lambda: next((start for who, start, _ in self.times() if who == number), None), limit, 0.01)
        except TimeoutError:
            return None

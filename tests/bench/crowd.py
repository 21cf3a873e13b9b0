"""A holder of a lock, and waiters behind it."""

import itertools
import os
import time

from processes import kill, wait_until

numbers = itertools.count(1)


class Crowd:
    def __init__(self, peer, folder):
        number = next(numbers)
        self.peer = peer
        self.lock = f"lock{number}"
        self.stamps = str(folder / f"stamps{number}")
        self.fifo = str(folder / f"fifo{number}")
        self.holder, self.waiters = None, []
        os.mkfifo(self.fifo)

    def hold(self):
        """Starts the holder, which keeps the lock until release()."""
        self.holder = self.peer.section(self.lock, self.stamps, 0, self.fifo)
        wait_until(lambda: os.path.exists(self.stamps), what=f"{self.peer.name}: the holder")
        time.sleep(0.02)

    def join(self, count, work_us, in_order=True):
        """Starts so many waiters, one after the other, or as fast as possible."""
        for _ in range(count):
            number = len(self.waiters) + 1
            self.waiters.append(self.peer.section(self.lock, self.stamps, number, work_us))
            if in_order or number % 8 == 0:
                self.await_waiting(number)
        self.await_waiting(len(self.waiters))
        time.sleep(0.1)

    def await_waiting(self, count):
        if self.peer.waiting(self.lock) is None:
            time.sleep(0.2)  # whether it waits already cannot be seen
        else:
            wait_until(lambda: self.peer.waiting(self.lock) >= count, 60, what=f"{self.peer.name}: {count} waiters")

    def release(self):
        """Ends the holder."""
        wait_until(self.has_let_go, 20, what=f"{self.peer.name}: the holder's end")

    def has_let_go(self):
        try:
            os.close(os.open(self.fifo, os.O_WRONLY | os.O_NONBLOCK))
            return True
        except OSError:
            if self.holder.ended():
                raise RuntimeError("the holder has lost the lock") from None
            return False

    def times(self):
        return read_stamps(self.stamps) if os.path.exists(self.stamps) else []

    def await_times(self, count, limit):
        """Waits for so many sections; returns the times of those that are over in time."""
        try:
            wait_until(lambda: self.ended() >= count, limit, 0.02)
        except TimeoutError:
            pass
        return self.times()

    def ended(self):
        """How many sections are over; those that are measured may still go on, and need the processor."""
        if not os.path.exists(self.stamps):
            return 0
        with open(self.stamps, "rb") as file:
            return file.read().count(b"\n")

    def sections(self):
        """How many write into `stamps`."""
        return 1 + len(self.waiters)

    def end(self):
        handles = ([self.holder] if self.holder else []) + self.waiters
        if self.ended() < self.sections():
            kill({pid for handle in handles for pid in handle.family()})
        for handle in handles:
            handle.end()
        for path in (self.fifo, self.stamps):
            if os.path.exists(path):
                os.unlink(path)


def read_stamps(path):
    """(number, start, end) in ns of each section that is over, by start."""
    with open(path) as file:
        lines = [line.split() for line in file.read().split("\n")[:-1]]  # the last may not be whole yet
    return sorted(((int(number), int(start), int(end)) for number, start, end in lines), key=lambda time: time[1])


def inversions(numbers):
    """Counts the waiters that went before one that had come earlier."""
    return sum(any(later < number for later in numbers[index + 1:]) for index, number in enumerate(numbers))

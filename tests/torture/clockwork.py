"""Gives processes other clocks, through the preloaded library tests/programs/clockwork.c.

usage: clockwork.py FILE [MS]

Makes FILE if it is not there. With MS, sets the clocks of the processes with CLOCKWORK_FILE=FILE: they show this time, in ms since
1970."""

import mmap
import os
import struct
import sys
import time

SETTING = struct.Struct("=qqd")
CURRENT = struct.Struct("=q")


class Clockwork:
    """The clocks of all processes that have its environment. If the file is there, it keeps its setting, and `rate` does not count."""

    def __init__(self, library, path, rate=1.0):
        self.preload, self.path = library, path
        is_new = not os.path.exists(path)
        with open(path, "wb+" if is_new else "rb+") as file:
            file.truncate(CURRENT.size + 2 * SETTING.size)
            self.memory = mmap.mmap(file.fileno(), 0)
        (self.current,) = CURRENT.unpack_from(self.memory)
        self.since, self.ahead, self.rate = SETTING.unpack_from(self.memory, self.place())
        if is_new:
            self.since, self.rate = time.clock_gettime_ns(time.CLOCK_BOOTTIME), rate
            self.step(0)

    def environment(self):
        return {"LD_PRELOAD": self.preload, "CLOCKWORK_FILE": self.path}

    def place(self):
        return CURRENT.size + self.current * SETTING.size

    def step(self, ns):
        """Sets the clock forward by ns. Writes the setting that is not in use, and then makes it the current one."""
        at = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        self.ahead += round((self.rate - 1) * (at - self.since)) + ns
        self.since, self.current = at, 1 - self.current
        SETTING.pack_into(self.memory, self.place(), self.since, self.ahead, self.rate)
        CURRENT.pack_into(self.memory, 0, self.current)


if __name__ == "__main__":
    clock = Clockwork("", sys.argv[1])
    if sys.argv[2:]:
        clock.step(int(sys.argv[2]) * 10**6 - time.time_ns() - clock.ahead)

"""Gives processes other clocks, through the preloaded library tests/programs/clockwork.c."""

import mmap
import struct

from machine import now

SETTING = struct.Struct("=qqd")
CURRENT = struct.Struct("=q")


class Clockwork:
    """The clocks of all processes that have its environment."""

    def __init__(self, library, path, rate=1.0):
        self.preload, self.path = library, path
        self.since, self.ahead, self.rate = now(), 0, rate
        self.current = 0
        with open(path, "wb+") as file:
            file.truncate(CURRENT.size + 2 * SETTING.size)
            self.memory = mmap.mmap(file.fileno(), 0)
        self.write()

    def environment(self):
        return {"LD_PRELOAD": self.preload, "CLOCKWORK_FILE": self.path}

    def write(self):
        """Writes the setting that is not in use, and then makes it the current one."""
        self.current = 1 - self.current
        at = CURRENT.size + self.current * SETTING.size
        SETTING.pack_into(self.memory, at, self.since, self.ahead, self.rate)
        CURRENT.pack_into(self.memory, 0, self.current)

    def step(self, ns):
        """Sets the clock forward by ns."""
        at = now()
        self.ahead += round((self.rate - 1) * (at - self.since)) + ns
        self.since = at
        self.write()

    def close(self):
        self.memory.close()

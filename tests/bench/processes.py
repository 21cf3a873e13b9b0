"""Starts, awaits, measures and ends processes."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

PROGRAMS = pathlib.Path(os.environ.get("PROGRAMS") or pathlib.Path(os.environ.get("BUILD", "build"), "bench"))
# The kernel kills what is started with these words when we end, also when we are killed.
BOUND = [shutil.which("setpriv") or "setpriv", "--pdeathsig", "KILL"]


def wait_until(condition, limit=60, pause=0.002, what="it"):
    end = time.monotonic() + limit
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: still not so after {limit} s")
        time.sleep(pause)


def spawn(command, log):
    """Starts a command and returns its process id."""
    return os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), (os.POSIX_SPAWN_DUP2, 1, 2)])


def timed(command, log="/dev/null"):
    """The milliseconds from start to end of a command."""
    start = time.perf_counter()
    _, status = os.waitpid(spawn(command, log), 0)
    spent = (time.perf_counter() - start) * 1000
    if status:
        raise RuntimeError(f"{command}: status {status}")
    return spent


class Process:
    """A child, which dies with us."""

    def __init__(self, command, log):
        self.pid = spawn(BOUND + command, log)
        self.over = False

    def ended(self):
        self.over = self.over or os.waitpid(self.pid, os.WNOHANG)[0] != 0
        return self.over

    def pids(self):
        return [] if self.ended() else [self.pid]


class Service(subprocess.Popen):
    """A process that serves the others, and dies with us."""

    def __init__(self, command, log, **more):
        with open(log, "ab") as file:
            super().__init__(BOUND + command, **{"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file, **more})

    def end(self):
        self.kill()
        self.wait()


def family(pids):
    """These processes and all that descend from them."""
    above, found, size = {}, set(pids), 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            above[int(name)] = int(pathlib.Path("/proc", name, "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass  # it has ended
    while len(found) != size:
        size = len(found)
        found |= {pid for pid, parent in above.items() if parent in found}
    return found


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def pss_kb(pids):
    """The memory of these processes; of shared memory, each counts a part."""
    return sum(int(line.split()[1]) for pid in pids for line in open(f"/proc/{pid}/smaps_rollup") if line.startswith("Pss:"))

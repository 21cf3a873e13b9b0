"""Starts, awaits, measures and ends processes."""

import os
import shutil
import signal
import socket
import subprocess
import time

# The kernel kills what is started with these words when we end, also when we are killed.
BOUND = [shutil.which("setpriv") or "setpriv", "--pdeathsig", "KILL"]
TICK = os.sysconf("SC_CLK_TCK")


def wait_until(condition, limit=60, pause=0.002, what="it"):
    end = time.monotonic() + limit
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: still not so after {limit} s")
        time.sleep(pause)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def spawn(command, log, stdin=None):
    """Starts a command and returns its process id."""
    actions = [(os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
               (os.POSIX_SPAWN_DUP2, 1, 2)]
    if stdin is None:
        actions.append((os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0))
    return os.posix_spawnp(command[0], command, os.environ, file_actions=actions)


class Process:
    """A child, which dies with us."""

    def __init__(self, command, log):
        self.pid = spawn(BOUND + command, log)
        self.status = None

    def ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status is not None

    def kill(self, signo=signal.SIGKILL):
        if not self.ended():
            os.kill(self.pid, signo)

    def family(self):
        return [] if self.ended() else family([self.pid])

    def end(self, limit=20):
        """Waits for the end of the process, and kills it after limit seconds."""
        try:
            wait_until(self.ended, limit)
        except TimeoutError:
            self.kill()
            wait_until(self.ended)


class Service(subprocess.Popen):
    """A server process, which dies with us."""

    def __init__(self, command, log, **more):
        with open(log, "ab") as file:
            super().__init__(BOUND + command, stdin=more.pop("stdin", subprocess.DEVNULL),
                             stdout=more.pop("stdout", file), stderr=file, **more)

    def end(self):
        self.kill()
        self.wait()


def parents():
    """Process id -> parent's process id, for all processes."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = stat(name)
            if fields:
                found[int(name)] = int(fields[1])
    return found


def stat(pid):
    """The fields of /proc/PID/stat from the state on, or None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def family(pids):
    """These processes and all that descend from them."""
    above, found, size = parents(), set(pids), 0
    while len(found) != size:
        size = len(found)
        found |= {pid for pid, parent in above.items() if parent in found}
    return sorted(found)


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def ticks(pids):
    """The processor time of these processes, in clock ticks."""
    fields = [stat(pid) for pid in pids]
    return sum(int(field[11]) + int(field[12]) for field in fields if field)


def pss_kb(pids):
    """The memory of these processes; of shared memory, each counts a part."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total

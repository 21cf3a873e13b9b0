"""Starts and finds the processes of a round, and writes the driver's part of the history."""

import collections
import ctypes
import json
import os
import signal
import threading
import time

PR_SET_CHILD_SUBREAPER = 36


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Journal:
    """The driver's part of the history. Every line is one write; its time is taken before."""

    def __init__(self, path):
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.counts = collections.Counter()
        self.lock = threading.Lock()

    def say(self, what, at=None, **fields):
        line = json.dumps({"at": now() if at is None else at, "what": what, **fields}, ensure_ascii=False)
        with self.lock:
            os.write(self.file, line.encode() + b"\n")

    def close(self):
        os.close(self.file)


Process = collections.namedtuple("Process", "pid parent job role state")


class Machine:
    """All processes that have TORTURE_RUN of this run in their environment."""

    def __init__(self, run):
        self.run = run
        self.jobs = {}  # pid -> name, of the jobs that have not ended
        self.roots = {}  # name -> pid
        self.known = {}  # (pid, name) -> whether it is a guard
        self.environments = {}
        self.gone = set()
        self.ended = []
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0:
            raise OSError(ctypes.get_errno(), "cannot become a subreaper")

    def start(self, argv, environment, job=None, output=None):
        """Starts a process, with nothing on standard input; returns its pid."""
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, output or "/dev/null", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        environment = dict(environment, TORTURE_RUN=self.run, TORTURE_JOB=job or "")
        if os.getpid() != 1:  # there is no namespace that ends with us
            argv = ["setpriv", "--pdeathsig", "KILL", *argv]
        # Python ignores SIGPIPE
        pid = os.posix_spawnp(
            argv[0], argv, environment, file_actions=actions, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ]
        )
        if job:
            self.jobs[pid] = job
            self.roots[job] = pid
        return pid

    def reap(self):
        """[(job or None, pid, status, when)...] of the children that have ended since the last call."""
        self.collect()
        ended, self.ended = self.ended, []
        return ended

    def await_end(self, pid):
        """Waits for a child. reap() tells of those that end meanwhile."""
        while pid not in self.gone:
            self.collect()
            time.sleep(0.002)

    def collect(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            self.gone.add(pid)
            self.ended.append((self.jobs.pop(pid, None), pid, os.waitstatus_to_exitcode(status), now()))

    def environment(self, pid, started):
        """The arguments of a process, whether it is ours, its job, and whether it is an inner one. Read once for each
        program that the process becomes."""
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            argv = file.read().split(b"\0")
        key = pid, started, argv[0]
        if key not in self.environments:
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = dict(pair.partition(b"=")[::2] for pair in file.read().split(b"\0"))
            self.environments[key] = (
                variables.get(b"TORTURE_RUN", b"").decode() == self.run,
                variables.get(b"TORTURE_JOB", b"").decode(),
                b"TORTURE_INNER" in variables,
            )
        return argv, *self.environments[key]

    def look_at(self, pid):
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            state, parent, _, session, *rest = file.read().rpartition(")")[2].split()
        if state in "ZX":
            return None
        argv, ours, job, inner = self.environment(pid, rest[15])
        if not ours or not job:
            return None
        return Process(
            pid, int(parent), job, self.role(pid, int(parent), int(session), job, argv, inner), state
        )

    def role(self, pid, parent, session, job, argv, inner):
        program = os.path.basename(argv[0]).decode(errors="replace")
        root = self.roots.get(job)
        if root is None:
            return None  # it has just begun
        if inner:
            return "inner"
        if program.startswith("python"):
            return "redisson"
        if program == "sh":
            return "script"
        if program == "section":
            return "command"
        if not program.startswith("fairlock"):
            return None  # a script's sed or printf
        if argv[1] == b"acquire":
            return "keeper" if session == pid else "acquire"
        if argv[1] != b"wrap":
            return "client"
        if pid == root:
            return "wrapper"
        # the guard is the root's child; it may lose its parent after it was first seen
        is_guard = self.known.setdefault((pid, job), parent in (root, os.getpid()))
        return "guard" if is_guard else "command"  # a process that will become COMMAND

    def processes(self):
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                process = self.look_at(int(entry))
            except (OSError, ValueError, IndexError):
                continue  # it has ended
            if process:
                found.append(process)
        return found

    def job_of_pid(self, pid):
        """The job that this process belongs to, or None."""
        if pid in self.jobs:
            return self.jobs[pid]
        try:
            process = self.look_at(pid)
        except (OSError, ValueError, IndexError):
            return None
        return process.job if process else None


def sockets_of(pid):
    """The inodes of a process's sockets."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def connection_of(pid, ports):
    """The local address of a process's connection to one of these ports of 127.0.0.1, and the port; or None."""
    try:
        inodes = sockets_of(pid)
        with open("/proc/net/tcp", encoding="ascii") as file:
            lines = file.read().splitlines()[1:]
    except OSError:
        return None
    for line in lines:
        fields = line.split()
        port = int(fields[2].split(":")[1], 16)
        if fields[9] in inodes and port in ports and fields[3] == "01":
            return f"127.0.0.1:{int(fields[1].split(':')[1], 16)}", port
    return None

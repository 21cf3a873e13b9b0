"""Starts and finds the processes of a round, and writes the driver's part of the history."""

import collections
import contextlib
import ctypes
import json
import os
import signal
import time

S = 1_000_000_000
MS = 1_000_000
FOREVER = 1 << 62
NEVER_TOKEN = 4102444800000  # the server gives no tokens from here on before the year 2100
FASTEST = 1.08  # the server's clock
PR_SET_CHILD_SUBREAPER = 36
PAUSE_NS = 10_000_000
LATE_NS = 40_000_000


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def braced(lock):
    """The part of the lock's other keys that has its name."""
    return lock if "{" in lock else "{" + lock + "}"


class Journal:
    """The driver's part of the history. Every line is one write; its time is taken before."""

    def __init__(self, path):
        self.path = path
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def say(self, what, at=None, **fields):
        line = json.dumps({"at": now() if at is None else at, "what": what, **fields}, ensure_ascii=False)
        os.write(self.file, line.encode() + b"\n")

    def watch(self):
        """Writes down when the machine stood still: a process on each processor sleeps for a moment, again and again, and
        tells when it woke much too late. A guard that had to stop COMMAND at that time may have been late, too. Returns
        the processes."""
        parent, pids = os.getpid(), []
        for processor in os.sched_getaffinity(0):
            pids.append(os.fork())
            if pids[-1] == 0:
                os.sched_setaffinity(0, [processor])
                before = now()
                while os.getppid() == parent:
                    time.sleep(PAUSE_NS / 1e9)
                    at = now()
                    if at - before > PAUSE_NS + LATE_NS:
                        self.say("stall", at=before + PAUSE_NS, until=at)
                    before = at
                os._exit(0)
        return pids

    def close(self):
        os.close(self.file)


Process = collections.namedtuple("Process", "pid job role state")


class Machine:
    """All processes that have TORTURE_RUN of this run in their environment."""

    def __init__(self, run):
        self.run = run
        self.jobs = {}  # pid -> name, of the jobs that have not ended
        self.roots = {}  # name -> pid
        self.known = {}  # (pid, name) -> whether it is a guard
        self.environments = {}
        self.gone = set()
        if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0:
            raise OSError("cannot become a subreaper")

    def start(self, argv, environment, job="", output="/dev/null"):
        """Starts a process, with nothing on standard input; returns its pid."""
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        environment = {**os.environ, **environment, "TORTURE_RUN": self.run, "TORTURE_JOB": job}
        if os.getpid() != 1:  # there is no namespace that ends with us
            argv = ["setpriv", "--pdeathsig", "KILL", *argv]
        # Python ignores SIGPIPE
        ignored = [signal.SIGPIPE, signal.SIGXFSZ]
        pid = os.posix_spawnp(argv[0], argv, environment, file_actions=actions, setsigdef=ignored)
        self.gone.discard(pid)
        if job:
            self.jobs[pid], self.roots[job] = job, pid
        return pid

    def reap(self):
        """[(job or None, pid, status, when)...] of the children that have ended since the last call."""
        ended = []
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = found
                self.gone.add(pid)
                ended.append((self.jobs.pop(pid, None), pid, os.waitstatus_to_exitcode(status), now()))
        return ended

    def kill(self, *pids):
        for pid in set(pids) - self.gone:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self.gone.add(pid)

    def look_at(self, pid):
        """The process, or None if it has ended, or belongs to no job."""
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                state, parent, _, session, *rest = file.read().rpartition(")")[2].split()
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                argv = file.read().split(b"\0")
            # read once for each program that the process becomes
            key = pid, rest[15], argv[0]
            if key not in self.environments:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    variables = dict(pair.partition(b"=")[::2] for pair in file.read().split(b"\0"))
                ours = variables.get(b"TORTURE_RUN", b"").decode() == self.run
                self.environments[key] = ours and variables[b"TORTURE_JOB"].decode(), b"TORTURE_INNER" in variables
            job, is_inner = self.environments[key]
            if not job or state in "ZX":
                return None
            role = "inner" if is_inner else self.role(pid, int(parent), session == str(pid), job, argv)
            return Process(pid, job, role, state)
        except (OSError, ValueError, IndexError):
            return None

    def role(self, pid, parent, leads_session, job, argv):
        program = os.path.basename(argv[0]).decode(errors="replace")
        root = self.roots.get(job)
        if root is None:
            return None  # it has just begun
        for name, role in ("python", "redisson"), ("sh", "script"), ("section", "command"):
            if program.startswith(name):
                return role
        if not program.startswith("fairlock"):
            return None  # a script's sed or printf
        if argv[1] == b"acquire":
            return "keeper" if leads_session else "acquire"
        if argv[1] != b"wrap":
            return "client"
        if pid == root:
            return "wrapper"
        # the guard is the root's child; it may lose its parent after it was first seen
        is_guard = self.known.setdefault((pid, job), parent in (root, os.getpid()))
        return "guard" if is_guard else "command"  # a process that will become COMMAND

    def processes(self):
        pids = (int(entry) for entry in os.listdir("/proc") if entry.isdigit())
        return list(filter(None, (self.look_at(pid) for pid in pids if pid != os.getpid())))

    def job_of_pid(self, pid):
        """The job that this process belongs to, or None."""
        process = None if pid in self.jobs else self.look_at(pid)
        return process.job if process else self.jobs.get(pid)


def connection_of(pid, ports):
    """The local address of a process's connection to one of these ports of 127.0.0.1, and the port; or None."""
    try:
        links = {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
        with open("/proc/net/tcp", encoding="ascii") as file:
            lines = [line.split() for line in file.read().splitlines()[1:]]
    except OSError:
        return None
    for _, here, there, state, *rest in lines:
        port = int(there.split(":")[1], 16)
        if port in ports and state == "01" and f"socket:[{rest[5]}]" in links:
            return f"127.0.0.1:{int(here.split(':')[1], 16)}", port
    return None

"""The lock tools that are measured: how each is started, and what it needs.

A peer runs sections under a lock. A section is the program stamp (see stamp.c) in a process of the tool, or a thread
of a JVM with Redisson.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import threading

from processes import Process, Service, wait_until
from servers import Etcd, Redis

HERE = pathlib.Path(__file__).resolve().parent
REDISSON = "4.7.0"


class Missing(Exception):
    """Why a peer cannot be measured here."""


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Missing(f"there is no {program} here")


def says(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return next((line.strip() for line in result.stdout.splitlines() if line.strip()), "?")


def debian_version(package):
    return says("dpkg-query", "-W", "-f", "${Version}\n", package) if shutil.which("dpkg-query") else "?"


class Peer:
    """A tool that runs a command under a lock."""

    fair = False      # promises an order
    server = None
    lease_s = None    # of the next locks; None: the tool's default
    slow = 1          # takes part in every round, or every so many-th
    package = None    # of Debian, which has the version
    has_lease = False
    slot_pause_s = None  # until it waits for a slot, where that cannot be seen
    ways = {}         # the options for one of eight slots, for a shared hold, and to be alone beside those

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.log = str(folder / "log")
        self.set_up()

    def set_up(self):
        pass

    def version(self):
        return debian_version(self.package)

    def command(self, lock, argv):
        raise NotImplementedError

    def options(self, way):
        return self.ways[way] if way else []

    def section(self, lock, stamps, number, how_long, way=None):
        """Starts a section, which appends its times to the file stamps."""
        stamp = os.path.join(os.environ["BUILD"], "bench", "stamp")
        words = [stamp, stamps, str(number), str(how_long)]
        return Process(self.command(lock, words, way) if way else self.command(lock, words), self.log)

    def separate(self, _who):
        """Makes it possible to kill the next sections without the earlier ones."""

    def waiting(self, lock):
        """Counts the waiters for the lock; None if that cannot be seen."""
        path = self.folder / lock
        if not path.exists():
            return 0
        inode = f":{path.stat().st_ino} "
        with open("/proc/locks") as file:
            return sum("->" in line and inode in line for line in file)

    def end(self):
        if self.server:
            self.server.end()


class Flock(Peer):
    name = "flock"
    ways = {"shared": ["-s"], "alone": ["-x"]}

    def set_up(self):
        needs("flock")

    def version(self):
        return says("flock", "--version").split()[-1]

    def command(self, lock, argv, way=None):
        return ["flock", *self.options(way), str(self.folder / lock), *argv]


class WithLockEx(Peer):
    name = "with-lock-ex"
    package = "chiark-utils-bin"

    def set_up(self):
        needs("with-lock-ex")

    def command(self, lock, argv):
        return ["with-lock-ex", "-w", str(self.folder / lock), *argv]


class Lckdo(Peer):
    name = "lckdo"
    package = "moreutils"

    def set_up(self):
        needs("lckdo")

    def command(self, lock, argv):
        return ["lckdo", "-w", str(self.folder / lock), *argv]


class Sem(Peer):
    name = "GNU sem"
    package = "parallel"
    slow = 10
    ways = {"slot": ["-j", "8"]}
    slot_pause_s = 0.2

    def set_up(self):
        needs("sem")
        self.env = ["env", f"PARALLEL_HOME={self.folder}", f"HOME={self.folder}"]

    def command(self, lock, argv, way=None):
        return [*self.env, "sem", "--will-cite", *self.options(way), "--fg", "--id", lock, *argv]

    def waiting(self, lock):
        return None


class Fairlock(Peer):
    name = "fairlock"
    fair = True
    has_lease = True
    ways = {"slot": ["--slots", "8"], "shared": ["--shared"], "alone": []}

    def set_up(self):
        self.server = Redis(self.folder / "server")
        os.environ["FAIRLOCK_URL"] = f"unix:{self.server.socket}"

    def version(self):
        return says(os.environ["FAIRLOCK"], "--version").split()[-1]

    def command(self, lock, argv, way=None):
        lease = ["-l", str(self.lease_s)] if self.lease_s else []
        return [os.environ["FAIRLOCK"], "wrap", *lease, *self.options(way), lock, *argv]

    def waiting(self, lock):
        return self.server.call("ZCARD", f"fairlock_queue:{{{lock}}}")


class Etcdctl(Peer):
    name = "etcdctl lock"
    package = "etcd-client"
    fair = True
    has_lease = True
    slow = 3

    def set_up(self):
        needs("etcd", "etcdctl")
        os.environ["ETCDCTL_API"] = "3"
        self.server = Etcd(self.folder / "server")

    def command(self, lock, argv):
        ttl = [f"--ttl={self.lease_s}"] if self.lease_s else []
        return ["etcdctl", f"--endpoints=127.0.0.1:{self.server.port}", "lock", *ttl, lock, *argv]

    def waiting(self, lock):
        return self.server.count(f"{lock}/") - 1


class RedisPy(Peer):
    name = "redis-py Lock"
    package = "python3-redis"
    has_lease = True
    slow = 10

    def set_up(self):
        # Debian's modules are for Debian's Python
        self.python = next((python for python in (sys.executable, "/usr/bin/python3") if self.has_redis(python)), None)
        if not self.python:
            raise Missing("there is no redis-py here")
        self.server = Redis(self.folder / "server")

    def command(self, lock, argv):
        return [self.python, str(HERE / "redislock.py"), self.server.socket, str(self.lease_s or 600), lock, *argv]

    @staticmethod
    def has_redis(python):
        return not subprocess.run([python, "-c", "import redis"], stderr=subprocess.DEVNULL, check=False).returncode

    def release_script(self):
        return subprocess.check_output([self.python, "-c", "import redis.lock; print(redis.lock.Lock.LUA_RELEASE_SCRIPT)"],
                                       text=True)

    def waiting(self, lock):
        # each waiter has a connection that asked for the lock, and so has the holder
        return sum(" cmd=set " in line or " cmd=evalsha " in line
                   for line in self.server.call("CLIENT", "LIST").splitlines()) - 1


class Answer:
    """A task of a JVM, in place of a process."""

    def __init__(self, jvm, line):
        self.jvm, self.done = jvm, threading.Event()
        self.word = None
        jvm.tell(self, line)

    def ended(self):
        return self.done.is_set() or self.jvm.ended()

    def kill(self):
        self.jvm.end()

    def family(self):
        return [self.jvm.service.pid]

    def end(self, limit=20):
        try:
            wait_until(self.ended, limit)
        except TimeoutError:
            self.jvm.end()

    def result(self, limit=120):
        wait_until(self.ended, limit, what="Redisson")
        if self.word is None or self.word.startswith("failed"):
            raise RuntimeError(f"Redisson: {self.word}")
        return self.word


class Jvm:
    def __init__(self, port, lease_s, log):
        jars = os.path.join(os.environ["BUILDROOT"], "interop", REDISSON, "lib", "*")
        watchdog = [str(lease_s * 1000)] if lease_s else []
        self.answers, self.count = {}, 0
        self.service = Service(["java", "-cp", jars, str(HERE / "FairLock.java"), str(port), *watchdog], log,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = threading.Event()
        threading.Thread(target=self.read, daemon=True).start()
        wait_until(lambda: self.ready.is_set() or self.ended(), what="Redisson")
        if self.ended():
            raise Missing(f"a JVM with Redisson ends at once: see {log}")

    def read(self):
        for line in self.service.stdout:
            number, _, word = line.strip().partition(" ")
            if number == "ready":
                self.ready.set()
            elif number in self.answers:
                answer = self.answers.pop(number)
                answer.word = word
                answer.done.set()

    def tell(self, answer, line):
        self.count += 1
        self.answers[str(self.count)] = answer
        self.service.stdin.write(f"{self.count} {line}\n")
        self.service.stdin.flush()

    def ended(self):
        return self.service.poll() is not None

    def end(self):
        self.service.end()


class Redisson(Peer):
    name = "Redisson fair lock"
    fair = True
    has_lease = True
    slow = 3
    who = "all"       # the JVM that gets the next tasks
    ways = {"slot": "slot", "shared": "shared", "alone": "alone"}  # tasks of FairLock.java
    slot_pause_s = 0.02

    def set_up(self):
        needs("java", "javac")
        if not os.path.exists(os.path.join(os.environ["BUILDROOT"], "interop", REDISSON, "ready")):
            raise Missing(f"Redisson {REDISSON} was not built here (tests/interop/build)")
        self.server = Redis(self.folder / "server")
        self.jvms = {}

    def version(self):
        return REDISSON + ", " + says("java", "-version")

    def jvm(self, who="all"):
        """The JVM of this name, whose threads share its process."""
        jvm = self.jvms.get((who, self.lease_s))
        if not jvm or jvm.ended():
            jvm = self.jvms[who, self.lease_s] = Jvm(self.server.port, self.lease_s, self.log)
        return jvm

    def separate(self, who):
        self.who = who
        self.jvm(who)

    def ask(self, line):
        return Answer(self.jvm(), line).result()

    def section(self, lock, stamps, number, how_long, way="section"):
        return Answer(self.jvm(self.who), f"{way} {lock} {stamps} {number} {how_long}")

    def waiting(self, lock):
        return self.server.call("ZCARD", f"fairlock_queue:{{{lock}}}")

    def end(self):
        for jvm in self.jvms.values():
            jvm.end()
        super().end()


PEERS = (Flock, WithLockEx, Lckdo, Fairlock, Etcdctl, RedisPy, Redisson, Sem)

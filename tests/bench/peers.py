"""The lock tools that are measured: how each is started, and the server that it needs.

A peer runs sections under a lock. A section is the program stamp (see stamp.c) in a process of the tool, or a thread of a JVM
with Redisson.
"""

import base64
import itertools
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import urllib.request

from processes import PROGRAMS, Process, Service, timed, wait_until

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "lib"))
import resp  # noqa: E402

REDISSON = "4.7.0"
# What clients of Redis send while they wait, and that no script calls.
REQUESTS = {"eval", "evalsha", "hello", "ping", "subscribe", "ssubscribe"}
OWNER = re.compile(r"[0-9a-f-]{36}:\d+")


class Missing(Exception):
    """Why a peer cannot be measured here."""


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Missing(f"there is no {program} here")


def says(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout.split("\n")[0]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Redis:
    """A redis-server or valkey-server on a unix socket and a port, which writes nothing to disk."""

    def __init__(self, folder):
        folder.mkdir()
        self.socket, self.port = str(folder / "redis.sock"), free_port()
        self.service = Service([os.environ.get("SERVER", "redis-server"), "--port", str(self.port), "--bind", "127.0.0.1",
                                "--unixsocket", self.socket, "--unixsocketperm", "700", "--dir", str(folder), "--save", "",
                                "--maxclients", "5000", "--slowlog-max-len", "1000"], folder / "log")
        wait_until(self.answers, what="redis-server")

    def answers(self):
        try:
            self.connection = resp.Connection(self.port, 60)
        except OSError:
            return False
        return self.call("PING") == "PONG"

    def call(self, *words):
        return self.connection.ask(*words)

    def heard(self, act):
        """What clients send meanwhile, as (microseconds, words)."""
        self.call("CONFIG", "SET", "slowlog-log-slower-than", 0)
        self.call("SLOWLOG", "RESET")
        act()
        entries = self.call("SLOWLOG", "GET", 1000)
        self.call("CONFIG", "SET", "slowlog-log-slower-than", -1)
        return [(entry[2], entry[3]) for entry in sorted(entries) if entry[3][0].lower() in REQUESTS]

    def requests_of(self, act):
        return [words for _, words in self.heard(act)]

    def calls(self):
        """Counts the requests of clients, without the calls of scripts."""
        stats = self.call("INFO", "commandstats").split("\r\n")
        return sum(int(line.split("calls=")[1].split(",")[0]) for line in stats if line.split(":")[0][8:] in REQUESTS)


class Etcd:
    """One etcd, which really writes to disk."""

    def __init__(self, folder):
        self.port = free_port()
        client, peer = (f"http://127.0.0.1:{port}" for port in (self.port, free_port()))
        self.service = Service(["etcd", "--data-dir", str(folder / "data"), "--logger", "zap", "--log-level", "error",
                                "--listen-client-urls", client, "--advertise-client-urls", client,
                                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                                "--initial-cluster", f"default={peer}"], folder / "server")
        wait_until(self.answers, what="etcd")

    def answers(self):
        try:
            return '"true"' in self.get("/health")
        except OSError:
            return False

    def get(self, path, question=None):
        data = json.dumps(question).encode() if question else None
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", data, 10) as reply:
            return reply.read().decode()

    def count(self, prefix):
        first, last = (base64.b64encode(word.encode()).decode() for word in (f"{prefix}/", f"{prefix}0"))
        return int(json.loads(self.get("/v3/kv/range", {"key": first, "range_end": last, "count_only": True}))
                   .get("count", 0))

    def calls(self):
        """Counts the messages of clients."""
        return sum(float(line.split()[1]) for line in self.get("/metrics").split("\n")
                   if line.startswith("grpc_server_msg_received_total"))


class Peer:
    """A tool that runs a command under a lock."""

    server = None
    often = True    # takes part in every round, or only in the first
    survives = True  # that others die
    ways = {}       # the options for one of eight slots, for a shared hold, and to be alone beside those

    def __init__(self, folder):
        self.folder, self.log = folder, str(folder / "log")
        folder.mkdir()
        self.set_up()

    def command(self, lock, argv, way=None):
        raise NotImplementedError

    def section(self, lock, stamps, number, how_long, way=None, _group=None):
        """Starts a section, which appends its times to the file stamps. Those of one group may be killed without others."""
        words = [str(PROGRAMS / "stamp"), stamps, str(number), str(how_long)]
        return Process(self.command(lock, words, way), self.log)

    def end(self):
        if self.server:
            self.server.service.end()


class Flock(Peer):
    name = "flock"
    ways = {"shared": ["-s"], "alone": ["-x"]}

    def set_up(self):
        needs("flock")

    def version(self):
        return says("flock", "--version").split()[-1]

    def command(self, lock, argv, way=None):
        return ["flock", *self.ways.get(way, []), str(self.folder / lock), *argv]

    def waiting(self, lock):
        path = self.folder / lock
        inode = f":{path.stat().st_ino} " if path.exists() else "none"
        with open("/proc/locks") as file:
            return sum("->" in line and inode in line for line in file)


class Fairlock(Peer):
    name = "fairlock"
    program = os.environ.get("FAIRLOCK")
    ways = {"slot": ["--slots", "8"], "shared": ["--shared"], "alone": []}

    def set_up(self):
        self.server = Redis(self.folder / "server")

    def version(self):
        return says(self.program, "--version").split()[-1]

    def does(self, command, *words):
        """The words of a command of fairlock's."""
        return [self.program, command, "--url", f"unix:{self.server.socket}", *words]

    def command(self, lock, argv, way=None):
        return self.does("wrap", *self.ways.get(way, []), lock, *argv)

    def waiting(self, lock):
        return self.server.call("ZCARD", f"fairlock_queue:{{{lock}}}")

    def as_program(self, name, requests):
        """The words that have relay send these requests, and read the answers."""
        path = self.folder / name
        path.write_bytes(b"".join(map(resp.request, requests)))
        answers = sum(len(words) - 1 if words[0].lower() == "subscribe" else 1 for words in requests)
        return [str(PROGRAMS / "relay"), self.server.socket, str(path), str(answers)]


class Relay(Fairlock):
    """Processes that send the requests of a wrap, and do nothing else: see relay.c."""

    name = "relay: the requests of wrap"
    survives = False
    ways = {}

    def set_up(self):
        super().set_up()
        self.numbers = itertools.count(1)
        wrap = super().command("relayed", ["true"])
        timed(wrap)  # the server knows the scripts now
        *self.ask, self.release = self.server.requests_of(lambda: timed(wrap))

    def command(self, lock, argv, way=None):
        number = next(self.numbers)

        def own(words):
            return [OWNER.sub(lambda owner: f"{number:08d}{owner[0][8:]}", word).replace("relayed", lock) for word in words]

        ask = self.as_program(f"ask{number}", map(own, self.ask))
        release = self.as_program(f"release{number}", [own(self.release)])
        return [*ask, release[2], *argv]


class Etcdctl(Peer):
    name = "etcdctl lock"
    often = False

    def set_up(self):
        needs("etcd", "etcdctl")
        os.environ["ETCDCTL_API"] = "3"
        self.server = Etcd(self.folder)

    def version(self):
        return says("etcdctl", "version")

    def command(self, lock, argv, way=None):
        return ["etcdctl", f"--endpoints=127.0.0.1:{self.server.port}", "lock", lock, *argv]

    def waiting(self, lock):
        return self.server.count(lock) - 1


class Jvm:
    """Client.java of tests/interop."""

    def __init__(self, port, folder, number):
        self.said, self.count = folder / f"said{number}", 0
        built = f"{os.environ.get('BUILDROOT', 'build')}/interop/{REDISSON}"
        with open(self.said, "w") as said:
            self.service = Service(["java", "-cp", f"{built}/client.jar:{built}/lib/*", "fairlock.Client", str(port)],
                                   folder / "log", stdin=subprocess.PIPE, stdout=said, text=True)
        self.ask("connect")

    def start(self, line):
        """Has a thread of its own do this."""
        self.count += 1
        return Task(self, f"a.{self.count}", line)

    def ask(self, *lines):
        """Has one thread do these."""
        self.count += 1
        for line in lines:
            wait_until(Task(self, f"a.{self.count}", line).ended, what="Redisson")


class Task:
    """A thread of a JVM, in place of a process."""

    def __init__(self, jvm, thread, line):
        self.jvm, self.answer = jvm, f"{thread} {line.split()[0]} "
        jvm.service.stdin.write(f"{thread} {line}\n")
        jvm.service.stdin.flush()

    def ended(self):
        said = "\n" + self.jvm.said.read_text()
        if f"\n{self.answer}failed" in said:
            raise RuntimeError(f"Redisson: {said}")
        return f"\n{self.answer}" in said or not self.pids()

    def pids(self):
        return [] if self.jvm.service.poll() is not None else [self.jvm.service.pid]


class Redisson(Peer):
    name = "Redisson's fair lock"
    often = False
    ways = {"slot": "stampSlot", "shared": "stampShared", "alone": "stampAlone"}  # commands of Client.java

    def set_up(self):
        needs("java")
        if not os.path.exists(f"{os.environ.get('BUILDROOT', 'build')}/interop/{REDISSON}/ready"):
            raise Missing(f"Redisson {REDISSON} was not built here (tests/interop/build)")
        self.server = Redis(self.folder / "server")
        self.jvms = {}

    def version(self):
        return f"{REDISSON}, {says('java', '-version')}"

    def jvm(self, group=None):
        jvm = self.jvms.get(group)
        if not jvm or jvm.service.poll() is not None:
            jvm = self.jvms[group] = Jvm(self.server.port, self.folder, len(self.jvms))
        return jvm

    def section(self, lock, stamps, number, how_long, way=None, group=None):
        return self.jvm(group).start(f"{self.ways.get(way, 'stamp')} {lock} {stamps} {number} {how_long}")

    def waiting(self, lock):
        return self.server.call("LLEN", f"redisson_lock_queue:{{{lock}}}")

    def end(self):
        for jvm in self.jvms.values():
            jvm.service.end()
        super().end()


PEERS = (Flock, Fairlock, Relay, Etcdctl, Redisson)

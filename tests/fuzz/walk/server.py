"""Real servers on private unix sockets, whose clock is ours, and the scripts in them."""

import mmap
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
import resp  # noqa: E402
from resp import ServerError  # noqa: E402

BEGIN_US = 1_700_000_000_000_000


class Clock:
    """The time of the servers, in µs: only we move it, so a walk is the same each time."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "clock")
        with open(self.path, "wb") as file:
            file.write(struct.pack("q", BEGIN_US))
        with open(self.path, "r+b") as file:
            self.shared = mmap.mmap(file.fileno(), 8)

    def set(self, us):
        self.shared[:] = struct.pack("q", us)


class Connection(resp.Connection):
    """What it is told between answers is in `heard`: (channel, message)."""

    def __init__(self, path):
        super().__init__(path, None)
        self.heard, self.out = [], []
        self.ask("HELLO", "3")

    def send(self, *words):
        self.out.append(resp.request(words))

    def answers(self, count):
        """The answers to the last `count` things that were sent and not read."""
        self.socket.sendall(b"".join(self.out))
        self.out = []
        found = []
        while len(found) < count:
            kind, value = self.read_any()
            if kind != b">":
                found.append(value)
            elif value[0] == "message":
                self.heard.append((value[1], value[2]))
        return found

    def ask(self, *words):
        self.send(*words)
        answer = self.answers(1)[0]
        if isinstance(answer, ServerError):
            raise answer
        return answer


class Server:
    """One server process. It is used until the walk has it restarted."""

    def __init__(self, folder, number, library, clock):
        self.path = os.path.join(folder, f"s{number}")
        self.process = subprocess.Popen(
            [os.environ.get("SERVER", "redis-server"), "--port", "0", "--unixsocket", self.path, "--save", "", "--appendonly",
             "no", "--dir", folder,
             # a large hash in order, too, so that a walk is the same each time
             "--hash-max-ziplist-entries", "100000", "--hash-max-ziplist-value", "100000"],
            stdout=subprocess.DEVNULL, env={**os.environ, "LD_PRELOAD": library, "STILL_CLOCK": clock})

    def connect(self):
        for _ in range(2000):
            try:
                return Connection(self.path)
            except OSError:
                if self.process.poll() is not None:
                    raise
                time.sleep(0.005)
        raise TimeoutError("the server does not start")

    def stop(self):
        self.process.kill()
        self.process.wait()


class Servers:
    """The server in use, and one in reserve: a restart takes that."""

    def __init__(self, texts):
        """texts: {name: source of a script}"""
        self.folder = tempfile.mkdtemp()
        self.texts, self.count, self.spare, self.server = texts, 0, None, None
        self.preload = os.path.join(self.folder, "clock.so")
        try:
            source = os.path.join(ROOT, "tests", "programs", "clockwork.c")
            subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-fPIC", "-shared", "-o", self.preload, source], check=True)
            self.clock = Clock(self.folder)
            self.server = self.start()
            self.use(self.server)
        except BaseException:
            self.stop()
            raise

    def start(self):
        self.count += 1
        return Server(self.folder, self.count, self.preload, self.clock.path)

    def use(self, server):
        self.server, self.connection, self.second = server, server.connect(), server.connect()
        self.shas = {name: self.connection.ask("SCRIPT", "LOAD", text) for name, text in self.texts.items()}
        self.spare = self.start()

    def copy(self):
        """All keys: name, when they end (ms) or -1, content."""
        ask, found = self.connection.ask, []
        now = ask("TIME")
        for key in sorted(ask("KEYS", "*")):
            ttl = ask("PTTL", key)
            found.append((key, ttl + int(now[0]) * 1000 + int(now[1]) // 1000 if ttl >= 0 else -1, ask("DUMP", key)))
        return found

    def restart(self, copy):
        """Another server process, with these keys."""
        old, server, self.spare = self.server, self.spare, None
        self.use(server)
        old.stop()
        now = self.connection.ask("TIME")
        for key, ends, content in copy:
            if ends < 0 or ends > int(now[0]) * 1000 + int(now[1]) // 1000:
                self.connection.ask("RESTORE", key, max(0, ends), content, "ABSTTL")

    def stop(self):
        for server in self.server, self.spare:
            if server:
                server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

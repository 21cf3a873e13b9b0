"""The servers behind the lock tools that are measured."""

import base64
import json
import os
import urllib.request

from processes import Service, free_port, wait_until
from wire import Wire

# The requests that clients of Redis send while they wait, and that no script calls.
REQUESTS = {"eval", "evalsha", "fcall", "hello", "ping", "set", "subscribe", "ssubscribe", "wait"}


class Redis:
    """A redis-server or valkey-server on a unix socket and a port."""

    def __init__(self, folder, *options):
        self.folder, self.options = folder, options
        self.socket, self.port = str(folder / "redis.sock"), free_port()
        folder.mkdir()
        self.start()

    def start(self):
        self.service = Service([os.environ["SERVER"], "--port", str(self.port), "--bind", "127.0.0.1",
                                "--unixsocket", self.socket, "--unixsocketperm", "700", "--dir", str(self.folder),
                                "--save", "", "--appendfsync", "no", "--maxclients", "5000", *self.options],
                               self.folder / "log")
        wait_until(self.answers, what="redis-server")

    def answers(self):
        try:
            self.wire = Wire(self.socket)
            return self.wire.call("PING") == "PONG"
        except (OSError, RuntimeError):
            return False

    def call(self, *words):
        return self.wire.call(*words)

    def persist(self):
        """Makes the server keep its data over restarts from now on."""
        if "--appendonly" not in self.options:
            self.options = (*self.options, "--appendonly", "yes")
            self.call("CONFIG", "SET", "appendonly", "yes")
            wait_until(lambda: "aof_rewrite_in_progress:0" in self.call("INFO", "persistence"))

    def calls(self):
        """Counts the requests of clients, without the calls of scripts."""
        stats = self.call("INFO", "commandstats").split("\r\n")
        return sum(int(line.split("calls=")[1].split(",")[0]) for line in stats
                   if line.split(":")[0][8:] in REQUESTS)

    def end(self):
        self.service.end()


class Etcd:
    """One etcd, which really writes to disk."""

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        folder.mkdir()
        self.peer_port = free_port()
        self.start()

    def start(self):
        client, peer = (f"http://127.0.0.1:{port}" for port in (self.port, self.peer_port))
        self.service = Service(["etcd", "--data-dir", str(self.folder / "data"), "--logger", "zap", "--log-level", "error",
                                "--listen-client-urls", client, "--advertise-client-urls", client,
                                "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                                "--initial-cluster", f"default={peer}"], self.folder / "log")
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
        first, last = (base64.b64encode(word.encode()).decode() for word in (prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1)))
        return int(json.loads(self.get("/v3/kv/range", {"key": first, "range_end": last, "count_only": True}))
                   .get("count", 0))

    def calls(self):
        """Counts the messages of clients."""
        return sum(float(line.split()[1]) for line in self.get("/metrics").splitlines()
                   if line.startswith("grpc_server_msg_received_total"))

    def persist(self):
        """It always keeps its data."""

    def end(self):
        self.service.end()

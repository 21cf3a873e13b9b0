"""Records for hostile.py how a real server answers."""

import collections
import json
import os
import selectors
import socket
import subprocess
import threading
import time

from hostile_case import DEFAULTS, DIES_WITH_US, FAIRLOCK, TIME_S, kind_of, owner_of
from resp import Incomplete, parse, tag, text

SERVER = os.environ.get("SERVER", "redis-server")


class Recorder(threading.Thread):
    """A proxy that keeps the answers, by step and, for a script, by their first word."""

    def __init__(self, path, upstream):
        super().__init__(daemon=True)
        self.path, self.upstream = path, upstream
        self.answers = {}
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()

    def run(self):
        while True:
            peer = self.listener.accept()[0]
            threading.Thread(target=self.pass_on, args=[peer], daemon=True).start()

    def pass_on(self, peer):
        asked = collections.deque()
        upstream = socket.socket(socket.AF_UNIX)
        upstream.connect(self.upstream)
        ends = {peer: [upstream, bytearray()], upstream: [peer, bytearray()]}
        selector = selectors.DefaultSelector()
        for end in ends:
            selector.register(end, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                data = key.fileobj.recv(65536)
                to, buffer = ends[key.fileobj]
                if not data:
                    peer.close()
                    upstream.close()
                    return
                buffer += data
                try:
                    while buffer:
                        value, end = parse(buffer)
                        del buffer[:end]
                        self.note(asked, value, key.fileobj is peer)
                except Incomplete:
                    pass
                to.sendall(data)

    def note(self, asked, value, is_request):
        if is_request:
            words = [part[1] for part in value[1]]
            if words[0] != b"SUBSCRIBE":
                asked.append(words)
        elif value[0] == b">":
            self.answers.setdefault((value[1][0][1].decode(), None), (value, b""))
        else:
            words = asked.popleft()
            if value[0] != b"-":
                kind = kind_of(words)
                word = tag(value) if kind in DEFAULTS else None
                if kind == "status" and not value[1][0][1] or kind == "queue" and not value[1]:
                    return  # too little to begin with
                self.answers.setdefault((kind, word), (value, owner_of(words)))


def record(folder):
    """Runs SERVER and commands; returns every answer that the scenarios need."""
    real = os.path.join(folder, "real")
    server = subprocess.Popen(
        [*DIES_WITH_US, SERVER, "--port", "0", "--unixsocket", real, "--save", "", "--dir", folder],
        stdout=subprocess.DEVNULL,
    )
    until = time.monotonic() + 20
    while not os.path.exists(real) and time.monotonic() < until:
        time.sleep(0.01)
    recorder = Recorder(os.path.join(folder, "recorder"), real)
    recorder.start()

    def start(*words):
        return subprocess.Popen(
            [*DIES_WITH_US, FAIRLOCK, words[0], "-u", f"unix:{recorder.path}?db=1", *words[1:]],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )

    def run(*words):
        return start(*words).communicate(timeout=TIME_S)[0].decode().strip()

    def waits():
        while not json.loads(run("queue", "--json", "job"))["queue"]:
            time.sleep(0.01)

    run("wrap", "job", "true")
    owner = run("acquire", "job")
    run("acquire", "-w", "50ms", "job")
    waiter = start("wrap", "job", "true")
    waits()
    run("status")
    run("doctor")
    run("renew", "--owner", owner, "job")  # a lease of 30 s outlasts a busy moment of the machine
    run("release", "--owner", owner, "job")
    waiter.communicate(timeout=TIME_S)
    run("acquire", "job")
    waiter = start("acquire", "job")
    waits()
    run("queue", "--remove", json.loads(run("queue", "--json", "job"))["queue"][0]["owner"], "job")
    waiter.communicate(timeout=TIME_S)
    run("release", "--force", "job")
    run("acquire", "job")
    waiter = start("acquire", "job")
    waits()
    run("log", "--plot", "job")
    waiter.kill()
    server.kill()
    server.wait()
    return {**recorder.answers, **SENTINELS}


# The answers of a sentinel, its master and a node of a cluster, which are not recorded.
SENTINELS = {
    ("sentinel", None): ((b"*", [text("127.0.0.1"), text("@THERE@")]), b""),
    ("asking", None): ((b"+", b"OK"), b""),
    ("role", None): ((b"*", [text("master"), (b":", 0), (b"*", [])]), b""),
}

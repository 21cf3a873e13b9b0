"""A real server on a private unix socket, the scripts of lua/ in it, and one lock."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from forms import MODES
from resp import Incomplete, array, bulk, parse

SCRIPTS = ["acquire", "release", "renew", "leave", "queue", "status", "log", "view"]
LOCK = "job"
KEYS = [LOCK] + [key + "{" + LOCK + "}" for key in
                 ("redisson_lock_queue:", "redisson_lock_timeout:", "fairlock:", "fairlock_log:", "fairlock_holders:")]
CHANNEL = "redisson_lock__channel:{" + LOCK + "}"

# All that the six keys say, at one moment. A key of another type says nothing.
LOOK = """
local function get(...)
	local found = redis.pcall(...)
	return found.err and {} or found
end
local clock = redis.call('TIME')
local found = {string.format('%.0f', clock[1] * 1000 + math.floor(clock[2] / 1000)), get('HGETALL', KEYS[1]),
	get('LRANGE', KEYS[2], 0, -1), get('ZRANGE', KEYS[3], 0, -1, 'WITHSCORES'), get('HGETALL', KEYS[4]),
	get('XREVRANGE', KEYS[5], '+', '-', 'COUNT', ARGV[1])}
for i, key in ipairs(KEYS) do
	found[6 + i] = redis.call('PTTL', key)
	found[12 + i] = redis.call('TYPE', key).ok
end
found[19] = get('ZRANGE', KEYS[6], 0, -1, 'WITHSCORES')
return found
"""


class ServerError(Exception):
    """The server answered with an error."""


def plain(value):
    kind, content = value
    if kind == b"-":
        return ServerError(content.decode("latin-1"))
    if isinstance(content, list):
        return [plain(part) for part in content]
    return content.decode("latin-1") if isinstance(content, bytes) else content


def encoded(word):
    return bulk(word if isinstance(word, bytes) else str(word).encode("latin-1"))


class Client:
    """Texts are bytes in latin-1."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.data = bytearray()

    def send(self, *words):
        self.socket.sendall(array(*map(encoded, words)))

    def receive(self):
        while True:
            try:
                value, end = parse(self.data)
                del self.data[:end]
                return value
            except Incomplete:
                more = self.socket.recv(65536)
                if not more:
                    raise ConnectionError("the server has ended") from None
                self.data += more

    def ask(self, *words):
        self.send(*words)
        answer = plain(self.receive())
        if isinstance(answer, ServerError):
            raise answer
        return answer

    def ask_raw(self, *words):
        self.send(*words)
        return self.receive()[1]


def texts_of(path):
    """The texts in quotes that a file of tests/lib gives its variables."""
    with open(os.path.join(ROOT, "tests", "lib", path), encoding="utf-8") as file:
        found = re.findall(r"^(\w+)=(\"\$redisson_parts\")?'(.*?)'$", file.read(), re.M | re.S)
    texts = {}
    for name, parts, text in found:
        texts[name] = (texts["redisson_parts"] if parts else "") + text
    return texts


class Server:
    def __init__(self, lua):
        self.folder = tempfile.mkdtemp()
        path = os.path.join(self.folder, "s")
        self.process = subprocess.Popen(
            [os.environ.get("SERVER", "redis-server"), "--port", "0", "--unixsocket", path, "--save", "",
             "--appendonly", "no", "--dir", self.folder], stdout=subprocess.DEVNULL)
        try:
            self.client, self.ears = self.connect(path), Client(path)
            self.tells_ends = bool(self.client.ask("COMMAND", "INFO", "PEXPIRETIME")[0])  # from version 7 on
            self.load(lua)
        except BaseException:
            self.stop()
            raise

    def connect(self, path):
        for _ in range(1000):
            try:
                client = Client(path)
                client.ask("PING")
                return client
            except (OSError, ServerError):
                if self.process.poll() is not None:
                    raise
                time.sleep(0.01)
        raise TimeoutError("the server does not start")

    def load(self, lua):
        self.shas = {}
        for name in SCRIPTS:
            joined = subprocess.run([os.path.join(ROOT, "lua", "join"), os.path.join(lua, "scripts", name + ".lua")],
                                    check=True, capture_output=True).stdout
            self.shas[name] = self.client.ask("SCRIPT", "LOAD", joined)
        texts = {**texts_of("contents.bash"), **texts_of("redisson.bash"), "look": LOOK}
        for name in ("look", "passes", "redisson_lock", "redisson_leave"):
            self.shas[name] = self.client.ask("SCRIPT", "LOAD", texts[name])
        self.shas["redisson_sweep"] = self.client.ask(
            "SCRIPT", "LOAD", texts["redisson_parts"] + "drop_stale(tonumber(ARGV[1]))")

    def run(self, name, *words):
        """Runs a script. It is one of ours if it takes the channel. An exclusive request declares five keys."""
        more = [CHANNEL] if name in SCRIPTS else []
        is_exclusive = name == "acquire" and words[12] == "x" or name == "renew" and words[8] == "x"
        keys = KEYS[:5] if is_exclusive else KEYS
        return self.client.ask("EVALSHA", self.shas[name], len(keys), *keys, *more, *words)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Look:
    """What the keys said at one moment."""

    def __init__(self, server, entries=8):
        found = server.run("look", entries)
        self.now, key = int(found[0]), found[1]
        self.owners, self.list = pairs(key), found[2]
        self.field = key[0] if key else None
        self.mode = MODES.get(self.field, "x") if key else None
        self.owner = self.field if self.mode == "x" else None
        self.scores, self.hash = pairs(found[3]), pairs(found[4])
        self.log = [pairs(fields) for _, fields in found[5]]
        self.ttl, self.types = found[6:12], found[12:18]
        self.scored_holders = pairs(found[18])
        live = sorted((float(score), who) for who, score in self.scored_holders.items() if float(score) > self.now)
        # of several holders, in the order of the ends of their leases
        self.holders = {who: score for score, who in live} if self.mode in ("s", "=") else {}

    def has_hold(self, who):
        return self.owner == who or who in self.holders

    def agrees(self):
        return len(set(self.list)) == len(self.list) and set(self.list) == set(self.scores)


def pairs(flat):
    return dict(zip(flat[::2], flat[1::2]))

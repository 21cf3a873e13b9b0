"""A server of a round, the proxy before it, and the looker, which reads its queues all the time."""

import collections
import os
import random
import socket
import sys
import threading
import time

from machine import now

LIB = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib")
sys.path.insert(0, LIB)
from resp import Connection  # noqa: E402

LOOK_S = 0.015
SLOW_NS = 100_000_000
DROPS_MS = 200  # a Redisson client asks by its clock so long after a look

# Returns for each lock: holders, time to live, queue, which waiters are present, whether list and sorted set agree, the
# queue's time to live, whether the key and the sorted set of the holders agree, and which waiters of ours have no place in
# Redisson's list: no marker, or one that a Redisson client may drop at this time of its clock, the first argument. It runs
# as a whole, between two scripts.
LOOK = """
local clock, found, numsub = tonumber(table.remove(ARGV, 1)), {}, table.remove(ARGV, 1)
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
for _, name in ipairs(ARGV) do
	local braced = string.find(name, '{', 1, true) and name or '{' .. name .. '}'
	local list, set = 'redisson_lock_queue:' .. braced, 'redisson_lock_timeout:' .. braced
	local listed, ours = redis.call('LRANGE', list, 0, -1), redis.call('ZRANGE', 'fairlock_queue:' .. braced, 0, -1, 'WITHSCORES')
	local ids, channels, next_one, displaced = {}, {}, 1, {}
	local agree = redis.call('ZCARD', set) == #listed
	local function add_ours(before, marker)
		local ends = tonumber(marker and redis.call('ZSCORE', set, marker)) or 0
		while ours[next_one] and tonumber(ours[next_one + 1]) < before do
			ids[#ids + 1] = ours[next_one]
			if ends <= clock then
				displaced[#displaced + 1] = ours[next_one]
			end
			next_one = next_one + 2
		end
	end
	local ends, following = {}, math.huge -- of each batch of ours: the ticket of the next marker
	for i = #listed, 1, -1 do
		ends[i] = following
		following = tonumber(string.match(listed[i], '^fairlock:(%d+)$')) or following
		agree = agree and redis.call('ZSCORE', set, listed[i])
	end
	add_ours(following)
	for i, id in ipairs(listed) do
		if string.match(id, '^fairlock:%d+$') then
			add_ours(ends[i], id)
		else
			ids[#ids + 1] = id
		end
	end
	add_ours(math.huge)
	for i, id in ipairs(ids) do
		channels[i] = 'redisson_lock__channel:' .. braced .. ':' .. id
	end
	local holders, owners = redis.call('HKEYS', name), 'fairlock_holders:' .. braced
	local many = holders[1] == 'fairlock:shared' or holders[1] == 'fairlock:slots'
	local sound = redis.call('EXISTS', owners) == (many and 1 or 0) and #holders < 2
	if many then
		sound = sound and (not redis.REDIS_VERSION_NUM or -- before version 7
			redis.call('PEXPIRETIME', owners) == redis.call('PEXPIRETIME', name))
		holders = redis.call('ZRANGEBYSCORE', owners, '(' .. now, '+inf')
	end
	found[#found + 1] = {holders, redis.call('PTTL', name), ids,
		#ids > 0 and redis.call('PUBSUB', numsub, unpack(channels)) or {}, agree and 1 or 0, redis.call('PTTL', list), sound and 1 or 0, displaced}
end
return found
"""


def unless_away(default):
    """What a method returns while a server does not answer, or refuses."""

    def decorate(method):
        def ask(*words):
            try:
                return method(*words)
            except (OSError, RuntimeError):
                return default

        return ask

    return decorate


class Server:
    def __init__(self, machine, program, folder, options, environment):
        self.machine, self.program, self.folder = machine, program, folder
        self.options, self.environment = list(options), environment
        self.pid = self.connection = None
        self.port = free_port()
        self.ports = [self.port]

    def start(self, argv=(), extra=()):
        """Starts the server, without waiting: see is_up."""
        self.forget_connection()
        if not argv:
            argv = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder, "--save", ""]
            argv += ["--auto-aof-rewrite-percentage", "0", *self.options, *extra]
        output = os.path.join(self.folder, f"{self.port}.log")
        self.pid = self.machine.start([self.program, *argv], self.environment, output=output)

    def kill(self):
        """Kills the server, and waits for its end."""
        self.forget_connection()
        self.machine.kill(self.pid)

    def forget_connection(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def ask(self, *words):
        try:
            if not self.connection:
                self.connection = Connection(self.port, 5)
            return self.connection.ask(*words)
        except OSError:
            self.forget_connection()
            raise

    @unless_away(False)
    def is_up(self):
        """Whether our server serves. (Another process may have taken the port while it was away.)"""
        return f"process_id:{self.pid}\r" in self.ask("INFO", "server") and self.ask("PING") == "PONG"


PORTS = random.sample(range(10000, 20000), 10000)


def free_port():
    """A port that no other server of ours has, and that no outgoing connection will take while the server is away: the
    kernel gives those higher ones, also higher than port + 10000, where the nodes of a cluster talk."""
    while True:
        port = PORTS.pop()
        PORTS.insert(0, port)
        try:
            for number in port, port + 10000:
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", number))
            return port
        except OSError:
            continue


class Proxy:
    """Drives tests/lib/proxy.py."""

    def __init__(self, machine, folder, port):
        for name in "commands", "answers":
            os.mkfifo(f"{folder}/{name}")
        self.answers = open(f"{folder}/answers", "r+b", buffering=0)
        argv = [sys.executable, os.path.join(LIB, "proxy.py"), "127.0.0.1:0", f"127.0.0.1:{port}", folder]
        self.pid = machine.start(argv, {}, output=f"{folder}/log")
        self.address = self.answers.readline().decode().strip()
        self.commands = open(f"{folder}/commands", "wb", buffering=0)

    def tell(self, command):
        self.commands.write(command.encode() + b"\n")
        answer = self.answers.readline().decode()
        if answer.startswith("error"):
            raise RuntimeError(f"proxy {command}: {answer}")

class Looker(threading.Thread):
    """Writes down holders and queue of each lock whenever they change, and the last look before."""

    def __init__(self, ground, machine, journal, locks):
        super().__init__(daemon=True)
        self.ground, self.machine, self.journal, self.locks = ground, machine, journal, locks
        self.over = threading.Event()
        self.owners = {}  # the job of each owner id
        self.last, self.unwritten = {}, {}
        self.queues = {lock: [] for lock in locks}
        self.holders = {lock: [] for lock in locks}

    def run(self):
        connections = {}
        while not self.over.is_set():
            places = collections.defaultdict(list)  # the locks by the port of the server that serves them
            for lock in self.locks:
                server = self.ground.server_of(lock)
                if server is not None:
                    places[server.port].append(lock)
            for port, locks in places.items():
                try:
                    if port not in connections:
                        connections[port] = Connection(port, 60)
                    self.look(connections[port], locks)
                except (OSError, RuntimeError):
                    if port in connections:
                        connections.pop(port).close()
            time.sleep(LOOK_S)

    def look(self, connection, locks):
        at = now()
        clock = time.time_ns() // 1_000_000 + DROPS_MS
        found = connection.ask("EVAL", LOOK, 0, clock, self.ground.numsub, *locks)
        until = now()
        if until - at > SLOW_NS:
            self.journal.say("slow", at=at, until=until)
        for lock, (holders, ttl, ids, counts, agree, queue_ttl, sound, displaced) in zip(locks, found):
            self.name([*ids, *holders])
            self.queues[lock], self.holders[lock] = ids, holders
            queue = [[id_, int(count > 0)] for id_, count in zip(ids, counts[1::2])]
            look = {"lock": lock, "holders": holders, "queue": queue, "displaced": displaced}
            look |= {"ttl": min(ttl, 0), "queue_ttl": min(queue_ttl, 0), "agree": agree == 1, "sound": sound == 1}
            if self.last.get(lock) == look:
                self.unwritten[lock] = at, until
                continue
            if lock in self.unwritten:
                before_at, before_until = self.unwritten.pop(lock)
                self.journal.say("seen", at=before_at, until=before_until, **self.last[lock])
            self.last[lock] = look
            self.journal.say("seen", at=at, until=until, **look)

    def name(self, ids):
        """Finds the jobs of owner ids, which end with a process id."""
        for id_ in ids:
            if id_ not in self.owners:
                self.owners[id_] = self.machine.job_of_pid(int(id_.rpartition(":")[2]))
                if self.owners[id_]:
                    self.journal.say("waiter", owner=id_, job=self.owners[id_])

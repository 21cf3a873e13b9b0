"""Redisson's fair lock: what its scripts do, as of 3.13.2 (`old`) and 4.7.0, and clients that behave as its own do."""

from clients import NEVER, Party
from protocol import CHANNEL

DROP_STALE = """
while true do
	local first = redis.call('lindex', KEYS[2], 0)
	if first == false then break end
	local timeout = redis.call('zscore', KEYS[3], first)
	%s
	redis.call('zrem', KEYS[3], first)
	redis.call('lpop', KEYS[2])
end
"""
STALE = {
    "old": DROP_STALE % "if tonumber(timeout) > tonumber(ARGV[1]) then break end",
    "new": DROP_STALE % "if timeout == false or tonumber(timeout) > tonumber(ARGV[1]) then break end",
}

# ARGV: 1 now 2 id 3 patience 4 lease
TAKE = """
if redis.call('exists', KEYS[1]) == 0 and
	(redis.call('exists', KEYS[2]) == 0 or redis.call('lindex', KEYS[2], 0) == ARGV[2]) then
	redis.call('lpop', KEYS[2])
	redis.call('zrem', KEYS[3], ARGV[2])
	for _, other in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
		redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), other)
	end
	redis.call('hset', KEYS[1], ARGV[2], 1)
	redis.call('pexpire', KEYS[1], ARGV[4])
	return 'granted'
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
	redis.call('hincrby', KEYS[1], ARGV[2], 1)
	redis.call('pexpire', KEYS[1], ARGV[4])
	return 'granted'
end
"""
QUEUE = """
local timeout = redis.call('zscore', KEYS[3], ARGV[2])
if timeout ~= false then
	%s
end
local last, ttl = redis.call('lindex', KEYS[2], -1), nil
if last ~= false and last ~= ARGV[2] %s then
	ttl = tonumber(redis.call('zscore', KEYS[3], last)) - tonumber(ARGV[1])
else
	ttl = redis.call('pttl', KEYS[1])
end
if redis.call('zadd', KEYS[3], ttl + tonumber(ARGV[3]) + tonumber(ARGV[1]), ARGV[2]) == 1 then
	redis.call('rpush', KEYS[2], ARGV[2])
end
return ttl
"""
QUEUES = {
    "old": QUEUE % ("return timeout - tonumber(ARGV[3]) - tonumber(ARGV[1])", ""),
    "new": QUEUE % ("return math.max(0, redis.call('pttl', KEYS[1]))", "and redis.call('zscore', KEYS[3], last) ~= false"),
}

# ARGV: 1 now 2 id 3 channel 4 lease
TELL_NEXT = """
local next = redis.call('lindex', KEYS[2], 0)
if next ~= false then
	redis.call('publish', ARGV[3] .. ':' .. next, 0)
end
"""
UNLOCK = """
if redis.call('exists', KEYS[1]) == 0 then
	%s
	return 1
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return 'not mine' end
if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then
	redis.call('pexpire', KEYS[1], ARGV[4])
	return 0
end
redis.call('del', KEYS[1])
""" % TELL_NEXT + TELL_NEXT + "return 1"
FORCE = "if redis.call('del', KEYS[1]) == 1 then\n" + TELL_NEXT + "return 1\nend\nreturn 0"

# ARGV: 2 id 3 patience
GIVE_UP = """
local behind = false
for _, id in ipairs(redis.call('lrange', KEYS[2], 0, -1)) do
	if behind then
		redis.call('zincrby', KEYS[3], -tonumber(ARGV[3]), id)
	end
	behind = behind or id == ARGV[2]
end
redis.call('zrem', KEYS[3], ARGV[2])
redis.call('lrem', KEYS[2], 0, ARGV[2])
return 'gone'
"""
RENEW = """
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
	redis.call('pexpire', KEYS[1], ARGV[4])
	return 'renewed'
end
return 'lost'
"""

TEXTS = {"redisson_leave": GIVE_UP, "redisson_renew": RENEW}
for age, stale in STALE.items():
    TEXTS.update({f"redisson_lock_{age}": stale + TAKE + QUEUES[age], f"redisson_try_{age}": stale + TAKE + "return 'busy'",
                  f"redisson_unlock_{age}": stale + UNLOCK, f"redisson_force_{age}": stale + FORCE})

LEASE_MS = 30000


class Redisson(Party):
    """A thread of a Redisson client. patience: what it tells the server; wait: after so long it gives up."""

    def __init__(self, world, id, patience=300000, wait=None, age="new", runs=1000, delay=0, ahead=0, tries=False):
        self.world, self.id, self.owner, self.patience, self.age = world, id, id, patience, age
        self.runs, self.ahead, self.tries, self.mode, self.want = runs, ahead, tries, "x", "x"
        self.listening, self.state = False, "new"
        self.began = world.ms()
        self.gives_up = self.began + wait if wait is not None else NEVER
        self.wakes, self.listens, self.deadline, self.ends_at, self.renews = self.began, NEVER, 0, NEVER, NEVER
        self.delay, self.told, self.channels = delay, [], set()

    # Events

    def due(self):
        if not self.alive or not self.awake:
            return NEVER
        if self.told:
            return self.told[0][0]
        if self.state == "holds":
            return min(self.ends_at, self.renews)
        return min(self.wakes, self.listens, self.gives_up) if self.state != "over" else NEVER

    def step(self):
        now = self.world.ms()
        if self.told:
            self.told.pop(0)
            if self.state == "waits":
                self.wakes = now
        elif self.state == "holds":
            self.let_go() if self.ends_at <= now else self.renew()
        elif self.gives_up <= now:
            self.give_up()
        elif self.listens <= now:
            self.listens = NEVER
            self.listen()
            self.wakes = now  # it asks once more
        elif self.wakes <= now:
            self.ask()

    def call(self, name, *words):
        return self.world.run_redisson(self, name, self.world.ms() + self.ahead, self.id, *words)

    def listen(self):
        self.world.listen(self, self.id)
        self.listening = True

    def ask(self):
        now = self.world.ms()
        asked = f"redisson_try_{self.age}" if self.tries else f"redisson_lock_{self.age}"
        answer = self.call(asked, self.patience, LEASE_MS)
        if answer == "granted":
            self.state, self.deadline = "holds", now + LEASE_MS
            self.ends_at, self.renews = now + self.runs, now + LEASE_MS // 3
            self.hush()
        elif self.tries:
            self.end()
        else:
            self.state = "waits"
            # it spins while the lock is free and it is not its turn; a negative answer sends it to sleep
            ms = int(float(answer)) if answer is not None else 1000
            self.wakes = now + (max(250, ms) if ms >= 0 else 10000)
            if not self.listening and self.listens == NEVER:
                self.listens = now + 1 + self.delay

    def hush(self):
        self.world.hush(self)
        self.listening, self.listens, self.told = False, NEVER, []

    def renew(self):
        now = self.world.ms()
        if self.call("redisson_renew", "", LEASE_MS) == "renewed":
            self.deadline, self.renews = now + LEASE_MS, now + LEASE_MS // 3
        else:
            self.renews = NEVER  # its watchdog ends; it does not know

    def let_go(self):
        self.state = "over"
        self.call(f"redisson_unlock_{self.age}", CHANNEL, LEASE_MS)
        self.end()

    def force(self):
        self.call(f"redisson_force_{self.age}", CHANNEL, LEASE_MS)

    def give_up(self):
        if self.state == "waits":
            self.call("redisson_leave", self.patience)
            self.gave_up_at = self.world.ms()
        self.end()

    def end(self):
        self.hush()
        self.state = "over"

    def kill(self, lost):
        self.hush()
        self.alive = False

    # For the checks

    def counts(self, now):
        return self.state == "holds" and now < self.deadline

    def is_ready(self, promises):
        return self.alive and self.awake and self.state == "waits" and self.listening and self.joined > promises.disturbed

    def wake(self):
        self.awake, self.joined, self.wakes = True, -1, self.world.ms()

    def restarted(self, back_ms):
        if self.state == "waits":
            self.listening, self.listens, self.told, self.joined = False, self.world.ms() + back_ms, [], -1

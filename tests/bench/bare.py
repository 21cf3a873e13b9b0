"""The least that a fair lock of this protocol can ask of a server, as requests for the relay of floor.c: no look at the
dead, no log, no tokens, one hold."""

import hashlib

ID = "BARE--ID"  # floor.c puts other ids in its place
KEYS = ["{bare}", "{bare}:queue", "{bare}:timeouts"]
CHANNEL = "{bare}:"

ASK = """
if redis.call('EXISTS', KEYS[1]) == 1 then
    redis.call('RPUSH', KEYS[2], ARGV[1])
    redis.call('ZADD', KEYS[3], ARGV[3], ARGV[1])
    return 0
end
redis.call('HSET', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
"""

RELEASE = """
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
    return 0
end
redis.call('DEL', KEYS[1])
local first = redis.call('LPOP', KEYS[2])
if first then
    redis.call('ZREM', KEYS[3], first)
    redis.call('HSET', KEYS[1], first, 1)
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
    local second = redis.call('LINDEX', KEYS[2], 0)
    if second then
        redis.call('PUBLISH', ARGV[2] .. second, 'first')
    end
    redis.call('PUBLISH', ARGV[2] .. first, 'granted')
end
return 1
"""


def request(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words)


def run(script):
    return request("EVALSHA", hashlib.sha1(script.encode()).hexdigest(), "3", *KEYS, ID, CHANNEL, "30000")


def requests_of_bare_lock(folder):
    """The same as handover.requests_of_wrap."""
    ask, release = folder / "bare.0", folder / "bare.1"
    before = [request("HELLO", "3"), request("SUBSCRIBE", CHANNEL + ID), request("SCRIPT", "LOAD", ASK),
              request("SCRIPT", "LOAD", RELEASE)]
    ask.write_bytes(b"".join([*before, run(ASK)]))
    release.write_bytes(run(RELEASE))
    return [ID, str(ask), str(len(before) + 1), str(release)]

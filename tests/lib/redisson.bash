# Clients of Redisson, as Redisson's own scripts do it: part of scripts.bash.

# redisson_waits ID [MS]: queues with a score so far ahead
redisson_waits() {
	cli RPUSH "$(key_queue)" "$1" >/dev/null
	cli ZADD "$(key_timeouts)" $(($(now_ms) + ${2:-300000})) "$1" >/dev/null
}

# Parts of Redisson's scripts: it drops waiters whose scores have passed from the head of the queue,
# and takes the lock, if it may, with a patience in ms.
redisson_parts='
local function drop_stale(now)
	while redis.call("LLEN", KEYS[2]) > 0 do
		local first = redis.call("LINDEX", KEYS[2], 0)
		local score = redis.call("ZSCORE", KEYS[3], first)
		if not score or tonumber(score) > now then
			return
		end
		redis.call("ZREM", KEYS[3], first)
		redis.call("LPOP", KEYS[2])
	end
end
local function take(id, patience)
	if redis.call("EXISTS", KEYS[1]) == 1 or (redis.call("EXISTS", KEYS[2]) == 1
			and redis.call("LINDEX", KEYS[2], 0) ~= id) then
		return false
	end
	redis.call("LPOP", KEYS[2])
	redis.call("ZREM", KEYS[3], id)
	for _, other in ipairs(redis.call("ZRANGE", KEYS[3], 0, -1)) do
		redis.call("ZINCRBY", KEYS[3], -patience, other)
	end
	redis.call("HSET", KEYS[1], id, 1)
	redis.call("PEXPIRE", KEYS[1], 30000)
	return true
end
'

# redisson_takes ID: its tryLock that does not wait
redisson_takes() {
	on_keys EVAL "$redisson_parts"'return take(ARGV[1], 300000) and "granted" or "no"' "$1"
}

redisson_lock="$redisson_parts"'
local id, patience, now = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
drop_stale(now)
if take(id, patience) then
	return "granted"
elseif redis.call("ZSCORE", KEYS[3], id) then
	return "queued"
end
local last = redis.call("LINDEX", KEYS[2], -1)
local score = last and redis.call("ZSCORE", KEYS[3], last) or now + redis.call("PTTL", KEYS[1])
redis.call("ZADD", KEYS[3], score + patience, id)
redis.call("RPUSH", KEYS[2], id)
return "queued"'

# redisson_asks ID PATIENCE ANSWER: its tryLock that waits, at first and each time it is woken
redisson_asks() {
	assert_equal "$(on_keys EVAL "$redisson_lock" "$1" "$2" "$(now_ms)")" "$3"
}

redisson_leave='
local behind = false
for _, id in ipairs(redis.call("LRANGE", KEYS[2], 0, -1)) do
	if behind then
		redis.call("ZINCRBY", KEYS[3], -tonumber(ARGV[2]), id)
	end
	behind = behind or id == ARGV[1]
end
redis.call("ZREM", KEYS[3], ARGV[1])
redis.call("LREM", KEYS[2], 0, ARGV[1])'

# redisson_gives_up ID PATIENCE
redisson_gives_up() {
	on_keys EVAL "$redisson_leave" "$1" "$2"
}

# redisson_sweeps [MS]: drops the waiters at the head that are dead by a clock that is MS ahead
redisson_sweeps() {
	on_keys EVAL "$redisson_parts"'drop_stale(tonumber(ARGV[1]))' $(($(now_ms) + ${1:-0})) >/dev/null
}

# redisson_drops ID: drops it from the head of the queue, as a client whose clock is ahead
redisson_drops() {
	cli ZADD "$(key_timeouts)" 1 "$(place_of "$1")" >/dev/null
	redisson_sweeps 0
}

redisson_unlocks() {
	local next publish=PUBLISH

	[ "$way" = SUBSCRIBE ] || publish=SPUBLISH
	cli DEL "$lock" >/dev/null
	next=$(cli LINDEX "$(key_queue)" 0)
	[ -z "$next" ] || cli "$publish" "$(channel):$next" 0 >/dev/null
}

# It is the turn of r1, a Redisson waiter that is present, and ben waits behind it.
turn_of_present_redisson() {
	acquire anna
	redisson_waits r1
	present r1
	queue_up ben
	release anna
}

# It is the turn of r1, a Redisson waiter that is absent, and ben waits behind it.
turn_of_absent_redisson() {
	acquire anna
	redisson_waits r1
	queue_up ben
	release anna
}

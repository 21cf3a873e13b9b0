# The keys of the lock `lock` on the server, and how a test looks at them: part of scripts.bash.

key_queue() { echo "redisson_lock_queue:$(braced)"; }
key_ours() { echo "fairlock_queue:$(braced)"; }
key_timeouts() { echo "redisson_lock_timeout:$(braced)"; }
key_state() { echo "fairlock:$(braced)"; }
key_log() { echo "fairlock_log:$(braced)"; }
key_holders() { echo "fairlock_holders:$(braced)"; }
channel() { echo "redisson_lock__channel:$(braced)"; }

# The ids that wait, in order.
waiting() {
	on_keys EVALSHA "$SHA_look" "$(channel)" queue | sed -n '1~6p' | paste -sd ' '
}

# queue_is ID...: exactly these ids wait, in this order
queue_is() {
	assert_equal "$(waiting)" "$*"
}

owner() {
	cli HKEYS "$lock"
}

holds() {
	cli HVALS "$lock"
}

# holders: the owner ids of several holders, by name
holders() {
	cli ZRANGE "$(key_holders)" 0 -1 | sort | paste -sd ' '
}

# agree: key 1 and the sorted set live until the same moment, and our hash has a record of each holder
agree() {
	local id

	assert_equal "$(cli PEXPIRETIME "$lock")" "$(cli PEXPIRETIME "$(key_holders)")"
	for id in $(holders); do
		[ -n "$(field "h:$id")" ] || fail "no record of $id"
	done
}

field() {
	cli HGET "$(key_state)" "$1"
}

# shrinks_to MOST COMMAND...: our hash has at most MOST fields after some calls of COMMAND. Scripts sweep a part of it at a
# time, and ten times a second at most.
shrinks_to() {
	wait_until has_shrunk "$@"
}

has_shrunk() {
	"${@:2}" && [ "$(cli HLEN "$(key_state)")" -le "$1" ]
}

is_past() {
	[ "$(now_ms)" -gt "$1" ]
}

# ahead ID: how many ms its score is ahead of now
ahead() {
	echo $(($(cli ZSCORE "$(key_timeouts)" "$1") - $(now_ms)))
}

# The events of the log, oldest first, one a line: the seven fields as "name=value|..."
log_lines() {
	cli XRANGE "$(key_log)" - + | awk '
		{ i = (NR - 1) % 19 }
		i > 0 { printf "%s%s", i == 1 ? "" : i % 2 ? "|" : "=", $0 }
		i == 18 { print "" }'
}

# digest [KEY...]: the contents of these keys, or of all, as one word. Times to live do not count.
digest() {
	local key

	for key in $(if [ $# -gt 0 ]; then echo "$@"; else cli --raw KEYS '*' | sort; fi); do
		echo "$key"
		# the server does not keep the fields of a hash in order
		case $(cli TYPE "$key") in
		hash) cli HGETALL "$key" | paste - - | sort ;;
		*) cli DUMP "$key" ;;
		esac
	done | sha1sum
}

# Makes all that the server keeps older: leases, scores, times in our hash.
passes='
local ms = tonumber(ARGV[1])
local function older(digits)
	return #digits == 13 and string.format("%.0f", tonumber(digits) - ms) or digits
end
local holders = "fairlock_holders:" .. string.match(KEYS[5], "^fairlock_log:(.*)$")
for _, key in ipairs({KEYS[1], KEYS[2], KEYS[3], holders}) do
	local ttl = redis.call("PTTL", key)
	if ttl >= 0 then
		redis.call("PEXPIRE", key, ttl - ms)
	end
end
for _, id in ipairs(redis.call("ZRANGE", KEYS[3], 0, -1)) do
	redis.call("ZINCRBY", KEYS[3], -ms, id)
end
for _, id in ipairs(redis.call("ZRANGE", holders, 0, -1)) do
	redis.call("ZINCRBY", holders, -ms, id)
end
for _, field in ipairs(redis.call("HKEYS", KEYS[4])) do
	if field ~= "token" then
		-- the id of a server process is no time, nor is the token of a hold, nor what is compared with tokens
		local value, before, times, behind = redis.call("HGET", KEYS[4], field), "", nil, ""
		if field == "run" or field == "lost" then
			before, times = string.match(value, "^(%S+ )(.*)$")
		elseif field == "runs" then
			before, times = string.match(value, "^(%S+ %S+ )(.*)$")
			before = string.gsub(before, "^%d+", older)
		elseif string.find(field, "^h:") then
			before, times = string.match(value, "^(%l+ [%d-]+)(.*)$")
		end
		redis.call("HSET", KEYS[4], field, (before or "") .. string.gsub(times or value, "%d+", older) .. (behind or ""))
	end
end'

# later MS: the scripts find that MS more have passed, or fewer, if MS is negative
later() {
	on_keys EVAL "$passes" "$1" >/dev/null
}

# What must be so after every script: "well", or what is wrong.
invariants='
local listed = {}
local queue = redis.call("LRANGE", KEYS[2], 0, -1)
for _, id in ipairs(queue) do
	if listed[id] then
		return id .. " is listed twice"
	elseif not redis.call("ZSCORE", KEYS[3], id) then
		return id .. " has no score"
	end
	listed[id] = true
end
if redis.call("ZCARD", KEYS[3]) ~= #queue then
	return "somebody has a score and is not listed"
elseif redis.call("HLEN", KEYS[1]) > 1 then
	return "two owners"
end
local holders = "fairlock_holders:" .. string.match(KEYS[5], "^fairlock_log:(.*)$")
for _, key in ipairs({KEYS[1], KEYS[4], KEYS[5], holders}) do
	if redis.call("TTL", key) == -1 then
		return "a key would stay for ever"
	end
end
if string.find(redis.call("HKEYS", KEYS[1])[1] or "", "^fairlock:") and redis.call("ZCARD", holders) == 0 then
	return "nobody has a hold, and the lock is held"
end
return "well"'

all_well() {
	assert_equal "$(on_keys EVAL "$invariants")" well
}

# Remembers what the scripts call from now on.
hear_calls() {
	background "$CLI" -s "$SERVER_SOCKET" MONITOR >"$BATS_TEST_TMPDIR/calls"
	wait_until grep -q OK "$BATS_TEST_TMPDIR/calls"
}

# The calls of scripts since hear_calls, one a line.
calls() {
	cli ECHO 'heard all' >/dev/null
	wait_until grep -aq 'heard all' "$BATS_TEST_TMPDIR/calls"
	grep -aF ' lua] ' "$BATS_TEST_TMPDIR/calls"
}

# No script since hear_calls has looked through the queue or taken an id out of its middle.
looked_not_through() {
	calls >"$BATS_TEST_TMPDIR/called" || fail 'no call was heard'
	run -1 grep -E '"LRANGE" "[^"]*" "0" "-1"|"(LREM|LINSERT|ZRANGE|HKEYS)"' "$BATS_TEST_TMPDIR/called"
}

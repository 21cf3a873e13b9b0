# The keys of the lock `lock` on the server, and how a test looks at them: part of scripts.bash.

key_queue() { echo "redisson_lock_queue:$(braced)"; }
key_ours() { echo "fairlock_queue:$(braced)"; }
key_timeouts() { echo "redisson_lock_timeout:$(braced)"; }
key_state() { echo "fairlock:$(braced)"; }
key_log() { echo "fairlock_log:$(braced)"; }
key_holders() { echo "fairlock_holders:$(braced)"; }
channel() { echo "redisson_lock__channel:$(braced)"; }

# The ids of those who wait, in order.
waiting() {
	on_keys EVALSHA "$SHA_look" "$(channel)" queue | sed -n '1~6p' | paste -sd ' '
}

# place_of ID: the entry of Redisson's list that is its place: of ours, the last marker with a ticket that is not larger
place_of() {
	local ticket marker place=$1

	ticket=$(cli ZSCORE "$(key_ours)" "$1")
	[ -n "$ticket" ] || { echo "$1" && return; }
	for marker in $(cli LRANGE "$(key_queue)" 0 -1 | sed -n 's/^fairlock://p'); do
		[ "$marker" -gt "$ticket" ] && [ "$place" != "$1" ] || place=fairlock:$marker
	done
	echo "$place"
}

# The ids in the list, by name.
listed() {
	cli LRANGE "$(key_queue)" 0 -1 | sort | paste -sd ' '
}

# The ids in the sorted set, by name.
scored() {
	cli ZRANGE "$(key_timeouts)" 0 -1 | sort | paste -sd ' '
}

# queue_is ID...: exactly these ids wait, in this order; list and sorted set agree
queue_is() {
	assert_equal "$(waiting)" "$*"
	assert_equal "$(scored)" "$(listed)"
}

owner() {
	cli HKEYS "$lock"
}

holds() {
	cli HVALS "$lock"
}

# holders: the owner ids of several holders whose leases go on, by name
holders() {
	cli ZRANGEBYSCORE "$(key_holders)" "($(now_ms)" +inf | sort | paste -sd ' '
}

# agree: key 1 and the sorted set of the holders live until the last lease ends
agree() {
	assert_equal "$(cli PTTL "$lock")" "$(cli PTTL "$(key_holders)")"
	assert_equal "$(cli PTTL "$lock")" "$(($(cli ZREVRANGE "$(key_holders)" 0 0 WITHSCORES | tail -n 1) - $(now_ms)))"
}

# has_no_lock ID...: these neither hold nor wait
has_no_lock() {
	local id

	for id; do
		[[ " $(owner) $(holders) $(waiting) " != *" $id "* ]] || fail "$id: $(owner) $(holders), $(waiting) wait"
	done
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
for _, key in ipairs({KEYS[1], KEYS[4], KEYS[5], KEYS[6], holders}) do
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

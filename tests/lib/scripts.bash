# What the tests of the Lua scripts share: `load helpers`, then `load scripts`. Each file has a server, which
# is empty at the start of every test.
#
# LUA         the folder of the scripts under test
# SCRIPTS_ON  cluster: the server is a cluster of one node, and who is present uses SSUBSCRIBE
# lock        the NAME that the functions below work on
# way         SUBSCRIBE or SSUBSCRIBE: how whoever is made present from now on listens
#
# A script is called by a function of its name: `acquire ID [WORD=VALUE...]`. Its
# answer is in the array `reply`; an error of the server fails the test.

: "${LUA:=$TESTS_DIR/../lua}"

# bats sources this file from a function.
declare -gA token=() ticket=() subscriber=() subscribed=()
declare -ga reply=()
declare -g lock=job way=SUBSCRIBE
declare -g began=${EPOCHREALTIME//[.,]/} # of this test, in µs: bats loads this file anew for each
[ "${SCRIPTS_ON-}" != cluster ] || way=SSUBSCRIBE

# Starts a server with all scripts loaded.
setup_file() {
	local name sha

	if [ "${SCRIPTS_ON-}" = cluster ] && knows_sharded; then
		start_cluster
	else
		start_server
	fi
	for name in acquire release renew leave queue status log view; do
		"$TESTS_DIR/../lua/join" "$LUA/scripts/$name.lua" >"$BATS_FILE_TMPDIR/$name.lua"
		sha=$(cli -x SCRIPT LOAD <"$BATS_FILE_TMPDIR/$name.lua")
		[[ $sha =~ ^[0-9a-f]{40}$ ]] || {
			echo "$name.lua: $sha" >&2
			return 1
		}
		export "SHA_$name=$sha"
	done
}

teardown_file() {
	stop_server
}

# Whether the server is of version 7 or later.
knows_sharded() {
	! "$SERVER" --version | grep -q ' v=[0-6]\.'
}

# A cluster of one node, which no other will ever reach.
start_cluster() {
	start_server --cluster-enabled yes --cluster-port "$(free_port)"
	cli CLUSTER ADDSLOTSRANGE 0 16383 >/dev/null
	wait_until cluster_is_up
}

cluster_is_up() {
	cli CLUSTER INFO | grep -q '^cluster_state:ok'
}

# The next test finds an empty server on which nobody listens.
teardown() {
	local pid

	for pid in "${subscriber[@]}"; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null || true
	done
	[ ${#subscriber[@]} -eq 0 ] || wait_until nobody_listens
	cli FLUSHALL >/dev/null
}

nobody_listens() {
	[ "$(cli PUBSUB CHANNELS)$(cli PUBSUB NUMPAT)" = 0 ] || return
	! knows_sharded || [ -z "$(cli PUBSUB SHARDCHANNELS)" ]
}

# The keys of `lock`

braced() {
	case $lock in
	*'{'*) echo "$lock" ;;
	*) echo "{$lock}" ;;
	esac
}

key_queue() { echo "redisson_lock_queue:$(braced)"; }
key_timeouts() { echo "redisson_lock_timeout:$(braced)"; }
key_state() { echo "fairlock:$(braced)"; }
key_log() { echo "fairlock_log:$(braced)"; }
channel() { echo "redisson_lock__channel:$(braced)"; }

# Calling scripts

# on_keys EVAL|EVALSHA TEXT|SHA ARG...
on_keys() {
	local in=$lock

	[[ $in = *'{'* ]] || in="{$in}"
	cli "$1" "$2" 5 "$lock" "redisson_lock_queue:$in" "redisson_lock_timeout:$in" \
		"fairlock:$in" "fairlock_log:$in" "${@:3}"
}

# script NAME ARG...: what ARGV[2] and on shall be
script() {
	local - sha=SHA_$1 in=$lock

	set +T # bats looks at each command that it may trace: a third of the time of these tests
	[[ $in = *'{'* ]] || in="{$in}"
	mapfile -t reply < <(on_keys EVALSHA "${!sha}" "redisson_lock__channel:$in" "${@:2}")
	if [[ ${reply[0]-} =~ ^[A-Z]+\  ]]; then
		echo "$1 $2: ${reply[*]}" >&2
		return 1
	fi
}

# The same as a line for redis-cli, which takes many at once.
script_line() {
	local sha=SHA_$1 in=$lock

	[[ $in = *'{'* ]] || in="{$in}"
	printf '%s ' EVALSHA "${!sha}" 5 "$lock" "redisson_lock_queue:$in" "redisson_lock_timeout:$in" \
		"fairlock:$in" "fairlock_log:$in"
	printf '"%s" ' "redisson_lock__channel:$in" "${@:2}"
	echo
}

acquire() {
	local id=$1 request=$1 kind=w lease=30000 mode=wait again=0 limit='' by="by $1" inherited='' period=''
	local old_ticket='' strays=0 handed='' # a secret, if the lock can be handed to it

	shift
	# Each word sets one of the variables above.
	[ $# -eq 0 ] || local "$@"
	# shellcheck disable=SC2086
	script acquire "$id" "$request" "$kind" "$lease" "$mode" "$old_ticket" "$again" "$limit" "$by" \
		"$period" "$strays" "$handed" $inherited ||
		return
	case ${reply[0]} in
	granted) token[$id]=${reply[2]} ;;
	queued) ticket[$id]=${reply[1]} ;;
	esac
}

# A waiter's sign of life: its request with its ticket.
ask() {
	acquire "$1" "old_ticket=${ticket[$1]}" "${@:2}"
}

# The same when its connection is a new one.
come_back() {
	ask "$1" again=1 "${@:2}"
}

release() {
	local id=$1 request=$1 mode=own holder_token='' again=0 min='' strays=0

	shift
	[ $# -eq 0 ] || local "$@"
	script release "$id" "$request" "$mode" "$holder_token" "$again" "$min" "$strays"
}

renew() {
	local id=$1 request=$1 kind=w lease=30000 holder_token=${token[$1]-} by="by $1" period='' strays=0

	shift
	[ $# -eq 0 ] || local "$@"
	script renew "$id" "$request" "$kind" "$lease" "$holder_token" "$by" "$period" "$strays"
}

leave() {
	local id=$1 request=$1 strays=0

	shift
	[ $# -eq 0 ] || local "$@"
	script leave "$id" "$request" "$strays" own
}

# remove ID: somebody else takes the waiter out
remove() {
	local id=$1 request=remover strays=0

	shift
	[ $# -eq 0 ] || local "$@"
	script leave "$id" "$request" "$strays" remove
}

# answered WORD...: the last answer begins with these words
answered() {
	[[ "${reply[*]} " == "$* "* ]] || assert_equal "${reply[*]}" "$*"
}

# In a test of how long a script takes: tests/coverage/run puts marks into the scripts.
marks_take_time() {
	[ -z "${MARKED-}" ] || skip 'the scripts have marks, which take time'
}

# between LEAST NUMBER MOST
between() {
	if ! [[ $2 =~ ^-?[0-9]+$ ]] || [ "$2" -lt "$1" ] || [ "$2" -gt "$3" ]; then
		echo "'$2' is not in $1..$3" >&2
		return 1
	fi
}

# The ms that have really passed since the test began, however many that are on this machine.
passed() {
	echo $(($(now_ms) - began / 1000))
}

# left MOST NUMBER: of a time of MOST ms, that began in this test, so much is left
left() {
	between $(($1 - $(passed))) "$2" "$1"
}

# grown LEAST NUMBER: a time was LEAST ms, and grew in this test only
grown() {
	between "$1" "$2" $(($1 + $(passed)))
}

# Presence

# subscribers CHANNEL: how many it has, of the way that is in use
subscribers() {
	local count=NUMSUB

	[ "$way" = SUBSCRIBE ] || count=SHARDNUMSUB
	cli PUBSUB "$count" "$1" | tail -n 1
}

listens() {
	[ "$(subscribers "$(channel):$1")" = 1 ]
}

listens_not() {
	[ "$(subscribers "$(channel):$1")" = 0 ]
}

# listen ID CHANNEL...: what comes in there is written down
listen() {
	background "$CLI" -s "$SERVER_SOCKET" "$way" "${@:2}" >"$BATS_TEST_TMPDIR/heard.$1"
	subscriber[$1]=$!
	subscribed[$1]=$way
}

# Subscribes each to its channel.
present() {
	local id

	for id; do
		listen "$id" "$(channel):$id"
	done
	for id; do
		wait_until listens "$id"
	done
}

# The same over one connection, which `absent together` ends.
present_together() {
	listen together "${@/#/$(channel):}"
	wait_until listens "${!#}"
}

# Ends them, and waits until the server has seen it.
absent() {
	local id way

	for id; do
		way=${subscribed[$id]}
		kill "${subscriber[$id]}"
		wait "${subscriber[$id]}" 2>/dev/null || true
		unset "subscriber[$id]"
		wait_until listens_not "$id"
	done
}

# What a present one was told, in order, one message a line.
heard() {
	local publish=PUBLISH

	[ "${subscribed[$1]}" = SUBSCRIBE ] || publish=SPUBLISH
	cli "$publish" "$(channel):$1" 'end of messages' >/dev/null
	wait_until grep -qx 'end of messages' "$BATS_TEST_TMPDIR/heard.$1"
	awk 'previous ~ /^s?message$/ { name = NR }
		name && NR == name + 1 && $0 != "end of messages"
		{ previous = $0 }' "$BATS_TEST_TMPDIR/heard.$1"
}

# told ID WORDS: so it was told, and nothing else
told() {
	assert_equal "$(heard "$1" | paste -sd ,)" "$2"
}

# Each subscribes and queues.
queue_up() {
	local id

	present "$@"
	for id; do
		acquire "$id"
		answered queued
	done
}

# They queue and are gone before anybody looks.
queue_up_dead() {
	local id

	for id; do
		acquire "$id"
		answered queued
	done
}

# What is on the server

# Ids in the list, in order.
waiting() {
	cli LRANGE "$(key_queue)" 0 -1 | paste -sd ' '
}

# Ids in the sorted set, by name.
scored() {
	cli ZRANGE "$(key_timeouts)" 0 -1 | sort | paste -sd ' '
}

# queue_is ID...: exactly these wait, in this order, and the sorted set agrees
queue_is() {
	assert_equal "$(waiting)" "$*"
	assert_equal "$(scored)" "$(printf '%s\n' "$@" | sort | paste -sd ' ')"
}

owner() {
	cli HKEYS "$lock"
}

holds() {
	cli HVALS "$lock"
}

field() {
	cli HGET "$(key_state)" "$1"
}

now_ms() {
	cli TIME | paste -sd ' ' | awk '{ printf "%.0f\n", $1 * 1000 + int($2 / 1000) }'
}

is_past() {
	[ "$(now_ms)" -gt "$1" ]
}

# How far ahead of now the score of ID is.
ahead() {
	echo $(($(cli ZSCORE "$(key_timeouts)" "$1") - $(now_ms)))
}

# Events of the log, oldest first, one a line: its seven fields as "name=value|..."
log_lines() {
	cli XRANGE "$(key_log)" - + | awk '
		{ i = (NR - 1) % 15 }
		i > 0 { printf "%s%s", i == 1 ? "" : i % 2 ? "|" : "=", $0 }
		i == 14 { print "" }'
}

# All keys, or those named, as a single word. Times to live do not count.
digest() {
	local key

	for key in $(if [ $# -gt 0 ]; then echo "$@"; else cli --raw KEYS '*' | sort; fi); do
		echo "$key"
		cli DUMP "$key"
	done | sha1sum
}

# Redisson, as its scripts do it

# redisson_waits ID [MS]: queues with a score so far ahead
redisson_waits() {
	cli RPUSH "$(key_queue)" "$1" >/dev/null
	cli ZADD "$(key_timeouts)" $(($(now_ms) + ${2:-300000})) "$1" >/dev/null
}

redisson_grants='
if redis.call("EXISTS", KEYS[1]) == 0 and (redis.call("EXISTS", KEYS[2]) == 0
		or redis.call("LINDEX", KEYS[2], 0) == ARGV[1]) then
	redis.call("LPOP", KEYS[2])
	redis.call("ZREM", KEYS[3], ARGV[1])
	for _, id in ipairs(redis.call("ZRANGE", KEYS[3], 0, -1)) do
		redis.call("ZINCRBY", KEYS[3], -300000, id)
	end
	redis.call("HSET", KEYS[1], ARGV[1], 1)
	redis.call("PEXPIRE", KEYS[1], 30000)
	return "granted"
end
return "no"'

# redisson_takes ID: its tryLock, when it may
redisson_takes() {
	on_keys EVAL "$redisson_grants" "$1"
}

redisson_drops_stale='
while redis.call("LLEN", KEYS[2]) > 0 do
	local first = redis.call("LINDEX", KEYS[2], 0)
	local score = redis.call("ZSCORE", KEYS[3], first)
	if not score or tonumber(score) > tonumber(ARGV[1]) then
		return
	end
	redis.call("ZREM", KEYS[3], first)
	redis.call("LPOP", KEYS[2])
end'

# redisson_sweeps [MS]: drops from the head whom it thinks dead; its clock is MS ahead
redisson_sweeps() {
	on_keys EVAL "$redisson_drops_stale" $(($(now_ms) + ${1:-0})) >/dev/null
}

redisson_unlocks() {
	local next publish=PUBLISH

	[ "$way" = SUBSCRIBE ] || publish=SPUBLISH
	cli DEL "$lock" >/dev/null
	next=$(cli LINDEX "$(key_queue)" 0)
	[ -z "$next" ] || cli "$publish" "$(channel):$next" 0 >/dev/null
}

# Time

# All that the server keeps is made MS older: leases, scores, times in our hash.
passes='
local ms = tonumber(ARGV[1])
local function older(digits)
	return #digits == 13 and string.format("%.0f", tonumber(digits) - ms) or digits
end
for _, key in ipairs({KEYS[1], KEYS[2], KEYS[3]}) do
	local ttl = redis.call("PTTL", key)
	if ttl >= 0 then
		redis.call("PEXPIRE", key, ttl - ms)
	end
end
for _, id in ipairs(redis.call("ZRANGE", KEYS[3], 0, -1)) do
	redis.call("ZINCRBY", KEYS[3], -ms, id)
end
local timeless = {token = true, ended = true, forced = true, taken_up = true, run = true}
for _, field in ipairs(redis.call("HKEYS", KEYS[4])) do
	if not timeless[field] then
		local value = redis.call("HGET", KEYS[4], field)
		redis.call("HSET", KEYS[4], field, (string.gsub(value, "%d+", older)))
	end
end'

# later MS: for the scripts so much has passed, beside what really passes. Negative: the server is given time.
later() {
	on_keys EVAL "$passes" "$1" >/dev/null
}

# What must be so after every script

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
elseif redis.call("TTL", KEYS[1]) == -1 or redis.call("TTL", KEYS[4]) == -1 or redis.call("TTL", KEYS[5]) == -1 then
	return "a key would stay for ever"
end
return "well"'

all_well() {
	assert_equal "$(on_keys EVAL "$invariants")" well
}

# What the scripts call from now on is remembered.
hear_calls() {
	background "$CLI" -s "$SERVER_SOCKET" MONITOR >"$BATS_TEST_TMPDIR/calls"
	wait_until grep -q OK "$BATS_TEST_TMPDIR/calls"
}

# The calls of scripts since then, a line each.
calls() {
	cli ECHO 'heard all' >/dev/null
	wait_until grep -aq 'heard all' "$BATS_TEST_TMPDIR/calls"
	grep -aF ' lua] ' "$BATS_TEST_TMPDIR/calls"
}

# None of them has looked through the queue, or taken something out of its middle.
looked_not_through() {
	calls >"$BATS_TEST_TMPDIR/called" || fail 'no call was heard'
	run -1 grep -E '"LRANGE" "[^"]*" "0" "-1"|"(LREM|LINSERT|ZRANGE|HKEYS)"' "$BATS_TEST_TMPDIR/called"
}

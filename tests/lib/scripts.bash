# The server of a file of tests of the Lua scripts, and the calls of these scripts. The server is empty at the start of every test.
#
# The server's clock stands still: only `later` moves it. So all times are exact.
#
# LUA         the folder of the scripts under test
# SCRIPTS_ON  cluster: the server is a cluster of one node, and waiters use SSUBSCRIBE
# lock        the NAME that the functions below work on
#
# Each script has a function of its name: `acquire ID [WORD=VALUE...]`. The answer is in the array
# `reply`; an error of the server fails the test, and so does an answer that does not begin with the words
# of `is`: `acquire ben mode=try is='busy anna'`.

source "${BASH_SOURCE[0]%/*}/nodes.bash"

: "${LUA:=$TESTS_DIR/../lua}"

# bats sources this file from a function.
declare -gA token=() ticket=()
declare -ga reply=()
declare -gA subscriber=() subscribed=() marker=()
declare -ga ids=()
declare -g lock=job way=SUBSCRIBE # how a waiter listens that is made present from now on
declare -gA SINCE # since when each waits that has --supersede
[ "${SCRIPTS_ON-}" != cluster ] || way=SSUBSCRIBE

# Starts a server, and loads all scripts into it.
setup_file() {
	local name sha

	export STILL_CLOCK=$BATS_FILE_TMPDIR/clock
	date +%s%3N000 >"$STILL_CLOCK" # Valkey 9.1 goes on from it by some microseconds
	set_clock_to "$(<"$STILL_CLOCK")"
	if [ "${SCRIPTS_ON-}" = cluster ] && knows_sharded; then
		LD_PRELOAD=$BUILD/programs/clockwork.so start_lone_cluster
	else
		LD_PRELOAD=$BUILD/programs/clockwork.so start_server
	fi
	for name in acquire release renew leave look; do
		"$TESTS_DIR/../lua/join" "$LUA/scripts/$name.lua" >"$BATS_FILE_TMPDIR/$name.lua"
		sha=$(cli -x SCRIPT LOAD <"$BATS_FILE_TMPDIR/$name.lua")
		[[ $sha =~ ^[0-9a-f]{40}$ ]] || {
			echo "$name.lua: $sha" >&2
			return 1
		}
		export "SHA_$name=$sha"
	done
}

teardown_file() { stop_server; }

# set_clock_to US: the server's clock shows this time
set_clock_to() { perl -e 'print pack "q", shift' "$1" 1<>"$STILL_CLOCK"; }

# later MS: so much time passes; or the clock is set back, if MS is negative
later() { set_clock_to $(($(od -An -td8 -N8 "$STILL_CLOCK") + $1 * 1000)); }

# A node of a cluster waits a while before it serves.
cluster_is_up() {
	later 1000
	cli CLUSTER INFO | grep -q '^cluster_state:ok'
}

# restarted: what is here was written by another process of the server
restarted() {
	local run

	run=$(cli --raw HGET "$(key_state)" run)
	cli HSET "$(key_state)" run "0123456789012345678901234567890123456789 ${run#* }" >/dev/null
}

# shown WORD: what status shows
shown() {
	script status
	case $1 in
	started) echo "${reply[16]}" ;;
	ok) echo "${reply[-3]}" ;;
	counts) echo "${reply[*]:11:4}" ;; # grants, expiries, breaks by force, losses
	esac
}

# The server is of version 7 or later.
knows_sharded() { ! "$SERVER" --version | grep -q ' v=[0-6]\.'; }

# The next test finds an empty server without subscribers.
teardown() {
	local pid

	for pid in "${subscriber[@]}"; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null || true
	done
	[ ${#subscriber[@]} -eq 0 ] || wait_until nobody_listens
	cli FLUSHALL >/dev/null
}

# keys_of_lock: sets `in` to what is in braces in the keys, and `keys` to those that a request on `lock` declares: the seventh one only if it wants a hold beside
# others (want), or has one (hold_mode)
keys_of_lock() {
	in=$lock
	[[ $in = *'{'* ]] || in="{$in}"
	keys=("$lock" "redisson_lock_queue:$in" "redisson_lock_timeout:$in" "fairlock:$in" "fairlock_log:$in"
		"fairlock_queue:$in")
	[ "${want-x}${hold_mode-x}" = xx ] || keys+=("fairlock_holders:$in")
}

# on_keys EVAL|EVALSHA TEXT|SHA ARG...: runs a script on the keys of `lock`
on_keys() {
	local in keys

	keys_of_lock
	cli "$1" "$2" "${#keys[@]}" "${keys[@]}" "${@:3}"
}

# script NAME ARG...: calls the script; ARG... are its ARGV[2] and on
script() {
	local sha in keys

	case $1 in
	status | queue | view | log) set -- look "$@" ;;
	esac
	sha=SHA_$1
	keys_of_lock
	mapfile -t reply < <(cli EVALSHA "${!sha}" "${#keys[@]}" "${keys[@]}" "redisson_lock__channel:$in" "${@:2}")
	if [[ ${reply[0]-} =~ ^[A-Z]+\  ]]; then
		echo "$1 $2: ${reply[*]}" >&2
		return 1
	fi
	[ -z "${is-}" ] || answered "$is"
}

# script_line NAME ARG...: the same call as a line for redis-cli, which takes many lines at once
script_line() {
	local sha=SHA_$1 in keys

	keys_of_lock
	printf '%s ' EVALSHA "${!sha}" "${#keys[@]}" "${keys[@]}"
	printf '"%s" ' "redisson_lock__channel:$in" "${@:2}"
	echo
}

acquire() {
	local id=$1 request=$1 kind=w lease=30000 mode=wait again=0 limit='' by="by $1" inherited='' period=''
	local old_ticket='' strays=0 handed='' want=x # handed: a secret, if the waiter accepts a handover
	local newest='' # with --supersede: since when it waits, or -MS

	shift
	# Each word sets one of the variables above.
	[ $# -eq 0 ] || local "$@"
	script acquire "$id" "$request" "$kind" "$lease" "$mode" "$old_ticket" "$again" "$limit" "$by" \
		"$period" "$strays" "$handed" "$want" "$newest" $inherited ||
		return
	case ${reply[0]} in
	granted) token[$id]=${reply[2]} ;;
	queued)
		ticket[$id]=${reply[1]}
		listen_too "$request" "${reply[6]-}"
		;;
	esac
}

# ask ID [WORD=VALUE...]: a waiter's sign of life, a request with its ticket
ask() { acquire "$1" "old_ticket=${ticket[$1]}" "${@:2}"; }

# come_back ID [WORD=VALUE...]: the same over a new connection
come_back() { ask "$1" again=1 "${@:2}"; }

release() {
	local id=$1 request=$1 mode=own holder_token='' again=0 min='' strays=0 status='' cause='' only='' by='' list=''

	shift
	[ $# -eq 0 ] || local "$@"
	script release "$id" "$request" "$mode" "$holder_token" "$again" "$min" "$strays" "$status" "$cause" "$only" \
		"$by" "$list"
}

# request_stop ASKER [WORD=VALUE...]: a process asks the holders to stop. Sets `list` to the holds that are not over, for the
# next request: `request_stop xena "list=$list"`.
request_stop() {
	release '' mode=stop "request=$1" "by=by $1" "${@:2}"
	list=$(printf '%s\n' "${reply[@]:1}" | sed -n '0~4p')
}

renew() {
	local id=$1 request=$1 kind=w lease=30000 holder_token=${token[$1]-} by="by $1" period='' strays=0 hold_mode=x
	local start='' # 1: COMMAND is about to start
	local count='' # #N: of the slots of which it has one

	shift
	[ $# -eq 0 ] || local "$@"
	script renew "$id" "$request" "$kind" "$lease" "$holder_token" "$by" "$period" "$strays" "$hold_mode" "$start" "$count"
}

leave() {
	local id=$1 request=$1 strays=0 inherited=''

	shift
	[ $# -eq 0 ] || local "$@"
	script leave "$id" "$request" "$strays" own $inherited
}

# remove ID: somebody else takes the waiter out of the queue
remove() {
	local id=$1 request=remover strays=0 by='by remover'

	shift
	[ $# -eq 0 ] || local "$@"
	script leave "$id" "$request" "$strays" remove "$by"
}

# granted_to_anna [WORD=VALUE...]: anna holds the lock, and its token lies in the past.
granted_to_anna() {
	acquire anna "$@"
	later 10
}

# copy_data: the server's data are copied. lose_data: they are gone, but for the copy. old_data: they are the copy again.
copy_data() {
	local key

	for key in $(cli KEYS '*'); do
		cli COPY "$key" "{job}old:$key" >/dev/null
	done
}

lose_data() {
	local key

	for key in $(cli KEYS '*'); do
		[[ $key = '{job}old:'* ]] || cli DEL "$key" >/dev/null
	done
}

old_data() {
	local key

	lose_data
	for key in $(cli KEYS '{job}old:*'); do
		cli RENAME "$key" "${key#'{job}old:'}" >/dev/null
	done
}

# answered WORD...: the last answer begins with these words; * stands for any
answered() {
	# shellcheck disable=SC2053 # a pattern
	[[ "${reply[*]} " == $*\ * ]] || assert_equal "${reply[*]}" "$*"
}

# between LEAST NUMBER MOST: NUMBER is neither less nor more
between() {
	if ! [[ $2 =~ ^-?[0-9]+$ ]] || [ "$2" -lt "$1" ] || [ "$2" -gt "$3" ]; then
		echo "'$2' is not in $1..$3" >&2
		return 1
	fi
}

# log_lines: the events of the log, oldest first, one a line: their fields as "name=value|..."
log_lines() { cli --json XRANGE "$(key_log)" - + | jq -r '.[][1] | [range(0; length; 2) as $i | "\(.[$i])=\(.[$i + 1])"] | join("|")'; }

# the_events: the names of the events
the_events() { log_lines | sed 's/^event=//; s/|.*//' | paste -sd ' '; }

# ---- The keys of `lock` on the server

key_queue() { echo "redisson_lock_queue:$(braced)"; }
key_ours() { echo "fairlock_queue:$(braced)"; }
key_timeouts() { echo "redisson_lock_timeout:$(braced)"; }
key_state() { echo "fairlock:$(braced)"; }
key_log() { echo "fairlock_log:$(braced)"; }
key_holders() { echo "fairlock_holders:$(braced)"; }
channel() { echo "redisson_lock__channel:$(braced)"; }

# The ids of those who wait, in order.
waiting() { on_keys EVALSHA "$SHA_look" "$(channel)" queue | sed -n '1~6p' | paste -sd ' '; }

# The ids in the list, by name.
listed() { cli LRANGE "$(key_queue)" 0 -1 | sort | paste -sd ' '; }

# The ids in the sorted set, by name.
scored() { cli ZRANGE "$(key_timeouts)" 0 -1 | sort | paste -sd ' '; }

# queue_is ID...: exactly these ids wait, in this order; list and sorted set agree
queue_is() {
	assert_equal "$(waiting)" "$*"
	assert_equal "$(scored)" "$(listed)"
}

owner() { cli HKEYS "$lock"; }

holds() { cli HVALS "$lock"; }

# holders: the owner ids of several holders whose leases go on, by name
holders() { cli ZRANGEBYSCORE "$(key_holders)" "($(now_ms)" +inf | sort | paste -sd ' '; }

# agree: key 1 and the sorted set of the holders live until the last lease ends
agree() {
	assert_equal "$(cli PTTL "$lock")" "$(cli PTTL "$(key_holders)")"
	assert_equal "$(cli PTTL "$lock")" "$(($(cli ZREVRANGE "$(key_holders)" 0 0 WITHSCORES | tail -n 1) - $(now_ms)))"
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

all_well() { assert_equal "$(on_keys EVAL "$invariants")" well; }

# ---- Waiters that are present, by their subscriptions, and what they are told

nobody_listens() {
	[ "$(cli PUBSUB CHANNELS)$(cli PUBSUB NUMPAT)" = 0 ] || return
	! knows_sharded || [ -z "$(cli PUBSUB SHARDCHANNELS)" ]
}

# subscribers CHANNEL: how many listen to it in the present `way`
subscribers() {
	local count=NUMSUB

	[ "$way" = SUBSCRIBE ] || count=SHARDNUMSUB
	cli PUBSUB "$count" "$1" | tail -n 1
}

listens() { [ "$(subscribers "$(channel):$1")" = 1 ]; }

listens_not() { [ "$(subscribers "$(channel):$1")" = 0 ]; }

# listen ID CHANNEL...: adds to `heard.ID` what comes in on these channels
listen() {
	background "$CLI" -s "$SERVER_SOCKET" "$way" "${@:2}" >>"$BATS_TEST_TMPDIR/heard.$1"
	subscriber[$1]=$!
	subscribed[$1]=$way
}

# listen_too ID TICKET: a waiter that was told of a marker listens to its channel, too, as clients do
listen_too() {
	local way=${subscribed[$1]-}

	[ -n "$2" ] && [ -n "$way" ] && [ "${marker[$1]-}" != "$2" ] || return 0
	heard "$1" >/dev/null # all of it is written
	absent "$1"
	marker[$1]=$2
	listen "$1" "$(channel):fairlock:$2" "$(channel):$1"
	wait_until listens "$1"
}

# listen_by_pattern PATTERN: writes down what comes in on channels like this, in `heard.pattern`
listen_by_pattern() {
	background "$CLI" -s "$SERVER_SOCKET" PSUBSCRIBE "$1" >"$BATS_TEST_TMPDIR/heard.pattern"
	subscriber[pattern]=$!
	wait_until prints 1 cli PUBSUB NUMPAT
}

# present ID...: each listens to its own channel
present() {
	local id

	for id; do
		rm -f "$BATS_TEST_TMPDIR/heard.$id"
		listen "$id" "$(channel):$id"
	done
	for id; do
		wait_until listens "$id"
	done
}

# present_together ID...: the same over one connection, which `absent together` ends
present_together() {
	listen together "${@/#/$(channel):}"
	wait_until listens "${!#}"
}

# absent ID...: they listen no more, and the server has seen it
absent() {
	local id way

	for id; do
		way=${subscribed[$id]}
		kill "${subscriber[$id]}"
		wait "${subscriber[$id]}" 2>/dev/null || true
		unset "subscriber[$id]" "subscribed[$id]" "marker[$id]"
		wait_until listens_not "$id"
	done
}

# heard ID: the messages that it got, in order, one a line
heard() {
	local publish=PUBLISH end="end of messages $EPOCHREALTIME"

	[ "${subscribed[$1]}" = SUBSCRIBE ] || publish=SPUBLISH
	cli "$publish" "$(channel):$1" "$end" >/dev/null
	wait_until grep -qx "$end" "$BATS_TEST_TMPDIR/heard.$1"
	awk 'previous ~ /^s?message$/ { name = NR }
		name && NR == name + 1 && !/^end of messages/
		{ previous = $0 }' "$BATS_TEST_TMPDIR/heard.$1"
}

# told ID MESSAGES: it got these, joined by commas, and no others
told() { assert_equal "$(heard "$1" | paste -sd ,)" "$2"; }

# is_told ID MESSAGE: the last one that it got is this
is_told() { assert_equal "$(heard "$1" | tail -n 1)" "$2"; }

# queue_up ID...: each is present and queues
queue_up() {
	present "$@"
	queue_up_dead "$@"
}

# queue_up_dead ID...: each queues and is absent
queue_up_dead() {
	local id

	for id; do
		acquire "$id" is=queued
	done
}

# crowd COUNT [ARG...]: waiters w1 to wCOUNT, in the array `ids`, are present and queue in this order. ARG...: more words of each request
crowd() {
	local id

	mapfile -t ids < <(seq -f w%g "$1")
	present_together "${ids[@]}"
	for id in "${ids[@]}"; do
		script_line acquire "$id" "$id" w 30000 wait '' 0 '' "by $id" "${@:2}"
	done | cli >/dev/null
}

# ---- Waiters that accept a handover

# queue_for_handover ID...: they wait, and accept a handover with the secret 1
queue_for_handover() {
	local id

	present "$@"
	for id; do
		acquire "$id" handed=1 is=queued
	done
}

# handed ID TTL [SECRET]: the last message to ID granted it the lock, or a hold beside others. Sets its token.
handed() {
	local said ttl at secret

	read -r said "token[$1]" ttl at secret _ < <(heard "$1" | tail -n 1)
	assert_equal "$said $ttl $at $secret" "granted $2 $(now_ms) ${3-1}"
	[[ " $(owner) $(holders) " = *" $1 "* ]] || fail "$1 does not hold: $(owner) $(holders)"
}

# ---- Waiters with --once-ok

# succeed ID [WORD=VALUE...]: its COMMAND ends with 0
succeed() { release "$1" status=0 cause=exit "${@:2}"; }

# is_told_to_ask ID: a message says that something has changed
is_told_to_ask() { [[ $'\n'$(heard "$1")$'\n' = *$'\n0\n'* ]]; }

# ---- Waiters with --supersede

# asks_newest ID [WORD=VALUE...]: it asks with --supersede for the first time, and listens
asks_newest() {
	present "$1"
	acquire "$1" newest=0 "${@:2}"
	SINCE[$1]=${reply[5]-}
}

# asks_again ID [WORD=VALUE...]: the sign of life of one that does
asks_again() { ask "$1" newest="${SINCE[$1]-0}" "${@:2}"; }

# superseded_events: the fields of these events in the log, "owner by waited actor", one a line
superseded_events() {
	log_lines | sed -nE 's/^event=superseded\|.*\|owner=(.*)\|token=.*\|by=(.*)\|waited=([0-9]*)\|.*\|actor=(.*)$/\1 \2 \3 \4/p'
}

# is_superseded ID [WORD=VALUE...]: asks, and is answered that; then it has neither the lock nor a place
is_superseded() {
	asks_again "$@"
	answered superseded
	[[ " $(waiting) $(owner) $(scored) " != *" $1 "* ]]
}

# ---- Clients of Redisson, as Redisson's own scripts do it

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
redisson_takes() { on_keys EVAL "$redisson_parts"'return take(ARGV[1], 300000) and "granted" or "no"' "$1"; }

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
redisson_asks() { assert_equal "$(on_keys EVAL "$redisson_lock" "$1" "$2" "$(now_ms)")" "$3"; }

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
redisson_gives_up() { on_keys EVAL "$redisson_leave" "$1" "$2"; }

# redisson_drops: a client whose clock is ahead drops the head of the queue
redisson_drops() {
	cli ZADD "$(key_timeouts)" 1 "$(cli LINDEX "$(key_queue)" 0)" >/dev/null
	on_keys EVAL "$redisson_parts"'drop_stale(tonumber(ARGV[1]))' "$(now_ms)" >/dev/null
}

redisson_unlocks() {
	local next publish=PUBLISH

	[ "$way" = SUBSCRIBE ] || publish=SPUBLISH
	cli DEL "$lock" >/dev/null
	next=$(cli LINDEX "$(key_queue)" 0)
	[ -z "$next" ] || cli "$publish" "$(channel):$next" 0 >/dev/null
}

# It is the turn of r1, a Redisson waiter that is present, and ben, which accepts a handover, waits behind it.
turn_of_present_redisson() {
	acquire anna
	redisson_waits r1
	present r1
	queue_for_handover ben
	release anna
}

# The server of a file of tests of the Lua scripts, and the calls of these scripts: `load helpers`,
# then `load scripts`. The server is empty at the start of every test.
#
# The server's clock stands still: only `later` moves it. So all times are exact.
#
# LUA         the folder of the scripts under test
# SCRIPTS_ON  cluster: the server is a cluster of one node, and waiters use SSUBSCRIBE
# lock        the NAME that the functions below work on
#
# Each script has a function of its name: `acquire ID [WORD=VALUE...]`. The answer is in the array
# `reply`; an error of the server fails the test.

for part in lone-cluster contents subscribers redisson; do
	# shellcheck source=/dev/null
	source "${BASH_SOURCE[0]%/*}/$part.bash"
done

: "${LUA:=$TESTS_DIR/../lua}"

# bats sources this file from a function.
declare -gA token=() ticket=()
declare -ga reply=()
declare -g lock=job
[ "${SCRIPTS_ON-}" != cluster ] || way=SSUBSCRIBE

# Starts a server, and loads all scripts into it.
setup_file() {
	local name sha

	export STILL_CLOCK=$BATS_FILE_TMPDIR/clock
	date +%s%6N >"$STILL_CLOCK"
	set_clock_to "$(<"$STILL_CLOCK")"
	if [ "${SCRIPTS_ON-}" = cluster ] && knows_sharded; then
		LD_PRELOAD=$BUILD/programs/still_clock.so start_lone_cluster
	else
		LD_PRELOAD=$BUILD/programs/still_clock.so start_server
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

teardown_file() {
	stop_server
}

# set_clock_to US: the server's clock shows this time
set_clock_to() {
	local us=$1 byte bytes='' i

	for i in 1 2 3 4 5 6 7 8; do
		printf -v byte '\\x%02x' $((us & 255))
		bytes+=$byte us=$((us >> 8))
	done
	# shellcheck disable=SC2059 # in one write, and the file stays as long as it is
	printf "$bytes" 1<>"$STILL_CLOCK"
}

# later MS: so much time passes; or the clock is set back, if MS is negative
later() {
	set_clock_to $(($(od -An -td8 -N8 "$STILL_CLOCK") + $1 * 1000))
}

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
knows_sharded() {
	! "$SERVER" --version | grep -q ' v=[0-6]\.'
}

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

# keys_of_lock: sets `keys` to those that a request on `lock` declares: the seventh one only if it wants a hold beside
# others (want), or has one (hold_mode)
keys_of_lock() {
	local in=$lock

	[[ $in = *'{'* ]] || in="{$in}"
	keys=("$lock" "redisson_lock_queue:$in" "redisson_lock_timeout:$in" "fairlock:$in" "fairlock_log:$in"
		"fairlock_queue:$in")
	[ "${want-x}${hold_mode-x}" = xx ] || keys+=("fairlock_holders:$in")
}

# on_keys EVAL|EVALSHA TEXT|SHA ARG...: runs a script on the keys of `lock`
on_keys() {
	local keys

	keys_of_lock
	cli "$1" "$2" "${#keys[@]}" "${keys[@]}" "${@:3}"
}

# script NAME ARG...: calls the script; ARG... are its ARGV[2] and on
script() {
	local sha in=$lock

	case $1 in
	status | queue | view | log) set -- look "$@" ;;
	esac
	sha=SHA_$1
	[[ $in = *'{'* ]] || in="{$in}"
	mapfile -t reply < <(on_keys EVALSHA "${!sha}" "redisson_lock__channel:$in" "${@:2}")
	if [[ ${reply[0]-} =~ ^[A-Z]+\  ]]; then
		echo "$1 $2: ${reply[*]}" >&2
		return 1
	fi
}

# script_line NAME ARG...: the same call as a line for redis-cli, which takes many lines at once
script_line() {
	local sha=SHA_$1 in=$lock keys

	[[ $in = *'{'* ]] || in="{$in}"
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
	# shellcheck disable=SC2086
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
ask() {
	acquire "$1" "old_ticket=${ticket[$1]}" "${@:2}"
}

# come_back ID [WORD=VALUE...]: the same over a new connection
come_back() {
	ask "$1" again=1 "${@:2}"
}

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
	# shellcheck disable=SC2034 # for the test
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
	# shellcheck disable=SC2086
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

# answered WORD...: the last answer begins with these words
answered() {
	[[ "${reply[*]} " == "$* "* ]] || assert_equal "${reply[*]}" "$*"
}

# Skips a test of how long a script takes, if tests/coverage/run has put marks into the scripts.
marks_take_time() {
	[ -z "${MARKED-}" ] || skip 'the scripts have marks, which take time'
}

# between LEAST NUMBER MOST: NUMBER is neither less nor more
between() {
	if ! [[ $2 =~ ^-?[0-9]+$ ]] || [ "$2" -lt "$1" ] || [ "$2" -gt "$3" ]; then
		echo "'$2' is not in $1..$3" >&2
		return 1
	fi
}

# the_events: the names of the events in the log, oldest first
the_events() { cli XRANGE "$(key_log)" - + | awk '$0 == "event" { getline; print }' | paste -sd ' '; }

# entry NUMBER: the entry with this number, the oldest is 1, as lines "FIELD VALUE"
entry() { cli --json XRANGE "$(key_log)" - + | jq -r ".[$1 - 1][1] | . as \$e | range(0; length; 2) | \$e[.] + \" \" + \$e[. + 1]"; }

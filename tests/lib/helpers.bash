# Servers, processes and waiting. Every file of tests loads this, or another file of this folder, which does.
#
# FAIRLOCK  the program under test
# SERVER    the redis-server or valkey-server to test with
#
# The kernel ends each process that a test starts when the shell that started it ends, even if the
# test fails or the whole run is killed. No teardown is needed.

! declare -F start_server >/dev/null || return 0

bats_require_minimum_version 1.5.0 2>/dev/null || true # a benchmark may load this, too

TESTS_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
: "${BUILD:=$TESTS_DIR/../build}"
[[ $BUILD = /* ]] || BUILD=$TESTS_DIR/../$BUILD
: "${FAIRLOCK:=$BUILD/fairlock}"
if [ -z "${SERVER:-}" ]; then
	SERVER=$(command -v redis-server || command -v valkey-server) ||
		{ echo "helpers: neither redis-server nor valkey-server is here" >&2; exit 1; }
fi
case $SERVER in
/*) ;;
*/*) SERVER=$TESTS_DIR/../$SERVER ;; # relative to the project, like BUILD
esac
: "${BUILDROOT:=$TESTS_DIR/../build}"
export BUILD BUILDROOT FAIRLOCK SERVER
# bats notes the line of each command before it runs the command. That takes a third of the time of all tests. So here bats notes a
# line only when a command fails, or the test's time is over.
if declare -F bats_check_status_from_trap bats_capture_stack_trace bats_error_trap >/dev/null && [ "${BATS_TRACE_LEVEL:-0}" -eq 0 ]; then
	set +T
	bats_error_trap() {
		bats_check_status_from_trap
		bats_capture_stack_trace
		BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=1
	}
	bats_timeout_trap() {
		BATS_TIMED_OUT=1
		bats_capture_stack_trace
		BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=1
		exit 1
	}
fi

CLI=${CLI:-$(command -v redis-cli || command -v valkey-cli)}
export CLI
ASK=$BUILD/programs/ask
[ -x "$ASK" ] || ASK='' # only "make tests" builds it

# The tests must not see the settings of the person who runs them, nor reach that person's private
# server. bats loads this file anew for each test, so the URL that start_server exported in
# setup_file stays.
[ -n "${SERVER_SOCKET:-}" ] && [ "unix:$SERVER_SOCKET" = "${FAIRLOCK_URL:-}" ] ||
	export FAIRLOCK_URL=unix:/nonexistent/start_server-was-not-called
unset FAIRLOCK_NAME FAIRLOCK_OWNER FAIRLOCK_TOKEN FAIRLOCK_HELD FAIRLOCK_PASSWORD
unset REDISCLI_AUTH CI

for library in bats-support bats-assert; do
	for folder in /usr/lib/bats /usr/share/bats /usr/lib "${BATS_LIB_PATH:-/usr/lib/bats}"; do
		if [ -e "$folder/$library/load.bash" ]; then
			# load.bash sources the same files, but starts twenty processes for that in
			# each test.
			for part in "$folder/$library"/src/*.bash; do
				source "$part"
			done
			break
		fi
	done
done

# background COMMAND...: runs it without the descriptors that bats waits for, and has it killed when
# this shell ends. Sets $!.
background() { setpriv --pdeathsig KILL "$@" 3>&- 4>&- & }

# wait_until COMMAND...: polls it until it succeeds, for up to 20 seconds (WAIT_S). After a while it
# polls less often, to leave the machine to the processes that the test waits for.
wait_until() {
	local tries=0 pause=0.02 until=$((SECONDS + ${WAIT_S:-20}))

	until "$@" >/dev/null 2>&1; do
		if [ "$SECONDS" -ge "$until" ]; then
			echo "wait_until: still not so after ${WAIT_S:-20} s: $*" >&2
			return 1
		fi
		[ $((++tries)) -ne 30 ] || pause=0.1
		sleep "$pause"
	done
}

# prints TEXT COMMAND...: this is all that the command prints
prints() { [ "$("${@:2}")" = "$1" ]; }

# lines_in FILE N: it has so many whole lines
lines_in() { [ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]; }

# stop PID: stops it, and returns when it is stopped
stop() {
	kill -STOP "$1"
	wait_until is_stopped "$1"
}

is_stopped() { grep -q '^State:.T' "/proc/$1/status"; }

# kill_at_once PID...: kills all of them before one sees that another is dead; with real-time priority, or else a high one, since a
# busy machine might let one of them run in between
kill_at_once() {
	local before=(nice -n -20)

	! chrt -f 50 true 2>/dev/null || before=(chrt -f 50)
	"${before[@]}" kill -KILL "$@" 2>/dev/null
}

# ended PID: succeeds if it is gone, or a zombie
ended() {
	local state

	state=$(sed -n 's/^State:[[:blank:]]*//p' "/proc/$1/status" 2>/dev/null) || return 0
	[ -z "$state" ] || [[ $state = Z* ]] || [[ $state = X* ]]
}

# ends_with STATUS PID: waits for this child, which must end with STATUS
ends_with() {
	local status=0

	wait "$2" || status=$?
	assert_equal "$status" "$1"
}

# server_dir: prints the folder of this test's server, or in setup_file that of the file's server
server_dir() { echo "${BATS_TEST_TMPDIR:-$BATS_FILE_TMPDIR}"; }

# start_server [OPTION...]: starts a private server on a unix socket, which writes nothing to disk;
# `start_server --appendonly yes` keeps its data over a restart. Sets SERVER_PID, SERVER_SOCKET and
# FAIRLOCK_URL.
start_server() {
	SERVER_DIR=${SERVER_DIR:-$(server_dir)}
	SERVER_SOCKET=$SERVER_DIR/redis.sock
	background "$SERVER" --port 0 --unixsocket redis.sock --unixsocketperm 700 \
		--dir "$SERVER_DIR" --save '' --appendonly no --appendfsync no \
		--daemonize no "$@" >>"$SERVER_DIR/redis.log" 2>&1
	SERVER_PID=$!
	export SERVER_PID SERVER_DIR SERVER_SOCKET
	export FAIRLOCK_URL=unix:$SERVER_SOCKET
	wait_until server_answers || {
		tail -n 5 "$SERVER_DIR/redis.log" >&2
		return 1
	}
}

server_answers() { [ "$(cli PING)" = PONG ]; }

# use_server NAME: sets SERVER and CLI to the redis or valkey that .ci/servers has fetched, or skips
# the test
use_server() {
	local bin=$TESTS_DIR/../build/servers/$1/bin

	[ -x "$bin/$1-server" ] || skip "there is no $1 of Debian 13 here, which .ci/servers fetches"
	SERVER=$bin/$1-server
	CLI=$bin/$1-cli
}

# free_ports COUNT: ports of 127.0.0.1 that nobody listens on, nor on those 10000 above them, where the
# nodes of a cluster talk. Connections going out get theirs from above both.
free_ports() {
	local port ports=' '

	while [ "$1" -gt "$(wc -w <<<"$ports")" ]; do
		port=$((10000 + (RANDOM * 32768 + RANDOM) % 10000))
		[[ $ports = *" $port "* ]] || is_taken "$port" || is_taken $((port + 10000)) || ports+="$port "
	done
	xargs -n 1 <<<"$ports"
}

free_port() { free_ports 1; }

# is_taken PORT: somebody listens there
is_taken() { (: <>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# console COMMAND: sends it to port PORT over a connection that stays, and prints the first line of the
# reply
console() {
	local line

	[ -n "${CONSOLE:-}" ] || exec {CONSOLE}<>"/dev/tcp/127.0.0.1/$PORT"
	echo "$1" >&"$CONSOLE"
	read -r -t 20 -u "$CONSOLE" line && echo "$line"
}

# stop_server [SIGNAL]: ends the server, by default with KILL, and waits for its end
stop_server() {
	kill -s "${1:-KILL}" "$SERVER_PID"
	kill -s CONT "$SERVER_PID" 2>/dev/null || true
	wait_until ended "$SERVER_PID"
	wait "$SERVER_PID" 2>/dev/null || true
}

# restart_server [OPTION...]: kills the server, and starts it again as start_server does
restart_server() { stop_server KILL && start_server "$@"; }

# ask_can WORD...: ASK does the same with these words as redis-cli, which takes longer to start
ask_can() { [ -n "$ASK" ] && [[ ${1-} =~ ^([A-Z]+|--raw|-x)$ && $1 != *SUBSCRIBE && $1 != MONITOR ]]; }

# cli [ARGUMENT...]: asks the server of this test; as redis-cli, without arguments commands of the standard input, which may have quotes
cli() {
	if ask_can "$@"; then
		"$ASK" "$SERVER_SOCKET" "$@" 3>&- 4>&-
	else
		"$CLI" -s "$SERVER_SOCKET" "$@" 3>&- 4>&-
	fi
}

# ms: prints this machine's time in milliseconds
ms() { echo $(($(date +%s%N) / 1000000)); }

# now_ms: prints the server's time
now_ms() { cli TIME | paste -sd ' ' | awk '{ printf "%.0f\n", $1 * 1000 + int($2 / 1000) }'; }

# Private servers (`local:`)
#
# new_home [FOLDER]: makes a process and mount namespace in which the password database has FOLDER
# as this user's home, by default an empty one. Sets HOME_DIR. Every process there dies with the
# test. `at_home COMMAND...` runs COMMAND there.
new_home() {
	local user=() passwd=$BATS_TEST_TMPDIR/passwd

	[ "$(id -u)" = 0 ] || user=(--user --map-root-user)
	unset FAIRLOCK_URL
	HOME_DIR=${1-$BATS_TEST_TMPDIR/home}
	[ -z "$HOME_DIR" ] || [ -e "$HOME_DIR" ] || [ $# -gt 0 ] || mkdir -m 700 "$HOME_DIR"
	printf 'root:x:0:0:root:%s:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n' \
		"$HOME_DIR" >"$passwd"
	unshare "${user[@]}" --mount true 2>/dev/null || skip 'this machine allows no namespaces'
	# The kernel kills all in a process namespace when its first process ends.
	background unshare "${user[@]}" --mount --pid --fork --kill-child --mount-proc \
		sh -c 'mount --bind "$1" /etc/passwd && : >"$2" && exec sleep infinity' \
		sh "$passwd" "$BATS_TEST_TMPDIR/home.ready" >"$BATS_TEST_TMPDIR/home.log" 2>&1
	wait_until test -e "$BATS_TEST_TMPDIR/home.ready" || {
		cat "$BATS_TEST_TMPDIR/home.log" >&2
		return 1
	}
	HOME_PID=$(pgrep -P $!)
}

at_home() {
	local user=()

	[ "$(id -u)" = 0 ] || user=(--user --preserve-credentials)
	nsenter --target "$HOME_PID" "${user[@]}" --mount --pid --wdns=/ -- "$@" 3>&- 4>&-
}

# find_promtool: sets PROMTOOL, or skips the test
find_promtool() {
	PROMTOOL=$BUILDROOT/promtool
	[ -x "$PROMTOOL" ] || PROMTOOL=$(command -v promtool) ||
		skip 'there is no promtool here, which .ci/tool promtool gets'
}

# offering TEXT COMMAND...: runs COMMAND until its $output has TEXT: completion waits for a server
# for 0.3 s only, and a slow machine may take longer
offering() {
	local tries

	for ((tries = 1; tries <= 20; tries++)); do
		"${@:2}"
		[[ $output != *"$1"* ]] || return 0
	done
	echo "tried $((tries - 1)) times: ${*:2}"
}

# in_queue NAME COUNT: succeeds if COUNT owners wait for the lock
in_queue() { [ "$(all_waiting "$1")" = "$2" ]; }

# all_waiting NAME: how many wait: ours, and Redisson's, which stand in its list beside the markers of ours
all_waiting() {
	local lock=$1 listed

	listed=$(cli --raw LRANGE "redisson_lock_queue:$(braced)" 0 -1 | grep -vcE '^(fairlock:[0-9]+)?$')
	echo $(($(cli ZCARD "fairlock_queue:$(braced)") + listed))
}

# is_free NAME: succeeds if the server has no holder of the lock
is_free() { [ "$(cli EXISTS "$1")" = 0 ]; }

# hold [OPTION...] NAME: holds the lock in the background until the test ends. Sets HOLDER to the
# wrapper's process id.
hold() {
	background "$FAIRLOCK" wrap "$@" sleep 600
	HOLDER=$!
	wait_until "$FAIRLOCK" status -q "${!#}"
}

# join_queue WORD...: `wrap WORD...` waits for `job` behind the others. Sets WAITER, its process id.
# Its output is added to `out`, its messages to `said`.
join_queue() {
	local before

	before=$(all_waiting job)
	background "$FAIRLOCK" wrap "$@" >>out 2>>said
	WAITER=$!
	wait_until in_queue job $((before + 1))
}

# waiter_is_next: HOLDER ends, and then WAITER, with 0
waiter_is_next() {
	kill "$HOLDER"
	ends_with 0 "$WAITER"
}

# held_by DESCRIPTION [MS]: has the server say that this process has held `job` for so long
held_by() { describe_holder job "$1" "${2-0}"; }

# kept_until NAME: prints the local time until which --min-hold keeps the lock, as 18:03:25
kept_until() { date -d "@$(($(holder_column "$1" ends) / 1000))" +%H:%M:%S; }

# nothing_left: succeeds if the server has no key but the two that may outlive a lock, which expire
nothing_left() {
	local key

	for key in $(cli --raw KEYS '*'); do
		[[ $key = fairlock:* || $key = fairlock_log:* || $key = fairlock_done:* ]] || { echo "left: $key"; return 1; }
		[ "$(cli PTTL "$key")" -gt 0 ] || { echo "without a time to live: $key"; return 1; }
	done
}

# nobody_present NAME: succeeds if the server has seen every waiter for the lock disconnect
nobody_present() {
	! cli --raw PUBSUB CHANNELS "redisson_lock__channel:{$1}:*" | grep -qv "$(cli --raw HKEYS "$1")"
}

# install_to FOLDER: installs there as `make install` does, without building anything
install_to() {
	run -0 make -C "$TESTS_DIR/.." -o all install STATIC="$(is_static && echo yes || echo no)" BUILD="$BUILD" DESTDIR="$1" PREFIX=/usr
}

# is_static: succeeds if the program is a static one
is_static() { [[ $(<"$BUILD/list") = static* ]]; }

# ---- The records in our hash of the lock `lock`, by the names of their columns

# By the letter in front of the colon.
declare -gA columns_of=(
	[h]='state token since ends lease longest waited keep mode holds notes by'
	[w]='seen lease secret kind period want owner by'
)

# number_of FIELD NAME: which column of the record in this field it is, from 1
number_of() {
	local number=1 name

	for name in ${columns_of[${1%%:*}]}; do
		[ "$name" != "$2" ] || break
		((number++))
	done
	[ "$name" = "$2" ] || fail "$1 has no column '$2'"
	[ "$2" != by ] || number=$number- # may contain blanks
	echo "$number"
}

# column FIELD NAME: a column of a record in our hash of `lock`, or nothing if there is no such record
column() { cli --raw HGET "fairlock:$(braced)" "$1" | cut -d ' ' -f "$(number_of "$1" "$2")"; }

# change FIELD NAME=VALUE...: writes columns of a record that is in our hash of `lock`
change() {
	local record words=() word number

	record=$(cli --raw HGET "fairlock:$(braced)" "$1")
	[ -n "$record" ] || fail "there is no record $1"
	# split at each blank, with empty columns
	while [ ${#words[@]} -lt $(($(wc -w <<<"${columns_of[${1%%:*}]}") - 1)) ] && [[ $record = *' '* ]]; do
		words+=("${record%% *}")
		record=${record#* }
	done
	words+=("$record")
	for word in "${@:2}"; do
		number=$(number_of "$1" "${word%%=*}")
		words[${number%-} - 1]=${word#*=}
	done
	record=$(printf '%s ' "${words[@]}")
	cli HSET "fairlock:$(braced)" "$1" "${record% }" >/dev/null
}

# The field of the present hold of `lock`.
holder_field() { echo "h:$(cli --raw HGET "fairlock:$(braced)" holder)"; }

braced() {
	case $lock in
	*'{'*) echo "$lock" ;;
	*) echo "{$lock}" ;;
	esac
}

# holder_column NAME COLUMN: a column of the record of who holds the lock NAME
holder_column() {
	local lock=$1

	column "$(holder_field)" "$2"
}

# describe_holder NAME BY [MS]: has the server say that BY holds the lock NAME, which is held already, and has so for MS;
# not by hand, if it was acquire that took it
describe_holder() {
	local lock=$1 holds

	holds=$(holder_column "$lock" holds)
	change "$(holder_field)" "by=$2" "holds=${holds//,h/,a}" ${3+"since=$(($(now_ms) - $3))"}
}

# What every file of tests loads: `load helpers`.
#
# FAIRLOCK  the program under test
# SERVER    the redis-server or valkey-server to test with
#
# Whatever is started here dies with the shell that started it, also when a test
# fails or the whole run is killed: the kernel does that, no teardown is needed.

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
*/*) SERVER=$TESTS_DIR/../$SERVER ;; # a path is that of the project, as with BUILD
esac
: "${BUILDROOT:=$TESTS_DIR/../build}"
export BUILD BUILDROOT FAIRLOCK SERVER
CLI=${CLI:-$(command -v redis-cli || command -v valkey-cli)}
export CLI

# Nothing of the person who runs the tests may reach them, nor they the private server of that person.
# (bats loads this file anew for each test: what start_server exported in setup_file is ours.)
[ "${SERVER_SOCKET:+unix:$SERVER_SOCKET}" = "${FAIRLOCK_URL:-}" ] ||
	export FAIRLOCK_URL=unix:/nonexistent/start_server-was-not-called
unset FAIRLOCK_NAME FAIRLOCK_OWNER FAIRLOCK_TOKEN FAIRLOCK_HELD FAIRLOCK_PASSWORD
unset REDISCLI_AUTH

for library in bats-support bats-assert; do
	for folder in /usr/lib/bats /usr/share/bats /usr/lib "${BATS_LIB_PATH:-/usr/lib/bats}"; do
		if [ -e "$folder/$library/load.bash" ]; then
			# What load.bash sources, without the twenty processes that it takes for that in each test.
			for part in "$folder/$library"/src/*.bash; do
				# shellcheck source=/dev/null
				source "$part"
			done
			break
		fi
	done
done

# Runs COMMAND in the background, without the descriptors that bats waits for.
# It is killed when this shell ends. Its process id is in $!.
background() {
	setpriv --pdeathsig KILL "$@" 3>&- 4>&- &
}

# Polls COMMAND until it succeeds, for up to 20 seconds (WAIT_S). What takes long is asked after less often: many who
# wait should leave the machine to what they wait for.
wait_until() {
	local - tries=0 pause=0.02 until=$((SECONDS + ${WAIT_S:-20}))

	set +T # bats need not trace what may fail
	until "$@" >/dev/null 2>&1; do
		if [ "$SECONDS" -ge "$until" ]; then
			echo "wait_until: still not so after ${WAIT_S:-20} s: $*" >&2
			return 1
		fi
		[ $((++tries)) -ne 30 ] || pause=0.1
		sleep "$pause"
	done
}

# stop PID: it is stopped when this returns, and not a moment later
stop() {
	kill -STOP "$1"
	wait_until is_stopped "$1"
}

is_stopped() {
	grep -q '^State:.T' "/proc/$1/status"
}

# ended PID: it is gone, or a zombie
ended() {
	local state

	state=$(sed -n 's/^State:[[:blank:]]*//p' "/proc/$1/status" 2>/dev/null) || return 0
	[ -z "$state" ] || [[ $state = Z* ]] || [[ $state = X* ]]
}

# The folder of this test's server, or of this file's when it was started in setup_file.
server_dir() {
	echo "${BATS_TEST_TMPDIR:-$BATS_FILE_TMPDIR}"
}

# start_server [OPTION...]: a private server on a unix socket, without a trace on
# disk; `start_server --appendonly yes` keeps its data over a restart. Sets
# SERVER_PID, SERVER_SOCKET and FAIRLOCK_URL.
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

server_answers() {
	[ "$(cli PING)" = PONG ]
}

# use_server NAME: from here on SERVER and CLI are the redis or valkey of .ci/servers; skips where that is not.
use_server() {
	local bin=$TESTS_DIR/../build/servers/$1/bin

	[ -x "$bin/$1-server" ] || skip "there is no $1 of Debian 13 here, which .ci/servers fetches"
	SERVER=$bin/$1-server
	CLI=$bin/$1-cli
}

# A TCP port that nobody listens on.
free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# stop_server [SIGNAL]: ends it (KILL unless told otherwise) and waits until it has.
stop_server() {
	kill -s "${1:-KILL}" "$SERVER_PID"
	kill -s CONT "$SERVER_PID" 2>/dev/null || true
	wait_until ended "$SERVER_PID"
	wait "$SERVER_PID" 2>/dev/null || true
}

# redis-cli on the server of this test
cli() {
	"$CLI" -s "$SERVER_SOCKET" "$@" 3>&- 4>&-
}

# Private servers (`local:`)
#
# new_home: makes a process and mount namespace in which this user's home in the
# password database is the empty folder $HOME_DIR (or the FOLDER given); all that
# runs in it dies with the test. `at_home COMMAND...` runs there.
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
	# shellcheck disable=SC2016
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

# offering TEXT COMMAND...: runs it until its output has this. Completion waits for a server no longer than 0.3 s,
# and a slow machine may take more.
offering() {
	local tries

	for ((tries = 1; tries <= 20; tries++)); do
		"${@:2}"
		[[ $output != *"$1"* ]] || return 0
	done
	echo "tried $((tries - 1)) times: ${*:2}"
}

# in_queue NAME COUNT: so many wait for the lock, by the server's list
in_queue() {
	[ "$(cli LLEN "redisson_lock_queue:{$1}")" = "$2" ]
}

# Holds a lock in the background until the test ends; its process id is in HOLDER.
hold() {
	background "$FAIRLOCK" wrap "$@" sleep 600
	# shellcheck disable=SC2034 # for the test
	HOLDER=$!
	wait_until "$FAIRLOCK" status -q "${!#}"
}

# No key is left but the two that may outlive a lock, and those go by themselves.
nothing_left() {
	local key

	for key in $(cli --raw KEYS '*'); do
		[[ $key = fairlock:* || $key = fairlock_log:* ]] || { echo "left: $key"; return 1; }
		[ "$(cli PTTL "$key")" -gt 0 ] || { echo "without a time to live: $key"; return 1; }
	done
}

# nobody_present NAME: the server has seen all who wait for it go
nobody_present() {
	! cli --raw PUBSUB CHANNELS "redisson_lock__channel:{$1}:*" | grep -qv "$(cli --raw HKEYS "$1")"
}

# install_to FOLDER: what an installation puts where. Nothing is built for it.
install_to() {
	local quick=no

	[ ! -e "$FAIRLOCK-full" ] || quick=yes
	run -0 make -C "$TESTS_DIR/.." -o all install QUICK=$quick BUILD="$BUILD" DESTDIR="$1" PREFIX=/usr
}

# What the tests beside real Redisson share: `load ../helpers`, then `load interop`. Each test has a server
# and as many JVMs as it starts; all die with it.
#
# REDISSON  the version to test with, which tests/interop/build has made ready

: "${REDISSON:=4.7.0}"
: "${WAIT_S:=60}" # a JVM that meets its code for the first time on a busy machine is slow
BUILDROOT=$(realpath -m "$BUILDROOT")

declare -gA JVM=() INPUT=()

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PORT=$(free_port)
	start_server --port "$PORT" --bind 127.0.0.1
}

# What a failure leaves to read: the server's side of it, and what the JVMs said.
teardown() {
	local file key

	[ -z "${BATS_TEST_COMPLETED:-}" ] || return 0
	for key in $(cli --raw KEYS '*' | grep -v '^fairlock_log:'); do
		echo "$key: $(cli --no-raw PTTL "$key") ms $(everything_in "$key" | tr '\n' ' ')"
	done
	cli --raw PUBSUB CHANNELS | sed 's/^/listened to: /'
	for file in trace *.out *.err; do
		[ ! -s "$file" ] || tail -n 15 "$file" | sed "s/^/$file: /"
	done
}

everything_in() {
	case $(cli --raw TYPE "$1") in
	hash) cli --raw HGETALL "$1" ;;
	list) cli --raw LRANGE "$1" 0 -1 ;;
	zset) cli --raw ZRANGE "$1" 0 -1 WITHSCORES ;;
	esac
}

classpath() {
	echo "$BUILDROOT/interop/$REDISSON/classes:$BUILDROOT/interop/$REDISSON/lib/*"
}

# start_java WHO [WATCHDOG_MS [FAIR_WAIT_MS]]: a JVM that takes commands (see Client.java)
start_java() {
	local who=$1 input

	shift
	mkfifo "$who.in"
	exec {input}<>"$who.in"
	: >"$who.out"
	# not `background`, whose commands read nothing
	setpriv --pdeathsig KILL java -XX:TieredStopAtLevel=1 -Xmx96m \
		-cp "$(classpath)" fairlock.Client "$PORT" "$@" <"$who.in" >"$who.out" 2>"$who.err" 3>&- 4>&- &
	JVM[$who]=$!
	INPUT[$who]=$input
	tell "$who" a.0 connect
	wait_until answered "$who" a.0 connect ok
}

# tell WHO ACTOR COMMAND [ARGUMENT...]
tell() {
	echo "${*:2}" >&"${INPUT[$1]}"
}

# answered WHO ACTOR COMMAND RESULT: so often that the last command of this kind is among them
answered() {
	grep -qx -- "${*:2}" "$1.out"
}

# ask WHO ACTOR COMMAND [ARGUMENT...]: waits for the answer, which is in `answer`
ask() {
	local before

	before=$(answers "$@")
	tell "$@"
	wait_until more_answers "$before" "$@"
	answer=$(grep -- "^$2 $3 " "$1.out" | tail -n 1)
	answer=${answer#"$2 $3 "}
}

answers() {
	grep -c -- "^$2 $3 " "$1.out" || true
}

more_answers() {
	[ "$(answers "${@:2}")" -gt "$1" ]
}

# java_waits WHO ACTOR COMMAND...: tells it, and waits until it stands in the queue of NAME (the next word)
# and listens: Redisson subscribes only after it has queued
java_waits() {
	local before

	before=$(cli LLEN "redisson_lock_queue:{$4}")
	tell "$@"
	wait_until in_queue "$4" $((before + 1))
	wait_until last_listens "$4"
}

last_listens() {
	listens_to "redisson_lock__channel:{$1}:$(cli --raw LINDEX "redisson_lock_queue:{$1}" -1)"
}

listens_to() {
	[ "$(cli --raw PUBSUB NUMSUB "$1" | tail -n 1)" -gt 0 ]
}

# freeze_java WHO: stops it when nothing that it asked is under way, else it finds its own time-outs over when
# it goes on
freeze_java() {
	wait_until idle
	kill -STOP "${JVM[$1]}"
}

# No JVM has sent anything for a second.
idle() {
	! cli --raw CLIENT LIST | grep ' addr=127.0.0.1:' | grep -q ' idle=0 '
}

# shell_waits NAME [WORD]: a fairlock waiter that writes WORD into `trace` when it is granted
shell_waits() {
	shell_comes "$@"
	wait_until is_queued "$1" "$WAITER"
}

# is_queued NAME PID: whatever else comes and goes
is_queued() {
	cli --raw LRANGE "redisson_lock_queue:{$1}" 0 -1 | grep -q ":$2\$"
}

# The same without a look at the queue, for one that may be granted at once
shell_comes() {
	background "$FAIRLOCK" wrap "$1" sh -c "echo ${2:-shell} >>trace; date +%s%N >'granted.${2:-shell}'"
	WAITER=$!
}

kill_java() {
	kill -KILL "${JVM[$1]}"
	wait_until ended "${JVM[$1]}"
}

traced() {
	[ -e trace ] && [ "$(wc -l <trace)" -ge "$1" ]
}

# The order of those who got the lock
trace_is() {
	wait_until traced $#
	run -0 cat trace
	assert_output "$(printf '%s\n' "$@")"
}

test_free() {
	[ "$(cli EXISTS "$1")" = 0 ]
}

ms() {
	echo $(($(date +%s%N) / 1000000))
}

# granted_after WORD START_MS: milliseconds from START_MS to the grant to WORD
granted_after() {
	wait_until test -s "granted.$1"
	echo $(($(cat "granted.$1") / 1000000 - $2))
}

# Real Redisson clients beside fairlock: `load interop`. Each test has a
# server of its own, and starts its JVMs, which all die with it.
#
# REDISSON  the version of Redisson, which tests/interop/build has made ready

source "${BASH_SOURCE[0]%/*}/../lib/helpers.bash"
: "${REDISSON:=4.7.0}"
: "${WAIT_S:=60}" # a JVM that has just started is slow on a busy machine
BUILDROOT=$(realpath -m "$BUILDROOT")

declare -gA JVM=() INPUT=()

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PORT=$(free_port)
	start_server --port "$PORT" --bind 127.0.0.1
}

# After a failure, prints the server's data and the JVMs' output.
teardown() {
	[ -z "${BATS_TEST_COMPLETED:-}" ] || return 0
	cli --raw LRANGE 'redisson_lock_queue:{job}' 0 -1
	cli --raw HGETALL 'fairlock:{job}'
	cli --raw PUBSUB CHANNELS
	tail -n 15 -- *.out *.err 2>/dev/null || true
}

# A JVM and the client (see Client.java), with the classes that tests/interop/build archived.
INTEROP=$BUILDROOT/interop/$REDISSON
CLIENT=(java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx96m -XX:SharedArchiveFile="$INTEROP/classes.jsa"
	-cp "$INTEROP/client.jar:$INTEROP/lib/*" fairlock.Client)

# start_java WHO [WATCHDOG_MS [FAIR_WAIT_MS]]: starts a JVM that takes commands (see Client.java)
start_java() {
	local who=$1 input

	shift
	mkfifo "$who.in"
	exec {input}<>"$who.in"
	: >"$who.out"
	# background would take the standard input away
	setpriv --pdeathsig KILL "${CLIENT[@]}" "$PORT" "$@" <"$who.in" >"$who.out" 2>"$who.err" 3>&- 4>&- &
	JVM[$who]=$!
	INPUT[$who]=$input
	tell "$who" a.0 connect
	wait_until answered "$who" a.0 connect ok
}

# tell WHO ACTOR COMMAND [ARGUMENT...]: sends a command to the JVM
tell() {
	echo "${*:2}" >&"${INPUT[$1]}"
}

# answered WHO ACTOR COMMAND RESULT: succeeds if the JVM has given this answer
answered() {
	grep -qx -- "${*:2}" "$1.out"
}

# ask WHO ACTOR COMMAND [ARGUMENT...]: sends a command, waits for its answer, and sets `answer`
ask() {
	local before

	before=$(answers "$@")
	tell "$@"
	wait_until more_answers "$before" "$@"
	answer=$(grep -- "^$2 $3 " "$1.out" | tail -n 1)
	answer=${answer#"$2 $3 "}
}

# is_answered ANSWER WHO ACTOR COMMAND [ARGUMENT...]: a command is answered so
is_answered() {
	ask "${@:2}"
	assert_equal "$answer" "$1"
}

# answers WHO ACTOR COMMAND...: prints how many answers to such commands have come
answers() {
	grep -c -- "^$2 $3 " "$1.out" || true
}

more_answers() {
	[ "$(answers "${@:2}")" -gt "$1" ]
}

# java_waits WHO ACTOR COMMAND NAME...: sends the command, and waits until a waiter is in the queue
# of NAME and listens: Redisson subscribes only after it has queued
java_waits() {
	local before

	before=$(all_waiting "$4")
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

# shell_waits NAME [WORD]: starts a wrap, which writes WORD into `trace` when it is granted, and
# waits until it is in the queue. Sets WAITER.
shell_waits() {
	shell_comes "$@"
	wait_until is_queued "$1" "$WAITER"
}

# is_queued NAME PID: succeeds if this process is in the queue
is_queued() {
	cli --raw ZRANGE "fairlock_queue:{$1}" 0 -1 | grep -q ":$2\$"
}

# shell_comes NAME [WORD]: the same without a look at the queue, for a wrap that need not wait
shell_comes() {
	background "$FAIRLOCK" wrap "$1" sh -c "echo ${2:-shell} >>trace; date +%s%N >'granted.${2:-shell}'"
	WAITER=$!
}

kill_java() {
	kill -KILL "${JVM[$1]}"
	wait_until ended "${JVM[$1]}"
}

# trace_is WORD...: waits for so many grants; they must be in this order
trace_is() {
	wait_until lines_in trace $#
	run -0 cat trace
	assert_output "$(printf '%s\n' "$@")"
}

# gone NAME: succeeds if the server has neither the lock nor its queue
gone() {
	[ "$(cli EXISTS "$1" "redisson_lock_queue:{$1}" "redisson_lock_timeout:{$1}")" = 0 ]
}

# granted_after WORD START_MS: waits for the grant to WORD, and sets `took` to the ms since START_MS
granted_after() {
	wait_until test -s "granted.$1"
	took=$(($(cat "granted.$1") / 1000000 - $2))
	echo "after $took ms"
}

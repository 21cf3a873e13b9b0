# wrap --supersede while processes die, hang and lose their connections, and while the server restarts.
load ../lib/jobs

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# waits NAME [OPTION...]: `wrap OPTION... job` stands in the queue, writes its NAME into `order` when it runs, and its
# messages into `said.NAME`. Sets WAITER.
waits() {
	asks "$@"
	wait_until is_queued "$WAITER"
}

# asks NAME [OPTION...]: the same, and does not wait until it stands in the queue
asks() {
	background "$FAIRLOCK" wrap "${@:2}" job sh -c 'echo "$1" >>order' sh "$1" 2>"said.$1"
	WAITER=$!
}

is_queued() { cli ZRANGE 'fairlock_queue:{job}' 0 -1 | grep -q ":$1\$"; }

# ran NAME...: these have run, in this order, and nothing is left but a note to a waiter that died
ran() {
	wait_until lines_in order $#
	wait_until is_free job
	wait_until in_queue job 0
	assert_equal "$(paste -sd ' ' order)" "$*"
	wait_until nothing_left
	assert_equal "$(cli HKEYS 'fairlock:{job}' | grep '^w:')" ''
}

@test "a waiter that was stopped ends with 75 when it goes on, and meanwhile the new one has run" {
	start_server
	hold job
	waits old --supersede
	stop "$WAITER"
	stopped=$WAITER
	waits new --supersede
	waiter_is_next
	kill -CONT "$stopped"
	ends_with 75 "$stopped"
	grep -q 'superseded by sh -c .* after' said.old
	ran new
}

# one_is_left PID...: all but one of these have ended, and that one, LEFT, stands in the queue
one_is_left() {
	local pid

	LEFT=
	for pid; do
		ended "$pid" && continue
		[ -z "$LEFT" ] || return 1
		LEFT=$pid
	done
	is_queued "$LEFT"
}

# The holder and three waiters listen again: a waiter without a connection is passed over.
all_are_back() { [ "$(cli PUBSUB CHANNELS 'redisson_lock__channel:{job}:*' | wc -l)" -ge 4 ]; }

# First requests are lost on their way, too. Three that start at once do not wait for each other, so any of them may be the newest.
@test "connections that break while one supersedes the other: each ends with 75 once, and the last one runs" {
	pids=()
	start_server
	hold -l 10m job
	waits before
	waits 1 --supersede
	pids+=("$WAITER")
	waits behind
	for ((i = 2; i <= 30; i++)); do
		asks "$i" --supersede
		pids+=("$WAITER")
		cli CLIENT KILL TYPE pubsub SKIPME yes >/dev/null
		cli CLIENT KILL TYPE normal SKIPME yes >/dev/null
		[ "$(cli ZCARD 'fairlock_queue:{job}')" -le 3 ]
		[ $((i % 3)) != 0 ] || wait_until one_is_left "${pids[@]}"
	done
	for ((i = 0; i < 30; i++)); do
		if [ "${pids[i]}" = "$LEFT" ]; then
			name=$((i + 1))
		else
			ends_with 75 "${pids[i]}"
		fi
	done
	[ "$name" -ge 28 ]
	wait_until in_queue job 3
	wait_until all_are_back
	kill "$HOLDER"
	ran before "$name" behind
	assert_equal "$(cat said.* | grep -c 'superseded by')" 29
}

#!/usr/bin/env bats
# wrap --supersede while processes die, hang and lose their connections, and while the server restarts.

load ../lib/helpers
load ../lib/proxy
load ../lib/jobs

setup() { cd "$BATS_TEST_TMPDIR" || return; }

teardown() {
	# A stopped process does not end with the test.
	# shellcheck disable=SC2086
	[ -z "${STOPPED-}" ] || kill -CONT $STOPPED 2>/dev/null || true
}

# waits NAME [OPTION...]: `wrap OPTION... job` stands in the queue, writes its NAME into `order` when it runs, and its
# messages into `said.NAME`. Sets WAITER.
waits() {
	asks "$@"
	wait_until is_queued "$WAITER"
}

# asks NAME [OPTION...]: the same, and does not wait until it stands in the queue
asks() {
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap "${@:2}" job sh -c 'echo "$1" >>order' sh "$1" 2>"said.$1"
	WAITER=$!
}

has_lines() { [ -e order ] && [ "$(wc -l <order)" -ge "$1" ]; }

# At most one waits.
is_short() { [ "$(cli ZCARD 'fairlock_queue:{job}')" -le 1 ]; }

is_queued() {
	cli ZRANGE 'fairlock_queue:{job}' 0 -1 | grep -q ":$1\$"
}

# ran NAME...: these have run, in this order, and nothing is left but a note to a waiter that died
ran() {
	wait_until has_lines $#
	wait_until is_free job
	wait_until in_queue job 0
	assert_equal "$(paste -sd ' ' order)" "$*"
	wait_until nothing_left
	assert_equal "$(cli HKEYS 'fairlock:{job}' | grep '^w:')" ''
}

@test "a waiter that was killed is superseded, and the new one has its place" {
	start_server
	hold job
	waits old --supersede
	old=$WAITER
	waits behind
	kill -KILL "$old"
	waits new --supersede
	wait_until in_queue job 2
	kill "$HOLDER"
	ran new behind
}

@test "a waiter that was stopped ends with 75 when it goes on, and meanwhile the new one has run" {
	start_server
	hold job
	waits old --supersede
	stop "$WAITER"
	STOPPED=$WAITER
	waits new --supersede
	kill "$HOLDER"
	ends_with 0 "$WAITER"
	kill -CONT "$STOPPED"
	ends_with 75 "$STOPPED"
	grep -q 'superseded by sh -c .* after' said.old
	ran new
}

@test "a waiter that was stopped, and missed its turn, is superseded by one that came and ended since" {
	start_server
	hold job
	waits old --supersede --replicas 0
	stop "$WAITER"
	STOPPED=$WAITER
	kill "$HOLDER" # which hands the lock to it, for 5 s
	wait_until is_free job
	asks new --supersede
	ends_with 0 "$WAITER"
	kill -CONT "$STOPPED"
	ends_with 75 "$STOPPED"
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
	local i name pids=()

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

has_connections() { [ "$(proxy count)" = "$1" ]; }

@test "one whose first request never arrived is superseded by one that asked later and arrived first" {
	local old

	start_server
	start_proxy "$SERVER_SOCKET"
	hold job
	proxy only 1 up
	FAIRLOCK_URL=redis://$PROXY_ADDRESS asks old --supersede --connect-timeout 1m -v
	old=$WAITER
	wait_until grep -q 'asking for lock' said.old
	wait_until has_connections 1
	sleep 0.1 # of two that begin within 20 ms, the one that comes last is the newer one
	waits new --supersede
	proxy reset
	proxy pass
	wait_until ended "$old"
	ends_with 75 "$old"
	grep -q 'superseded by sh -c .* after' said.old
	kill "$HOLDER"
	ran new
}

newest() { cli HGET 'fairlock:{job}' newest; }

@test "a waiter whose first request came late knows since when it waits, and says so after a loss of data" {
	local before

	start_server
	start_proxy "$SERVER_SOCKET"
	hold -l 10m job
	proxy only 1 up
	FAIRLOCK_URL=redis://$PROXY_ADDRESS asks new --supersede --connect-timeout 1m
	wait_until has_connections 1
	sleep 0.1
	proxy reset
	proxy pass
	wait_until is_queued "$WAITER"
	before=$(newest)
	cli FLUSHALL >/dev/null
	proxy reset
	wait_until newest_is "$before"
}

newest_is() { [ "$(newest)" = "$1" ]; }

@test "through a restart of the server that keeps its data, the newest keeps the place of all" {
	local old

	start_server --appendonly yes --appendfsync always
	hold -l 10m job
	waits before
	waits old --supersede
	old=$WAITER
	waits behind
	stop "$old"
	STOPPED=$old
	waits new --supersede
	stop_server
	start_server --appendonly yes --appendfsync always
	kill -CONT "$old"
	ends_with 75 "$old"
	waits newer --supersede
	wait_until grep -q 'superseded by' said.new
	wait_until in_queue job 3
	kill "$HOLDER"
	ran before newer behind
}

@test "the newest waiter goes on when the server goes back to a copy of its data from before it came" {
	start_server
	"$FAIRLOCK" wrap --supersede job true
	hold -l 10m job
	cli SAVE >/dev/null
	waits new --supersede
	stop_server
	start_server
	wait_until is_queued "$WAITER"
	kill "$HOLDER"
	ends_with 0 "$WAITER"
	ran new
}

@test "after a restart without data one waiter with --supersede is left at most" {
	start_server
	hold -l 10m job
	waits old --supersede
	stop "$WAITER"
	STOPPED=$WAITER
	waits new --supersede
	stop_server
	start_server
	kill -CONT "$STOPPED"
	wait_until grep -q 'superseded by' said.old said.new
	wait_until in_queue job 1
	waits newer --supersede
	wait_until in_queue job 1
	kill "$HOLDER"
	ran newer
}

@test "after a restart without data the newer waiter is left, also if the older one is back first" {
	local old

	start_server
	hold -l 10m job
	waits old --supersede
	old=$WAITER
	stop "$old"
	waits new --supersede
	stop "$WAITER"
	STOPPED="$old $WAITER"
	stop_server
	start_server
	kill -CONT "$old"
	wait_until is_queued "$old"
	kill -CONT "$WAITER"
	ends_with 75 "$old"
	grep -q 'superseded by' said.old
	wait_until is_queued "$WAITER"
	kill "$HOLDER"
	ran new
}

@test "while waiters supersede each other at any moment, a release hands the lock on at once, to one of them at most" {
	local i j gaps

	start_server
	for ((i = 1; i <= 20; i++)); do
		hold -l 10m job
		for ((j = 1; j <= 6; j++)); do
			asks "$i.$j" --supersede
			[ $((RANDOM % 3)) = 0 ] || sleep "0.0$((RANDOM % 4))"
			[ $((RANDOM % 6)) != 0 ] || kill "$HOLDER" 2>/dev/null || true
		done
		wait_until is_short
		kill "$HOLDER" 2>/dev/null || true
		wait_until is_free job
		wait_until in_queue job 0
	done
	# a grant after a wait comes in the script of the release before it, or of the newcomer that took over the turn
	gaps=$("$FAIRLOCK" log --raw --noheadings -o EVENT,TIME,WAITED_MS job | awk '
		$1 == "released" { last = $2 }
		$1 == "granted" && $3 > 100 { print $2, last }' |
		while read -r granted released; do
			echo $(($(date -d "$granted" +%s%3N) - $(date -d "$released" +%s%3N)))
		done | sort -n | tail -n 1)
	assert [ "${gaps:-0}" -lt 1000 ]
	assert_equal "$(cat said.* | grep -c 'superseded by')" "$(cat said.* | wc -l)"
	assert_equal $(($(wc -l <order) + $(cat said.* | wc -l))) 120
}

# Servers that are away, or cannot serve for a while, with a holder, its waiters and a newcomer: what each of them does, and with
# which status it ends.
load ../lib/helpers
load ../lib/jobs

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# When a test fails, this prints what its wraps have said.
teardown() { [ -n "$BATS_TEST_COMPLETED" ] || grep -s . trace ./*.said; }

# wait_as PLACE WAITER [OPTION...]: WAITER queues for `long` at PLACE, from 1; $! is its process id
wait_as() {
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap "${@:3}" long sh -c 'echo "$0 $FAIRLOCK_TOKEN" >>trace' "$2" 2>"$2.said"
	wait_until in_queue long "$1"
}

# use_long_lock: LONG holds `long`, with a lease that outlives the fault. Behind it wait `first`, TIMED, whose --wait ends during the
# fault, and `second`.
use_long_lock() {
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap -l 12s -k 300ms long sh -c '
		echo "holder $FAIRLOCK_TOKEN" >>trace
		while [ ! -e go ]; do sleep 0.05; done' 2>long.said
	LONG=$!
	wait_until test -s trace
	TOKEN=$(cut -d' ' -f2 trace)
	wait_as 1 first
	wait_as 2 timed -vw 4s
	TIMED=$!
	wait_as 3 second
	QUEUE="$(queued_id long 0) $(queued_id long 2)"
}

# none_gets_it WORDS: a newcomer and the waiter whose --wait has ended get status 69, with WORDS in their messages
none_gets_it() {
	run -69 timeout 20 "$FAIRLOCK" wrap --connect-timeout 500ms long true
	[ "${#lines[@]}" = 1 ]
	assert_output --regexp '^fairlock: cannot .*: .*'
	assert_output --partial "$1"
	ends_with 69 "$TIMED"
	grep -qF "$1" timed.said
}

# The waiters ask at once, as if it were their turn. By themselves they would ask after 10.5 s.
tell_all_to_ask() {
	local id

	for id in $(cli --raw ZRANGE 'fairlock_queue:{long}' 0 -1); do
		cli PUBLISH "redisson_lock__channel:{long}:$id" 0 >/dev/null
	done
}

# The holder of `long` ends well, and the waiters have their turns in the old order.
long_goes_on() {
	wait_until all_back
	wait_until "$FAIRLOCK" status -q long
	long_ends_well
	wait_until in_queue long 0
	wait_until lines_in trace 3
	[ "$(cut -d' ' -f1 trace | tr '\n' ' ')" = 'holder first second ' ]
	[ "$(cut -d' ' -f2 trace)" = "$(cut -d' ' -f2 trace | sort -nu)" ]
}

@test "connection refused: newcomers and timed waits get 69, and a lease that outlives it and its waiters go on" {
	start_server --appendonly yes
	use_long_lock
	stop_server
	none_gets_it 'Connection refused'
	start_server --appendonly yes
	long_goes_on
}

@test "READONLY: a short lease ends, newcomers and timed waits get 69, and a lease that outlives it and its waiters go on" {
	local short

	start_server
	use_long_lock
	background "$FAIRLOCK" wrap -l 2500ms -k 200ms short sleep 600 2>short.said
	short=$!
	wait_until "$FAIRLOCK" status -q short
	cli REPLICAOF 127.0.0.1 1 >/dev/null
	none_gets_it 'it is a replica, which takes no writes; see fairlock doctor'
	ends_with 76 "$short"
	cli REPLICAOF NO ONE >/dev/null
	long_goes_on
}

connections() { cli CLIENT LIST TYPE pubsub | sed -n 's/^id=\([0-9]*\) .*/\1/p' | sort; }

# A server out of memory refuses new data, but not new times to live.
@test "OOM: a holder goes on, a waiter keeps its place, and a newcomer is refused" {
	start_server
	use_long_lock
	connections >before
	cli CONFIG SET maxmemory 1 >/dev/null
	tell_all_to_ask
	none_gets_it 'its memory is full (maxmemory); see fairlock doctor'
	# No waiter has connected again to ask: it would be absent when its turn comes.
	[ -z "$(connections | comm -13 before -)" ]
	cli CONFIG SET maxmemory 0 >/dev/null
	long_goes_on
}

@test "BUSY: a waiter that becomes the first meanwhile keeps its connection, and so its turn" {
	start_server --lua-time-limit 100
	hold L
	for i in 1 2; do
		background "$FAIRLOCK" wrap L true
		wait_until in_queue L "$i"
	done
	connections >before
	# told while the script runs, it wants to subscribe to another channel
	cli EVAL 'redis.call("PUBLISH", KEYS[1], "first 1")
		local from = redis.call("TIME")[1]
		repeat until redis.call("TIME")[1] - from > 1' \
		1 "redisson_lock__channel:{L}:$(cli --raw ZRANGE fairlock_queue:{L} 1 1)" >/dev/null
	wait_until heard_by_both
	assert_equal "$(connections)" "$(cat before)"
	kill "$HOLDER"
}

heard_by_both() { [ "$(cli PUBSUB NUMSUB 'redisson_lock__channel:{L}' | tail -n 1)" = 2 ]; }

@test "CLIENT KILL and SCRIPT FLUSH: a holder goes on, and waiters come back to their places and send the scripts again" {
	start_server
	use_long_lock
	kill -KILL "$TIMED"
	for _ in 1 2 3; do
		cli CLIENT KILL TYPE pubsub SKIPME yes >/dev/null
		cli CLIENT KILL TYPE normal SKIPME yes >/dev/null
	done
	wait_until all_back
	for _ in 1 2 3; do
		cli SCRIPT FLUSH >/dev/null
		tell_all_to_ask
		sleep 0.5
	done
	long_goes_on
}

@test "restarted with its data: the holder keeps the lock, the waiters their order, and tokens grow" {
	start_server --appendonly yes
	restart_under_a_queue --appendonly yes
}

taken() { [ "$(cli EXISTS "$1")" = 1 ]; }

@test "restarted without it: the holder keeps the lock, the waiters their order, and tokens grow" {
	start_server
	restart_under_a_queue
}

restart_under_a_queue() {
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap job sh -c 'echo "0 $FAIRLOCK_TOKEN" >>trace; while [ ! -e go ]; do sleep 0.05; done; echo end >>trace'
	local holder=$! i
	wait_until test -s trace
	for i in 1 2 3 4 5; do
		# shellcheck disable=SC2016
		background "$FAIRLOCK" wrap job sh -c 'echo "$0 $FAIRLOCK_TOKEN" >>trace' "$i"
		wait_until in_queue job "$i"
	done
	stop_server
	start_server "$@"
	wait_until in_queue job 5
	wait_until taken job
	touch go
	status_of "$holder"
	[ "$STATUS" = 0 ]
	wait_until in_queue job 0
	wait_until lines_in trace 7
	[ "$(cut -d' ' -f1 trace | tr '\n' ' ')" = '0 end 1 2 3 4 5 ' ]
	grep -v end trace | cut -d' ' -f2 | sort -nuc
}

# Redisson and fairlock in one queue: their places and scores, and the waiters that die.

load interop

# ---- Places ----

@test "fairlock waiters keep their order under a holder that works longer than Redisson's waiting time" {
	local short_s=2 # so long Redisson's waiters wait; old versions know 5 s only

	[[ $REDISSON != 3.* ]] || short_s=5
	start_java anna 30000 $([ $short_s = 5 ] || echo ${short_s}000)
	ask anna a.0 lock job
	shell_waits job 1
	java_waits anna a.1 run job trace r 0
	shell_waits job 2
	sleep $((short_s + 1))
	ask anna a.0 unlock job
	wait_until lines_in trace 3
	run -0 grep -v r trace
	assert_output "$(printf '%s\n' 1 2)"
	[ "$(head -n 1 trace)" = 1 ]
}

@test "a tryLock or tryLockAsync that times out costs no fairlock waiter its place" {
	start_java anna
	hold job
	shell_waits job 1
	is_answered false anna a.1 tryLock job 300
	tell anna a.2 tryLockAsync job 5000
	tell anna a.3 tryLockAsync job 5000
	wait_until in_queue job 3
	shell_waits job 2
	wait_until answered anna a.2 tryLockAsync false
	wait_until answered anna a.3 tryLockAsync false
	wait_until in_queue job 2
	kill -TERM "$HOLDER"
	trace_is 1 2
}

# The grant to a tryLock takes so much from the score of the marker behind it that the next client of Redisson's drops that,
# and queues. The next sign of life of the fairlock waiters puts them before it.
@test "a grant to a tryLock with a wait of an hour leaves the fairlock waiters behind it in their places" {
	start_java anna
	start_java ben
	hold job
	java_waits anna a.1 tryLock job 3600000
	shell_waits job 2
	shell_waits job 3
	kill -TERM "$HOLDER"
	wait_until answered anna a.1 tryLock true
	java_waits ben b.1 run job trace 4 0
	in_queue job 3
	WAIT_S=15 wait_until has_marker_first
	ask anna a.1 unlock job
	trace_is 2 3 4
}

has_marker_first() {
	[[ $(cli --raw LINDEX 'redisson_lock_queue:{job}' 0) == fairlock:* ]]
}

# ---- Waiters that die ----

@test "each dead Redisson waiter costs the fairlock waiter behind it about 5 s" {
	local took start i
	start_java anna
	start_java ben
	hold job
	for i in 1 2 3; do
		java_waits anna "a.$i" run job trace "dead$i" 0
	done
	shell_waits job shell
	java_waits ben b.1 run job trace redisson 0
	kill_java anna
	start=$(ms)
	kill -TERM "$HOLDER"
	granted_after shell "$start"
	[ "$took" -gt 3000 ]
	[ "$took" -lt 25000 ]
	# the Redisson waiter behind it profits
	trace_is shell redisson
	wait_until gone job
}

@test "fairlock does not take living Redisson waiters for dead while they queue" {
	local i
	start_java anna
	hold job
	for i in 1 2 3 4 5 6 7 8; do
		java_waits anna "a.$i" run job trace "$i" 0
		shell_waits job "s$i"
	done
	sleep 7
	kill -TERM "$HOLDER"
	trace_is 1 s1 2 s2 3 s3 4 s4 5 s5 6 s6 7 s7 8 s8
}

@test "a Redisson waiter gets the lock when the dead fairlock waiters ahead are passed over, and asks seldom until then" {
	local before calls
	start_java anna
	hold job
	shell_waits job dead1
	local dead=("$WAITER")
	shell_waits job dead2
	dead+=("$WAITER")
	java_waits anna a.1 run job trace redisson 0
	shell_waits job shell
	kill -KILL "${dead[@]}"
	wait_until nobody_listens_as "${dead[@]}"
	cli CONFIG RESETSTAT >/dev/null
	kill -TERM "$HOLDER"
	trace_is redisson shell
	calls=$(script_calls)
	echo "$calls scripts"
	[ "$calls" -lt 100 ]
}

# script_calls: prints how many scripts the server has run since CONFIG RESETSTAT
script_calls() {
	cli INFO commandstats | tr -d '\r' | sed -n 's/^cmdstat_eval[^:]*:calls=\([0-9]*\),.*/\1/p' |
		awk '{ sum += $1 } END { print sum + 0 }'
}

# nobody_listens_as PID...: succeeds if the server has seen these waiters disconnect
nobody_listens_as() {
	local pid

	for pid; do
		[ -z "$(cli --raw PUBSUB CHANNELS "redisson_lock__channel:{job}:*:$pid")" ] || return 1
	done
}

@test "a Redisson waiter alone behind a dead fairlock waiter gets the lock when that one's score is over, and asks seldom until then" {
	local start calls took score
	start_java anna
	ask anna a.0 lock job
	shell_waits job dead
	java_waits anna a.1 run job trace redisson 0
	kill -KILL "$WAITER"
	wait_until nobody_listens_as "$WAITER"
	score=$(cli --raw ZRANGE 'redisson_lock_timeout:{job}' 0 0 WITHSCORES | tail -n 1)
	cli CONFIG RESETSTAT >/dev/null
	start=$(ms)
	ask anna a.0 unlock job
	wait_until lines_in trace 1
	took=$(($(ms) - start))
	calls=$(script_calls)
	echo "after $took ms, with $calls scripts; its score had $((score - start)) ms left"
	[ "$calls" -lt 200 ]
}

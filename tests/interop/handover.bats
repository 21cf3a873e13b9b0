#!/usr/bin/env bats
# How the lock passes from Redisson to fairlock and back, and what each sees of the other.

load ../lib/helpers
load interop

# ---- Redisson holds ----

@test "Redisson's unlock wakes a fairlock waiter within 100 ms" {
	start_java anna
	one_takes_less_than 100 redisson_to_shell lock unlock
}

# one_takes_less_than MS COMMAND...: fails unless one of eight runs of COMMAND, which sets `took`,
# takes less than MS. A busy machine may be slow at times, but not in each run, or it is slow with a
# free lock, too. No run may take seconds, as it would without a message.
one_takes_less_than() {
	local round pace

	for round in 1 2 3 4 5 6 7 8; do
		pace=$(time_of_a_free_lock)
		"${@:2}"
		echo "round $round: after $took ms, a free lock takes $pace ms"
		[ "$took" -lt 5000 ]
		[ "$took" -ge $(($1 + 3 * pace)) ] || return 0
	done
	return 1
}

# time_of_a_free_lock: prints how many ms a wrap takes that does not wait
time_of_a_free_lock() {
	local start

	start=$(ms)
	"$FAIRLOCK" wrap other date >/dev/null
	echo $(($(ms) - start))
}

# redisson_to_shell LOCK UNLOCK: sets `took` to the ms from Redisson's UNLOCK to the grant to a
# fairlock waiter
redisson_to_shell() {
	local start

	rm -f granted.shell
	ask anna a.1 "$1" job
	shell_waits job
	start=$(ms)
	tell anna a.1 "$2" job
	granted_after shell "$start"
	wait_until ended "$WAITER"
}

@test "a fairlock waiter gets the lock when Redisson's lease ends" {
	local start took
	start_java anna
	start=$(ms)
	ask anna a.1 lock job 4000
	shell_waits job
	granted_after shell "$start"
	[ "$took" -ge 3990 ]
	[ "$took" -lt 8000 ]
}

@test "a fairlock waiter gets the lock when the lease ends that Redisson took at its turn" {
	local took
	start_java anna
	hold job
	java_waits anna a.1 tryLockNote job trace redisson 60000 1000
	shell_waits job
	end_hold_for shell
	[ "$took" -ge 980 ]
	[ "$took" -lt 4000 ]
	trace_is redisson shell
}

@test "a fairlock waiter gets the lock when the watchdog's lease of a dead JVM ends" {
	local start took left
	start_java anna 5000
	ask anna a.1 lock job
	shell_waits job
	kill_java anna
	left=$(cli PTTL job)
	start=$(ms)
	granted_after shell "$start"
	echo "$left ms of the lease were left"
	[ "$took" -lt $((left + 3000)) ]
}

@test "Redisson's forceUnlock wakes a fairlock waiter" {
	local start took
	start_java anna
	start_java ben
	ask anna a.1 lock job
	shell_waits job
	start=$(ms)
	ask ben b.1 forceUnlock job
	[ "$answer" = true ]
	granted_after shell "$start"
	[ "$took" -lt 5000 ]
}

# ---- fairlock holds ----

@test "the end of a wrap wakes a Redisson waiter within 100 ms" {
	start_java anna
	one_takes_less_than 100 shell_to_redisson
	gone job
}

# shell_to_redisson: sets `took` to the ms from the end of a wrap to the grant to a Redisson waiter
shell_to_redisson() {
	local start answers

	rm -f trace
	answers=$(answers anna a.1 run)
	hold job
	java_waits anna a.1 run job trace redisson 0
	start=$(ms)
	kill -TERM "$HOLDER"
	wait_until traced 1
	took=$(($(ms) - start))
	wait_until more_answers "$answers" anna a.1 run
}

@test "release wakes a Redisson waiter" {
	local owner
	start_java anna
	owner=$("$FAIRLOCK" acquire job)
	java_waits anna a.1 run job trace redisson 0
	"$FAIRLOCK" release --owner "$owner" job
	trace_is redisson
}

@test "a Redisson waiter gets the lock when a fairlock lease ends" {
	start_java anna
	"$FAIRLOCK" acquire -l 5s job
	java_waits anna a.1 run job trace redisson 0
	gets_it_at_the_end_of_the_lease
}

@test "a Redisson waiter gets the lock when the lease of a dead wrap ends" {
	local guard
	start_java anna
	hold -l 5s job
	guard=$(pgrep -P "$HOLDER")
	java_waits anna a.1 run job trace redisson 0
	kill_at_once "$guard" "$HOLDER"
	gets_it_at_the_end_of_the_lease
}

# Old versions of Redisson sleep past the end of a lease, even of Redisson's own, because no message
# comes then. The next client that asks for the lock wakes them, and queues behind them.
gets_it_at_the_end_of_the_lease() {
	wait_until is_free job
	if [[ $REDISSON != 3.* ]]; then
		WAIT_S=10 trace_is redisson
		return
	fi
	shell_comes job
	WAIT_S=10 trace_is redisson shell
}

@test "release --force wakes a Redisson waiter" {
	start_java anna
	hold job
	java_waits anna a.1 run job trace redisson 0
	"$FAIRLOCK" release --force job
	trace_is redisson
	wait_until ended "$HOLDER"
}

@test "Redisson's forceUnlock makes wrap stop COMMAND and end with 76" {
	start_java anna
	background "$FAIRLOCK" wrap -l 3s job sleep 600
	wait_until "$FAIRLOCK" status -q job
	ask anna a.1 forceUnlock job
	ends_with 76 $!
	is_free job
}

# ---- Owners and leases ----

@test "Redisson cannot unlock a lock that fairlock holds, nor fairlock one that Redisson holds" {
	start_java anna
	hold job
	ask anna a.1 unlock job
	[[ $answer == *IllegalMonitorState* ]]
	ask anna a.1 isLocked job
	[ "$answer" = true ]
	ask anna a.1 isHeld job
	[ "$answer" = false ]
	ask anna a.1 lock other
	run -76 "$FAIRLOCK" release --owner 12345678-1234-1234-1234-123456789abc:1 other
	ask anna a.1 isHeld other
	[ "$answer" = true ]
}

@test "Redisson's hold count is right when it locks twice with a fairlock waiter behind it" {
	start_java anna
	ask anna a.1 lock job
	shell_waits job
	ask anna a.1 lock job
	ask anna a.1 getHoldCount job
	[ "$answer" = 2 ]
	ask anna a.1 unlock job
	[ ! -e trace ]
	ask anna a.1 unlock job
	trace_is shell
}

@test "a waiting fairlock leaves the lease of a Redisson holder as Redisson's watchdog sets it" {
	local lowest=9000 left i
	start_java anna 9000
	ask anna a.1 lock job
	shell_waits job
	for i in 1 2; do
		wait_until is_renewed
		echo "from $lowest to $left ms"
		[ "$left" -le 9000 ]
		lowest=$left
	done
	ask anna a.1 unlock job
	trace_is shell
}

# is_renewed: succeeds if Redisson's watchdog has raised the lease, of which `left` ms are left
is_renewed() {
	left=$(cli PTTL job)
	[ "$left" -le "$lowest" ] || return 0
	lowest=$left
	return 1
}

# ---- Plain locks ----

@test "Redisson's plain lock excludes fairlock, and wakes its first waiter at once when it unlocks" {
	start_java anna
	ask anna a.1 plainLock job
	run -75 "$FAIRLOCK" wrap -n job true
	ask anna a.1 plainUnlock job
	one_takes_less_than 100 redisson_to_shell plainLock plainUnlock
}

@test "fairlock excludes Redisson's plain lock" {
	start_java anna
	hold job
	ask anna a.1 isLocked job
	[ "$answer" = true ]
	tell anna a.2 plainLock job
	wait_until listens_to 'redisson_lock__channel:{job}'
	run -1 grep 'plainLock ok' anna.out
	kill -TERM "$HOLDER"
	wait_until answered anna a.2 plainLock ok
}

# ---- Names ----

@test "Redisson and fairlock take a name with braces for the same lock" {
	local name
	start_java anna
	for name in 'shop:{42}' '{x}y' 'a:b' 'Grüße'; do
		ask anna a.1 lock "$name"
		run -75 "$FAIRLOCK" wrap -n "$name" true
		ask anna a.1 unlock "$name"
		run -0 "$FAIRLOCK" wrap -n "$name" true
	done
}

# ---- status and queue ----

@test "status and queue show Redisson's holders and waiters as such" {
	start_java anna
	ask anna a.1 lock job
	java_waits anna a.2 lock job
	shell_waits job
	run -0 "$FAIRLOCK" status --json job
	run -0 jq -r '.locks[0] | .state, .client, .holds, .waiters, .command, .token' <<<"$output"
	assert_output "$(printf '%s\n' held redisson 1 2 null null)"
	run -0 "$FAIRLOCK" queue --json job
	run -0 jq -r '.queue[] | .position, .client, .present, (.pid | type)' <<<"$output"
	assert_output "$(printf '%s\n' 1 redisson true null 2 fairlock true number)"
}

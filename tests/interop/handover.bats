# How the lock passes from Redisson to fairlock and back, and what each sees of the other.

load interop

# ---- Redisson holds ----

@test "Redisson's unlock wakes a fairlock waiter" {
	start_java anna
	redisson_to_shell lock unlock
}

# redisson_to_shell LOCK UNLOCK: Redisson's UNLOCK wakes a fairlock waiter, long before that would ask by itself
redisson_to_shell() {
	local start took

	ask anna a.1 "$1" job
	shell_waits job
	start=$(ms)
	tell anna a.1 "$2" job
	granted_after shell "$start"
	[ "$took" -lt 5000 ]
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
	[ "$took" -gt $((left - 100)) ]
	[ "$took" -lt $((left + 3000)) ]
}

@test "Redisson's forceUnlock wakes a fairlock waiter" {
	local start took
	start_java anna
	start_java ben
	ask anna a.1 lock job
	shell_waits job
	start=$(ms)
	is_answered true ben b.1 forceUnlock job
	granted_after shell "$start"
	[ "$took" -lt 5000 ]
}

# ---- fairlock holds ----

@test "the end of a wrap wakes a Redisson waiter" {
	start_java anna
	hold job
	java_waits anna a.1 run job trace redisson 0
	kill -TERM "$HOLDER"
	WAIT_S=5 trace_is redisson
	wait_until gone job
}

@test "a Redisson waiter gets the lock when the lease of a dead wrap ends" {
	local guard
	start_java anna
	hold -l 5s job
	guard=$(pgrep -P "$HOLDER")
	java_waits anna a.1 run job trace redisson 0
	kill_at_once "$guard" "$HOLDER"
	wait_until is_free job
	# Old versions of Redisson sleep past the end of a lease, even of Redisson's own, because no message
	# comes then. The next client that asks for the lock wakes them, and queues behind them.
	if [[ $REDISSON != 3.* ]]; then
		WAIT_S=10 trace_is redisson
		return
	fi
	shell_comes job
	WAIT_S=10 trace_is redisson shell
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
	is_answered true anna a.1 isLocked job
	is_answered false anna a.1 isHeld job
	ask anna a.1 lock other
	run -76 "$FAIRLOCK" release --owner 12345678-1234-1234-1234-123456789abc:1 other
	is_answered true anna a.1 isHeld other
}

# ---- Plain locks ----

@test "Redisson's plain lock excludes fairlock, and wakes its first waiter when it unlocks" {
	start_java anna
	ask anna a.1 plainLock job
	run -75 "$FAIRLOCK" wrap -n job true
	ask anna a.1 plainUnlock job
	redisson_to_shell plainLock plainUnlock
}

@test "fairlock excludes Redisson's plain lock" {
	start_java anna
	hold job
	is_answered true anna a.1 isLocked job
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

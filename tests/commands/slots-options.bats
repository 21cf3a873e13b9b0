#!/usr/bin/env bats
# The options of wrap and acquire beside --slots and --shared.

load ../lib/helpers
load ../lib/one_server
load ../lib/holders

# ---- Not obtained ----

@test "-n ends with 75 at once when no slot is free, and leaves no trace" {
	join_holders --slots 2 job
	join_holders --slots 2 job
	cli DEL 'fairlock_log:{job}' >/dev/null
	run -75 "$FAIRLOCK" wrap -n --slots 2 job touch ran
	run -75 "$FAIRLOCK" acquire -n --slots 2 job
	run -75 "$FAIRLOCK" wrap -n --shared job touch ran
	[ ! -e ran ]
	assert_equal "$(cli EXISTS 'redisson_lock_queue:{job}' 'redisson_lock_timeout:{job}' 'fairlock_log:{job}')" 0
	run -0 "$FAIRLOCK" wrap -n --slots other job true
}

# ---- --once-per ----

@test "of ten hosts with --once-per and a slot for each, one runs" {
	local i wrappers=()

	for i in {1..10}; do
		background "$FAIRLOCK" wrap --once-per 1h --slots 10 job sh -c 'echo ran >>ran; sleep 0.2' 2>>said
		wrappers+=($!)
	done
	for i in "${wrappers[@]}"; do
		wait "$i" || true
	done
	assert_equal "$(wc -l <ran)" 1
	nothing_left
}

# ---- --min-hold, --max-hold, --jitter, --lease ----

@test "--min-hold keeps its slot, not those of the others, and not the shared hold of the others" {
	# shellcheck disable=SC2016
	local print='echo "$FAIRLOCK_SLOT"'

	run -0 "$FAIRLOCK" wrap --min-hold 1h --slots 2 job -c "$print"
	assert_output 1
	run -0 "$FAIRLOCK" wrap --slots 2 job -c "$print"
	assert_output 2
	run -75 "$FAIRLOCK" wrap -n --slots 1 job true
	consistent
	run -0 "$FAIRLOCK" wrap --min-hold 1h --shared other true
	run -0 "$FAIRLOCK" wrap -n --shared other true
	run -75 "$FAIRLOCK" wrap -n other true
	run -0 "$FAIRLOCK" release -q --force other
	run -0 "$FAIRLOCK" wrap -n other true
}

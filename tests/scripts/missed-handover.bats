#!/usr/bin/env bats
# Missed handovers: a waiter that hangs costs a bounded time, and has its old place afterwards.

load ../lib/helpers
load ../lib/scripts
load ../lib/handover

@test "a waiter that hangs when it is handed the lock costs one turn and then has its old place" {
	acquire anna
	queue_for_handover ben carl
	release anna
	handed ben 5000
	later 5001
	ask carl handed=1
	answered granted carl
	assert_equal "$(log_lines | grep -o 'event=[a-z]*' | paste -sd ' ')" \
		'event=granted event=released event=granted event=expired event=granted'
	queue_up dora
	ask ben handed=1
	answered queued "${ticket[ben]}"
	queue_is ben dora
}

@test "a silent first waiter has one second, and is passed over with the other silent ones" {
	acquire anna lease=60000
	queue_for_handover ben carl
	queue_for_handover dora
	later 14000
	ask dora handed=1
	later 2000
	release anna
	later 1001
	ask dora handed=1
	answered granted dora
}

# hang_waiters COUNT: the lock was handed to the first of COUNT hung waiters; zoe waits behind them
hang_waiters() {
	acquire anna
	queue_for_handover h1 h2 h3 h4 h5
	for id in h1 h2 h3 h4 h5; do
		[ "${id#h}" -le "$1" ] || leave "$id"
	done
	queue_for_handover zoe
	release anna
	handed h1 5000
}

@test "two hung waiters cost 10 s if the waiter behind them asks after the first missed its turn" {
	hang_waiters 2
	later 7000
	ask zoe handed=1
	answered queued
	assert_equal "${reply[2]}" 3000
	later 3000
	ask zoe handed=1
	answered granted zoe
}

@test "three hung waiters cost 15 s" {
	hang_waiters 3
	later 7000
	ask zoe handed=1
	answered queued
	assert_equal "${reply[2]}" 3000
	later 3000
	ask zoe handed=1
	answered queued
	assert_equal "$(owner) ${reply[3]}" 'h3 1'
	assert_equal "$(cli PTTL job)" 5000
	later 5001
	ask zoe handed=1
	answered granted zoe
}

@test "four hung waiters cost 16 s, since the fourth is silent by then and has one second" {
	hang_waiters 4
	later 7000
	ask zoe handed=1
	assert_equal "${reply[2]}" 3000
	later 3000
	ask zoe handed=1
	answered queued
	assert_equal "$(owner)" h3
	# The turn of h4 begins in 5 s. Its last sign of life was 10 s ago.
	assert_equal "${reply[2]}" 6001
	later 6001
	ask zoe handed=1
	answered granted zoe
}

@test "one silent waiter costs one second" {
	acquire anna lease=60000
	queue_for_handover ben
	queue_for_handover zoe
	later 15000
	ask zoe handed=1
	release anna
	ask zoe handed=1
	answered queued
	later 1001
	ask zoe handed=1
	answered granted zoe
}

@test "acquire passes over no living waiter behind a hung one, however late the hang is noticed" {
	hang_waiters 2
	later 9000
	ask h2 handed=1
	answered granted h2
}

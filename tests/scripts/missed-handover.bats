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

@test "a silent first waiter is told its turn, and is dropped with the other silent ones" {
	acquire anna lease=60000
	queue_for_handover ben carl
	queue_for_handover dora
	later 14000
	ask dora handed=1
	later 2000
	release anna
	told ben 0
	assert_equal "$(cli EXISTS job)" 0
	later 5000
	ask dora handed=1
	answered granted dora
}

@test "a waiter that had not heard its ticket and missed a handover has its old place when it comes back" {
	acquire anna
	queue_for_handover ben
	release anna
	later 5001
	acquire carl
	answered granted
	queue_up dora
	come_back ben old_ticket= handed=1
	answered queued
	queue_is ben dora
}

@test "on a server out of memory a waiter that missed a handover has its old place when it comes back" {
	acquire anna
	queue_for_handover ben
	release anna
	later 5001
	cli CONFIG SET maxmemory 1 >/dev/null
	acquire carl
	cli CONFIG SET maxmemory 0 >/dev/null
	answered granted
	queue_up dora
	come_back ben old_ticket= handed=1
	queue_is ben dora
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
	left 3000 "${reply[2]}"
	later 3000
	ask zoe handed=1
	answered granted zoe
}

@test "two hung waiters cost 10 s if the waiter behind them asks before the first misses its turn" {
	hang_waiters 2
	later 3000
	ask zoe handed=1
	answered queued
	left 7001 "${reply[2]}"
	later 7001
	ask zoe handed=1
	answered granted zoe
}

@test "two hung waiters cost 10.5 s if the waiter behind them asks only then, at its next sign of life" {
	hang_waiters 2
	later 10500
	ask zoe handed=1
	answered granted zoe
}

@test "three hung waiters cost 15 s" {
	hang_waiters 3
	later 7000
	ask zoe handed=1
	answered queued
	left 3000 "${reply[2]}"
	later 3000
	ask zoe handed=1
	answered queued
	assert_equal "$(owner) ${reply[3]}" 'h3 1'
	left 5000 "$(cli PTTL job)"
	later 5001
	ask zoe handed=1
	answered granted zoe
}

@test "three hung waiters cost 15 s also if the waiter behind them asks only at its next sign of life" {
	hang_waiters 3
	later 10500
	ask zoe handed=1
	answered queued
	assert_equal "$(owner)" h3
	left 4500 "$(cli PTTL job)"
	later 4501
	ask zoe handed=1
	answered granted zoe
}

@test "four hung waiters cost 16 s, since the fourth is silent by then and has one second" {
	hang_waiters 4
	later 7000
	ask zoe handed=1
	left 3000 "${reply[2]}"
	later 3000
	ask zoe handed=1
	answered queued
	assert_equal "$(owner)" h3
	# The turn of h4 begins in 5 s. Its last sign of life was 10 s ago.
	left 6001 "${reply[2]}"
	later 6001
	ask zoe handed=1
	answered granted zoe
}

@test "a silent waiter that is told its turn has one second to take it" {
	acquire anna lease=60000
	queue_for_handover ben
	queue_for_handover zoe
	later 15000
	ask zoe handed=1
	release anna
	told ben 0
	ask zoe handed=1
	left 1000 "${reply[2]}"
	later 1000
	ask zoe handed=1
	answered granted zoe
}

@test "a waiter that could not ask for a long time has one second to take its turn" {
	hang_waiters 3
	later 60000
	change w:h3 "seen=$(now_ms)" # as if it had just asked
	ask zoe handed=1
	answered queued
	handed h3 1000
}

@test "acquire passes over waiters that were silent for long together with one that missed a handover" {
	acquire anna lease=60000
	queue_for_handover h1 h2 h3
	queue_for_handover zoe
	later 12000
	ask h1 handed=1
	ask zoe handed=1
	release anna
	handed h1 5000
	later 5001
	ask zoe handed=1
	answered granted zoe
}

@test "acquire passes over no living waiter behind a hung one, however late the hang is noticed" {
	hang_waiters 2
	later 9000
	ask h2 handed=1
	answered granted h2
}

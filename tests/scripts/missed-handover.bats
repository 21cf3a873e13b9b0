#!/usr/bin/env bats
# Missed handovers: a waiter that hangs costs a bounded time, and has its old place afterwards.

load ../lib/helpers
load ../lib/scripts

@test "a waiter that hangs when it is handed the lock costs one turn and then has its old place" {
	acquire anna
	queue_for_handover ben carl
	release anna
	handed ben 5000
	later 5001
	ask carl handed=1 is='granted carl'
	assert_equal "$(log_lines | grep -o 'event=[a-z]*' | paste -sd ' ')" \
		'event=granted event=released event=granted event=expired event=granted'
	queue_up dora
	ask ben handed=1 is="queued ${ticket[ben]}"
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
	ask dora handed=1 is='granted dora'
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

# costs MS: so long zoe waits, who first asks 7 s after the release, and then when it is told to
costs() {
	local waited=7000

	later 7000
	ask zoe handed=1
	while [ "${reply[0]}" = queued ]; do
		later "${reply[2]}"
		waited=$((waited + reply[2]))
		ask zoe handed=1
	done
	answered granted zoe
	between 7000 "$waited" "$1"
}

@test "one silent waiter costs one second" {
	acquire anna lease=60000
	queue_for_handover ben
	queue_for_handover zoe
	later 15000
	ask zoe handed=1
	release anna
	ask zoe handed=1 is=queued
	later 1001
	ask zoe handed=1 is='granted zoe'
}

@test "acquire passes over no living waiter behind a hung one, however late the hang is noticed" {
	hang_waiters 2
	later 9000
	ask h2 handed=1 is='granted h2'
}

@test "two hung waiters cost 12 s, three 17 s, and more hardly more, since the last ones are silent by then" {
	local row

	for row in '2 12001' '3 17002' '5 18003'; do
		hang_waiters "${row% *}"
		costs "${row#* }"
		teardown
	done
}

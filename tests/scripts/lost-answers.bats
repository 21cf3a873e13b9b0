#!/usr/bin/env bats
# Waiters whose first answer was lost: the server keeps the tickets that they do not know.

load ../lib/helpers
load ../lib/scripts

@test "a waiter whose first answer was lost and that was dropped comes back to its place" {
	local before

	acquire zed
	acquire anna
	before=${ticket[anna]}
	queue_up ben cleo
	queue_is ben cleo
	present anna
	acquire anna again=1 strays=1
	answered queued "$before"
	queue_is anna ben cleo
	assert_equal "$(column w:anna state)" new
	come_back anna strays=2
	answered queued "$before"
	assert_equal "$(column w:anna state)" waits
	all_well
}

@test "a waiter whose first answer was lost and that was passed over as second comes back to its place" {
	acquire anna
	queue_up ben
	acquire cleo
	queue_up dora
	release anna
	queue_is ben dora
	present cleo
	acquire cleo again=1 strays=1
	queue_is ben cleo dora
}

@test "a waiter whose first answer was lost and that missed its turn comes back to its place" {
	acquire zed
	queue_up anna ben
	release zed
	later 5001
	ask ben
	answered granted
	queue_up cleo
	acquire anna again=1 strays=1
	queue_is anna cleo
}

@test "a waiter whose first answer was lost and that Redisson dropped comes back to its place" {
	redisson_takes r1
	queue_up anna ben
	cli ZADD "$(key_timeouts)" 1 anna >/dev/null
	redisson_sweeps
	queue_is ben
	absent anna
	queue_up cleo
	queue_is ben cleo
	present anna
	acquire anna again=1 strays=1
	queue_is anna ben cleo
}

@test "the server keeps no ticket of a dropped waiter that knows it or has left" {
	acquire zed
	acquire anna
	ask anna
	acquire ben
	queue_up cleo
	queue_is cleo
	assert_equal "$(field w:anna)" ''
	assert_equal "$(column w:ben state) $(column w:ben ticket)" "dropped ${ticket[ben]}"
	leave ben
	assert_equal "$(field w:ben)" ''
	ask anna
	queue_is anna cleo
}

# dora comes back over one more connection.
returns() {
	come_back dora strays=$((++strays_of_dora))
}

@test "our hash does not grow with the tickets that it keeps while the queue is never empty" {
	acquire zed
	queue_up anna
	for ((i = 1; i <= 100; i++)); do
		script_line acquire "w$i" "w$i" w 30000 wait '' 0 '' ''
		script_line acquire "v$i" "v$i" w 30000 wait '' 0 '' ''
		script_line leave "v$i" "v$i" 0
	done | cli >/dev/null
	release zed
	ask anna
	acquire ben
	between 100 "$(cli HLEN "$(key_state)")" 140
	later 600001
	release anna
	acquire cleo again=1 strays=1
	answered granted
	queue_up dora
	release cleo
	queue_is dora
	shrinks_to 45 returns
}

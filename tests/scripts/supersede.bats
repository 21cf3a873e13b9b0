#!/usr/bin/env bats
# acquire with `newest`, which is wrap --supersede: of the waiters that ask so, only the newest goes on waiting.

load ../lib/helpers
load ../lib/scripts

@test "a new one takes over the place and the ticket of the one before" {
	acquire anna
	queue_up ben
	asks_newest cleo
	queue_up dora
	asks_newest ed is="queued ${ticket[cleo]}"
	queue_is ben ed dora
	all_well
}

@test "the one before is told, and answered who superseded it, and who holds the lock" {
	acquire anna
	asks_newest cleo
	asks_newest ed
	told cleo 0
	asks_again cleo is='superseded by ed anna by anna'
	is_superseded cleo again=1
	queue_is ed
}

@test "superseding is logged once, with both processes and how long the earlier one waited" {
	acquire anna
	asks_newest cleo
	later 7000
	asks_newest ed
	is_superseded cleo
	leave cleo
	run superseded_events
	assert_output --regexp '^cleo by cleo 7000 by ed$'
}

@test "a new one is granted the free lock in place of the one whose turn it was, at once" {
	acquire anna
	asks_newest cleo
	queue_up dora
	release anna
	asks_newest ed is='granted ed'
	queue_is dora
	is_superseded cleo
	assert_equal "$(owner)" ed
}

@test "a holder is not superseded, whether it was granted or handed the lock" {
	acquire anna
	asks_newest cleo handed=5ec
	queue_up dora
	release anna
	assert_equal "$(owner)" cleo # the message is under way
	asks_newest ed
	queue_is dora ed
	asks_again cleo is='granted cleo'
	asks_again cleo again=1 is='granted cleo'
	asks_again ed is=queued
	assert_equal "$(superseded_events)" ''
}

@test "--max-queue does not count one whose place is taken over" {
	acquire anna
	asks_newest cleo
	asks_newest ed limit=1 is=queued
	present fay
	acquire fay limit=1 is='full 1'
	asks_newest gus limit=0 is=queued
	queue_is gus
}

@test "one that does not wait supersedes nobody: because of --once-per, --max-queue or mode try" {
	acquire anna
	asks_newest cleo
	acquire ed newest=0 period=60000 is=ran
	acquire ed newest=0 mode=try is=busy
	leave cleo
	queue_up ben
	acquire ed newest=0 limit=1 is=full
	queue_is ben
}

@test "each process has waited since it came, however old its place is" {
	acquire anna
	asks_newest cleo
	later 20000
	asks_newest ed
	later 3000
	script queue
	assert_equal "${reply[1]}" 3000
	script status
	assert_equal "${reply[10]}" 3000
	release anna
	asks_again ed is='granted ed'
	assert_equal "${reply[4]}" 3000
}

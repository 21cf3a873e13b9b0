#!/usr/bin/env bats
# Scores and times to live in a queue that Redisson uses too, and waiters that Redisson drops.

load ../lib/helpers
load ../lib/scripts

score() {
	cli ZSCORE "$(key_timeouts)" "$1"
}

@test "grants and sweeps of the Redisson waiters ahead drop no waiter of ours" {
	redisson_takes r0
	redisson_waits r1
	queue_up ben
	redisson_waits r2
	queue_up cleo
	redisson_unlocks
	redisson_takes r1
	redisson_unlocks
	redisson_sweeps 5000
	queue_is ben r2 cleo
	ask ben is='granted ben'
}

# queue_expires: list and sorted set have a time to live
queue_expires() {
	between 30000 "$(cli PTTL "$(key_queue)")" 1000000
	between 30000 "$(cli PTTL "$(key_timeouts)")" 1000000
	between 30000 "$(cli PTTL "$(key_ours)")" 1000000
}

@test "the keys of a queue of ours expire" {
	acquire anna
	queue_up ben cleo
	queue_expires
}

@test "the keys of a queue with a Redisson waiter do not expire" {
	acquire anna
	queue_up ben
	redisson_waits r1
	present r1
	queue_up cleo
	assert_equal "$(cli PTTL "$(key_queue)") $(cli PTTL "$(key_timeouts)")" '-1 -1'
}

@test "our waiter that Redisson's unlock dropped is put back before our next one is granted" {
	redisson_takes r1
	queue_up anna ben
	redisson_drops anna
	redisson_unlocks
	ask ben is=queued
	queue_is anna ben
	is_told anna 0
	ask anna is=granted
	queue_is ben
	all_well
}

@test "no script lowers the score of a Redisson waiter" {
	acquire anna
	queue_up ben
	redisson_waits r1 3000000
	redisson_waits r2 4000000
	present r1 r2
	first=$(score r1) second=$(score r2)
	queue_up cleo
	release anna
	ask ben is='granted ben'
	ask cleo
	renew ben
	release ben
	leave cleo
	assert_equal "$(score r1) $(score r2)" "$first $second"
}

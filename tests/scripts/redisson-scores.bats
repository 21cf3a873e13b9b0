#!/usr/bin/env bats
# Scores and times to live in a queue that Redisson uses too, and waiters that Redisson drops.

load ../lib/helpers
load ../lib/scripts

score() {
	cli ZSCORE "$(key_timeouts)" "$1"
}

@test "our waiter's score is 30 s and what the Redisson waiters ahead may subtract" {
	acquire anna
	queue_up ben
	left 30000 "$(ahead ben)"
	redisson_waits r1
	queue_up cleo
	left 330000 "$(ahead cleo)"
	redisson_waits r2
	queue_up dora
	left 630000 "$(ahead dora)"
	ask ben
	left 30000 "$(ahead ben)"
	ask cleo
	left 330000 "$(ahead cleo)"
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
	ask ben
	answered granted ben
}

@test "scores stay bounded however often our waiters ask" {
	redisson_takes r0
	cli PEXPIRE job 3600000
	redisson_waits r1
	present r1
	queue_up ben cleo
	for i in 1 2 3 4 5 6 7 8; do
		later 11000
		ask ben
		ask cleo
	done
	between 0 "$(ahead ben)" 330000
	between 0 "$(ahead cleo)" 330000
	between 0 "$(ahead r1)" 300000
}

@test "our waiter that Redisson dropped comes back before our next waiter" {
	acquire anna
	queue_up ben
	redisson_waits r1
	queue_up cleo
	redisson_waits r2
	present r1 r2
	redisson_sweeps 60000
	assert_equal "$(waiting)" 'r1 cleo r2'
	ask ben
	answered queued "${ticket[ben]}"
	queue_is r1 ben cleo r2
}

@test "our waiter that Redisson dropped comes back behind Redisson's waiters if no other of ours waits" {
	acquire anna
	queue_up ben
	redisson_waits r1
	present r1
	redisson_sweeps 60000
	ask ben
	queue_is r1 ben
	left 330000 "$(ahead ben)"
}

@test "the keys of a queue of ours expire 10 minutes after the largest score" {
	acquire anna
	queue_up ben cleo
	left 630000 "$(cli PTTL "$(key_queue)")"
	left 630000 "$(cli PTTL "$(key_timeouts)")"
}

@test "the keys of a queue with a Redisson waiter do not expire" {
	acquire anna
	queue_up ben
	redisson_waits r1
	present r1
	queue_up cleo
	assert_equal "$(cli PTTL "$(key_queue)") $(cli PTTL "$(key_timeouts)")" '-1 -1'
}

@test "the keys of a queue expire again when its last Redisson waiter is removed" {
	acquire anna
	queue_up ben
	redisson_waits r1
	queue_up cleo
	remove r1
	between 600000 "$(cli PTTL "$(key_queue)")" 930000
	between 600000 "$(cli PTTL "$(key_timeouts)")" 930000
}

@test "the keys of a queue do not expire if Redisson dropped our waiter before one of its own came" {
	acquire anna
	queue_up_dead ben
	redisson_sweeps 60000
	queue_is
	redisson_waits r1
	present r1
	renew anna
	assert_equal "$(cli PTTL "$(key_queue)") $(cli PTTL "$(key_timeouts)")" '-1 -1'
}

@test "our waiter's score counts the Redisson waiters ahead also after Redisson dropped one of ours" {
	acquire anna
	queue_up_dead ben
	redisson_sweeps 60000
	redisson_waits r1
	present r1
	queue_up cleo
	left 330000 "$(ahead cleo)"
	assert_equal "$(cli PTTL "$(key_queue)")" -1
}

@test "our hash does not grow while many Redisson waiters come and go" {
	redisson_takes r0
	present w0 w1
	acquire w0
	for ((i = 1; i <= 30; i++)); do
		redisson_waits "r$i"
		acquire w$((i % 2))
		redisson_unlocks
		ask w$(((i + 1) % 2))
		answered granted
		release w$(((i + 1) % 2))
		redisson_takes "r$i" >/dev/null
		assert_equal "$(owner)" "r$i"
	done
	between 1 "$(cli HLEN "$(key_state)")" 40
}

@test "our waiter that Redisson's unlock dropped is put back before our next one is granted" {
	redisson_takes r1
	queue_up anna ben
	redisson_drops anna
	redisson_unlocks
	told ben 0
	ask ben
	answered queued
	queue_is anna ben
	told anna 0
	ask anna
	answered granted
	queue_is ben
	all_well
}

@test "our release tells its turn to a waiter that Redisson dropped" {
	acquire zed
	queue_up anna ben
	redisson_drops anna
	release zed
	told anna 0
	queue_is anna ben
}

@test "no request passes over our only waiter after Redisson dropped it" {
	redisson_takes r1
	queue_up anna
	redisson_drops anna
	redisson_unlocks
	acquire ben mode=try
	answered busy ""
	queue_is anna
	[ "$(cli PTTL "$(key_queue)")" -gt 0 ]
	redisson_drops anna
	queue_up ben
	queue_is anna ben
	told anna 0
}

@test "a dead waiter of ours goes with Redisson's sweep after its score, or with our next request" {
	redisson_takes r1
	redisson_waits r2
	present r2
	queue_up anna
	absent anna
	redisson_unlocks
	redisson_takes r2
	later 30001
	redisson_sweeps
	queue_is

	redisson_waits r3
	present r3
	queue_up ben
	absent ben
	redisson_unlocks
	redisson_takes r3
	redisson_unlocks
	queue_is ben
	acquire cleo
	answered granted
	queue_is
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
	ask ben
	answered granted ben
	ask cleo
	renew ben
	release ben
	leave cleo
	assert_equal "$(score r1) $(score r2)" "$first $second"
}

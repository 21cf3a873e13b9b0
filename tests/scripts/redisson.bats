#!/usr/bin/env bats
# Turns of Redisson's waiters: how long one has, when it counts as dead, and who wakes the next one.

load ../lib/helpers
load ../lib/scripts

# ahead ID: how many ms its score is ahead of now
ahead() { echo $(($(cli ZSCORE "$(key_timeouts)" "$1") - $(now_ms))); }

# What Redisson's clients see while fairlock's hold the lock.

@test "a present Redisson waiter that misses its turn of 5 s is passed over and told once more" {
	turn_of_present_redisson
	told r1 0
	later 5000
	ask ben is='granted ben'
	queue_is
	told r1 0,0
}

@test "a Redisson waiter that was absent at the head for 5 s is dropped from list and sorted set" {
	turn_of_absent_redisson
	later 5000
	ask ben is='granted ben'
	queue_is
}

@test "release drops a Redisson head at once if a renewal saw it absent 6 s before" {
	acquire anna
	redisson_waits r1
	queue_up ben
	later 6000
	renew anna
	release anna
	queue_is ben
	told ben 'first 30000,0'
}

@test "the 5 s of an absent Redisson head begin when a script first sees it absent" {
	acquire anna
	redisson_waits r1
	queue_up ben
	later 1000
	release anna
	told ben 'second 1000'
	later 1000
	ask ben
	assert_equal "${reply[2]}" 3000
	later 3000
	ask ben is='granted ben'
}

@test "a Redisson head whose score has passed is dropped, as Redisson itself would do" {
	acquire anna lease=3600000
	redisson_waits r1
	present r1
	queue_up ben
	later 290000
	ask ben
	queue_is r1 ben
	later 10000
	ask ben
	queue_is ben
}

@test "an absent waiter of ours behind Redisson's keeps its place when those before Redisson's are passed over" {
	acquire anna
	queue_up ben
	redisson_waits r1
	present r1
	queue_up cleo
	absent ben cleo
	release anna
	queue_is r1 cleo
}

@test "a Redisson waiter that becomes head by a grant has 300 s at least" {
	acquire anna
	queue_up ben
	redisson_waits r1 10000
	release anna
	ask ben is='granted ben'
	[ "$(ahead r1)" -ge 300000 ]
	queue_is r1
}

@test "our first waiter behind Redisson's asks when the lease ends, because nobody tells Redisson's" {
	acquire anna lease=10000
	redisson_waits r1
	redisson_waits r2
	present r1 r2
	queue_up ben cleo
	ask ben
	assert_equal "${reply[2]}" 10001
	ask cleo
	assert_equal "${reply[2]}" 10500
	release anna
	acquire zoe lease=7000 is=queued
	redisson_takes r1
	ask ben
	assert_equal "${reply[2]}" 10500
}

@test "a grant tells our first waiter behind Redisson's when to ask" {
	acquire anna
	queue_up ben
	redisson_waits r1
	present r1
	queue_up cleo dora
	release anna
	ask ben lease=6000 is='granted ben'
	assert_equal "$(heard cleo | grep second | paste -sd ,)" 'second 5000,second 6001'
	assert_equal "$(heard dora | grep second)" ''
}

# Queues in which only Redisson's wait

minute=60000

@test "the holder's renewals find a Redisson head dead, and its release wakes the waiter behind it" {
	acquire anna
	redisson_asks dead $((5 * minute)) queued
	redisson_asks r2 $((5 * minute)) queued
	present r2
	renew anna
	queue_is dead r2
	later 5000
	renew anna
	queue_is r2
	release anna
	told r2 0
	redisson_asks r2 $((5 * minute)) granted
}

@test "a Redisson waiter at the head is told when a lease is cut down to what its record allows" {
	acquire anna lease=5000
	cli PEXPIRE job 86400000 >/dev/null
	redisson_waits r1
	present r1
	acquire ben mode=try
	told r1 0
	assert_equal "$(cli PTTL job)" 5000
}

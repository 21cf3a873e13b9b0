#!/usr/bin/env bats
# The acquire script when the caller is not to wait: mode try, and a limit of waiters.

load ../lib/helpers
load ../lib/scripts

# Not waiting

@test "acquire with mode try changes nothing if the lock is busy" {
	acquire anna
	before=$(digest)
	acquire ben mode=try
	assert_equal "$(digest)" "$before"
}

@test "acquire with mode try creates no key for a lock that Redisson holds" {
	redisson_takes r1
	acquire ben mode=try is='busy r1'
	assert_equal "$(cli KEYS '*')" job
}

@test "acquire with mode try finds a free lock busy if a waiter is queued for it" {
	acquire anna
	queue_up ben
	release anna
	acquire cleo mode=try
	assert_equal "${reply[*]}" 'busy   -1  0 -1 0'
	queue_is ben
}

# A limit

@test "acquire answers full if as many waiters as the limit are present" {
	acquire anna
	queue_up ben cleo
	acquire dora limit=2 is='full 2'
	queue_is ben cleo
}

@test "the limit does not count waiters that are absent" {
	acquire anna
	queue_up ben
	queue_up_dead cleo dora emil
	acquire fred limit=2 is=queued
}

@test "the limit turns away no waiter that is queued already" {
	acquire anna
	queue_up ben cleo
	acquire cleo again=1 limit=1 is="queued ${ticket[cleo]}"
	ask ben limit=0 is="queued ${ticket[ben]}"
}

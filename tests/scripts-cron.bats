#!/usr/bin/env bats
# What the scripts do for --min-hold and --once-per.

load helpers
load scripts

# The least time

@test "the last hold given back before its least time leaves the lock held for the rest" {
	acquire anna lease=5000
	later 2000
	release anna min=50000
	answered kept
	left 48000 "${reply[1]}"
	left 48000 "$(cli PTTL job)"
	assert_equal "$(owner) $(holds)" 'anna 1'
	all_well
}

@test "the rest may be shorter than the lease" {
	acquire anna lease=60000
	release anna min=10000
	left 10000 "$(cli PTTL job)"
}

@test "given back after its least time, the lock is free at once" {
	acquire anna
	later 10000
	release anna min=9000
	answered released 0
	assert_equal "$(cli EXISTS job)" 0
}

@test "what was not used is given back at once" {
	acquire anna
	release anna mode=unused min=50000
	answered released 0
	assert_equal "$(cli EXISTS job)" 0
}

@test "kept: the first waiter is told when it ends, and has the lock then" {
	acquire anna lease=60000
	queue_up ben cleo
	release anna min=10000
	[[ $(heard ben) =~ ^first\ ([0-9]+)$ ]]
	left 10000 "${BASH_REMATCH[1]}"
	told cleo ''
	later 10001
	wait_until gone
	ask ben
	answered granted ben
	all_well
}

gone() { [ "$(cli EXISTS job)" = 0 ]; }

@test "kept: somebody who asks meanwhile queues or is busy, until it ends" {
	acquire anna
	release anna min=10000
	acquire ben mode=try
	answered busy anna
	present ben
	acquire ben
	answered queued
	assert_equal "${reply[3]}" 1
	left 10001 "${reply[2]}"
}

@test "kept: the release that is repeated gives the same answer, also when the time is over" {
	acquire anna
	release anna min=10000
	release anna min=10000 again=1
	answered kept
	left 10000 "${reply[1]}"
	later 10001
	wait_until gone
	release anna min=10000 again=1
	answered released 0
	assert_equal "$(log_lines | grep -c released)" 1
}

@test "kept: nobody renews it, or goes in again" {
	acquire anna
	release anna min=10000
	renew anna lease=60000
	answered released
	renew anna request='' holder_token='' lease=60000
	answered released
	acquire daemon mode=try inherited=anna
	answered busy anna
	acquire anna again=1 # a late copy
	answered removed
	left 10000 "$(cli PTTL job)"
	assert_equal "$(holds)" 1
}

@test "kept: its end is logged as a release, at that time" {
	local granted

	acquire anna
	granted=${token[anna]}
	release anna min=10000
	later 10001
	wait_until gone
	acquire ben
	answered granted
	assert_equal "$(log_lines | grep -o 'event=[a-z]*' | paste -sd ' ')" 'event=granted event=released event=granted'
	assert_equal "$(log_lines | sed -n 's/^event=released.*|held=//p')" 10000
	[ "${token[ben]}" -gt "$granted" ]
}

@test "kept: there is nothing to give back" {
	acquire anna
	release anna min=10000
	release anna request=other mode=any
	answered not held anna
	left 10000 "$(cli PTTL job)"
}

@test "kept: where one of Redisson's is first, the first of ours sees to it that it is woken" {
	acquire anna lease=60000
	redisson_waits R1
	present R1
	queue_up ben
	release anna min=10000
	[[ $(heard ben) =~ ^second\ ([0-9]+)$ ]]
	left 10001 "${BASH_REMATCH[1]}"
	told R1 ''
	later 10001
	wait_until gone
	ask ben
	answered queued
	told R1 0
}

@test "kept: force frees it" {
	acquire anna
	queue_up ben
	release anna min=10000
	release dora mode=force
	answered forced anna
	ask ben
	answered granted ben
}

@test "an inner hold's least time is kept when the outer one ends, and does not shorten its lease" {
	acquire anna lease=30000
	acquire inner inherited=anna
	release anna request=inner min=10000
	answered released 1
	left 30000 "$(cli PTTL job)"
	release anna
	answered kept
	left 10000 "${reply[1]}"
}

@test "an outer hold's least time lasts when an inner one outlives it" {
	acquire anna lease=5000
	acquire inner inherited=anna kind=a lease=5000
	release anna min=20000
	answered released 1
	left 20000 "$(cli PTTL job)"
	release anna request=other mode=any
	answered kept
	left 20000 "$(cli PTTL job)"
}

@test "a least time says nothing about the next grant" {
	acquire anna
	release anna min=10000
	later 10001
	wait_until gone
	acquire ben
	release ben
	answered released 0
}

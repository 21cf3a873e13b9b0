#!/usr/bin/env bats
# --min-hold: a lock that is given back stays held for the rest of its least time.

load ../lib/helpers
load ../lib/scripts

@test "the last release before the least time keeps the lock held for the rest of it" {
	acquire anna lease=5000
	later 2000
	release anna min=50000 is='kept 48000'
	assert_equal "$(cli PTTL job)" 48000
	assert_equal "$(owner) $(holds)" 'anna 1'
	all_well
}

@test "a clock that was set back makes the least time begin anew, and no longer" {
	acquire anna
	later -100000
	release anna min=10000 is='kept 10000'
	assert_equal "$(cli PTTL job)" 10000
}

@test "the first waiter for a kept lock is told when the least time ends, and gets the lock then" {
	acquire anna lease=60000
	queue_up ben cleo
	release anna min=10000
	told ben 'first 10000'
	told cleo ''
	later 10001
	assert_equal "$(cli EXISTS job)" 0
	ask ben is='granted ben'
	all_well
}

@test "a repeated release of a kept lock gets the same answer, also after the least time" {
	acquire anna
	release anna min=10000
	release anna min=10000 again=1 is='kept 10000'
	later 10001
	assert_equal "$(cli EXISTS job)" 0
	release anna min=10000 again=1 is='released 0'
	assert_equal "$(log_lines | grep -c released)" 1
}

@test "a kept lock cannot be renewed, and its owner cannot go in again" {
	acquire anna
	release anna min=10000
	renew anna lease=60000 is=released
	renew anna kind='' holder_token='' lease=60000 is=released
	acquire daemon mode=try inherited=anna is='busy anna'
	acquire anna again=1 # a late copy
	answered removed
	assert_equal "$(cli PTTL job)" 10000
	assert_equal "$(holds)" 1
}

@test "the end of a least time is logged as a release at that time" {
	local granted

	acquire anna
	granted=${token[anna]}
	release anna min=10000
	later 10001
	assert_equal "$(cli EXISTS job)" 0
	acquire ben is=granted
	assert_equal "$(log_lines | grep -o 'event=[a-z]*' | paste -sd ' ')" 'event=granted event=released event=granted'
	assert_equal "$(log_lines | sed -n 's/^event=released.*|held=\([0-9]*\).*/\1/p')" 10000
	[ "${token[ben]}" -gt "$granted" ]
}

@test "the least time of an inner hold outlasts the outer hold, and does not shorten its lease" {
	acquire anna lease=30000
	acquire inner inherited=anna
	release anna request=inner min=10000 is='released 1'
	assert_equal "$(cli PTTL job)" 30000
	release anna is='kept 10000'
}

#!/usr/bin/env bats
# The release script: it gives a hold back and wakes the next waiter. (Mode force: see force.bats.)

load ../lib/helpers
load ../lib/scripts

# Giving back

@test "release of an inner hold keeps the outer one and its lease" {
	acquire anna lease=60000
	acquire inner inherited=anna
	release anna request=inner is='released 1'
	assert_equal "$(owner) $(holds)" 'anna 1'
	assert_equal "$(cli PTTL job)" 60000
}

@test "a repeated release gets the same answer and is logged once" {
	acquire anna
	release anna
	release anna again=1 is='released 0'
	assert_equal "$(log_lines | grep -c released)" 1
}

# ended: prints "status=...|cause=..." of each release in the log
ended() {
	log_lines | sed -n 's/^event=released.*|status/status/p' | paste -sd ' '
}

@test "a release is logged with how COMMAND ended, as its request says" {
	acquire anna
	release anna status=137 cause=KILL
	assert_equal "$(ended)" 'status=137|cause=KILL'
	acquire ben
	release ben mode=unused status=127 cause=exit
	assert_equal "$(ended)" 'status=137|cause=KILL status=127|cause=exit'
}

@test "release refuses an id that is not the owner" {
	acquire anna 'by=host 7 root make'
	before=$(digest job)
	release ben is='not held anna host 7 root make'
	assert_equal "$(digest job)" "$before"
}

@test "the release command never gives back a hold of wrap" {
	acquire anna kind=w
	release anna mode=any request=command is='not acquired'
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "inside a wrap the release command gives back the hold of an acquire, once" {
	acquire anna kind=w
	acquire inner inherited=anna kind=a
	release anna mode=any request=first is='released 1'
	release anna mode=any request=second is='not acquired'
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "a repeated release command gives back one of two holds" {
	acquire anna kind=w
	acquire one inherited=anna kind=a
	acquire two inherited=anna kind=a
	release anna mode=any request=command
	release anna mode=any request=command again=1 is='released 2'
	assert_equal "$(holds)" 2
}

@test "release tells the keeper whose hold the release command gave back" {
	acquire anna kind=a
	present anna
	release anna mode=any request=command
	told anna 0
}

# Waking

@test "release tells the first waiter its turn, and the second to look after it" {
	acquire anna
	queue_up ben cleo dora
	release anna
	told ben 0
	told cleo 'second 5000'
	told dora ''
}

@test "release of an inner hold tells no waiter" {
	acquire anna
	acquire inner inherited=anna
	queue_up ben
	release anna request=inner
	told ben ''
}

@test "on a server out of memory each of several holds is given back, also with a --min-hold" {
	acquire anna
	acquire inner inherited=anna
	acquire short inherited=anna
	cli CONFIG SET maxmemory 1 >/dev/null
	release anna request=inner is='released 2'
	release anna request=short min=60000 is='released 1'
	release anna
	cli CONFIG SET maxmemory 0 >/dev/null
	assert_equal "${reply[0]}" kept
}

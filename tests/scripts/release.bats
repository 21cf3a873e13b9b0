#!/usr/bin/env bats
# The release script: it gives a hold back and wakes the next waiter. (Mode force: see force.bats.)

load ../lib/helpers
load ../lib/scripts

# Giving back

@test "release of the last hold frees the lock" {
	acquire anna
	release anna
	answered released 0
	assert_equal "$(cli EXISTS job)" 0
}

@test "release of an inner hold keeps the outer one and its lease" {
	acquire anna lease=60000
	acquire inner inherited=anna
	release anna request=inner
	answered released 1
	assert_equal "$(owner) $(holds)" 'anna 1'
	assert_equal "$(cli PTTL job)" 60000
}

@test "a repeated release gets the same answer and is logged once" {
	acquire anna
	release anna
	release anna again=1
	answered released 0
	assert_equal "$(log_lines | grep -c released)" 1
}

@test "a repeated release of an inner hold gives back one hold only" {
	acquire anna
	acquire inner inherited=anna
	release anna request=inner
	release anna request=inner again=1
	answered released 1
	assert_equal "$(owner) $(holds)" 'anna 1'
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

@test "a release refused in favour of the next holder does not give its status to another's end" {
	acquire anna lease=1000
	later 2000
	release anna status=3 cause=exit
	answered not held
	assert_equal "$(log_lines | sed -n 's/^event=expired.*|status/status/p')" 'status=|cause='
}

@test "the last of several holds gives its status to the log" {
	acquire anna
	acquire inner inherited=anna
	release anna request=inner status=4 cause=exit
	assert_equal "$(ended)" ''
	release anna status=5 cause=exit
	assert_equal "$(ended)" 'status=5|cause=exit'
}

@test "release refuses an id that is not the owner" {
	acquire anna 'by=host 7 root make'
	before=$(digest job)
	release ben
	answered not held anna host 7 root make
	assert_equal "$(digest job)" "$before"
}

@test "release refuses a free lock and creates no key" {
	release ben
	answered not held
	assert_equal "$(cli KEYS '*')" ''
}

@test "a repeated release is refused if the owner's lease has ended before the first copy" {
	acquire anna lease=1000
	later 2000
	acquire ben
	release anna again=1
	answered not held ben
}

@test "the release command never gives back a hold of wrap" {
	acquire anna kind=w
	release anna mode=any request=command
	answered not acquired
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "inside a wrap the release command gives back the hold of an acquire, once" {
	acquire anna kind=w
	acquire inner inherited=anna kind=a
	release anna mode=any request=first
	answered released 1
	release anna mode=any request=second
	answered not acquired
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "a repeated release command gives back one of two holds" {
	acquire anna kind=w
	acquire one inherited=anna kind=a
	acquire two inherited=anna kind=a
	release anna mode=any request=command
	release anna mode=any request=command again=1
	answered released 2
	assert_equal "$(holds)" 2
}

@test "a repeated release command gets the same answer after the lock has passed on" {
	acquire anna kind=a
	release anna mode=any request=command
	acquire ben
	release anna mode=any request=command again=1
	answered released 0
	assert_equal "$(owner)" ben
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

@test "release tells a Redisson waiter its turn in Redisson's word" {
	acquire anna
	redisson_waits r1
	present r1
	release anna
	told r1 0
}

@test "release tells our first waiter behind a Redisson waiter to look in 1 s" {
	turn_of_present_redisson
	told r1 0
	told ben 'second 1000'
	later 1000
	ask ben
	assert_equal "${reply[2]}" 4000
}

@test "a grant tells our next waiter that it is first, and when the lease ends" {
	acquire anna
	queue_up ben cleo dora
	release anna
	ask ben lease=20000
	answered granted ben
	told cleo 'second 5000,first 20000'
	told dora ''
}

@test "a process whose hold in a Redisson lock the release command gave back gives back no other one" {
	redisson_takes rex
	acquire inner inherited=rex kind=a
	release rex mode=any request=command
	answered released 1
	release rex request=inner
	answered 'not held' rex
	assert_equal "$(owner) $(holds)" 'rex 1'
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
	release anna request=inner
	answered released 2
	release anna request=short min=60000
	answered released 1
	release anna
	cli CONFIG SET maxmemory 0 >/dev/null
	assert_equal "${reply[0]}" kept
}

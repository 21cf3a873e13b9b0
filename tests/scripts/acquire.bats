#!/usr/bin/env bats
# The acquire script: it grants the lock, lets the holder in again, or says why not.

load ../lib/helpers
load ../lib/scripts

@test "acquire grants a free lock with a token, a time to live, no wait and one hold" {
	before=$(now_ms)
	acquire anna lease=20000
	answered granted anna
	assert_equal "${reply[2]}" "$before"
	assert_equal "${reply[3]}" 20000
	assert_equal "${reply[*]:4}" '0 1 x'
	assert_equal "$(owner)" anna
}

@test "the lock key expires with the lease" {
	acquire anna lease=20000
	assert_equal "$(cli PTTL job)" 20000
}

@test "acquire answers a repeated request with the same grant and counts one hold" {
	acquire anna
	first=${token[anna]}
	later 1000
	acquire anna again=1
	answered granted anna "$first"
	assert_equal "$(holds)" 1
	assert_equal "$(log_lines | wc -l)" 1
}

changes() { cli INFO persistence | tr -d '\r' | sed -n 's/^rdb_changes_since_last_save://p'; }

# From version 7.2 on, WAIT looks only at what its own connection wrote. If that is nothing, it also
# counts replicas that lack what an earlier connection wrote.

@test "a repeated grant and a repeated renewal still write something, so that WAIT counts from there" {
	acquire anna
	for again in acquire renew acquire renew; do
		before=$(changes)
		"$again" anna
		[ "$(changes)" -gt "$before" ]
	done
}

@test "acquire answers a repeated request with the time that is left of the first lease" {
	acquire anna lease=30000
	later 10000
	acquire anna again=1 lease=5000
	assert_equal "${reply[3]}" 20000
}

@test "a held lock has two more keys, our hash and our log, and no others" {
	acquire anna
	assert_equal "$(cli KEYS '*' | sort | paste -sd ' ')" 'fairlock:{job} fairlock_log:{job} job'
}

@test "acquire puts no braces around a name that has some" {
	lock='a{b}c'
	acquire anna
	answered granted anna
	assert_equal "$(cli KEYS '*' | sort | paste -sd ' ')" 'a{b}c fairlock:a{b}c fairlock_log:a{b}c'
}

# Going in again

@test "acquire lets a request in again that inherited the holder's id, as that owner and with its token" {
	acquire anna
	acquire inner inherited=anna
	answered granted anna "${token[anna]}"
	assert_equal "${reply[5]}" 2
	assert_equal "$(holds)" 2
}

@test "a repeated request that goes in again counts one hold" {
	acquire anna
	acquire inner inherited=anna
	acquire inner inherited=anna again=1
	answered granted anna "${token[anna]}"
	assert_equal "${reply[5]} $(holds)" '2 2'
}

@test "an inherited owner that holds the lock goes in past the waiters" {
	acquire anna
	queue_up ben
	acquire inner inherited=anna
	answered granted anna
	queue_is ben
}

@test "a request whose inherited owner holds nothing waits for a held lock" {
	acquire anna
	acquire daemon inherited=old
	answered queued
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "going in again with a shorter lease leaves the lease as it is" {
	acquire anna lease=60000
	acquire inner inherited=anna lease=1000
	assert_equal "${reply[3]}" 60000
	assert_equal "$(cli PTTL job)" 60000
}

@test "going in again with a longer lease lengthens the lease" {
	acquire anna lease=20000
	acquire inner inherited=anna lease=60000
	assert_equal "${reply[3]}" 60000
	assert_equal "$(cli PTTL job)" 60000
}

@test "a lock into which its holder went again expires, and is logged, at the end of the longer lease" {
	acquire anna lease=20000
	acquire inner inherited=anna lease=60000
	later 70000
	acquire ben
	answered granted ben
	run log_lines
	assert_line --index 1 --regexp '^event=expired\|.*\|owner=anna\|.*\|held=[0-9]+\|status=\|cause=$'
	assert_equal "$(sed "s/.*held=\([0-9]*\).*/\1/" <<<"${lines[1]}")" 60000
}

# Tokens

@test "each grant has a larger token than the one before" {
	for i in 1 2 3 4 5; do
		acquire "run$i"
		release "run$i"
	done
	[ "${token[run1]}" -lt "${token[run2]}" ]
	[ "${token[run2]}" -lt "${token[run3]}" ]
	[ "${token[run3]}" -lt "${token[run4]}" ]
	[ "${token[run4]}" -lt "${token[run5]}" ]
}

@test "a token is one more than the token before if the clock was set back" {
	acquire anna
	release anna
	later -3600000
	acquire ben
	assert_equal "${token[ben]}" $((token[anna] + 1))
}

@test "a token is a number of 13 digits" {
	acquire anna
	[[ ${reply[2]} =~ ^[0-9]{13}$ ]]
}

# Names

@test "acquire refuses a name while its other spelling, without braces, is in use" {
	acquire anna
	before=$(digest)
	lock='{job}' acquire ben
	answered spelled job
	assert_equal "$(digest)" "$before"
}

@test "on a server out of memory nobody goes into a lock that Redisson holds" {
	acquire anna
	release anna
	redisson_takes rex
	cli CONFIG SET maxmemory 1 >/dev/null
	run acquire inner inherited=rex
	cli CONFIG SET maxmemory 0 >/dev/null
	assert_failure
	assert_output --partial OOM
	assert_equal "$(holds)" 1
}

@test "on a server out of memory acquire grants the lock to the first waiter" {
	acquire anna
	queue_up ben carl
	cli DEL "$lock" >/dev/null
	cli CONFIG SET maxmemory 1 >/dev/null
	run acquire ben "old_ticket=${ticket[ben]}"
	cli CONFIG SET maxmemory 0 >/dev/null
	assert_success
	assert_equal "$(owner) $(waiting)" 'ben carl'
}

@test "acquire that refuses tells who holds the lock, and for how long" {
	acquire anna by='the holder'
	acquire ben mode=try
	assert_equal "${reply[*]:0:3}" 'busy anna the holder'
	assert_equal "${reply[3]}" 0
	acquire ben limit=0
	assert_equal "${reply[*]:0:4}" 'full 0 anna the holder'
	assert_equal "${reply[4]}" 0
	acquire ben period=3600000
	assert_equal "${reply[*]:2:2}" 'anna the holder'
	assert_equal "${reply[4]}" 0
	queue_up cleo
	remove cleo
	ask cleo
	assert_equal "${reply[*]:0:3}" 'removed anna the holder'
	assert_equal "${reply[3]}" 0
}

@test "acquire knows no description of a holder of Redisson's" {
	redisson_takes r1
	acquire ben mode=try
	assert_equal "${reply[*]:0:6}" 'busy r1  -1 x 1'
	assert_equal "${reply[6]}" 30000
}

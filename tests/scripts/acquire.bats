#!/usr/bin/env bats
# The acquire script: it grants the lock, lets the holder in again, or says why not.

load ../lib/helpers
load ../lib/scripts

@test "acquire grants a free lock with a token, a time to live, no wait and one hold" {
	before=$(now_ms)
	acquire anna lease=20000 is='granted anna'
	assert_equal "${reply[2]}" "$before"
	assert_equal "${reply[3]}" 20000
	assert_equal "${reply[*]:4}" '0 1 x'
	assert_equal "$(owner) $(cli PTTL job)" 'anna 20000'
}

@test "acquire answers a repeated request with the same grant and counts one hold" {
	acquire anna
	first=${token[anna]}
	later 1000
	acquire anna again=1 lease=5000 is="granted anna $first"
	assert_equal "${reply[3]}" 29000 # what is left of the lease
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

@test "acquire puts no braces around a name that has some" {
	lock='a{b}c'
	acquire anna is='granted anna'
	assert_equal "$(cli KEYS '*' | sort | paste -sd ' ')" 'a{b}c fairlock:a{b}c fairlock_log:a{b}c'
}

# Going in again

@test "acquire lets a request in again that inherited the holder's id, as that owner and with its token" {
	acquire anna
	acquire inner inherited=anna is="granted anna ${token[anna]}"
	assert_equal "${reply[5]}" 2
	assert_equal "$(holds)" 2
}

@test "an inherited owner that holds the lock goes in past the waiters" {
	acquire anna
	queue_up ben
	acquire inner inherited=anna is='granted anna'
	queue_is ben
}

@test "a request whose inherited owner holds nothing waits for a held lock" {
	acquire anna
	acquire daemon inherited=old is=queued
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "going in again with a shorter lease leaves the lease as it is" {
	acquire anna lease=60000
	acquire inner inherited=anna lease=1000
	assert_equal "${reply[3]}" 60000
	assert_equal "$(cli PTTL job)" 60000
}

# Tokens

@test "a token is one more than the token before if the clock was set back" {
	acquire anna
	release anna
	later -3600000
	acquire ben
	assert_equal "${token[ben]}" $((token[anna] + 1))
}

# Names

@test "acquire refuses a name while its other spelling, without braces, is in use" {
	acquire anna
	before=$(digest)
	lock='{job}' acquire ben
	answered spelled job
	assert_equal "$(digest)" "$before"
}

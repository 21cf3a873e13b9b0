#!/usr/bin/env bats
# Our hash carries the version of the protocol: clients of two versions do not share a lock.

load ../lib/helpers
load ../lib/scripts

# Every script that changes something refuses, and changes nothing.
all_refuse() {
	local before

	before=$(digest)
	for call in 'acquire zoe' 'acquire zoe mode=try' 'acquire ben again=1' 'acquire anna' 'renew anna' 'release anna' \
		'release zoe zoe mode=force' 'leave ben' 'remove ben'; do
		$call
		answered version "$1" 2
	done
	assert_equal "$(digest)" "$before"
}

@test "a new hash has the version of the scripts" {
	acquire anna
	assert_equal "$(field v)" 2
}

@test "a lock that an older version holds is left alone" {
	acquire anna
	cli HDEL "$(key_state)" v
	all_refuse 1
}

@test "a lock that older versions wait for is left alone" {
	acquire anna
	queue_up ben
	cli DEL job
	cli HDEL "$(key_state)" v
	all_refuse 1
}

@test "a lock that Redisson holds is left alone as long as our hash is of an older version" {
	acquire anna
	release anna
	cli HDEL "$(key_state)" v
	cli HSET job r1 1
	all_refuse 1
}

@test "a lock of a newer version is left alone, also when nobody uses it" {
	acquire anna
	queue_up ben
	cli HSET "$(key_state)" v 3
	all_refuse 3
	cli DEL job "$(key_queue)" "$(key_timeouts)"
	all_refuse 3
}

@test "the version is raised when nobody uses the lock any more" {
	acquire anna
	release anna
	cli HDEL "$(key_state)" v
	acquire ben
	answered granted ben
	assert_equal "$(field v)" 2
	[ "${token[ben]}" -gt "${token[anna]}" ]
}

@test "the version is raised when a lease of the older version has ended" {
	acquire anna
	cli HDEL "$(key_state)" v
	cli DEL job
	acquire ben
	answered granted ben
	assert_equal "$(field v)" 2
}

@test "a lock that Redisson alone uses has no version: it is no older one" {
	cli HSET job r1 1
	cli PEXPIRE job 30000
	acquire ben
	answered queued
	assert_equal "$(field v)" 2
}

@test "status and queue show a lock of another version" {
	acquire anna
	queue_up ben
	cli HSET "$(key_state)" v 3
	script status
	assert_equal "${reply[0]}" anna
	script queue
	assert_equal "${reply[0]}" ben
}

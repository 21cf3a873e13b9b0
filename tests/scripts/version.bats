#!/usr/bin/env bats
# The version of the protocol in our hash, which keeps clients of two versions from sharing a lock.

load ../lib/helpers
load ../lib/scripts

# all_refuse VERSION: every script that would change something answers VERSION and changes nothing
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

@test "the scripts refuse a lock that an older version holds" {
	acquire anna
	cli HDEL "$(key_state)" v
	all_refuse 1
}

@test "the scripts refuse a lock that an older version waits for" {
	acquire anna
	queue_up ben
	cli DEL job
	cli HDEL "$(key_state)" v
	all_refuse 1
}

@test "the scripts refuse a lock that Redisson holds while our hash is of an older version" {
	acquire anna
	release anna
	cli HDEL "$(key_state)" v
	cli HSET job r1 1
	all_refuse 1
}

@test "the scripts refuse a lock of a newer version, even one that is not in use" {
	acquire anna
	queue_up ben
	cli HSET "$(key_state)" v 3
	all_refuse 3
	cli DEL job "$(key_queue)" "$(key_timeouts)"
	all_refuse 3
}

@test "acquire raises the version of a lock that is not in use" {
	acquire anna
	release anna
	cli HDEL "$(key_state)" v
	acquire ben
	answered granted ben
	assert_equal "$(field v)" 2
	[ "${token[ben]}" -gt "${token[anna]}" ]
}

@test "acquire raises the version of a lock whose lease has ended under the older version" {
	acquire anna
	cli HDEL "$(key_state)" v
	cli DEL job
	acquire ben
	answered granted ben
	assert_equal "$(field v)" 2
}

@test "acquire does not take a lock that only Redisson uses for one of an older version" {
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

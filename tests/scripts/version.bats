#!/usr/bin/env bats
# The version of the protocol in our hash, which keeps clients of two versions from sharing a lock.

load ../lib/helpers
load ../lib/scripts

# all_refuse VERSION: every script that would change something answers VERSION and changes nothing
all_refuse() {
	local before

	before=$(digest)
	for call in 'acquire zoe' 'acquire zoe mode=try' 'acquire ben again=1' 'acquire anna' 'renew anna' 'release anna' \
		'release zoe zoe mode=force' 'release zoe mode=forget' 'release zoe mode=stop' 'leave ben' 'remove ben'; do
		$call
		answered version "$1" 1
	done
	assert_equal "$(digest)" "$before"
}

# of_another_version: all scripts refuse, whether our hash says that it is of another version, or nothing that makes sense
of_another_version() {
	for version in 2 9007199254740991 0; do
		cli HSET "$(key_state)" v $version
		all_refuse $version
	done
	for version in '' x; do
		cli HSET "$(key_state)" v "$version"
		all_refuse 0
	done
	cli HDEL "$(key_state)" v
	all_refuse 0
}

@test "a new hash has the version of the scripts" {
	acquire anna
	assert_equal "$(cli HGET "$(key_state)" v)" 1
}

@test "the scripts refuse a lock of another version that is held" {
	acquire anna
	of_another_version
}

@test "status and queue show a lock of another version" {
	acquire anna
	queue_up ben
	cli HSET "$(key_state)" v 2
	script status
	assert_equal "${reply[0]}" anna
	script queue
	assert_equal "${reply[0]}" ben
}

#!/usr/bin/env bats
# release with mode forget: jobs with --once-per and --once-ok may run again.

load ../lib/helpers
load ../lib/scripts

# forget [WORD=VALUE...]
forget() {
	release '' request=forgetter mode=forget "$@"
}

@test "both kinds of jobs may run again, and the lock is left alone" {
	acquire anna period=60000
	succeed anna
	acquire cleo
	later 1000
	forget
	answered forgot
	assert_equal "${reply[1]}" 1000
	assert_equal "$(owner)" cleo
	release cleo
	acquire ben period=60000
	answered granted
	release ben mode=unused
	acquire ben period=ok60000
	answered granted
}

@test "a COMMAND that runs meanwhile counts when it ends with 0" {
	acquire anna period=ok60000
	forget
	succeed anna
	acquire ben period=ok60000
	answered 'ran ok'
}

@test "our hash stays as long as jobs may ask" {
	acquire anna period=ok604800000
	forget
	assert_equal "$(cli PTTL "$(key_state)")" 604800000
}

@test "there may be nothing to forget, also where the lock is unknown" {
	forget
	answered forgot -1
	all_well
	acquire anna
	release anna mode=unused
	forget request=another
	answered forgot -1
	all_well
}

@test "asked again it gets the same answer and forgets no later run" {
	local before

	acquire anna
	later 5000
	forget
	before=${reply[1]}
	succeed anna
	acquire anna
	forget strays=1
	answered forgot "$before"
	[ -n "$(shown started)" ] && [ -n "$(shown ok)" ]
}

@test "a lock of several holders is left alone" {
	acquire anna want='#2'
	acquire ben want='#2'
	forget
	answered forgot
	assert_equal "$(holders)" 'anna ben'
	agree
	all_well
}

@test "another spelling and another version are refused, and nothing changes" {
	acquire anna
	lock='{job}' forget
	answered spelled job
	cli HSET "$(key_state)" v 4 >/dev/null
	forget
	answered version 4
	[ -n "$(shown started)" ]
}

#!/usr/bin/env bats
# release with mode forget: jobs with --once-per and --once-ok may run again.

load ../lib/helpers
load ../lib/scripts
load ../lib/handover
load ../lib/once_ok

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
	grown 1000 "${reply[1]}"
	assert_equal "$(owner)" cleo
	assert_equal "$(field 'done')" ''
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
	left 604800000 "$(cli PTTL "$(key_state)")"
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

@test "a success without a start is told, too" {
	acquire anna
	succeed anna
	cli HDEL "$(key_state)" started
	forget
	answered forgot
	grown 0 "${reply[1]}"
}

@test "asked again it gets the same answer and forgets no later run; a late copy does nothing" {
	local before

	acquire anna
	later 5000
	forget
	before=${reply[1]}
	succeed anna
	acquire anna
	forget strays=1
	answered forgot "$before"
	[ "$(column started last)" != - ]
	[ -n "$(field 'done')" ]
	forget strays=0
	answered late
	[ -n "$(field 'done')" ]
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
	[ "$(column started last)" != - ]
}

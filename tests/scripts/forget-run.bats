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
	forget is='forgot 1000'
	assert_equal "$(owner)" cleo
	release cleo
	acquire ben period=60000 is=granted
	release ben mode=unused
	acquire ben period=ok60000 is=granted
}

@test "a COMMAND that runs meanwhile counts when it ends with 0" {
	acquire anna period=ok60000
	forget
	succeed anna
	acquire ben period=ok60000 is='ran ok'
}

@test "there may be nothing to forget, also where the lock is unknown" {
	forget is='forgot -1'
	all_well
	acquire anna
	release anna mode=unused
	forget request=another is='forgot -1'
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
	forget strays=1 is="forgot $before"
	[ -n "$(shown started)" ] && [ -n "$(shown ok)" ]
}

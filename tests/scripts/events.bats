#!/usr/bin/env bats
# The events that the scripts log.

load ../lib/helpers
load ../lib/scripts

# event N: the event number N, from 1, as "name=value|..."
event() {
	log_lines | sed -n "$1p"
}

value() {
	sed -e "s/.*|$1=//" -e 's/|.*//'
}

@test "a grant is logged with owner, token, the owner's command and its wait" {
	acquire anna 'by=host 7 root make'
	run event 1
	assert_output "event=granted|time=${token[anna]}|owner=anna|token=${token[anna]}|by=host 7 root make|waited=0|held=|status=|cause="
}

@test "a release is logged with how long the lock was held" {
	acquire anna
	later 3000
	release anna
	run event 2
	assert_output --regexp "^event=released\|time=[0-9]{13}\|owner=anna\|token=${token[anna]}\|by=by anna\|waited=0\|held=[0-9]+\|status=\|cause=$"
	assert_equal "$(value held <<<"$output")" 3000
}

@test "the next script logs the end of a lease with the time at which the lease ended" {
	acquire anna lease=5000
	until=$(($(now_ms) + 5000))
	later 60000
	acquire ben
	run event 2
	assert_output "event=expired|time=$until|owner=anna|token=${token[anna]}|by=by anna|waited=0|held=5000|status=|cause="
	run event 3
	assert_output --partial 'event=granted|'
}

@test "a waiter that leaves is logged with how long it waited" {
	acquire anna
	queue_up ben
	leave ben
	run event 2
	assert_output --regexp '^event=left\|time=[0-9]{13}\|owner=ben\|token=\|by=by ben\|waited=[0-9]+\|held=\|status=\|cause=$'
	assert_equal "$(value waited <<<"$output")" 0
}

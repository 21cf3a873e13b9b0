#!/usr/bin/env bats
# acquire with `newest` when something goes wrong: waiters die, requests, answers and grants are lost, records are damaged. Where the
# server loses data or its clock is set: supersede-losses.

load ../lib/helpers
load ../lib/scripts

@test "a waiter that did not hear its ticket is superseded, whether it was queued or dropped since" {
	acquire anna
	acquire cleo newest=0
	asks_newest ed
	acquire cleo newest=0 again=1 is='superseded by ed'

	lock=other
	acquire anna
	acquire cleo newest=0
	queue_up dora
	release anna
	ask dora
	asks_newest ed
	acquire cleo newest=0 again=1 is='superseded by ed'
	queue_is ed
}

@test "a first request that is sent again has the same place" {
	acquire anna
	asks_newest cleo
	acquire cleo newest=0 again=1 is="queued ${ticket[cleo]}"
	acquire cleo newest=0 is="queued ${ticket[cleo]}"
	asks_newest ed
	acquire ed newest=0 again=1 is="queued ${ticket[cleo]}"
	queue_is ed
	run superseded_events
	assert_equal ${#lines[@]} 1
}

@test "one that did not hear its ticket, and was taken out as dead, has its place back" {
	acquire anna
	queue_up ben
	asks_newest cleo
	queue_up dora
	absent ben cleo
	ask dora
	queue_is dora
	present ben cleo
	acquire cleo newest=0 again=1 is="queued ${ticket[cleo]}"
	ask ben
	queue_is ben cleo dora
	all_well
}

@test "a first request that was lost on its way, and comes after that of a newer one, is superseded" {
	acquire anna
	asks_newest cleo
	present ed
	acquire ed newest=-600000 again=1 strays=1 is='superseded by cleo anna'
	acquire ed newest=-5 # the one that was lost
	answered removed
	queue_is cleo
	release anna
	asks_again cleo is=granted
	release cleo
	acquire ed newest=-600000 again=1 strays=2 is=superseded
	queue_is
	all_well
}

@test "a waiter that was away is superseded by one that has come since, also after that has ended" {
	acquire anna
	asks_newest cleo
	absent cleo
	queue_up dora
	release anna # passes over cleo
	ask dora
	release dora
	acquire ed newest=0 is='granted ed'
	asks_again cleo again=1 is='superseded by ed ed by ed'
	release ed
	is_superseded cleo again=1
	assert_equal "${reply[*]:0:2}" 'superseded by ed'
	queue_is
}

@test "a new one takes over the place of one that was away for a moment, and was taken out as dead" {
	acquire anna
	queue_up ben
	asks_newest cleo
	asks_again cleo # it has heard its ticket
	queue_up dora
	absent ben cleo
	ask dora # it finds those before it absent
	queue_is dora
	asks_newest ed is="queued ${ticket[cleo]}"
	queue_is ed dora
	present ben cleo
	ask ben
	queue_is ben ed dora
	is_superseded cleo
	queue_is ben ed dora
	all_well
}

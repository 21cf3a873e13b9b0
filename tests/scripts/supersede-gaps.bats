#!/usr/bin/env bats
# acquire with `newest` when something goes wrong: waiters die, requests, answers and grants are lost, records are damaged. Where the
# server loses data or its clock is set: supersede-losses.

load ../lib/helpers
load ../lib/scripts

@test "a waiter that did not hear its ticket is superseded, whether it was queued or dropped since" {
	acquire anna
	acquire cleo newest=0
	asks_newest ed
	acquire cleo newest=0 again=1
	answered superseded 'by ed'

	lock=other
	acquire anna
	acquire cleo newest=0
	queue_up dora
	release anna
	ask dora
	asks_newest ed
	acquire cleo newest=0 again=1
	answered superseded 'by ed'
	queue_is ed
}

@test "a first request that is sent again has the same place" {
	acquire anna
	asks_newest cleo
	acquire cleo newest=0 again=1
	answered queued "${ticket[cleo]}"
	acquire cleo newest=0
	answered queued "${ticket[cleo]}"
	asks_newest ed
	acquire ed newest=0 again=1
	answered queued "${ticket[cleo]}"
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
	acquire cleo newest=0 again=1
	answered queued "${ticket[cleo]}"
	ask ben
	queue_is ben cleo dora
	all_well
}

@test "a first request that comes only when it is sent again supersedes one that began to wait before it" {
	acquire anna
	asks_newest cleo
	later 9000
	asks_newest ed newest=-5000 again=1
	answered queued "${ticket[cleo]}"
	is_superseded cleo
}

@test "a first request that was lost on its way, and comes after that of a newer one, is superseded" {
	acquire anna
	asks_newest cleo
	present ed
	acquire ed newest=-600000 again=1 strays=1
	answered superseded 'by cleo' anna
	acquire ed newest=-5 # the one that was lost
	answered removed
	queue_is cleo
	release anna
	asks_again cleo
	answered granted
	release cleo
	acquire ed newest=-600000 again=1 strays=2
	answered superseded
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
	acquire ed newest=0
	answered granted ed
	asks_again cleo again=1
	answered superseded 'by ed' ed 'by ed'
	release ed
	is_superseded cleo again=1
	assert_equal "${reply[*]:0:2}" 'superseded by ed'
	queue_is
}

@test "a server out of memory refuses a new one, and changes nothing" {
	acquire anna
	asks_newest cleo
	present ed
	before=$(digest)
	cli CONFIG SET maxmemory 1 >/dev/null
	run acquire ed newest=0
	cli CONFIG SET maxmemory 0 >/dev/null
	assert_output --partial OOM
	assert_equal "$(digest)" "$before"
	asks_again cleo
	answered queued
	acquire ed newest=0
	answered queued "${ticket[cleo]}"
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
	asks_newest ed
	answered queued "${ticket[cleo]}"
	queue_is ed dora
	present ben cleo
	ask ben
	queue_is ben ed dora
	is_superseded cleo
	queue_is ben ed dora
	all_well
}

@test "a new one in the place of one that was taken out as dead, when nobody else waits, has a marker, and keeps the queue" {
	acquire anna
	asks_newest cleo
	absent cleo
	release anna # it finds cleo absent
	queue_is
	acquire ben
	asks_newest ed
	answered queued "${ticket[cleo]}"
	assert_equal "$(listed)" "fairlock:${ticket[cleo]}"
	between 1 "$(cli PTTL "$(key_ours)")" 600000
	queue_is ed
	all_well
}

#!/usr/bin/env bats
# acquire with `newest` when the server restarts, loses its data, or goes back to an old copy, and when its clock is set back.

load ../lib/helpers
load ../lib/scripts

# two_wait: ed has superseded cleo, which has not heard it
two_wait() {
	acquire anna
	asks_newest cleo
	later 100
	asks_newest ed
}

# is_back ID [WORD=VALUE...]: it asks over a new connection
is_back() { asks_again "$1" again=1 "${@:2}"; }

@test "after a loss of data the first that comes back is the newest, and stands where it stood" {
	acquire anna
	asks_newest cleo
	cli FLUSHALL >/dev/null
	acquire anna
	is_back cleo
	answered queued "${ticket[cleo]}"
	later 100
	asks_newest ed
	answered queued "${ticket[cleo]}"
	cli FLUSHALL >/dev/null
	acquire anna
	is_back ed
	is_superseded cleo again=1
	queue_is ed
}

@test "after a loss of data a newer waiter takes over the place of an older one that was back first" {
	two_wait
	queue_up dora
	cli FLUSHALL >/dev/null
	acquire anna
	is_back cleo
	answered queued "${ticket[cleo]}"
	ask dora again=1
	is_back ed
	answered queued "${ticket[cleo]}"
	queue_is ed dora
	is_superseded cleo
	assert_equal "${reply[1]}" 'by ed'
	is_back ed
	queue_is ed dora
	all_well
}

@test "after a loss of data a newer waiter is the newest also if an older one has the lock by now" {
	two_wait
	cli FLUSHALL >/dev/null
	is_back cleo
	later 2001
	is_back cleo
	answered granted cleo
	is_back ed
	answered queued
	queue_is ed
	is_back cleo
	answered granted cleo
}

@test "after a loss of data a waiter from before is superseded by one that has come since, and by a newer one from before" {
	two_wait
	cli FLUSHALL >/dev/null
	acquire anna
	is_back ed
	is_superseded cleo again=1
	asks_newest fay
	is_superseded ed
	is_superseded cleo again=1
	queue_is fay
}

@test "a waiter that an old copy of the data does not know is newer than the newest of that copy" {
	acquire anna
	asks_newest cleo
	queue_up dora
	copy_data
	later 100
	asks_newest ed
	is_superseded cleo
	old_data
	is_back ed
	answered queued "${ticket[cleo]}"
	queue_is ed dora
	is_superseded cleo
	is_back ed
	queue_is ed dora
}

@test "after a restart a new one in the place of the first is not granted the lock for 2 s" {
	acquire anna
	asks_newest cleo
	release anna
	absent cleo
	restarted
	asks_newest ed
	answered queued
	queue_is ed
	later 2001
	asks_again ed
	answered granted
}

@test "after a loss of data a newer waiter keeps its place if an older one that had heard no ticket was queued anew" {
	acquire anna
	asks_newest ed
	SINCE[ed]=${reply[5]}
	queue_up dora
	later 10
	cli FLUSHALL >/dev/null
	acquire anna
	present cleo
	acquire cleo newest=-1000 again=1 strays=1
	answered queued
	is_back ed
	answered queued "${ticket[ed]}"
	ask dora again=1
	queue_is ed dora
	all_well
}

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
	is_back cleo is="queued ${ticket[cleo]}"
	later 100
	asks_newest ed is="queued ${ticket[cleo]}"
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
	is_back cleo is="queued ${ticket[cleo]}"
	ask dora again=1
	is_back ed is="queued ${ticket[cleo]}"
	queue_is ed dora
	is_superseded cleo
	assert_equal "${reply[1]}" 'by ed'
	is_back ed
	queue_is ed dora
	all_well
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
	is_back ed is="queued ${ticket[cleo]}"
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
	asks_newest ed is=queued
	queue_is ed
	later 2001
	asks_again ed is=granted
}

#!/usr/bin/env bats
# Handing over: the script that frees the lock grants it to the first waiter, and tells the waiter.

load ../lib/helpers
load ../lib/scripts

@test "release hands the lock to the first waiter, with all that a grant has" {
	acquire anna
	queue_for_handover ben
	at=${reply[5]}
	assert_equal "$at" "$(now_ms)"
	release anna is='released 0'
	handed ben 5000
	assert_equal "$(cli PTTL job)" 5000
	[ "${token[ben]}" -gt "${token[anna]}" ]
	queue_is
	assert_equal "$(shown counts)" '2 0 0 0'
	acquire zoe mode=try is='busy ben by ben 0 x 1 5000'
	assert_equal "$(log_lines | tail -n 1 | grep -o 'event=granted.*owner=ben')" "$(log_lines | tail -n 1 | grep -o 'event.*owner=ben')"
	all_well
}

@test "release tells the second waiter that it is first now, and when the short lease ends" {
	acquire anna
	queue_for_handover ben carl dora
	release anna
	handed ben 5000
	told carl 'first 5000'
	told dora ''
	queue_is carl dora
}

@test "release only tells a waiter its turn if the waiter accepts no handover" {
	acquire anna
	queue_up ben
	release anna
	told ben 0
	assert_equal "$(cli EXISTS job)" 0
	queue_is ben
}

@test "the first renewal gives the new holder its whole lease" {
	acquire anna
	queue_for_handover ben
	release anna
	handed ben 5000
	renew ben is="renewed 30000 ${token[ben]} 0"
	assert_equal "$(cli PTTL job)" 30000
}

@test "a lease shorter than a turn is handed over 1 ms shorter, and is renewed" {
	acquire anna
	present ben
	acquire ben handed=1 lease=1000
	release anna
	handed ben 999
	renew ben lease=1000 is='renewed 1000'
}

@test "a waiter that was handed the lock and asks before it hears so has the whole lease" {
	acquire anna
	queue_for_handover ben
	release anna
	handed ben 5000
	before=${token[ben]}
	ask ben handed=1 is="granted ben $before"
	assert_equal "${reply[3]}" 30000
	assert_equal "$(holds)" 1
	assert_equal "$(shown counts)" '2 0 0 0'
}

@test "a waiter that leaves gives back the lock that it was handed, and the next waiter has it" {
	acquire anna
	queue_for_handover ben carl
	release anna
	handed ben 5000
	leave ben is=left
	handed carl 5000
	assert_equal "$(heard ben | grep -c granted)" 1
}

@test "the script that notices the end of a lease hands the lock to the first waiter" {
	acquire anna lease=1000
	queue_for_handover ben carl
	later 1001
	ask carl handed=1 is="queued ${ticket[carl]}"
	assert_equal "${reply[2]}" 5001
	assert_equal "${reply[3]}" 1
	assert_equal "${reply[4]}" 5000
	handed ben 5000
	queue_is carl
}

# Dead and missing waiters

@test "release tells a Redisson waiter at the head its turn, and our waiter behind it to look in 1 s" {
	acquire anna
	redisson_waits rita
	present rita
	queue_for_handover ben
	release anna
	told rita 0
	told ben 'second 1000'
	assert_equal "$(cli EXISTS job)" 0
}

@test "after a restart release hands the lock to no waiter before the pause for old waiters is over" {
	acquire anna
	queue_for_handover ben dora
	absent ben dora
	restarted
	present dora
	come_back dora handed=1
	release anna
	assert_equal "$(cli EXISTS job)" 0
	present ben
	come_back ben handed=1
	told dora 'second 2000'
	assert_equal "$(cli EXISTS job)" 0
	later 2000
	ask ben handed=1 is='granted ben'
}

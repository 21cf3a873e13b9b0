#!/usr/bin/env bats
# --min-hold: a lock that is given back stays held for the rest of its least time.

load ../lib/helpers
load ../lib/scripts

@test "the last release before the least time keeps the lock held for the rest of it" {
	acquire anna lease=5000
	later 2000
	release anna min=50000
	answered kept
	assert_equal "${reply[1]}" 48000
	assert_equal "$(cli PTTL job)" 48000
	assert_equal "$(owner) $(holds)" 'anna 1'
	all_well
}

@test "a clock that was set back makes the least time begin anew, and no longer" {
	acquire anna
	later -100000
	release anna min=10000
	answered kept
	assert_equal "${reply[1]}" 10000
	assert_equal "$(cli PTTL job)" 10000
}

@test "a release of an unused lock frees it at once, whatever the least time" {
	acquire anna
	release anna mode=unused min=50000
	answered released 0
	assert_equal "$(cli EXISTS job)" 0
}

@test "the first waiter for a kept lock is told when the least time ends, and gets the lock then" {
	acquire anna lease=60000
	queue_up ben cleo
	release anna min=10000
	told ben 'first 10000'
	told cleo ''
	later 10001
	assert_equal "$(cli EXISTS job)" 0
	ask ben
	answered granted ben
	all_well
}

@test "a request for a kept lock waits, or is busy, until the least time ends" {
	acquire anna
	release anna min=10000
	acquire ben mode=try
	answered busy anna
	present ben
	acquire ben
	answered queued
	assert_equal "${reply[3]}" 1
	assert_equal "${reply[2]}" 10001
}

@test "busy, full, ran, removed, left and view tell in place of the time held, negative, until when a lock is kept" {
	local until

	acquire anna
	queue_up ben
	release anna min=10000
	until=$(($(now_ms) + 10000))
	acquire cleo mode=try
	assert_equal "${reply[*]:0:4}" "busy anna by anna -$until"
	acquire cleo limit=0
	assert_equal "${reply[*]:0:5}" "full 0 anna by anna -$until"
	acquire cleo period=60000
	assert_equal "${reply[0]} ${reply[*]:2:3}" "ran anna by anna -$until"
	script view ben ''
	assert_equal "${reply[*]: -7:3}" "anna by anna -$until"
	leave ben
	assert_equal "${reply[*]:0:4}" "left anna by anna -$until"
	queue_up dora
	remove dora
	assert_equal "${reply[*]:0:4}" "left anna by anna -$until"
	ask dora
	assert_equal "${reply[*]:0:4}" "removed anna by anna -$until"
}

@test "of several holders busy and view describe one that has not given its hold back, and when the first lease ends" {
	local who

	for who in anna ben cleo; do acquire "$who" want=s lease=60000; done
	release anna min=20000
	answered kept
	release ben min=30000
	answered kept
	acquire dora mode=try
	assert_equal "${reply[*]:0:3} ${reply[*]:4:2}" 'busy cleo by cleo s 3'
	[ "${reply[3]}" -ge 0 ]
	[ "${reply[6]}" -gt 15000 ] && [ "${reply[6]}" -le 20000 ]
	release cleo min=40000
	acquire dora mode=try
	assert_equal "${reply[*]:0:3}" 'busy anna by anna'
	[ "${reply[3]}" -lt 0 ]
}

@test "a repeated release of a kept lock gets the same answer, also after the least time" {
	acquire anna
	release anna min=10000
	release anna min=10000 again=1
	answered kept
	assert_equal "${reply[1]}" 10000
	later 10001
	assert_equal "$(cli EXISTS job)" 0
	release anna min=10000 again=1
	answered released 0
	assert_equal "$(log_lines | grep -c released)" 1
}

@test "a kept lock cannot be renewed, and its owner cannot go in again" {
	acquire anna
	release anna min=10000
	renew anna lease=60000
	answered released
	renew anna kind='' holder_token='' lease=60000
	answered released
	acquire daemon mode=try inherited=anna
	answered busy anna
	acquire anna again=1 # a late copy
	answered removed
	assert_equal "$(cli PTTL job)" 10000
	assert_equal "$(holds)" 1
}

@test "the end of a least time is logged as a release at that time" {
	local granted

	acquire anna
	granted=${token[anna]}
	release anna min=10000
	later 10001
	assert_equal "$(cli EXISTS job)" 0
	acquire ben
	answered granted
	assert_equal "$(log_lines | grep -o 'event=[a-z]*' | paste -sd ' ')" 'event=granted event=released event=granted'
	assert_equal "$(log_lines | sed -n 's/^event=released.*|held=\([0-9]*\).*/\1/p')" 10000
	[ "${token[ben]}" -gt "$granted" ]
}

@test "a kept lock that is broken by force is logged with how COMMAND had ended" {
	acquire anna
	release anna min=10000 status=143 cause=TERM
	release '' mode=force request=breaker
	answered forced anna
	assert_equal "$(log_lines | sed -n 's/^event=forced.*|status/status/p')" 'status=143|cause=TERM'
}

@test "if a Redisson waiter is first for a kept lock, our first waiter wakes it at the end of the least time" {
	acquire anna lease=60000
	redisson_waits R1
	present R1
	queue_up ben
	release anna min=10000
	told ben 'second 10001'
	told R1 ''
	later 10001
	assert_equal "$(cli EXISTS job)" 0
	ask ben
	answered queued
	told R1 0
}

@test "the least time of an inner hold outlasts the outer hold, and does not shorten its lease" {
	acquire anna lease=30000
	acquire inner inherited=anna
	release anna request=inner min=10000
	answered released 1
	assert_equal "$(cli PTTL job)" 30000
	release anna
	answered kept
	assert_equal "${reply[1]}" 10000
}

@test "a lock kept for three days remembers its owner until a day after the end" {
	acquire anna
	release anna min=259200000
	assert_equal "$(cli PTTL "$(key_state)")" $((259200000 + 86400000))
	later 172800000
	acquire ben
	answered queued
	assert_equal "$(cli PTTL "$(key_state)")" $((86400000 + 86400000))
	later 86400001
	assert_equal "$(cli EXISTS job)" 0
	ask ben again=1
	assert_equal "$(log_lines | grep -o 'event=[a-z]*' | paste -sd ' ')" 'event=granted event=released event=granted'
}

@test "who takes the lock as an owner whose hold is kept waits until it is over" {
	acquire anna
	release anna min=5000
	answered kept 5000
	acquire anna again=1 # a copy
	answered removed
	present other
	acquire anna request=other kind=a
	answered queued
	later 5001
	acquire anna request=other kind=a "old_ticket=${ticket[anna]}"
	answered granted anna
	release anna request=other
	answered released 0
}

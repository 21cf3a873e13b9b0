#!/usr/bin/env bats
# --once-ok: which ends of a COMMAND are a success, for whom, and for how long it is known.

load ../lib/helpers
load ../lib/scripts

# ---- What satisfies ----

@test "acquire answers ran ok within nine tenths of the period after the start of a success, and grants after that" {
	acquire anna period=ok60000
	later 2000
	succeed anna
	acquire ben period=ok60000 is='ran ok'
	assert_equal "${reply[1]}" 0
	later 51000
	acquire ben period=ok60000 is='ran ok'
	assert_equal "${reply[1]}" 51000
	later 2000
	acquire ben period=ok60000 is=granted
}

@test "no other end is a success: another status, --max-hold, a loss, a signal, a COMMAND that was not started" {
	local end

	for end in 'status=1 cause=exit' 'status=0 cause=max-hold' 'status=0 cause=lost' 'status=0 cause=asked' \
		'status=143 cause=TERM' 'status=0 cause=exit mode=unused' ''; do
		acquire anna
		# shellcheck disable=SC2086
		release anna $end is=released
		assert_equal "$(shown ok)" ''
	done
	acquire ben period=ok60000 is=granted
}

@test "what acquire holds, and a wrap inside another, are no success when they are given back" {
	acquire keeper kind=a
	succeed keeper is='released 0'
	assert_equal "$(shown ok)" ''
	acquire anna
	acquire anna request=inner inherited=anna is='granted anna'
	release anna request=inner status=0 cause=exit is='released 1'
	assert_equal "$(shown ok)" ''
	succeed anna
	[ -n "$(shown ok)" ]
}

@test "a run that took longer than the period satisfies those who waited for it, and no newcomer" {
	present ben
	acquire anna lease=86400000 period=ok60000
	acquire ben period=ok60000
	later 80000
	ask ben period=ok60000 is=queued
	later 80000
	ask ben period=ok60000
	succeed anna
	ask ben period=ok60000 is='ran ok'
	acquire cleo period=ok60000 is=granted
}

@test "mode try answers busy while a COMMAND runs, and ran ok when one has ended with 0" {
	acquire anna
	acquire ben mode=try period=ok60000 is='busy anna'
	succeed anna
	acquire cleo
	acquire ben mode=try period=ok60000 is='ran ok'
	queue_is
	release cleo
	nothing_left
	all_well
}

# ---- How long it is known ----

# ---- Other holds ----

@test "with slots and shared holds a success counts for the lock, whoever else holds" {
	local want mode

	for want in '#2' s; do
		mode=s
		[ "$want" = s ] || mode='=1'
		cli FLUSHALL >/dev/null
		acquire anna "want=$want"
		acquire ben "want=$want"
		present cleo
		acquire cleo want=x period=ok60000 is=queued
		succeed anna hold_mode="$mode"
		is_told_to_ask cleo
		ask cleo want=x period=ok60000 is='ran ok'
		acquire dora "want=$want" period=ok60000 is='ran ok'
		absent cleo
		assert_equal "$(holders)" ben
		all_well
	done
}

@test "a COMMAND that ends with 0 counts when an acquire inside it still holds, and the next waiter knows that it is first" {
	present ben cleo
	acquire anna
	acquire anna request=inner kind=a inherited=anna
	acquire ben period=ok60000
	acquire cleo
	succeed anna is='released 1'
	is_told_to_ask ben
	ask ben period=ok60000 is='ran ok'
	queue_is cleo
	is_told_first cleo
	all_well
}

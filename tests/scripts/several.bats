#!/usr/bin/env bats
# A wrap of several locks: its holds are of kind v until it has all of them, and its start does not count before.

load ../lib/helpers
load ../lib/scripts

# started: prints when the last COMMAND was started, or nothing
started() { shown started; }

@test "a grant of kind v is no start, whether it is asked for or handed over" {
	acquire anna kind=v
	assert_equal "$(started)" ''
	present ben
	acquire ben kind=v handed=1 is=queued
	release anna
	handed ben 5000
	assert_equal "$(started)" ''
}

@test "a renewal with start makes the hold one of wrap, and the start counts from then on" {
	acquire anna kind=v
	later 5000
	renew anna start=1 is="renewed 30000 ${token[anna]} 0"
	assert_equal $(($(started) - token[anna])) 5000
	release anna
	acquire ben period=60000 is=ran
}

@test "a hold that started and is given back unused takes its start away" {
	acquire ben
	release ben
	before=$(started)
	later 10
	acquire anna kind=v
	renew anna start=1
	release anna mode=unused
	assert_equal "$(started)" "$before"
}

@test "a process that goes into a hold starts nothing that counts, and gives back its own entry only" {
	acquire anna
	before=$(started)
	acquire inner kind=v inherited=anna is='granted anna'
	later 10
	renew anna request=inner start=1 is=renewed
	assert_equal "$(holds) $(started)" "2 $before"
	release anna request=inner mode=unused is='released 1'
	assert_equal "$(holds) $(started)" "1 $before"
}

@test "after a loss of data a hold of kind v is taken up without a start, and with start it counts from now on" {
	acquire anna kind=v
	cli FLUSHALL
	renew anna kind=v is='renewed 30000'
	assert_equal "${reply[3]}" 1
	assert_equal "$(started)" ''
	cli FLUSHALL
	later 10
	renew anna start=1 is='renewed 30000'
	assert_equal "${reply[3]}" 1
	assert_equal "$(started)" "$(now_ms)"
}

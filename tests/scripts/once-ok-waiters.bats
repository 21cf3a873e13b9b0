#!/usr/bin/env bats
# --once-ok: how waiters leave the queue when a COMMAND has ended with 0; and requests, records and clocks that are amiss.

load ../lib/helpers
load ../lib/scripts

@test "when a COMMAND ends with 0, those who wait are told, need not run, and a plain waiter is next" {
	acquire anna period=ok60000
	queue_for_handover ben
	present cleo dora eve
	acquire cleo period=ok60000 handed=1
	acquire dora
	acquire eve period=ok60000 handed=1
	succeed anna
	handed ben 5000
	for id in cleo eve; do
		is_told_to_ask "$id"
		ask "$id" period=ok60000 is='ran ok'
		ask "$id" period=ok60000 again=1 is='ran ok'
	done
	assert_equal "$(log_lines | grep -c '^event=left')" 2
	queue_is dora
	all_well
}

@test "a waiter that has not heard its ticket is answered ran ok all the same, and again" {
	acquire anna lease=86400000
	present ben
	acquire ben period=ok1000 is=queued
	later 10000
	succeed anna # ended since ben waits, and was started too long ago
	for _ in 1 2; do
		acquire ben period=ok1000 again=1 is='ran ok'
	done
	acquire cleo period=ok1000 # one that did not wait
	answered granted
	queue_is
	all_well
}

@test "of a long queue nobody is handed the lock in vain, and each leaves when it asks" {
	acquire anna period=ok60000
	many 250 1
	succeed anna
	assert_equal "$(owner)" ''
	for _ in {1..10}; do
		next=$(waiting | cut -d ' ' -f 1)
		acquire "$next" again=1 period=ok60000 is='ran ok'
		assert_equal "$(owner)" ''
	done
	all_well
}

@test "one that supersedes, and has been asking since before the success, need not run" {
	acquire anna
	queue_up ben
	succeed anna
	acquire dora newest=-60000 period=ok1 is='ran ok'
	queue_is ben
	all_well
}

# ---- Faults ----

#!/usr/bin/env bats
# Redisson's patience: how much a waiter adds to its score, and takes from every score behind it
# when it leaves. Our waiters must keep their places all the same.

load ../lib/helpers
load ../lib/scripts

minute=60000

# queue_behind_redisson MS: anna holds the lock; r1, which has so much patience, ben and cleo wait
queue_behind_redisson() {
	acquire anna
	redisson_asks r1 "$1" queued
	present r1 ben cleo
	acquire ben
	acquire cleo
}

@test "our waiters keep their places when a Redisson waiter of up to five minutes of patience before them is granted" {
	local ms

	for ms in 1000 $((5 * minute)); do
		queue_behind_redisson $ms
		release anna
		redisson_asks r1 $ms granted
		redisson_asks r2 $((5 * minute)) queued
		queue_is ben cleo r2
		redisson_unlocks
		ask ben is='granted ben'
		release ben
		queue_is cleo r2
		ask cleo is=granted
		release cleo
		redisson_gives_up r2 $((5 * minute))
		absent r1 ben cleo
		all_well
	done
}

# An old version takes 300 s when it gives up, whatever it added.

@test "our waiters keep their places when a Redisson waiter takes more than its patience" {
	acquire anna
	redisson_asks r1 1000 queued
	redisson_asks r2 1000 queued
	present r1 r2
	queue_up ben
	redisson_gives_up r1 300000
	redisson_gives_up r2 300000
	redisson_asks r3 1000 queued
	queue_is ben r3
}

@test "Redisson's waiters and ours in turn are granted in the order of arrival" {
	local id ms order='r1 f1 r2 f2 r3 f3 r4 f4 r5 f5'
	local -A ms=([r1]=5000 [r2]=300000 [r3]=1000 [r4]=300000 [r5]=60000)

	acquire anna
	for id in $order; do
		present "$id"
		if [ "${ms[$id]-}" ]; then
			redisson_asks "$id" "${ms[$id]}" queued
		else
			acquire "$id"
		fi
	done
	later 8000
	release anna
	for id in $order; do
		if [ "${ms[$id]-}" ]; then
			redisson_asks "$id" "${ms[$id]}" granted
			redisson_asks last 5000 queued # and drops dead ones first
			order=${order#* }
			queue_is $order last
			redisson_gives_up last 5000
			redisson_unlocks
		else
			ask "$id" is=granted
			release "$id"
			order=${order#* }
		fi
		all_well
	done
}

# dies_behind PATIENCE: our waiter behind a Redisson waiter dies when only Redisson's are left
dies_behind() {
	acquire anna
	redisson_asks r1 "$1" queued
	present r1
	queue_up dead
	redisson_asks r2 1000 queued
	release anna
	absent dead
	redisson_asks r1 "$1" granted
	redisson_unlocks
}

@test "our dead waiter holds up Redisson's for 330 s after a grant with a patience of a second" {
	dies_behind 1000
	redisson_asks r2 1000 queued
	later 330000
	redisson_asks r2 1000 granted
}

#!/usr/bin/env bats
# The queue of a lock that several may hold: who is next, who is told, and what the dead and the hung cost.

load ../lib/helpers
load ../lib/scripts

@test "when the first waiter leaves, those behind it that fit get the lock" {
	acquire anna want=s
	queue_up ben
	present cleo dora
	acquire cleo want=s handed=1
	acquire dora want=s handed=1
	leave ben is='left anna'
	assert_equal "$(holders)" 'anna cleo dora'
	queue_is
}

@test "behind a first waiter that was killed the next sign of life takes the lock" {
	acquire anna want=s
	queue_up ben
	present cleo dora
	acquire cleo want=s handed=1
	acquire dora want=s handed=1
	absent ben
	assert_equal "${reply[2]}" 10500
	ask cleo want=s handed=1 is='granted cleo'
	assert_equal "$(holders)" 'anna cleo dora'
}

@test "a waiter that was handed a slot and hangs costs its turn" {
	acquire anna want='#1' lease=60000
	present ben cleo
	acquire ben want='#1' handed=1
	acquire cleo want='#1' handed=1
	release anna
	assert_equal "$(holders)" ben
	told cleo 'first 5000'
	later 5001
	ask cleo want='#1' handed=1 is='granted cleo'
}

@test "a silent writer is not passed over while only readers fit" {
	acquire anna want=s lease=600000
	acquire ben want=s lease=600000
	queue_up cleo
	present dora
	acquire dora want=s handed=1
	later 16000
	ask dora want=s handed=1 is=queued
	release anna
	queue_is cleo dora
}

@test "a waiter for a slot with --once-per that is not over is told to ask, and the next gets the slot" {
	acquire anna want='#1' kind=a
	present zed ben cleo
	acquire zed want='#1' handed=1
	acquire ben want='#1' handed=1 period=60000
	acquire cleo want='#1' handed=1
	release anna mode=any
	assert_equal "$(holders)" zed
	release zed
	[[ $(heard ben | tail -n 1) = 0 ]]
	ask ben want='#1' period=60000 is=ran
	assert_equal "$(holders)" cleo
	acquire dora want='#2' period=60000 is=ran
}

@test "a writer is told again when the lock may be free, if the last lease ends earlier" {
	acquire anna want=s lease=20000
	acquire ben want=s lease=60000
	queue_up cleo
	release ben
	[[ $(heard cleo) =~ ^first\ ([0-9]+)$ ]] || fail "$(heard cleo)"
	assert_equal "${BASH_REMATCH[1]}" 20000
}

@test "a waiter for a slot is told when the first lease of its own slots ends" {
	acquire anna want='=a' lease=20000
	acquire ben want='=b' lease=60000
	acquire cleo want='=c' lease=40000
	queue_up yuri
	present zed
	acquire zed want='=b,c' handed=1
	leave yuri
	[[ $(heard zed) =~ ^first\ ([0-9]+)$ ]] || fail "$(heard zed)"
	assert_equal "${BASH_REMATCH[1]}" 40000
}

@test "a Redisson waiter between waiters for slots has its turn alone" {
	acquire anna want='#2'
	acquire ben want='#2'
	present cleo r1 dora
	acquire cleo want='#2' handed=1
	redisson_waits r1
	acquire dora want='#2' handed=1
	release anna
	assert_equal "$(holders)" 'ben cleo'
	release ben
	queue_is r1 dora
	release cleo
	told r1 0,0 # the last lease ended earlier; its turn
	queue_is r1 dora
	assert_equal "$(redisson_takes r1)" granted
	ask dora want='#2' handed=1 is=queued
	cli DEL job >/dev/null
	ask dora want='#2' handed=1 is='granted dora'
}

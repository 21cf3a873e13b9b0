#!/usr/bin/env bats
# --once-per: a job does not start again within nine tenths of its period.

load ../lib/helpers
load ../lib/scripts

@test "once per period: acquire answers ran within nine tenths of the period after a start, and grants after that" {
	acquire anna period=60000 is=granted
	release anna
	acquire ben period=60000 is='ran 0'
	later 50000
	acquire ben period=60000 is='ran 50000'
	later 4000
	acquire ben period=60000 is=granted
}

@test "once per period: each start of a wrap counts, with or without a period; acquire's grant does not" {
	acquire keeper kind=a
	release keeper
	acquire cleo mode=try period=60000 is=granted
	release cleo
	later 60000
	acquire dora
	release dora
	acquire eve period=60000 is=ran
}

@test "once per period: a request that is answered ran leaves nothing behind, held or free" {
	acquire anna period=60000
	for mode in wait try; do
		acquire ben mode="$mode" period=60000 is=ran
	done
	queue_is
	release anna
	acquire ben period=60000 is=ran
	queue_is
	nothing_left
	all_well
}

@test "once per period: each waiter behind a run is answered ran in its turn and passes the turn on" {
	acquire zoe kind=a
	present anna ben cleo dora
	acquire anna period=60000
	acquire ben period=60000
	acquire cleo period=60000
	acquire dora
	release zoe
	ask anna period=60000 is=granted
	ask ben period=60000 # a sign of life
	answered queued
	release anna
	[[ $(heard ben) =~ (^|$'\n')0$ ]]
	ask ben period=60000 is=ran
	[[ $(heard cleo) =~ (^|$'\n')0$ ]]
	ask cleo period=60000 is=ran
	[[ $(heard dora) =~ (^|$'\n')0$ ]]
	queue_is dora
	ask dora is=granted
	assert_equal "$(log_lines | grep -c '^event=left')" 2
	all_well
}

@test "once per period: of three with slots two are not started, in either order, and the start of the third counts" {
	for order in 'ben cleo' 'cleo ben'; do
		for id in anna ben cleo; do
			acquire "$id" want='#4' is=granted
			later 10
		done
		for id in $order; do
			release "$id" mode=unused is='released 0'
		done
		acquire dora want='#4' period=60000 is=ran
		release anna
		release zoe mode=forget request="forget $order"
	done
}

@test "once per period: an unused grant does not count, and the start before it counts again" {
	acquire anna
	release anna mode=unused
	acquire anna period=60000 is=granted
	release anna
	later 57000
	acquire ben period=60000 is=granted
	release ben mode=unused
	release ben mode=unused again=1 is=released
	acquire cleo period=60000 is=granted
	release cleo mode=unused
	acquire dora period=100000 is=ran
	between 57000 "${reply[1]}" 86400000
}

@test "once per period: a running COMMAND counts after a failover has lost its start" {
	acquire anna
	release anna
	later 100000
	copy_data
	acquire ben period=60000 is=granted
	old_data # as after a failover to a replica that lacks the start
	renew ben period=60000 is=renewed
	assert_equal "${reply[3]}" 1
	release ben
	acquire cleo period=60000 is=ran
}

@test "once per period: a waiter does not start beside the one before it, which its own request handed the lock" {
	local want

	for want in s '#2'; do
		acquire anna kind=a lease=3000
		present ben
		acquire ben "want=$want" handed=aa period=60000
		later 3001
		acquire cleo "want=$want" period=60000 is='ran 0'
		assert_equal "$(holders)" ben
		queue_is
		release ben
		later 60000
		absent ben
	done
}

# If ticks were slots of the clock, one in nine ran twice and one in six not (jitter of 5 ms).

@test "once per period: our hash is kept for twice the longest period that was asked for, and at least a day beyond the last use" {
	acquire anna period=60000
	release anna
	assert_equal "$(cli PTTL "$(key_state)")" 86400000
	acquire ben period=604800000
	answered ran
	assert_equal "$(cli PTTL "$(key_state)")" $((2 * 604800000))
	later 60000
	acquire anna period=604800000
	answered ran
	assert_equal "$(cli PTTL "$(key_state)")" $((2 * 604800000 - 60000))
	later 700000000
	acquire anna period=604800000
	release anna
	acquire ben
	release ben
	assert_equal "$(cli PTTL "$(key_state)")" $((2 * 604800000))
}

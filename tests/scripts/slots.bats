#!/usr/bin/env bats
# The scripts with several holders: slots and shared holds.

load ../lib/helpers
load ../lib/scripts

@test "slots are given in their order, until none is free" {
	acquire anna want='#2'
	assert_equal "${reply[0]} ${reply[6]}" 'granted =1'
	acquire ben want='#2'
	assert_equal "${reply[0]} ${reply[6]}" 'granted =2'
	acquire cleo want='#2' mode=try is=busy
	assert_equal "$(cli HGETALL job | paste -sd ' ')" 'fairlock:slots 2'
	assert_equal "$(holders)" 'anna ben'
	agree
}

@test "a named slot is the first free one of those that are asked for" {
	acquire anna want='=db1,db2'
	acquire ben want='=db2,db1'
	assert_equal "${reply[6]}" =db2
	acquire cleo want='=db1,db3'
	assert_equal "${reply[6]}" =db3
	acquire dora want='=db4,db5'
	assert_equal "${reply[6]}" =db4
}

@test "a slot of another count does not fit beside counted ones, and every answer about the holders has their count" {
	acquire anna want='#3'
	acquire ben want='#4' mode=try
	assert_equal "${reply[0]} ${reply[4]} ${reply[5]}" 'busy =3 1'
	acquire ben want='#2' is=queued
	script view ben ''
	assert_equal "${reply[*]: -4:1}" =3
	release anna
	ask ben want='#2'
	assert_equal "${reply[0]} ${reply[6]}" 'granted =1'
	assert_equal "$(cli HGETALL job | paste -sd ' ')" 'fairlock:slots 2'
}

@test "named slots have no count, and a count that came beside them stays until the lock is free" {
	acquire anna want='=a,b'
	assert_equal "$(cli HGETALL job | paste -sd ' ')" 'fairlock:slots 0'
	acquire ben want='#3'
	acquire cleo want='=a,b' is=granted
	acquire dora want='#4' mode=try is=busy
	release ben
	acquire dora want='#4' mode=try is=busy
	release anna
	release cleo
	acquire dora want='#4' is=granted
}

@test "a hold that is taken up brings its count, and fits beside holders of another one" {
	local owner

	for owner in anna ben cleo; do acquire $owner want='#3'; done
	later 10
	cli FLUSHALL >/dev/null
	renew cleo hold_mode==3 count='#3' is=renewed
	assert_equal "$(cli HGETALL job | paste -sd ' ')" 'fairlock:slots 3'
	later 2001
	acquire dora want='#4' mode=try is=busy
	renew ben hold_mode==2 count='#4' is=renewed
	assert_equal "$(cli HGETALL job | paste -sd ' ')" 'fairlock:slots 3'
}

@test "shared holds stand beside each other, and none beside an exclusive one" {
	acquire anna want=s
	acquire ben want=s is='granted ben'
	acquire cleo mode=try is=busy
	acquire dora want='#3' mode=try is=busy
	release anna
	release ben
	assert_equal "$(cli EXISTS job fairlock_holders:{job})" 0
	acquire cleo is=granted
	acquire anna want=s mode=try is=busy
}

@test "a release of a slot hands it to the first waiter" {
	acquire anna want='#2'
	acquire ben want='#2'
	present cleo dora
	acquire cleo want='#2' handed=7 is=queued
	acquire dora want='#2' handed=8 is=queued
	release ben is=released
	assert_equal "$(holders)" 'anna cleo'
	queue_is dora
	assert_equal "$(heard cleo | tail -n 1 | cut -d ' ' -f 1,5,6)" 'granted 7 2'
	agree
}

@test "a first waiter for whom there is no room stops all behind it" {
	acquire anna want=s
	present ben cleo
	acquire ben handed=1 is=queued
	acquire cleo want=s handed=2 is=queued
	queue_is ben cleo
	release anna
	assert_equal "$(owner)" ben
	release ben
	assert_equal "$(holders)" cleo
}

@test "a holder that dies frees its slot when its lease ends, and the log says so" {
	acquire anna want='#1' lease=20000
	acquire ben want='=x' lease=60000
	later 20001
	acquire cleo want='#1'
	assert_equal "${reply[0]} ${reply[6]}" 'granted =1'
	assert_equal "$(shown counts)" '3 1 0 0'
	assert_equal "$(holders)" 'ben cleo'
}

@test "a renewal raises the end of one hold only" {
	acquire anna want=s lease=20000
	acquire ben want=s lease=20000
	renew anna lease=40000 hold_mode=s is='renewed 40000'
	assert_equal "$(cli PTTL job)" 40000
	assert_equal "$(cli ZSCORE "$(key_holders)" ben)" $(($(now_ms) + 20000))
	agree
}

@test "release by force breaks all holds, and names each" {
	acquire anna want=s
	acquire ben want=s
	release zoe mode=force
	assert_equal "${reply[*]}" 'forced anna by anna ben by ben'
	assert_equal "$(cli EXISTS job fairlock_holders:{job})" 0
	release zoe mode=force
	assert_equal "${reply[*]}" 'forced anna by anna ben by ben'
	renew anna hold_mode=s is='lost forced'
}

@test "a slot that --min-hold keeps stays held until then" {
	acquire anna want='#2'
	release anna min=60000 is=kept
	acquire ben want='=1' mode=try is=busy
	acquire cleo want='#2'
	assert_equal "${reply[6]}" =2
	agree
}

@test "going in again keeps the slot, and refuses another" {
	acquire anna want='#3'
	acquire inner inherited=anna kind=a want='#2'
	assert_equal "${reply[0]} ${reply[5]} ${reply[6]}" 'granted 2 =1'
	acquire inner inherited=anna kind=a want='=x' is='other =1'
	acquire inner inherited=anna kind=a want=s is='other =1'
	acquire inner inherited=anna kind=a is='other =1'
	release anna request=inner is='released 1'
	release anna is='released 0'
	assert_equal "$(cli EXISTS job fairlock_holders:{job})" 0
}

@test "50 shared waiters behind a writer all get the lock, in steps" {
	acquire anna
	for i in {1..50}; do ids+=("r$i"); done
	present "${ids[@]}"
	for id in "${ids[@]}"; do acquire "$id" want=s handed=1; done
	release anna
	between 10 "$(holders | wc -w)" 50
	for id in "${ids[@]}"; do
		[[ " $(holders) " = *" $id "* ]] || ask "$id" want=s
	done
	assert_equal "$(holders | wc -w)" 50
	queue_is
}

@test "a Redisson waiter at the head is told when the last lease ends earlier" {
	acquire anna want=s lease=20000
	acquire ben want=s lease=60000
	redisson_waits r1
	present r1
	release ben
	told r1 0
	queue_is r1
	release anna
}

@test "behind a dead writer, a waiter that asks lets those before it in, and gets a hold, too" {
	acquire anna want=s
	present ben cleo dora emil
	acquire ben handed=1
	acquire cleo want=s handed=2
	acquire dora want=s
	acquire emil want=s handed=4
	absent ben
	ask dora want=s is='granted dora'
	assert_equal "$(holders)" 'anna cleo dora emil'
}

@test "of many long leases, one that is longer than its record allows is cut down" {
	local name

	for name in {a..y}; do
		acquire "$name" want=s lease=300000
	done
	cli ZADD "$(key_holders)" $(($(now_ms) + 86400000)) g >/dev/null
	cli PEXPIRE job 86400000 >/dev/null
	acquire z want=s
	between 299000 "$(cli PTTL job)" 300000
}

#!/usr/bin/env bats
# The scripts with several holders: slots and shared holds.

load ../lib/helpers
load ../lib/scripts

@test "slots are given in their order, until none is free" {
	acquire anna want='#2'
	assert_equal "${reply[0]} ${reply[6]}" 'granted =1'
	acquire ben want='#2'
	assert_equal "${reply[0]} ${reply[6]}" 'granted =2'
	acquire cleo want='#2' mode=try
	answered busy
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
	acquire ben want='#2'
	answered queued
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
	acquire cleo want='=a,b'
	answered granted
	acquire dora want='#4' mode=try
	answered busy
	release ben
	acquire dora want='#4' mode=try
	answered busy
	release anna
	release cleo
	acquire dora want='#4'
	answered granted
}

@test "a hold that is taken up brings its count, and fits beside holders of another one" {
	local owner

	for owner in anna ben cleo; do acquire $owner want='#3'; done
	later 10
	cli FLUSHALL >/dev/null
	renew cleo hold_mode==3 count='#3'
	answered renewed
	assert_equal "$(cli HGETALL job | paste -sd ' ')" 'fairlock:slots 3'
	later 2001
	acquire dora want='#4' mode=try
	answered busy
	renew ben hold_mode==2 count='#4'
	answered renewed
	assert_equal "$(cli HGETALL job | paste -sd ' ')" 'fairlock:slots 3'
}

@test "shared holds stand beside each other, and none beside an exclusive one" {
	acquire anna want=s
	acquire ben want=s
	answered granted ben
	acquire cleo mode=try
	answered busy
	acquire dora want='#3' mode=try
	answered busy
	release anna
	release ben
	assert_equal "$(cli EXISTS job fairlock_holders:{job})" 0
	acquire cleo
	answered granted
	acquire anna want=s mode=try
	answered busy
}

@test "a release of a slot hands it to the first waiter" {
	acquire anna want='#2'
	acquire ben want='#2'
	present cleo dora
	acquire cleo want='#2' handed=7
	answered queued
	acquire dora want='#2' handed=8
	answered queued
	release ben
	answered released
	assert_equal "$(holders)" 'anna cleo'
	queue_is dora
	assert_equal "$(heard cleo | tail -n 1 | cut -d ' ' -f 1,5,6)" 'granted 7 2'
	agree
}

@test "a first waiter for whom there is no room stops all behind it" {
	acquire anna want=s
	present ben cleo
	acquire ben handed=1
	answered queued
	acquire cleo want=s handed=2
	answered queued
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
	renew anna lease=40000 hold_mode=s
	answered renewed 40000
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
	renew anna hold_mode=s
	answered lost forced
}

@test "release by force breaks the hold of one slot" {
	acquire anna want='#2'
	acquire ben want='#2'
	release zoe mode=force only='=2'
	assert_equal "${reply[*]}" 'forced ben by ben'
	assert_equal "$(holders)" anna
	release zoe request=other mode=force only='=3'
	answered free
	assert_equal "$(holders)" anna
}

@test "a slot that --min-hold keeps stays held until then" {
	acquire anna want='#2'
	release anna min=60000
	answered kept
	acquire ben want='=1' mode=try
	answered busy
	acquire cleo want='#2'
	assert_equal "${reply[6]}" =2
	agree
}

@test "going in again keeps the slot, and refuses another" {
	acquire anna want='#3'
	acquire inner inherited=anna kind=a want='#2'
	assert_equal "${reply[0]} ${reply[5]} ${reply[6]}" 'granted 2 =1'
	acquire inner inherited=anna kind=a want='=x'
	answered other '=1'
	acquire inner inherited=anna kind=a want=s
	answered other '=1'
	acquire inner inherited=anna kind=a
	answered other '=1'
	release anna request=inner
	answered released 1
	release anna
	answered released 0
	assert_equal "$(cli EXISTS job fairlock_holders:{job})" 0
}

@test "going into an exclusive lock for a slot gives none" {
	acquire anna
	acquire inner inherited=anna kind=a want='#2'
	assert_equal "${reply[0]} ${reply[6]}" 'granted x'
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

@test "a Redisson waiter at the head is told when --min-hold lets the last lease end earlier" {
	acquire anna want=s lease=60000
	redisson_waits r1
	present r1
	release anna min=5000
	answered kept
	told r1 0
	queue_is r1
}

@test "behind a dead writer, a waiter that asks lets those before it in, and gets a hold, too" {
	acquire anna want=s
	present ben cleo dora emil
	acquire ben handed=1
	acquire cleo want=s handed=2
	acquire dora want=s
	acquire emil want=s handed=4
	absent ben
	ask dora want=s
	answered granted dora
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

#!/usr/bin/env bats
# The scripts with several holders: slots and shared holds.

load ../lib/helpers
load ../lib/scripts
load ../lib/handover

# holders: the owner ids in the sorted set, in the order of their ids
holders() {
	cli ZRANGE "fairlock_holders:{$lock}" 0 -1 | sort | paste -sd ' '
}

# agree: key 1 and the sorted set live until the same moment, and our hash has a record of each holder
agree() {
	local id

	assert_equal "$(cli PEXPIRETIME "$lock")" "$(cli PEXPIRETIME "fairlock_holders:{$lock}")"
	for id in $(holders); do
		[ -n "$(field "h:$id")" ] || fail "no record of $id"
	done
}

@test "slots are given in their order, until none is free" {
	acquire anna want='#2'
	assert_equal "${reply[0]} ${reply[6]}" 'granted =1'
	acquire ben want='#2'
	assert_equal "${reply[0]} ${reply[6]}" 'granted =2'
	acquire cleo want='#2' mode=try
	answered busy
	assert_equal "$(cli HGETALL job | paste -sd ' ')" 'fairlock:slots 1'
	assert_equal "$(holders)" 'anna ben'
	agree
}

@test "a named slot is the first free one of those that are asked for" {
	acquire anna want='=db1,db2'
	acquire ben want='=db2,db1'
	assert_equal "${reply[6]}" =db2
	acquire cleo want='=db1,db3'
	assert_equal "${reply[6]}" =db3
	assert_equal "$(field s:db1) $(field s:db2) $(field s:db3)" 'anna ben cleo'
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

@test "all shared waiters behind a writer get the lock when it is released" {
	acquire anna
	for id in b c d e; do
		present "$id"
		acquire "$id" want=s handed=1
	done
	release anna
	assert_equal "$(holders)" 'b c d e'
	queue_is
	agree
}

@test "a holder that dies frees its slot when its lease ends, and the log says so" {
	acquire anna want='#1' lease=1000
	acquire ben want='=x' lease=30000
	wait_until is_past "$(($(column h:anna ends) + 1))"
	acquire cleo want='#1'
	assert_equal "${reply[0]} ${reply[6]}" 'granted =1'
	assert_equal "$(field n:expired)" 1
	assert_equal "$(holders)" 'ben cleo'
}

@test "a renewal raises the end of one hold only" {
	acquire anna want=s lease=20000
	acquire ben want=s lease=20000
	renew anna lease=40000 hold_mode=s
	answered renewed 40000
	left 40000 "$(cli PTTL job)"
	between 15000 "$(($(column h:ben ends) - $(now_ms)))" 20000
	agree
}

@test "holds are taken up again after a loss of data, the second one, too" {
	acquire anna want='#2'
	acquire ben want='#2'
	wait_until is_past "${token[ben]}"
	cli FLUSHALL
	renew ben hold_mode='=2'
	answered renewed
	renew anna hold_mode='=1'
	answered renewed
	assert_equal "${reply[3]}" 1
	assert_equal "$(holders)" 'anna ben'
	agree
}

@test "a hold whose slot somebody else has is not taken up" {
	acquire anna want='#1'
	wait_until is_past "${token[anna]}"
	cli FLUSHALL
	acquire ben want='#1'
	answered granted
	renew anna hold_mode='=1'
	answered lost
	assert_equal "$(holders)" ben
}

@test "a hold that was broken is not revived" {
	acquire anna want=s
	acquire ben want=s
	wait_until is_past "${token[ben]}"
	cli DEL job
	acquire cleo want=s
	renew anna hold_mode=s
	answered lost
	assert_equal "$(holders)" cleo
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
	acquire anna want='#1'
	release anna min=60000
	answered kept
	acquire ben want='#1' mode=try
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

@test "going in again, and a grant that is asked for again, have the token of this hold, not the last one of the lock" {
	acquire anna want=s
	acquire ben want=s
	acquire inner inherited=anna kind=a want=s
	assert_equal "${reply[2]}" "${token[anna]}"
	acquire anna want=s again=1
	assert_equal "${reply[2]}" "${token[anna]}"
	[ "${token[ben]}" -gt "${token[anna]}" ]
}

@test "going into an exclusive lock for a slot gives none" {
	acquire anna
	acquire inner inherited=anna kind=a want='#2'
	assert_equal "${reply[0]} ${reply[6]}" 'granted x'
}

@test "leave undoes the grant of a slot" {
	acquire anna want='#2'
	acquire ben want='#2'
	leave ben
	assert_equal "$(holders)" anna
	acquire cleo want='#2'
	assert_equal "${reply[6]}" =2
}

@test "50 shared waiters behind a writer all get the lock, in steps" {
	acquire anna
	for i in {1..50}; do ids+=("r$i"); done
	present "${ids[@]}"
	for id in "${ids[@]}"; do acquire "$id" want=s handed=1; done
	release anna
	assert_equal "$(holders | wc -w)" 20
	told r21 0
	ask r21 want=s
	answered granted
	assert_equal "$(holders | wc -w)" 41
	told r42 0
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

#!/usr/bin/env bats
# How holds beside others end: by lease, by force, with their keys; and requests that come twice or late.

load ../lib/helpers
load ../lib/scripts

@test "when all leases of several holders have ended, each end is logged" {
	acquire anna want='#2' lease=20000
	acquire ben want='#2' lease=20000
	later 20001
	assert_equal "$(cli EXISTS job)" 0
	acquire cleo is='granted cleo'
	assert_equal "$(shown counts)" '3 2 0 0'
	assert_equal "$(cli EXISTS "$(key_holders)")" 0
}

@test "when key 1 is gone, all holds are broken" {
	acquire anna want='#2'
	acquire ben want='#2'
	cli DEL job
	renew anna hold_mode='=1' is='lost gone'
	acquire cleo want='#2'
	assert_equal "${reply[0]} ${reply[6]}" 'granted =1'
	renew ben hold_mode='=2' is='lost gone'
	assert_equal "$(shown counts) $(holders)" '3 0 2 0 cleo'
}

@test "when key 1 has the field of another, all holds are broken" {
	acquire anna want=s
	acquire ben want=s
	cli DEL job
	redisson_takes r1
	renew anna hold_mode=s is='lost taken r1'
	renew ben hold_mode=s is='lost taken r1'
	assert_equal "$(shown counts) $(cli EXISTS "$(key_holders)") $(owner)" '2 0 2 0 0 r1'
}

@test "release by force breaks the hold of one owner, once" {
	acquire anna want='#2'
	acquire ben want='#2'
	present cleo
	acquire cleo want='#2' handed=1
	release zoe mode=force only=ben
	assert_equal "${reply[*]}" 'forced ben by ben'
	assert_equal "$(holders)" 'anna cleo'
	release zoe mode=force only=ben
	assert_equal "${reply[*]}" 'forced ben by ben'
	assert_equal "$(holders)" 'anna cleo'
	release yuri request=yuri mode=force only=ben is=free
	renew ben hold_mode='=2' is='lost forced'
}

@test "requests about a slot that are sent again have one effect" {
	acquire anna want='#2'
	first=${reply[*]}
	acquire anna want='#2' again=1 strays=1
	assert_equal "${reply[0]} ${reply[2]} ${reply[*]:5}" "granted ${token[anna]} 1 =1"
	acquire inner inherited=anna want='#2' kind=a
	acquire inner inherited=anna want='#2' kind=a again=1 strays=1
	assert_equal "${reply[5]}" 2
	release anna request=x mode=any is='released 1'
	release anna request=x mode=any again=1 strays=1 is='released 1'
	release anna strays=1 is='released 0'
	acquire ben want='#2'
	assert_equal "${reply[6]}" =1
	release anna again=1 strays=2 is='released 0'
	assert_equal "$(holders)" ben
	queue_up cleo
	leave cleo
	leave cleo strays=1 is='left ben'
}

@test "several processes of one holder go in and out of its slot" {
	acquire anna want='#2' lease=20000
	acquire inner inherited=anna want='=1,x' lease=60000
	assert_equal "${reply[1]} ${reply[5]} ${reply[6]}" 'anna 2 =1'
	assert_equal "${reply[3]}" 60000
	acquire other inherited='nobody anna' want='#1' kind=a
	assert_equal "${reply[5]}" 3
	leave anna request=inner
	renew anna request=other kind=a hold_mode='=1' is=renewed
	release anna request=wrong is='not held anna'
	release anna is='released 1'
	release anna mode=any request=x is='released 0'
	assert_equal "$(cli EXISTS job)" 0
}

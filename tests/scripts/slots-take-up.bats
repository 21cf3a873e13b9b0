#!/usr/bin/env bats
# Several holders after a loss of data: which holds are taken up again, and what the server gives meanwhile.

load ../lib/helpers
load ../lib/scripts

@test "all holds but the one whose slot was taken are taken up again after a loss of data" {
	acquire anna want='#3'
	acquire ben want='#3'
	acquire cleo want='#3'
	later 10
	cli FLUSHALL
	acquire zoe want='#3'
	assert_equal "${reply[6]}" =1
	renew cleo hold_mode='=3'
	answered renewed
	renew anna hold_mode='=1'
	answered lost taken zoe
	renew ben hold_mode='=2'
	answered renewed
	assert_equal "$(holders)" 'ben cleo zoe'
	agree
}

@test "holds are taken up again whichever comes first, also where the hash lost its last grants only" {
	acquire anna want='#4'
	copy_data
	acquire ben want='#4'
	acquire cleo want='#4'
	acquire dora want='#4'
	later 10
	old_data
	renew cleo hold_mode='=3'
	answered renewed
	renew ben hold_mode='=2'
	answered renewed
	renew dora hold_mode='=4'
	answered renewed
	assert_equal "$(holders)" 'anna ben cleo dora'
}

@test "shared holds are taken up beside shared ones only" {
	acquire anna want=s
	acquire ben want=s
	later 10
	cli FLUSHALL
	acquire zoe
	renew anna hold_mode=s
	answered lost taken zoe
	release zoe
	renew ben hold_mode=s
	answered renewed
	assert_equal "$(holders)" ben
}

@test "a hold that was broken after a loss of data is not revived, and the others are" {
	acquire anna want=s
	acquire ben want=s
	later 10
	cli FLUSHALL
	renew anna hold_mode=s
	answered renewed
	release zoe mode=force only=anna
	answered forced anna
	renew anna hold_mode=s
	answered lost forced
	renew ben hold_mode=s
	answered renewed
	assert_equal "$(holders)" ben
}

@test "a hold that our hash knows is not taken up, however new the hash is: taken out by hand, or handed over and expired" {
	acquire anna want=s
	acquire ben want=s
	cli ZREM "$(key_holders)" ben >/dev/null
	later 1000
	renew ben hold_mode=s
	answered lost gone
	assert_equal "$(holders)" anna
	want=s release anna
	acquire anna
	present cleo
	acquire cleo want=s handed=aa
	release anna
	later 5001
	renew cleo hold_mode=s "holder_token=$(heard cleo | awk '{ print $2 }')"
	answered lost gone
}

@test "a waiter that comes back after the loss was noticed leaves the other holds their right" {
	acquire anna want='#2'
	acquire ben want='#2'
	queue_up cleo
	later 10
	cli FLUSHALL
	acquire zoe want='=z'
	answered granted zoe
	come_back cleo
	answered queued
	renew anna hold_mode='=1'
	answered renewed
	come_back cleo
	renew ben hold_mode='=2'
	answered renewed
	assert_equal "$(holders)" 'anna ben zoe'
}

@test "a slot is given to nobody while our hash, which was deleted, does not know all holders" {
	acquire anna want='#3'
	acquire ben want='#3'
	cli DEL "$(key_state)"
	acquire cleo want='#3'
	answered queued
	renew ben hold_mode='=2'
	answered renewed
	ask cleo want='#3'
	answered queued
	renew anna hold_mode='=1'
	answered renewed
	later 20000
	renew anna hold_mode='=1'
	renew ben hold_mode='=2'
	ask cleo want='#3'
	answered queued
	later 10001
	ask cleo want='#3'
	answered granted cleo
	assert_equal "${reply[6]}" =3
	agree
}

@test "a slot is given when the holders that our hash, which was deleted, does not know have ended" {
	acquire anna want='#1' lease=20000
	cli DEL "$(key_state)"
	acquire ben want='#1'
	answered queued
	later 20001
	ask ben want='#1'
	answered granted ben
	assert_equal "${reply[6]}" =1
}

@test "the renew command keeps a slot that our hash, which was deleted, does not know" {
	acquire anna want='#2' lease=10000
	cli DEL "$(key_state)"
	acquire ben want='#2'
	answered queued
	script renew anna command '' 30000 '' 'by command' '' 0 '=1' '' ''
	answered renewed
	later 10001
	ask ben want='#2'
	answered queued
	later 20000
	ask ben want='#2'
	answered granted ben
}

@test "a process that went into a hold beside others does not end it if our hash was deleted" {
	acquire anna want=s
	acquire ben want=s
	acquire anna request=inner want=s
	cli DEL "$(key_state)"
	release anna request=inner
	answered released 1
	assert_equal "$(holders)" 'anna ben'
}

@test "a slot whose owner has no lease any more is given to the next" {
	acquire anna want='#2'
	acquire ben want='#2'
	cli ZREM "$(key_holders)" anna >/dev/null
	acquire cleo want='#2'
	answered granted cleo
	assert_equal "${reply[6]}" =1
}

@test "a hold that somebody takes out of the holders is broken, also if our hash is young" {
	acquire anna want=s
	acquire ben want=s
	cli ZREM "$(key_holders)" ben >/dev/null
	renew ben hold_mode=s
	answered lost gone
	assert_equal "$(holders)" anna
	assert_equal "$(the_events)" 'granted granted forced'
}

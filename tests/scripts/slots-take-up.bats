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
	renew cleo hold_mode='=3' is=renewed
	renew anna hold_mode='=1' is='lost taken zoe'
	renew ben hold_mode='=2' is=renewed
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
	renew cleo hold_mode='=3' is=renewed
	renew ben hold_mode='=2' is=renewed
	renew dora hold_mode='=4' is=renewed
	assert_equal "$(holders)" 'anna ben cleo dora'
}

@test "shared holds are taken up beside shared ones only" {
	acquire anna want=s
	acquire ben want=s
	later 10
	cli FLUSHALL
	acquire zoe
	renew anna hold_mode=s is='lost taken zoe'
	release zoe
	renew ben hold_mode=s is=renewed
	assert_equal "$(holders)" ben
}

@test "a hold that was broken after a loss of data is not revived, and the others are" {
	acquire anna want=s
	acquire ben want=s
	later 10
	cli FLUSHALL
	renew anna hold_mode=s is=renewed
	release zoe mode=force only=anna is='forced anna'
	renew anna hold_mode=s is='lost forced'
	renew ben hold_mode=s is=renewed
	assert_equal "$(holders)" ben
}

@test "a slot is given to nobody while our hash, which was deleted, does not know all holders" {
	acquire anna want='#3'
	acquire ben want='#3'
	cli DEL "$(key_state)"
	acquire cleo want='#3' is=queued
	renew ben hold_mode='=2' is=renewed
	ask cleo want='#3' is=queued
	renew anna hold_mode='=1' is=renewed
	ask cleo want='#3' is='granted cleo'
	assert_equal "${reply[6]}" =3
	agree
}

@test "a hold that somebody takes out of the holders is broken, also if our hash is young" {
	acquire anna want=s
	acquire ben want=s
	cli ZREM "$(key_holders)" ben >/dev/null
	renew ben hold_mode=s is='lost gone'
	assert_equal "$(holders)" anna
	assert_equal "$(the_events)" 'granted granted forced'
}

@test "the renew command keeps a slot that our hash, which was deleted, does not know" {
	acquire anna want='#2' lease=10000
	cli DEL "$(key_state)"
	acquire ben want='#2' is=queued
	script renew anna command '' 30000 '' 'by command' '' 0 '=1' '' ''
	answered renewed
	later 10001
	ask ben want='#2' is=queued
	later 20000
	ask ben want='#2' is='granted ben'
}

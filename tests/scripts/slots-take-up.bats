#!/usr/bin/env bats
# Several holders after a loss of data: which holds are taken up again, and what the server gives meanwhile.

load ../lib/helpers
load ../lib/scripts
load ../lib/handover

@test "a sorted set that lost data left behind holds nothing" {
	acquire anna want='#2' lease=600000
	acquire ben want='#2' lease=600000
	cli DEL job "$(key_state)"
	acquire cleo want='#2' lease=20000
	assert_equal "${reply[6]} $(holders)" '=1 cleo'
	left 20000 "$(cli PTTL job)"
}

@test "all holds but the one whose slot was taken are taken up again after a loss of data" {
	acquire anna want='#3'
	acquire ben want='#3'
	acquire cleo want='#3'
	wait_until is_past "${token[cleo]}"
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
	cli COPY "$(key_state)" "{job}old" >/dev/null
	acquire ben want='#4'
	acquire cleo want='#4'
	acquire dora want='#4'
	wait_until is_past "${token[dora]}"
	cli DEL job "$(key_holders)" "$(key_state)" >/dev/null
	cli RENAME "{job}old" "$(key_state)" >/dev/null
	renew cleo hold_mode='=3'
	answered renewed
	renew ben hold_mode='=2'
	answered renewed
	renew dora hold_mode='=4'
	answered renewed
	renew anna hold_mode='=1' # our hash had its token
	answered lost
	assert_equal "$(holders)" 'ben cleo dora'
}

@test "shared holds are taken up beside shared ones only" {
	acquire anna want=s
	acquire ben want=s
	wait_until is_past "${token[ben]}"
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
	wait_until is_past "${token[ben]}"
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

@test "a hold that our hash does not know is not revived after it was broken" {
	acquire anna want=s
	acquire ben want=s
	wait_until is_past "${token[ben]}"
	cli DEL "$(key_state)"
	release zoe mode=force only=anna
	answered forced anna
	renew anna hold_mode=s
	answered lost forced
	renew ben hold_mode=s
	answered renewed
}

@test "a hold from before the loss is not revived if our hash knew its token" {
	acquire anna want=s
	wait_until is_past "${token[anna]}"
	cli DEL job "$(key_holders)" >/dev/null
	cli HDEL "$(key_state)" h:anna holder >/dev/null
	change run lost="$(now_ms)" floor="${token[anna]}"
	renew anna hold_mode=s
	answered lost gone
}

@test "a waiter that comes back after the loss was noticed leaves the other holds their right" {
	acquire anna want='#2'
	acquire ben want='#2'
	queue_up cleo
	wait_until is_past "$((ticket[cleo] / 1000))"
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

@test "an owner that goes in again has one hold beside others after our hash was deleted" {
	acquire anna want=s
	cli DEL "$(key_state)"
	acquire anna want=s
	assert_equal "${reply[0]} ${reply[5]}" 'granted 1'
	release anna
	answered released 0
	assert_equal "$(cli EXISTS job)" 0
}

@test "a holder that takes its hold up again before others wait has its own lease" {
	acquire anna want=s
	queue_up zed
	present cleo
	wait_until is_past "${token[anna]}"
	cli FLUSHALL
	acquire cleo want=s handed=1 old_ticket=$((ticket[zed] + 1000)) again=1
	answered queued
	later 3000
	renew anna hold_mode=s lease=60000
	answered renewed 60000 "${token[anna]}" 1
}

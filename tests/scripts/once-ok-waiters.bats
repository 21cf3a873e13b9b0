#!/usr/bin/env bats
# --once-ok: how waiters leave the queue when a COMMAND has ended with 0; and requests, records and clocks that are amiss.

load ../lib/helpers
load ../lib/scripts
load ../lib/handover
load ../lib/once_ok

@test "when a COMMAND ends with 0, those who wait leave the queue and are told, and a plain waiter gets the lock" {
	acquire anna period=ok60000
	queue_for_handover ben
	present cleo dora eve
	acquire cleo period=ok60000 handed=1
	acquire dora
	acquire eve period=ok60000 handed=1
	succeed anna
	handed ben 5000
	queue_is dora
	told dora 'first 5000'
	for id in cleo eve; do
		assert_equal "$(heard "$id" | tail -n 1)" 0
		ask "$id" period=ok60000
		answered 'ran ok'
		ask "$id" period=ok60000 again=1
		answered 'ran ok'
	done
	assert_equal "$(log_lines | grep -c '^event=left')" 2
	queue_is dora
	all_well
}

@test "a waiter that misses the message learns with its sign of life that it need not run, and passes the turn on" {
	present ben cleo
	acquire anna kind=a
	acquire ben period=ok60000
	acquire cleo
	# as if it stood far behind when the success came
	cli HSET "$(key_state)" done "$(now_ms) $(now_ms)" >/dev/null
	ask ben period=ok60000
	answered 'ran ok'
	queue_is cleo
	is_told_first cleo
	assert_equal "$(log_lines | grep -c '^event=left')" 1
	assert_equal "$(field ours)" 1
	all_well
}

@test "a waiter from the middle of the queue leaves the others their turns" {
	present ben cleo dora
	acquire anna kind=a
	acquire ben
	acquire cleo period=ok60000
	acquire dora
	cli HSET "$(key_state)" done "$(now_ms) $(now_ms)" >/dev/null
	ask cleo period=ok60000
	answered 'ran ok'
	queue_is ben dora
	release anna
	assert_equal "$(heard ben | tail -n 1)" 0
	all_well
}

@test "a waiter that has not heard its ticket is answered ran ok all the same, and again" {
	acquire anna lease=86400000
	acquire ben period=ok1000
	answered queued
	later 10000
	succeed anna # ended since ben waits, and was started too long ago
	queue_is
	for _ in 1 2; do
		acquire ben period=ok1000 again=1
		answered 'ran ok'
	done
	acquire cleo period=ok1000 # one that did not wait
	answered granted
	# the same where it takes itself out
	release cleo
	acquire anna lease=86400000
	acquire dora period=ok1000
	later 10000
	cli HSET "$(key_state)" done "$(($(now_ms) - 10000)) $(now_ms)" >/dev/null
	for _ in 1 2; do
		acquire dora period=ok1000 again=1
		answered 'ran ok'
	done
	queue_is
	all_well
}

@test "a waiter whose record has gone is answered by its ticket" {
	present ben
	acquire anna lease=86400000
	acquire ben period=ok1000
	later 5000
	ask ben period=ok1000
	succeed anna
	assert_equal "$(field w:ben)" ''
	come_back ben period=ok1000
	answered 'ran ok'
	queue_is
}

@test "of a long queue the first 300 leave with the success, the next is told its turn, and each that asks takes 100 more along" {
	acquire anna period=ok60000
	many 450 1
	succeed anna
	assert_equal "$(cli LLEN "$(key_queue)")" 150
	assert_equal "$(owner)" '' # nobody is handed the lock in vain
	assert_equal "$(cli LINDEX "$(key_queue)" 0)" w301
	assert_equal "$(column turn id)" w301
	acquire w301 old_ticket="$(column w:w301 ticket)" period=ok60000
	answered 'ran ok'
	assert_equal "$(cli LLEN "$(key_queue)")" 49
	acquire w402 old_ticket="$(column w:w402 ticket)" period=ok60000
	answered 'ran ok'
	queue_is
	assert_equal "$(field ours)" 0
	all_well
}

@test "a waiter that comes to the head is sent away, also while somebody else has the lock" {
	present plain last
	acquire anna kind=a
	acquire plain handed=1
	acquire last period=ok60000 handed=1
	cli HSET "$(key_state)" done "$(now_ms) $(now_ms)" >/dev/null
	release anna
	handed plain 5000
	queue_is
	assert_equal "$(heard last | tail -n 1)" 0
	ask last period=ok60000
	answered 'ran ok'
	all_well
}

@test "one that supersedes began to wait when it asked, not when its ticket was given" {
	acquire anna
	queue_up ben
	present cleo
	acquire cleo newest=0
	succeed anna
	answered released
	present dora
	acquire dora newest=0 period=ok1
	answered queued "${ticket[cleo]}"
}

@test "one that supersedes, and has been asking since before the success, need not run" {
	acquire anna
	queue_up ben
	succeed anna
	acquire dora newest=-60000 period=ok1
	answered 'ran ok'
	queue_is ben
	all_well
}

# ---- Faults ----

@test "a server out of memory notes the success" {
	local refused=0 way

	for way in strays=0 strays=1; do # the usual case, and the long way
		cli FLUSHALL >/dev/null
		acquire anna "$way"
		cli CONFIG SET maxmemory 1 >/dev/null
		succeed anna "$way" || refused=1
		cli CONFIG SET maxmemory 0 >/dev/null
		assert_equal "$refused" 0
		[ -n "$(field 'done')" ]
		assert_equal "$(cli EXISTS job)" 0
	done
}

@test "a late copy and a repeated release change nothing of the success" {
	local before

	acquire anna
	succeed anna strays=1
	before=$(field 'done')
	acquire anna strays=1
	succeed anna strays=0
	answered late
	assert_equal "$(field 'done')" "$before"
	release anna strays=1 status=1 cause=exit
	succeed anna strays=1 again=1
	answered released
	assert_equal "$(field 'done')" "$before"
}

@test "after the clock was set back an hour a success is known that was started shortly before, and no end in the future" {
	present ben
	acquire anna
	succeed anna
	later -3600000
	acquire ben period=ok60000
	answered granted
	release ben status=1 cause=exit
	acquire ben period=ok36000000
	answered 'ran ok'
	acquire anna
	acquire cleo period=ok60000
	answered queued
	ask cleo period=ok60000 # that COMMAND did not end since it waits
	answered queued
	# a COMMAND that ran while the clock was set back
	later -3600000
	change h:anna "token=$(($(now_ms) + 3600000))"
	succeed anna
	acquire dora period=ok60000
	answered 'ran ok'
}

@test "a damaged record of the success is no error, and satisfies nobody" {
	local text

	for text in '' - '- -' 1 '1 ' ' 1' '1 99999999999999999999' '99999999999999999999 1' 'a b' '-1 -1' '1 2 3' '1e3 1e3' \
		"$(now_ms) 99999999999999999999"; do
		acquire anna
		cli HSET "$(key_state)" done "$text" >/dev/null
		present ben
		acquire ben period=ok60000
		answered queued
		ask ben period=ok60000
		answered queued
		script status
		release anna status=1 cause=exit
		ask ben period=ok60000
		answered granted
		succeed ben
		[[ $(field 'done') =~ ^[0-9]{13}\ [0-9]{13}$ ]]
		absent ben
		cli FLUSHALL >/dev/null
	done
	# nor does a period that makes no sense
	acquire anna
	acquire ben period=ok60000
	change w:ben period=ok99999999999999999999999
	succeed anna
	all_well
}

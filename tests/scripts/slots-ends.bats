#!/usr/bin/env bats
# How holds beside others end: by lease, by force, with their keys; and requests that come twice or late.

load ../lib/helpers
load ../lib/scripts
load ../lib/handover

@test "a slot whose holder died and that was given on stays with its new holder" {
	local i

	acquire zed want='=z' lease=600000
	for i in {1..25}; do acquire "h$i" want='#25' lease=$((20000 + i)); done
	later 20100
	# 20 ends are noticed by one script; not that of h25
	acquire ben want='=25'
	answered granted ben
	assert_equal "${reply[6]} $(field n:expired)" '=25 20'
	acquire cleo want='#25'
	assert_equal "$(field n:expired) $(field s:25)" '25 ben'
	assert_equal "$(holders)" 'ben cleo zed'
	acquire dora want='=25' mode=try
	answered busy
	agree
}

@test "when all leases of several holders have ended, each end is logged" {
	acquire anna want='#2' lease=20000
	acquire ben want='#2' lease=20000
	later 20001
	wait_until is_free "$lock"
	acquire cleo
	answered granted cleo
	assert_equal "$(field n:expired) $(field s:1)$(field s:2)" '2 '
	assert_equal "$(cli EXISTS "$(key_holders)")" 0
}

@test "a kept slot ends without a word, and is logged as released" {
	acquire anna want='#1'
	acquire zed want='=z' lease=600000
	release anna min=40000 status=3 cause=exit
	later 40001
	acquire ben want='#1'
	answered granted ben
	assert_equal "$(field n:expired)" ''
	run cli --raw XREVRANGE "$(key_log)" + -
	[[ ${lines[*]} = *' event released time '*' owner anna '*' status 3 cause exit slot 1 '* ]] || fail "$output"
}

@test "when key 1 is gone, all holds are broken" {
	acquire anna want='#2'
	acquire ben want='#2'
	cli DEL job
	renew anna hold_mode='=1'
	answered lost gone
	acquire cleo want='#2'
	assert_equal "${reply[0]} ${reply[6]}" 'granted =1'
	renew ben hold_mode='=2'
	answered lost gone
	assert_equal "$(field n:forced) $(holders)" '2 cleo'
}

@test "when key 1 has the field of another, all holds are broken" {
	acquire anna want=s
	acquire ben want=s
	cli DEL job
	redisson_takes r1
	renew anna hold_mode=s
	answered lost taken r1
	renew ben hold_mode=s
	answered lost taken r1
	assert_equal "$(field n:forced) $(cli EXISTS "$(key_holders)") $(owner)" '2 0 r1'
}

@test "when the sorted set is gone, all holds are broken, and the lock is free" {
	[ "${SCRIPTS_ON-}" != cluster ] || skip 'in a cluster a request that does not name the sorted set is asked again'
	acquire anna want=s
	acquire ben want=s
	cli DEL "$(key_holders)"
	acquire cleo
	answered granted cleo
	assert_equal "$(field n:forced)" 2
	renew anna hold_mode=s
	answered lost taken cleo
}

@test "every script refuses a sorted set of another type, and changes nothing" {
	local before call

	acquire anna want=s
	acquire ben want=s
	queue_up cleo
	cli SET "$(key_holders)" x >/dev/null
	before=$(digest)
	for call in 'acquire zoe want=s' 'acquire zoe' 'renew anna hold_mode=s' 'release anna' 'leave cleo' \
		'release zoe mode=force' 'script status'; do
		run -1 $call
		assert_output --partial WRONGTYPE
		assert_equal "$(digest)" "$before"
	done
}

@test "a sorted set of another type is replaced where nobody holds" {
	cli SET "$(key_holders)" x >/dev/null
	acquire anna want=s
	answered granted anna
	assert_equal "$(holders)" anna
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
	release yuri request=yuri mode=force only=ben
	answered free
	renew ben hold_mode='=2'
	answered lost forced
}

@test "release by force of one slot finds no exclusive lock" {
	acquire anna
	release zoe mode=force only==1
	answered free
	release zoe request=other mode=force only=anna
	answered forced anna
}

@test "release by force with a token breaks the hold with this token only" {
	acquire anna want='#2'
	acquire ben want='#2'
	release zoe mode=force holder_token="${token[ben]}"
	assert_equal "${reply[*]}" 'forced ben by ben'
	release zoe request=other mode=force only=anna holder_token="${token[ben]}"
	answered not held anna
	assert_equal "$(holders)" anna
}

@test "late copies of requests about a slot change nothing" {
	local before call

	acquire anna want='#2' strays=2
	acquire ben want='#2' strays=2
	queue_up cleo
	ask cleo want='#2' strays=2
	renew anna hold_mode='=1' strays=2
	before=$(digest)
	for call in 'acquire anna want=#2 strays=1' 'acquire cleo want=#2 strays=1' 'renew anna hold_mode==1 strays=1' \
		'release anna strays=1' 'leave cleo strays=1'; do
		$call
		[[ ${reply[0]} = late || ${reply[0]} = removed ]] || fail "$call: ${reply[*]}"
		assert_equal "$(digest)" "$before"
	done
}

@test "requests about a slot that are sent again have one effect" {
	acquire anna want='#2'
	first=${reply[*]}
	acquire anna want='#2' again=1 strays=1
	assert_equal "${reply[0]} ${reply[2]} ${reply[*]:5}" "granted ${token[anna]} 1 =1"
	acquire inner inherited=anna want='#2' kind=a
	acquire inner inherited=anna want='#2' kind=a again=1 strays=1
	assert_equal "${reply[5]}" 2
	release anna request=x mode=any
	answered released 1
	release anna request=x mode=any again=1 strays=1
	answered released 1
	release anna strays=1
	answered released 0
	acquire ben want='#2'
	assert_equal "${reply[6]}" =1
	release anna again=1 strays=2
	answered released 0
	assert_equal "$(holders)" ben
	queue_up cleo
	leave cleo
	leave cleo strays=1
	answered left ben
}

@test "an acquire of a slot that was given back comes too late" {
	acquire anna want='#1' strays=1
	release anna strays=1
	acquire anna want='#1'
	answered removed
	assert_equal "$(cli EXISTS job "$(key_holders)")" 0
}

@test "on a server out of memory holders renew and give back, and the next gets the slot" {
	acquire anna want='#2'
	acquire ben want='#2'
	present cleo
	acquire cleo want='#2' handed=1
	cli CONFIG SET maxmemory 1 >/dev/null
	renew anna hold_mode='=1' lease=50000
	cli CONFIG SET maxmemory 0 >/dev/null
	answered renewed 50000
	cli CONFIG SET maxmemory 1 >/dev/null
	release ben min=30000
	cli CONFIG SET maxmemory 0 >/dev/null
	answered kept
	cli CONFIG SET maxmemory 1 >/dev/null
	release anna
	cli CONFIG SET maxmemory 0 >/dev/null
	answered released
	assert_equal "$(holders)" 'ben cleo'
	agree
}

@test "on a server out of memory acquire shares no free lock, and leaves nothing" {
	cli CONFIG SET maxmemory 1 >/dev/null
	run -1 acquire ben want=s
	cli CONFIG SET maxmemory 0 >/dev/null
	assert_output --partial OOM
	assert_equal "$(cli DBSIZE)" 0
}

@test "on a server out of memory acquire grants no slot, and leaves nothing" {
	acquire anna want='#2'
	before=$(digest)
	cli CONFIG SET maxmemory 1 >/dev/null
	run -1 acquire ben want='#2'
	cli CONFIG SET maxmemory 0 >/dev/null
	assert_output --partial OOM
	assert_equal "$(digest)" "$before"
}

@test "a hold beside others that our hash forgot is given back by its owner" {
	acquire anna want=s
	acquire ben want=s
	cli HDEL "$(key_state)" h:anna
	release anna
	answered released 0
	assert_equal "$(holders)" ben
}

@test "our hash does not grow with slots that come and go" {
	local i

	for i in {1..30}; do
		acquire "a$i" want="=s$i"
		release "a$i"
	done
	assert_equal "$(cli HKEYS "$(key_state)" | grep -c '^[hs]:')" 0
	# left by scripts that noticed no more
	for i in {1..60}; do echo "HSET $(key_state) s:x$i nobody"; done | cli >/dev/null
	acquire zed want='=z'
	slot_comes_and_goes() { acquire anna want='#1' && release anna; }
	shrinks_to 45 slot_comes_and_goes
	assert_equal "$(field s:z)" zed # of those that may go, the server's order of fields decides
}

# loses_mark: the hash has many fields that may go, and a holder comes and goes; then the field `s:` is gone
loses_mark() {
	local i

	for i in {1..60}; do echo "HSET $(key_state) s:x$i nobody"; done | cli >/dev/null
	acquire anna want='#1' && release anna && [ -z "$(field s:)" ]
}

@test "the note that not all holders are known goes when it is over" {
	acquire zed want='=z'
	cli HSET "$(key_state)" s: 1 >/dev/null
	wait_until loses_mark
}

@test "several processes of one holder go in and out of its slot" {
	acquire anna want='#2' lease=20000
	acquire inner inherited=anna want='=1,x' lease=60000
	assert_equal "${reply[1]} ${reply[5]} ${reply[6]}" 'anna 2 =1'
	left 60000 "${reply[3]}"
	acquire other inherited='nobody anna' want='#1' kind=a
	assert_equal "${reply[5]}" 3
	leave anna request=inner
	assert_equal "$(column h:anna holds)" ,wanna,aother,
	renew anna request=other kind=a hold_mode='=1'
	answered renewed
	release anna request=wrong
	answered not held anna
	release anna
	answered released 1
	release anna mode=any request=x
	answered released 0
	assert_equal "$(cli EXISTS job)" 0
}

@test "a renewal that hands a slot to a waiter is about its own hold all the same" {
	acquire anna want=s kind=a lease=20000
	redisson_waits r1 3600000
	present cleo
	acquire cleo want=s handed=1 lease=40000
	renew anna kind=a hold_mode=s lease=20000
	later 5001
	renew anna kind=a hold_mode=s lease=20000
	assert_equal "${reply[0]} ${reply[2]}" "renewed ${token[anna]}"
	assert_equal "$(holders)" 'anna cleo'
	left 5000 "$(($(column h:cleo ends) - $(now_ms)))"
}

@test "a slot of a hold that our hash, which was deleted, does not know is given to nobody while the renew command prolongs it" {
	acquire anna want='#1' lease=20000 kind=a
	cli DEL "$(key_state)"
	acquire ben want='#1'
	answered queued
	later 15000
	renew anna request=r kind='' lease='' holder_token=''
	answered renewed
	later 10000
	ask ben want='#1'
	answered queued
	later 25000
	ask ben want='#1'
	answered granted ben
}

@test "a waiter for a slot gets it after our hash and then the sorted set were deleted" {
	acquire anna want='#1'
	cli DEL "$(key_state)"
	present ben
	acquire ben want='#1'
	cli HSET "$(key_state)" turn "ben $(now_ms)" >/dev/null
	cli DEL "$(key_holders)"
	ask ben want='#1'
	answered granted ben
}

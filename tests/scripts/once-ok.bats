#!/usr/bin/env bats
# --once-ok: which ends of a COMMAND are a success, for whom, and for how long it is known.

load ../lib/helpers
load ../lib/scripts
load ../lib/handover
load ../lib/once_ok

# ---- What satisfies ----

@test "acquire answers ran ok within nine tenths of the period after the start of a success, and grants after that" {
	acquire anna period=ok60000
	later 2000
	succeed anna
	acquire ben period=ok60000
	answered 'ran ok'
	grown 0 "${reply[1]}"
	later 51000
	acquire ben period=ok60000
	answered 'ran ok'
	grown 51000 "${reply[1]}"
	later 2000
	acquire ben period=ok60000
	answered granted
}

@test "a success counts whether or not its wrap had a period, also beside waiters" {
	acquire anna
	succeed anna
	acquire ben period=ok60000
	answered 'ran ok'
	cli FLUSHALL >/dev/null
	acquire anna
	queue_for_handover cleo dora
	succeed anna # the usual case hands the lock over
	handed cleo 5000
	acquire ben period=ok60000
	answered 'ran ok'
}

@test "no other end is a success: another status, --max-hold, a loss, a signal, a COMMAND that was not started" {
	local end way

	for end in 'status=1 cause=exit' 'status=0 cause=max-hold' 'status=0 cause=lost' 'status=0 cause=asked' \
		'status=143 cause=TERM' 'status=0 cause=exit mode=unused' ''; do
		for way in strays=0 strays=1; do # the usual case, and the long way
			acquire "anna$way" "$way"
			# shellcheck disable=SC2086
			release "anna$way" "$way" $end
			answered released
			assert_equal "$(field 'done')" ''
		done
	done
	acquire ben period=ok60000
	answered granted
}

@test "what acquire holds, and a wrap inside another, are no success when they are given back" {
	local way

	for way in strays=0 strays=1; do # the usual case, and the long way
		acquire "keeper$way" kind=a "$way"
		succeed "keeper$way" "$way"
		answered released 0
		assert_equal "$(field 'done')" ''
	done
	acquire anna
	acquire anna request=inner inherited=anna
	answered granted anna
	release anna request=inner status=0 cause=exit
	answered released 1
	assert_equal "$(field 'done')" ''
	succeed anna
	[ -n "$(field 'done')" ]
}

@test "a process inside a hold goes in again, however lately a COMMAND ended with 0" {
	acquire anna
	succeed anna
	acquire anna
	acquire inner inherited=anna period=ok60000
	answered granted anna
}

@test "a waiter behind a COMMAND that fails is granted the lock" {
	present ben
	acquire anna period=ok60000
	acquire ben period=ok60000
	answered queued
	release anna status=1 cause=exit
	ask ben period=ok60000
	answered granted
}

@test "a run that took longer than the period satisfies those who waited for it, and no newcomer" {
	present ben
	acquire anna lease=86400000 period=ok60000
	acquire ben period=ok60000
	later 80000
	ask ben period=ok60000
	answered queued
	later 80000
	ask ben period=ok60000
	succeed anna
	ask ben period=ok60000
	answered 'ran ok'
	acquire cleo period=ok60000
	answered granted
}

@test "mode try answers busy while a COMMAND runs, and ran ok when one has ended with 0" {
	acquire anna
	acquire ben mode=try period=ok60000
	answered busy anna
	succeed anna
	acquire cleo
	acquire ben mode=try period=ok60000
	answered 'ran ok'
	queue_is
	release cleo
	nothing_left
	all_well
}

# ---- How long it is known ----

@test "our hash lives for the period after a grant, a hand-over, a wait and an answer" {
	local when

	for when in grant wait answer; do
		cli FLUSHALL >/dev/null
		acquire anna "period=$([ "$when" != grant ] || echo ok604800000)"
		case $when in
		wait) acquire ben period=ok604800000 ;;
		answer)
			succeed anna
			acquire ben period=ok604800000
			answered 'ran ok'
			;;
		esac
		left 604800000 "$(cli PTTL "$(key_state)")"
	done
	cli FLUSHALL >/dev/null
	acquire anna kind=a
	queue_for_handover ben
	ask ben handed=1 period=ok604800000
	release anna
	handed ben 5000
	assert_equal "$(column started recall)" $(($(column h:ben since) + 604800000))
}

@test "a release goes the long way while somebody with a period waits, whoever holds" {
	acquire anna
	present ben
	acquire ben handed=1
	acquire cleo period=ok60000
	assert_equal "$(column started recall)" $(($(column started last) + 60000))
	succeed anna
	queue_is
	handed ben 5000
}

@test "a COMMAND whose hold was taken up after a loss of data counts, from its grant on" {
	granted_to_anna period=ok60000
	cli FLUSHALL
	sleep 0.1
	renew anna period=ok60000
	answered renewed
	assert_equal "${reply[3]}" 1
	left 60000 $(($(column started recall) - $(now_ms)))
	succeed anna
	assert_equal "$(column 'done' started)" "${token[anna]}"
	acquire ben period=ok60000
	answered 'ran ok'
	# the usual case says the same
	cli FLUSHALL
	granted_to_anna
	cli FLUSHALL
	sleep 0.1
	renew anna
	queue_up ben
	leave ben
	hear_calls
	succeed anna
	calls | grep -c '"HSET"' | grep -qx 1
	assert_equal "$(column 'done' started)" "${token[anna]}"
}

# ---- Other holds ----

@test "with slots and shared holds a success counts for the lock, whoever else holds" {
	local want mode

	for want in '#2' s; do
		mode=s
		[ "$want" = s ] || mode='=1'
		cli FLUSHALL >/dev/null
		acquire anna "want=$want"
		acquire ben "want=$want"
		present cleo
		acquire cleo want=x period=ok60000
		answered queued
		succeed anna hold_mode="$mode"
		queue_is
		ask cleo want=x period=ok60000
		answered 'ran ok'
		acquire dora "want=$want" period=ok60000
		answered 'ran ok'
		absent cleo
		assert_equal "$(holders)" ben
		all_well
	done
}

@test "of slots, the success that was started last counts, whichever ends last" {
	local last

	acquire anna want='#2' lease=100000
	later 30000
	acquire ben want='#2' lease=100000
	last=$(column h:ben since)
	succeed ben hold_mode==2
	later 1000
	succeed anna hold_mode==1
	assert_equal "$(column 'done' started)" $((last - 1000))
	[ "$(column 'done' ended)" -gt "$((last - 1000))" ]
	# a start in the future, before the clock was set back, does not
	acquire anna want='#2'
	change 'done' "started=$(($(now_ms) + 3600000))"
	succeed anna hold_mode==1
	grown 0 $(($(now_ms) - $(column 'done' started)))
}

@test "a COMMAND that ends with 0 counts also while --min-hold keeps the lock, once" {
	local before

	present ben
	acquire anna
	acquire ben period=ok60000
	succeed anna min=60000
	answered kept
	queue_is
	ask ben period=ok60000
	answered 'ran ok'
	before=$(field 'done')
	later -1000
	succeed anna min=60000 again=1
	answered kept
	assert_equal "$(column 'done' ended)" $((${before#* } + 1000))
}

@test "a COMMAND that ends with 0 counts when an acquire inside it still holds, and the next waiter knows that it is first" {
	present ben cleo
	acquire anna
	acquire anna request=inner kind=a inherited=anna
	acquire ben period=ok60000
	acquire cleo
	succeed anna
	answered released 1
	queue_is cleo
	is_told_first cleo
	ask ben period=ok60000
	answered 'ran ok'
	all_well
}

@test "status tells when a COMMAND last ended with 0" {
	acquire anna
	script status
	assert_equal "${reply[-4]}" ''
	succeed anna
	script status
	assert_equal "${reply[-4]}" "$(column 'done' ended)"
}

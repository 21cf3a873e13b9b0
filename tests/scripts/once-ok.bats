#!/usr/bin/env bats
# --once-ok: a job does not run if a COMMAND of its lock has ended with 0.

load ../lib/helpers
load ../lib/scripts
load ../lib/handover

# succeed ID [WORD=VALUE...]: its COMMAND ends with 0
succeed() {
	release "$1" status=0 cause=exit "${@:2}"
}

# is_told_first ID: the last message says that there may be room for it, or that it is its turn
is_told_first() {
	[[ $(heard "$1" | tail -n 1) =~ ^(first\ [0-9]+|0)$ ]]
}

# many COUNT [SECRET]: waiters w1 to wCOUNT with --once-ok are present and queue in this order
many() {
	local id

	mapfile -t ids < <(seq -f w%g "$1")
	present_together "${ids[@]}"
	for id in "${ids[@]}"; do
		script_line acquire "$id" "$id" w 30000 wait '' 0 '' "by $id" ok60000 0 "${2-}" x
	done | cli >/dev/null
	assert_equal "$(cli LLEN "$(key_queue)")" "$1"
}

# ---- What satisfies ----

@test "once ok: acquire answers ran ok within nine tenths of the period after the start of a success, and grants after that" {
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

@test "once ok: a success counts whether or not its wrap had a period, also beside waiters" {
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

@test "once ok: no other end is a success: another status, --max-hold, a loss, a signal, a COMMAND that was not started" {
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

@test "once ok: what acquire holds, and a wrap inside another, are no success when they are given back" {
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

@test "once ok: a process inside a hold goes in again, however lately a COMMAND ended with 0" {
	acquire anna
	succeed anna
	acquire anna
	acquire inner inherited=anna period=ok60000
	answered granted anna
}

@test "once ok: a waiter behind a COMMAND that fails is granted the lock" {
	present ben
	acquire anna period=ok60000
	acquire ben period=ok60000
	answered queued
	release anna status=1 cause=exit
	ask ben period=ok60000
	answered granted
}

@test "once ok: a run that took longer than the period satisfies those who waited for it, and no newcomer" {
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

@test "once ok: mode try answers busy while a COMMAND runs, and ran ok when one has ended with 0" {
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

# ---- Waiters ----

@test "once ok: when a COMMAND ends with 0, those who wait leave the queue and are told, and a plain waiter gets the lock" {
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

@test "once ok: a waiter that misses the message learns with its sign of life that it need not run, and passes the turn on" {
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

@test "once ok: a waiter from the middle of the queue leaves the others their turns" {
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

@test "once ok: a waiter that has not heard its ticket is answered ran ok all the same, and again" {
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

@test "once ok: a waiter whose record has gone is answered by its ticket" {
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

@test "once ok: of a long queue the first 300 leave with the success, the next is told its turn, and each that asks takes 100 more along" {
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

@test "once ok: a waiter that comes to the head is sent away, also while somebody else has the lock" {
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

# ---- How long it is known ----

@test "once ok: our hash lives for twice the period after a grant, a hand-over, a wait and an answer" {
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
		left $((2 * 604800000)) "$(cli PTTL "$(key_state)")"
	done
	cli FLUSHALL >/dev/null
	acquire anna kind=a
	queue_for_handover ben
	ask ben handed=1 period=ok604800000
	release anna
	handed ben 5000
	assert_equal "$(column started recall)" $(($(column h:ben since) + 2 * 604800000))
}

@test "once ok: a release goes the long way while somebody with a period waits, whoever holds" {
	acquire anna
	present ben
	acquire ben handed=1
	acquire cleo period=ok60000
	assert_equal "$(column started recall)" $(($(column started last) + 120000))
	succeed anna
	queue_is
	handed ben 5000
}

@test "once ok: a COMMAND whose hold was taken up after a loss of data counts, from its grant on" {
	granted_to_anna period=ok60000
	cli FLUSHALL
	sleep 0.1
	renew anna period=ok60000
	answered renewed
	assert_equal "${reply[3]}" 1
	left 120000 $(($(column started recall) - $(now_ms)))
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

@test "once ok: with slots and shared holds a success counts for the lock, whoever else holds" {
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

@test "once ok: of slots, the success that was started last counts, whichever ends last" {
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

@test "once ok: a COMMAND that ends with 0 counts also while --min-hold keeps the lock, once" {
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

@test "once ok: a COMMAND that ends with 0 counts when an acquire inside it still holds, and the next waiter knows that it is first" {
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

# ---- Faults ----

@test "once ok: a server out of memory notes the success" {
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

@test "once ok: a late copy and a repeated release change nothing of the success" {
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

@test "once ok: after the clock was set back an hour a success is known that was started shortly before, and no end in the future" {
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

@test "once ok: a damaged record of the success is no error, and satisfies nobody" {
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

# ---- release --forget-run ----

# forget [WORD=VALUE...]
forget() {
	release '' request=forgetter mode=forget "$@"
}

@test "forget: both kinds of jobs may run again, and the lock is left alone" {
	acquire anna period=60000
	succeed anna
	acquire cleo
	later 1000
	forget
	answered forgot
	grown 1000 "${reply[1]}"
	assert_equal "$(owner)" cleo
	assert_equal "$(field 'done')" ''
	release cleo
	acquire ben period=60000
	answered granted
	release ben mode=unused
	acquire ben period=ok60000
	answered granted
}

@test "forget: a COMMAND that runs meanwhile counts when it ends with 0" {
	acquire anna period=ok60000
	forget
	succeed anna
	acquire ben period=ok60000
	answered 'ran ok'
}

@test "forget: our hash stays as long as jobs may ask" {
	acquire anna period=ok604800000
	forget
	left $((2 * 604800000)) "$(cli PTTL "$(key_state)")"
}

@test "forget: there may be nothing to forget, also where the lock is unknown" {
	forget
	answered forgot -1
	all_well
	acquire anna
	release anna mode=unused
	forget request=another
	answered forgot -1
	all_well
}

@test "forget: a success without a start is told, too" {
	acquire anna
	succeed anna
	cli HDEL "$(key_state)" started
	forget
	answered forgot
	grown 0 "${reply[1]}"
}

@test "forget: asked again it gets the same answer and forgets no later run; a late copy does nothing" {
	local before

	acquire anna
	later 5000
	forget
	before=${reply[1]}
	succeed anna
	acquire anna
	forget strays=1
	answered forgot "$before"
	[ "$(column started last)" != - ]
	[ -n "$(field 'done')" ]
	forget strays=0
	answered late
	[ -n "$(field 'done')" ]
}

@test "forget: a lock of several holders is left alone" {
	acquire anna want='#2'
	acquire ben want='#2'
	forget
	answered forgot
	assert_equal "$(holders)" 'anna ben'
	agree
	all_well
}

@test "forget: another spelling and another version are refused, and nothing changes" {
	acquire anna
	lock='{job}' forget
	answered spelled job
	cli HSET "$(key_state)" v 4 >/dev/null
	forget
	answered version 4
	[ "$(column started last)" != - ]
}

@test "status tells when a COMMAND last ended with 0" {
	acquire anna
	script status
	assert_equal "${reply[-2]}" ''
	succeed anna
	script status
	assert_equal "${reply[-2]}" "$(column 'done' ended)"
}

@test "one that supersedes began to wait when it asked, not when its ticket was given" {
	acquire anna
	queue_up ben
	present cleo
	acquire cleo newest=1
	succeed anna
	answered released
	present dora
	acquire dora newest=1 period=ok1
	answered queued "${ticket[cleo]}"
}

#!/usr/bin/env bats
# Handing over: the script that frees the lock grants it to the first waiter, and tells the waiter.

load ../lib/helpers
load ../lib/scripts

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# want ID...: they wait, and accept a handover with the secret 1
want() {
	local id

	present "$@"
	for id; do
		acquire "$id" handed=1
		answered queued
	done
}

# handed ID TTL [SECRET]: the last message to ID granted the lock, and ID holds it
handed() {
	local said token ttl at secret

	read -r said token ttl at secret < <(heard "$1" | tail -n 1)
	assert_equal "$said $token $ttl $secret" "granted $(field token) $2 ${3-1}"
	between $(($(now_ms) - $(passed))) "$at" "$(now_ms)"
	assert_equal "$(owner) $(holds)" "$1 1"
}

@test "release hands the lock to the first waiter, with all that a grant has" {
	acquire anna
	want ben
	at=${reply[5]}
	between $(($(now_ms) - $(passed))) "$at" "$(now_ms)"
	before=$(field token)
	release anna
	answered released 0
	handed ben 5000
	left 5000 "$(cli PTTL job)"
	[ "$(field token)" -gt "$before" ]
	queue_is
	assert_equal "$(field owner) $(field by) $(field holds)" 'ben by ben wben'
	assert_equal "$(field lease)" 30000
	assert_equal "$(field n:granted)" 2
	assert_equal "$(log_lines | tail -n 1 | grep -o 'event=granted.*owner=ben')" "$(log_lines | tail -n 1 | grep -o 'event.*owner=ben')"
	assert_equal "$(field turn)" ''
	all_well
}

@test "release tells the second waiter that it is first now, and when the short lease ends" {
	acquire anna
	want ben carl dora
	release anna
	handed ben 5000
	told carl 'first 5000'
	told dora ''
	queue_is carl dora
}

@test "release only tells a waiter its turn if the waiter accepts no handover" {
	acquire anna
	queue_up ben
	release anna
	told ben 0
	assert_equal "$(cli EXISTS job)" 0
	queue_is ben
}

@test "each sign of life says anew whether the waiter accepts a handover" {
	acquire anna
	want ben
	ask ben
	release anna
	told ben 0
}

@test "the first renewal gives the new holder its whole lease" {
	acquire anna
	want ben
	release anna
	token[ben]=$(field token)
	renew ben
	answered renewed 30000 "${token[ben]}" 0
	left 30000 "$(cli PTTL job)"
}

@test "a lease shorter than a turn is handed over 1 ms shorter, and is renewed" {
	acquire anna
	present ben
	acquire ben handed=1 lease=1000
	release anna
	handed ben 999
	token[ben]=$(field token)
	renew ben lease=1000
	answered renewed 1000
}

@test "a waiter that was handed the lock and asks before it hears so has the whole lease" {
	acquire anna
	want ben
	release anna
	before=$(field token)
	ask ben handed=1
	answered granted ben "$before"
	left 30000 "${reply[3]}"
	assert_equal "$(holds) $(field holds)" '1 wben'
	assert_equal "$(field n:granted)" 2
}

@test "a waiter that has not heard its ticket and was handed the lock is granted it when it asks" {
	acquire anna
	want ben
	release anna
	come_back ben old_ticket= handed=1
	answered granted ben "$(field token)"
	left 30000 "${reply[3]}"
}

@test "a waiter that hangs when it is handed the lock costs one turn and then has its old place" {
	acquire anna
	want ben carl
	release anna
	handed ben 5000
	later 5001
	ask carl handed=1
	answered granted carl
	assert_equal "$(log_lines | grep -o 'event=[a-z]*' | paste -sd ' ')" \
		'event=granted event=released event=granted event=expired event=granted'
	queue_up dora
	ask ben handed=1
	answered queued "${ticket[ben]}"
	queue_is ben dora
}

@test "a silent first waiter is told its turn, and is dropped with the other silent ones" {
	acquire anna lease=60000
	want ben carl
	want dora
	later 14000
	ask dora handed=1
	later 2000
	release anna
	told ben 0
	assert_equal "$(cli EXISTS job)" 0
	later 5000
	ask dora handed=1
	answered granted dora
}

@test "release passes over dead waiters and hands the lock to the waiter behind them" {
	acquire anna
	want ben carl dora
	absent ben carl
	release anna
	handed dora 5000
	queue_is
}

@test "release tells a Redisson waiter at the head its turn, and our waiter behind it to look in 1 s" {
	acquire anna
	redisson_waits rita
	present rita
	want ben
	release anna
	told rita 0
	assert_equal "$(heard ben)" 'second 1000'
	assert_equal "$(cli EXISTS job)" 0
}

@test "after a restart release hands the lock to no waiter before the pause for old waiters is over" {
	acquire anna
	want ben
	cli HSET "$(key_state)" run another >/dev/null
	present carl
	acquire carl again=1 handed=1
	absent carl
	cli HSET "$(key_state)" back $(($(now_ms) + 1500)) >/dev/null
	release anna
	assert_equal "$(cli EXISTS job)" 0
	heard ben | grep -q '^first 1'
}

@test "a repeated release hands the lock over once" {
	acquire anna
	want ben carl
	release anna
	release anna again=1
	answered released 0
	assert_equal "$(owner)" ben
	assert_equal "$(log_lines | grep -c 'event=granted')" 2
}

@test "a waiter that leaves gives back the lock that it was handed, and the next waiter has it" {
	acquire anna
	want ben carl
	release anna
	handed ben 5000
	leave ben
	answered left
	handed carl 5000
	assert_equal "$(heard ben | grep -c granted)" 1
}

@test "release takes back a lock that was handed over and not used, and forgets that start" {
	acquire anna
	want ben
	release anna
	started=$(field started)
	release ben mode=unused
	answered released 0
	[ "$(field started)" -lt "$started" ]
	assert_equal "$(cli EXISTS job)" 0
}

@test "the script that notices the end of a lease hands the lock to the first waiter" {
	acquire anna lease=1000
	want ben carl
	later 1001
	ask carl handed=1
	answered queued "${ticket[carl]}"
	left 5001 "${reply[2]}"
	assert_equal "${reply[3]}" 1
	left 5000 "${reply[4]}"
	handed ben 5000
	queue_is carl
}

@test "release by force hands the lock over, and the old holder learns that it was broken" {
	acquire anna
	want ben
	script release '' breaker force '' 0 ''
	answered forced anna
	handed ben 5000
	renew anna
	answered lost forced ben
}

@test "release with a --min-hold hands the lock to no waiter before the least time ends" {
	acquire anna
	want ben
	release anna min=20000
	answered kept
	assert_equal "$(owner)" anna
	assert_equal "$(heard ben | grep -c granted)" 0
}

@test "a server out of memory hands the lock over" {
	acquire anna
	want ben
	cli CONFIG SET maxmemory 1 >/dev/null
	release anna
	cli CONFIG SET maxmemory 0 >/dev/null
	answered released 0
	handed ben 5000
	all_well
}

@test "a release touches only the ends of a long queue" {
	local id

	acquire anna
	want ben carl
	for id in {1..20}; do
		acquire "dead$id"
	done
	hear_calls
	release anna
	handed ben 5000
	looked_not_through
}

@test "a release makes 19 calls if the queue is in order" {
	local way=SUBSCRIBE

	knows_sharded || skip 'before version 7 it always takes the long way'
	acquire anna
	want ben carl dora
	hear_calls
	release anna
	handed ben 5000
	told carl 'first 5000'
	assert_equal "$(calls | wc -l)" 19
}

# What a release has left behind, without times.
left_behind() {
	local key id

	cli HGETALL "$lock" | paste - -
	cli HGETALL "$(key_state)" | paste - - | sort
	waiting
	scored
	log_lines
	for key in "$lock" "$(key_queue)" "$(key_timeouts)" "$(key_state)" "$(key_log)"; do
		echo "$key lives $(cli PTTL "$key")"
	done
	for id in ben carl dora; do
		echo "$id: $(heard "$id")"
	done
}

@test "the short way of a release leaves the same behind as the long one" {
	local way lock

	knows_sharded || skip 'before version 7 it always takes the long way'
	for lock in short long; do
		acquire anna
		way=SUBSCRIBE present ben dora
		if [ "$lock" = short ]; then
			way=SUBSCRIBE present carl
		else
			way=SSUBSCRIBE present carl
		fi
		for id in ben carl dora; do
			acquire "$id" handed=1
		done
		release anna
		handed ben 5000
		left_behind | sed -E "s/$lock/NAME/g; s/[0-9]{16}/TICKET/g; s/[0-9]{13}/TIME/g; s/lives [0-9]+/lives/
			s/(waited|held)([=[:space:]])[0-9]+/\\1\\2MS/g; s/-[0-9]+ / /" >"$lock"
		absent ben carl dora
	done
	grep -q 'granted TOKEN\|granted TIME' short
	diff short long
}

@test "a holder that also stands first in the queue is handed the lock by its own release" {
	acquire anna
	want ben carl
	present anna
	cli LPUSH "$(key_queue)" anna
	cli ZADD "$(key_timeouts)" $(($(now_ms) + 30000)) anna
	cli HSET "$(key_state)" t:anna "1 $(now_ms) 30000 1" d:anna 'by anna' ours 3
	release anna
	handed anna 5000
	queue_is ben carl
}

@test "release tells the keeper whose hold the release command gave back, also if others wait" {
	present anna
	acquire anna kind=a
	want ben
	release anna request=by-hand mode=any
	told anna 0
	handed ben 5000
}

@test "release tells the third waiter that it is first if the second is dead" {
	acquire anna
	want ben carl dora
	absent carl
	release anna
	handed ben 5000
	told dora 'first 5000'
	queue_is dora
}

@test "release hands the lock to the first waiter that others dropped, also if list and set have the same length" {
	acquire anna
	want ben carl
	cli LREM "$(key_queue)" 0 ben
	cli ZREM "$(key_timeouts)" ben
	present rita
	redisson_waits rita
	release anna
	handed ben 5000
	queue_is carl rita
}

@test "release hands the lock to the first waiter that others dropped from the list" {
	acquire anna
	want ben carl
	cli LREM "$(key_queue)" 0 ben
	release anna
	handed ben 5000
	queue_is carl
}

@test "release hands the lock to the second waiter if the first is dead" {
	acquire anna
	want ben carl dora
	absent ben
	release anna
	handed carl 5000
	told dora 'first 5000'
	queue_is dora
}

@test "release restores a waiter's score that others removed" {
	acquire anna
	want ben carl dora
	cli ZREM "$(key_timeouts)" dora
	release anna
	handed ben 5000
	queue_is carl dora
}

@test "after a restart release hands nothing over at first, because earlier waiters may be missing" {
	acquire anna
	want carl dora
	cli HSET "$(key_state)" back $(($(now_ms) + 1500)) >/dev/null
	release anna
	[[ $(heard carl) =~ ^first\ [0-9]+$ ]]
	assert_equal "$(cli EXISTS job)" 0
}

@test "a waiter that is listed twice does not crowd out one that others dropped, also if list and set have the same length" {
	acquire anna
	want ben carl dora
	cli LREM "$(key_queue)" 0 carl
	cli LPUSH "$(key_queue)" ben
	release anna
	handed ben 5000
	told carl 'first 5000'
	queue_is carl dora
}

@test "a waiter that had not heard its ticket and missed a handover has its old place when it comes back" {
	acquire anna
	want ben
	release anna
	later 5001
	acquire carl
	answered granted
	queue_up dora
	come_back ben old_ticket= handed=1
	answered queued
	queue_is ben dora
}

@test "on a server out of memory a waiter that missed a handover has its old place when it comes back" {
	acquire anna
	want ben
	release anna
	later 5001
	cli CONFIG SET maxmemory 1 >/dev/null
	acquire carl
	cli CONFIG SET maxmemory 0 >/dev/null
	answered granted
	queue_up dora
	come_back ben old_ticket= handed=1
	queue_is ben dora
}

@test "a lock that two waiters were handed and did not use counts as never started" {
	acquire anna kind=a
	want ben carl
	release anna
	release ben mode=unused
	release carl mode=unused
	assert_equal "$(field started)" ''
	acquire dora period=3600000
	answered granted
}

@test "a lock taken up after a loss of data keeps all its holds, also if a dead waiter is passed over" {
	acquire anna
	acquire inner inherited=anna kind=a
	holder=$(field token)
	queue_up_dead ben
	cli DEL job >/dev/null
	cli HSET "$(key_state)" token $((holder - 1)) >/dev/null
	cli HDEL "$(key_state)" owner since until holds >/dev/null
	cli HSET "$(key_state)" run "$(cli INFO server | sed -n 's/^run_id:\([0-9a-f]*\).*/\1/p')" >/dev/null
	renew anna holder_token="$holder"
	answered renewed
	assert_equal "${reply[3]}" 1
	assert_equal "$(field owner) $(field holds)" 'anna wanna'
	renew anna request=inner kind=a holder_token="$holder"
	answered renewed
	assert_equal "$(holds)" 2
}

@test "the log has a time to live again if any script notices the end of a lease" {
	acquire anna lease=1000
	queue_up ben
	later 1001
	cli DEL "$(key_log)" >/dev/null
	acquire carl mode=try
	all_well
}

@test "renew gives a sorted set that somebody deleted a time to live again" {
	acquire anna
	want ben
	cli DEL "$(key_timeouts)" >/dev/null
	renew anna
	[ "$(cli PTTL "$(key_timeouts)")" -gt 0 ]
}

# hung COUNT: anna's lock was handed to the first of COUNT waiters that do nothing more; zoe waits
# behind them
hung() {
	acquire anna
	want h1 h2 h3 h4 h5
	for id in h1 h2 h3 h4 h5; do
		[ "${id#h}" -le "$1" ] || leave "$id"
	done
	want zoe
	release anna
	handed h1 5000
}

@test "two hung waiters cost 10 s if the waiter behind them asks after the first missed its turn" {
	hung 2
	later 7000
	ask zoe handed=1
	answered queued
	left 3000 "${reply[2]}"
	later 3000
	ask zoe handed=1
	answered granted zoe
}

@test "two hung waiters cost 10 s if the waiter behind them asks before the first misses its turn" {
	hung 2
	later 3000
	ask zoe handed=1
	answered queued
	left 7001 "${reply[2]}"
	later 7001
	ask zoe handed=1
	answered granted zoe
}

@test "two hung waiters cost 10.5 s if the waiter behind them asks only then, at its next sign of life" {
	hung 2
	later 10500
	ask zoe handed=1
	answered granted zoe
}

@test "three hung waiters cost 15 s" {
	hung 3
	later 7000
	ask zoe handed=1
	answered queued
	left 3000 "${reply[2]}"
	later 3000
	ask zoe handed=1
	answered queued
	assert_equal "$(owner) ${reply[3]}" 'h3 1'
	left 5000 "$(cli PTTL job)"
	later 5001
	ask zoe handed=1
	answered granted zoe
}

@test "three hung waiters cost 15 s also if the waiter behind them asks only at its next sign of life" {
	hung 3
	later 10500
	ask zoe handed=1
	answered queued
	assert_equal "$(owner)" h3
	left 4500 "$(cli PTTL job)"
	later 4501
	ask zoe handed=1
	answered granted zoe
}

@test "four hung waiters cost 16 s, since the fourth is silent by then and has one second" {
	hung 4
	later 7000
	ask zoe handed=1
	left 3000 "${reply[2]}"
	later 3000
	ask zoe handed=1
	answered queued
	assert_equal "$(owner)" h3
	# The turn of h4 begins in 5 s. Its last sign of life was 10 s ago.
	left 6001 "${reply[2]}"
	later 6001
	ask zoe handed=1
	answered granted zoe
}

@test "a silent waiter that is told its turn has one second to take it" {
	acquire anna lease=60000
	want ben
	want zoe
	later 15000
	ask zoe handed=1
	release anna
	told ben 0
	ask zoe handed=1
	left 1000 "${reply[2]}"
	later 1000
	ask zoe handed=1
	answered granted zoe
}

@test "a waiter that could not ask for a long time has one second to take its turn" {
	hung 3
	later 60000
	cli HSET "$(key_state)" t:h3 "${ticket[h3]} $(now_ms) 30000 1" >/dev/null # as if it had just asked
	ask zoe handed=1
	answered queued
	handed h3 1000
}

@test "acquire passes over waiters that were silent for long together with one that missed a handover" {
	acquire anna lease=60000
	want h1 h2 h3
	want zoe
	later 12000
	ask h1 handed=1
	ask zoe handed=1
	release anna
	handed h1 5000
	later 5001
	ask zoe handed=1
	answered granted zoe
}

@test "acquire passes over no living waiter behind a hung one, however late the hang is noticed" {
	hung 2
	later 9000
	ask h2 handed=1
	answered granted h2
}

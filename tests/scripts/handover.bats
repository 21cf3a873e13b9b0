#!/usr/bin/env bats
# Handing over: the script that frees the lock grants it to the first waiter, and tells the waiter.

load ../lib/helpers
load ../lib/scripts
load ../lib/handover

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

@test "release hands the lock to the first waiter, with all that a grant has" {
	acquire anna
	queue_for_handover ben
	at=${reply[5]}
	between $(($(now_ms) - $(passed))) "$at" "$(now_ms)"
	before=$(field token)
	release anna
	answered released 0
	handed ben 5000
	left 5000 "$(cli PTTL job)"
	[ "$(field token)" -gt "$before" ]
	queue_is
	assert_equal "$(field holder)" ben
	assert_equal "$(column h:ben state) $(column h:ben by) $(column h:ben holds)" 'held by ben ,wben,'
	assert_equal "$(column h:ben lease)" 30000
	assert_equal "$(column h:ben token)" "$(field token)"
	assert_equal "$(column h:ben ends)" $(($(column h:ben since) + 5000))
	assert_equal "$(field h:anna)$(field w:ben)" ''
	assert_equal "$(field n:granted)" 2
	assert_equal "$(log_lines | tail -n 1 | grep -o 'event=granted.*owner=ben')" "$(log_lines | tail -n 1 | grep -o 'event.*owner=ben')"
	assert_equal "$(field turn)" ''
	all_well
}

@test "a waiter's token is one more than the token before if that lies in the future, handed over or asked for" {
	acquire anna
	queue_for_handover ben cleo
	future=$(($(now_ms) + 3600000))
	cli HSET "$(key_state)" token "$future"
	release anna
	assert_equal "$(owner) $(field token)" "ben $((future + 1))"
	renew ben
	later 31000
	ask cleo
	answered granted cleo
	assert_equal "$(field token)" $((future + 2))
}

@test "release tells the second waiter that it is first now, and when the short lease ends" {
	acquire anna
	queue_for_handover ben carl dora
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
	queue_for_handover ben
	ask ben
	release anna
	told ben 0
}

@test "the first renewal gives the new holder its whole lease" {
	acquire anna
	queue_for_handover ben
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
	queue_for_handover ben
	release anna
	before=$(field token)
	ask ben handed=1
	answered granted ben "$before"
	left 30000 "${reply[3]}"
	assert_equal "$(holds) $(column h:ben holds)" '1 ,wben,'
	assert_equal "$(field n:granted)" 2
}

@test "a waiter that has not heard its ticket and was handed the lock is granted it when it asks" {
	acquire anna
	queue_for_handover ben
	release anna
	come_back ben old_ticket= handed=1
	answered granted ben "$(field token)"
	left 30000 "${reply[3]}"
}

@test "a repeated release hands the lock over once" {
	acquire anna
	queue_for_handover ben carl
	release anna
	release anna again=1
	answered released 0
	assert_equal "$(owner)" ben
	assert_equal "$(log_lines | grep -c 'event=granted')" 2
}

@test "a waiter that leaves gives back the lock that it was handed, and the next waiter has it" {
	acquire anna
	queue_for_handover ben carl
	release anna
	handed ben 5000
	leave ben
	answered left
	handed carl 5000
	assert_equal "$(heard ben | grep -c granted)" 1
}

@test "release takes back a lock that was handed over and not used, and forgets that start" {
	acquire anna
	queue_for_handover ben
	release anna
	started=$(column started last)
	release ben mode=unused
	answered released 0
	[ "$(column started last)" -lt "$started" ]
	assert_equal "$(cli EXISTS job)" 0
}

@test "the script that notices the end of a lease hands the lock to the first waiter" {
	acquire anna lease=1000
	queue_for_handover ben carl
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
	queue_for_handover ben
	script release '' breaker force '' 0 ''
	answered forced anna
	handed ben 5000
	renew anna
	answered lost forced ben
}

@test "release with a --min-hold hands the lock to no waiter before the least time ends" {
	acquire anna
	queue_for_handover ben
	release anna min=20000
	answered kept
	assert_equal "$(owner)" anna
	assert_equal "$(heard ben | grep -c granted)" 0
}

@test "a server out of memory hands the lock over" {
	acquire anna
	queue_for_handover ben
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
	queue_for_handover ben carl
	for id in {1..20}; do
		acquire "dead$id"
	done
	hear_calls
	release anna
	handed ben 5000
	looked_not_through
}

@test "a release makes 22 calls if the queue is in order" {
	local way=SUBSCRIBE

	knows_sharded || skip 'before version 7 it always takes the long way'
	acquire anna
	queue_for_handover ben carl dora
	hear_calls
	release anna
	handed ben 5000
	told carl 'first 5000'
	assert_equal "$(calls | wc -l)" 22
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
			s/(waited|held|^0=held)([=[:space:]|])[0-9]+/\\1\\2MS/g; s/-[0-9]+ / /
			s/(h:ben	held TIME TIME TIME 30000) [0-9]+/\\1 MS/" >"$lock"
		absent ben carl dora
	done
	grep -q 'granted TOKEN\|granted TIME' short
	diff short long
}

@test "a release to a crowd whose last waiter is one of Redisson's takes note of its patience" {
	local id

	acquire anna
	mapfile -t ids < <(seq -f w%g 20)
	present_together "${ids[@]}"
	for id in "${ids[@]}"; do
		acquire "$id" handed=1
	done
	redisson_waits r1 3600000
	release anna
	assert_equal "$(owner)" w1
	[[ $(field theirs) = "r1 "* ]]
	assert_equal "$(cli PTTL "$(key_queue)") $(cli PTTL "$(key_timeouts)")" '-1 -1'
}

@test "release tells the keeper whose hold the release command gave back, also if others wait" {
	present anna
	acquire anna kind=a
	queue_for_handover ben
	release anna request=by-hand mode=any
	told anna 0
	handed ben 5000
}

@test "a lock that two waiters were handed and did not use counts as never started" {
	acquire anna kind=a
	queue_for_handover ben carl
	release anna
	release ben mode=unused
	release carl mode=unused
	assert_equal "$(column started last)" -
	acquire dora period=3600000
	answered granted
}

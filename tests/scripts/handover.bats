#!/usr/bin/env bats
# Handing the lock over: the script that frees it grants it to the first waiter, and tells it so.

load ../lib/helpers
load ../lib/scripts

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# want ID...: they wait for the lock, and it can be handed to them with the secret 1
want() {
	local id

	present "$@"
	for id; do
		acquire "$id" handed=1
		answered queued
	done
}

# handed ID TTL [SECRET]: it was told so, last of all, and holds
handed() {
	local said token ttl at secret

	read -r said token ttl at secret < <(heard "$1" | tail -n 1)
	assert_equal "$said $token $ttl $secret" "granted $(field token) $2 ${3-1}"
	between $(($(now_ms) - $(passed))) "$at" "$(now_ms)"
	assert_equal "$(owner) $(holds)" "$1 1"
}

@test "a release hands the lock to the first waiter, with all that a grant has" {
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

@test "the next in line is told that it is first, and when the short lease ends" {
	acquire anna
	want ben carl dora
	release anna
	handed ben 5000
	told carl 'first 5000'
	told dora ''
	queue_is carl dora
}

@test "whoever did not say that it takes such a grant is told its turn" {
	acquire anna
	queue_up ben
	release anna
	told ben 0
	assert_equal "$(cli EXISTS job)" 0
	queue_is ben
}

@test "a sign of life says anew whether the lock can be handed over" {
	acquire anna
	want ben
	ask ben
	release anna
	told ben 0
}

@test "the first renewal gives the whole lease" {
	acquire anna
	want ben
	release anna
	token[ben]=$(field token)
	renew ben
	answered renewed 30000 "${token[ben]}" 0
	left 30000 "$(cli PTTL job)"
}

@test "a lease that is shorter than a turn: the grant is shorter still, and is renewed" {
	acquire anna
	present ben
	acquire ben handed=1 lease=1000
	release anna
	handed ben 999
	token[ben]=$(field token)
	renew ben lease=1000
	answered renewed 1000
}

@test "who has not heard of it and asks goes on as the owner, with the whole lease" {
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

@test "who had not heard its ticket either, and asks again, is the owner" {
	acquire anna
	want ben
	release anna
	come_back ben old_ticket= handed=1
	answered granted ben "$(field token)"
	left 30000 "${reply[3]}"
}

@test "who hangs costs a turn, and has its place when it comes back" {
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

@test "one that gave no sign of life for long is told its turn, and goes with the others that did not" {
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

@test "the dead are passed over, and whoever stands behind them has the lock" {
	acquire anna
	want ben carl dora
	absent ben carl
	release anna
	handed dora 5000
	queue_is
}

@test "one of Redisson's at the head is told; one of ours behind it looks" {
	acquire anna
	redisson_waits rita
	present rita
	want ben
	release anna
	told rita 0
	assert_equal "$(heard ben)" 'second 1000'
	assert_equal "$(cli EXISTS job)" 0
}

@test "after a restart nobody is handed the lock before all are back" {
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

@test "a release that is repeated hands nothing over twice" {
	acquire anna
	want ben carl
	release anna
	release anna again=1
	answered released 0
	assert_equal "$(owner)" ben
	assert_equal "$(log_lines | grep -c 'event=granted')" 2
}

@test "whoever leaves gives back what it was handed meanwhile, and the next has it" {
	acquire anna
	want ben carl
	release anna
	handed ben 5000
	leave ben
	answered left
	handed carl 5000
	assert_equal "$(heard ben | grep -c granted)" 1
}

@test "it is given back as any lock is, also when COMMAND was not started" {
	acquire anna
	want ben
	release anna
	started=$(field started)
	release ben mode=unused
	answered released 0
	[ "$(field started)" -lt "$started" ]
	assert_equal "$(cli EXISTS job)" 0
}

@test "a lease that ended: whoever asks first hands the lock to the head" {
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

@test "breaking a lock hands it over, and whose it was learns that it was broken" {
	acquire anna
	want ben
	script release '' breaker force '' 0 ''
	answered forced anna
	handed ben 5000
	renew anna
	answered lost forced ben
}

@test "the lock is kept for a --min-hold: it is handed to nobody before" {
	acquire anna
	want ben
	release anna min=20000
	answered kept
	assert_equal "$(owner)" anna
	assert_equal "$(heard ben | grep -c granted)" 0
}

@test "a server out of memory hands over all the same" {
	acquire anna
	want ben
	cli CONFIG SET maxmemory 1 >/dev/null
	release anna
	cli CONFIG SET maxmemory 0 >/dev/null
	answered released 0
	handed ben 5000
	all_well
}

@test "what it costs does not grow with the queue: a long one is touched at its ends only" {
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

@test "when the queue is in order it costs 19 calls" {
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

# What a release has left behind, but for times.
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

@test "the short way leaves the same behind as the long one" {
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

@test "whoever releases and stands first all the same is handed the lock as anybody is" {
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

@test "the keeper of a hold that the release command gave back is told, also when others wait" {
	present anna
	acquire anna kind=a
	want ben
	release anna request=by-hand mode=any
	told anna 0
	handed ben 5000
}

@test "the second is gone: the third is told that it is first" {
	acquire anna
	want ben carl dora
	absent carl
	release anna
	handed ben 5000
	told dora 'first 5000'
	queue_is dora
}

@test "whom others dropped goes first, also when the numbers agree" {
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

@test "whom others dropped from the list goes first" {
	acquire anna
	want ben carl
	cli LREM "$(key_queue)" 0 ben
	release anna
	handed ben 5000
	queue_is carl
}

@test "the first is gone: the second is handed the lock" {
	acquire anna
	want ben carl dora
	absent ben
	release anna
	handed carl 5000
	told dora 'first 5000'
	queue_is dora
}

@test "a score that others have taken is there again after a release" {
	acquire anna
	want ben carl dora
	cli ZREM "$(key_timeouts)" dora
	release anna
	handed ben 5000
	queue_is carl dora
}

@test "after a restart of the server the lock is not handed over for a while: others may stand before who is there" {
	acquire anna
	want carl dora
	cli HSET "$(key_state)" back $(($(now_ms) + 1500)) >/dev/null
	release anna
	[[ $(heard carl) =~ ^first\ [0-9]+$ ]]
	assert_equal "$(cli EXISTS job)" 0
}

@test "who stands twice does not put out who is not there, also when the numbers agree" {
	acquire anna
	want ben carl dora
	cli LREM "$(key_queue)" 0 carl
	cli LPUSH "$(key_queue)" ben
	release anna
	handed ben 5000
	told carl 'first 5000'
	queue_is carl dora
}

@test "who had not heard its ticket, and was handed the lock in vain, has its place when it comes back" {
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

@test "a server without memory: who was handed the lock in vain has its place, too" {
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

@test "what was not started did not run, whoever is handed the lock by that" {
	acquire anna kind=a
	want ben carl
	release anna
	release ben mode=unused
	release carl mode=unused
	assert_equal "$(field started)" ''
	acquire dora period=3600000
	answered granted
}

@test "a lock that was taken up keeps all its holds, also when a dead waiter is passed over" {
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

@test "the log keeps its time to live, whatever notices the end of a lease" {
	acquire anna lease=1000
	queue_up ben
	later 1001
	cli DEL "$(key_log)" >/dev/null
	acquire carl mode=try
	all_well
}

@test "the sorted set has a time to live again when somebody deleted it" {
	acquire anna
	want ben
	cli DEL "$(key_timeouts)" >/dev/null
	renew anna
	[ "$(cli PTTL "$(key_timeouts)")" -gt 0 ]
}

# hung COUNT: anna's lock was handed to the first of COUNT waiters, which do nothing more; zoe waits behind them
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

@test "two that hang cost 10 s when the one behind them has asked meanwhile" {
	hung 2
	later 7000
	ask zoe handed=1
	answered queued
	left 3000 "${reply[2]}"
	later 3000
	ask zoe handed=1
	answered granted zoe
}

@test "two that hang cost 10 s when the one behind them asks before the first has missed its turn" {
	hung 2
	later 3000
	ask zoe handed=1
	answered queued
	left 7001 "${reply[2]}"
	later 7001
	ask zoe handed=1
	answered granted zoe
}

@test "two that hang cost no more than a sign of life when nobody asks before that" {
	hung 2
	later 10500
	ask zoe handed=1
	answered granted zoe
}

@test "three that hang cost 15 s" {
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

@test "three that hang cost 15 s also when nobody asks before the next sign of life" {
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

@test "four that hang cost 16 s: the last one is silent by then, and has a second" {
	hung 4
	later 7000
	ask zoe handed=1
	left 3000 "${reply[2]}"
	later 3000
	ask zoe handed=1
	answered queued
	assert_equal "$(owner)" h3
	# the turn of h4 begins in 5 s; it was seen 10 s ago
	left 6001 "${reply[2]}"
	later 6001
	ask zoe handed=1
	answered granted zoe
}

@test "a silent waiter that is told its turn has a second to take it" {
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

@test "one that could not ask for long has a second to take its turn" {
	hung 3
	later 60000
	cli HSET "$(key_state)" t:h3 "${ticket[h3]} $(now_ms) 30000 1" >/dev/null # it asked elsewhere just now
	ask zoe handed=1
	answered queued
	handed h3 1000
}

@test "those that were silent for long are passed over with one that did not take what it was handed" {
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

@test "a waiter that lives behind one that hangs is not passed over, whenever that is found out" {
	hung 2
	later 9000
	ask h2 handed=1
	answered granted h2
}

#!/usr/bin/env bats
# The queue of a lock that several may hold: who is next, who is told, and what the dead and the hung cost.

load ../lib/helpers
load ../lib/scripts

# The tokens of the waiters that were handed the lock, and of those that asked
tokens_told() {
	cat "$BATS_TEST_TMPDIR/asked"
	sed -n 's/^.*channel:{job}:\(r[0-9]*\)$/\1/; T; h; n; s/^granted \([0-9]*\) .*/\1/; T; H; x; s/\n/ /p' \
		"$BATS_TEST_TMPDIR/heard.together"
}

all_are_told() {
	[ "$(tokens_told | cut -d ' ' -f 1 | sort -u | wc -l)" = 1000 ]
}

@test "a thousand readers behind a writer get the lock in bounded steps, in their order, and none is lost" {
	local ids=() id steps=0 first

	acquire anna lease=86400000
	for id in {1..1000}; do ids+=("r$id"); done
	present_together "${ids[@]}"
	for id in "${ids[@]}"; do
		script_line acquire "$id" "$id" w 86400000 wait '' 0 '' "by $id" '' 0 1 s
	done | cli >"$BATS_TEST_TMPDIR/answers"
	assert_equal "$(grep -c '^queued$' "$BATS_TEST_TMPDIR/answers")" 1000
	release anna
	while first=$(waiting | cut -d ' ' -f 1) && [ -n "$first" ]; do
		acquire "$first" again=1 want=s handed=1 lease=86400000
		answered granted "$first"
		echo "$first ${token[$first]}" >>"$BATS_TEST_TMPDIR/asked"
		[ $((++steps)) -lt 100 ] || fail "the queue does not end"
	done
	assert_equal "$(shown counts)" '1001 0 0 0'
	# tokens grow in the order of the queue
	wait_until all_are_told
	tokens_told | sort -n -k 1.2 | cut -d ' ' -f 2 | sort -nuc
	all_well
}

@test "when the first waiter leaves, those behind it that fit get the lock" {
	acquire anna want=s
	queue_up ben
	present cleo dora
	acquire cleo want=s handed=1
	acquire dora want=s handed=1
	leave ben
	answered left anna
	assert_equal "$(holders)" 'anna cleo dora'
	queue_is
}

@test "behind a first waiter that was killed the next sign of life takes the lock" {
	acquire anna want=s
	queue_up ben
	present cleo dora
	acquire cleo want=s handed=1
	acquire dora want=s handed=1
	absent ben
	assert_equal "${reply[2]}" 10500
	ask cleo want=s handed=1
	answered granted cleo
	assert_equal "$(holders)" 'anna cleo dora'
}

@test "a waiter that was handed a slot and hangs costs its turn" {
	acquire anna want='#1' lease=60000
	present ben cleo
	acquire ben want='#1' handed=1
	acquire cleo want='#1' handed=1
	release anna
	assert_equal "$(holders)" ben
	told cleo 'first 5000'
	later 5001
	ask cleo want='#1' handed=1
	answered granted cleo
}

@test "a silent writer is not passed over while only readers fit" {
	acquire anna want=s lease=600000
	acquire ben want=s lease=600000
	queue_up cleo
	present dora
	acquire dora want=s handed=1
	later 16000
	ask dora want=s handed=1
	answered queued
	release anna
	queue_is cleo dora
}

@test "a waiter for a slot with --once-per that is not over is told to ask, and the next gets the slot" {
	acquire anna want='#1' kind=a
	present zed ben cleo
	acquire zed want='#1' handed=1
	acquire ben want='#1' handed=1 period=60000
	acquire cleo want='#1' handed=1
	release anna mode=any
	assert_equal "$(holders)" zed
	release zed
	[[ $(heard ben | tail -n 1) = 0 ]]
	ask ben want='#1' period=60000
	answered ran
	assert_equal "$(holders)" cleo
	acquire dora want='#2' period=60000
	answered ran
}

@test "a newcomer joins behind fewer waiters than its limit, whatever they want" {
	acquire anna want='#1'
	queue_up ben
	present cleo
	acquire cleo want=s
	acquire dora want='#1' limit=2
	answered full 2 anna
	acquire dora want='#1' limit=3
	answered queued
}

@test "a writer is told again when the lock may be free, if the last lease ends earlier" {
	acquire anna want=s lease=20000
	acquire ben want=s lease=60000
	queue_up cleo
	release ben
	[[ $(heard cleo) =~ ^first\ ([0-9]+)$ ]] || fail "$(heard cleo)"
	assert_equal "${BASH_REMATCH[1]}" 20000
}

@test "a waiter for a slot is told when the first lease of its own slots ends" {
	acquire anna want='=a' lease=20000
	acquire ben want='=b' lease=60000
	acquire cleo want='=c' lease=40000
	queue_up yuri
	present zed
	acquire zed want='=b,c' handed=1
	leave yuri
	[[ $(heard zed) =~ ^first\ ([0-9]+)$ ]] || fail "$(heard zed)"
	assert_equal "${BASH_REMATCH[1]}" 40000
}

@test "a Redisson waiter between waiters for slots has its turn alone" {
	acquire anna want='#2'
	acquire ben want='#2'
	present cleo r1 dora
	acquire cleo want='#2' handed=1
	redisson_waits r1
	acquire dora want='#2' handed=1
	release anna
	assert_equal "$(holders)" 'ben cleo'
	release ben
	queue_is r1 dora
	release cleo
	told r1 0,0 # the last lease ended earlier; its turn
	queue_is r1 dora
	assert_equal "$(redisson_takes r1)" granted
	ask dora want='#2' handed=1
	answered queued
	cli DEL job >/dev/null
	ask dora want='#2' handed=1
	answered granted dora
}

@test "a free slot behind a Redisson waiter stays free until that had its turn" {
	acquire anna want='#2' lease=60000
	acquire ben want='#2' lease=20000
	redisson_waits r1
	present r1 cleo
	acquire cleo want='#2' handed=1
	answered queued
	release ben
	queue_is r1 cleo
	assert_equal "$(holders)" anna
	told r1 '' # the last lease ends when it did
	release anna
	told r1 0
}

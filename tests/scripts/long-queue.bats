#!/usr/bin/env bats
# A queue of more than twenty waiters: the scripts mend it in parts, at a bounded cost.

load ../lib/helpers
load ../lib/scripts

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# long_queue COUNT: anna holds, and COUNT waiters of ours are present, w1 first.
long_queue() {
	acquire anna lease=600000
	crowd "$1"
	assert_equal "$(cli LLEN "$(key_queue)")" "$1"
}

@test "a few signs of life mend a long queue and keep its Redisson id from expiring" {
	acquire anna
	crowd 40
	cli ZREM "$(key_timeouts)" w20
	cli LREM "$(key_queue)" 0 w30
	redisson_waits r1
	for i in $(seq 10); do
		later 100
		acquire w1 again=1
		answered queued
	done
	all_well
	assert_equal "$(waiting)" "${ids[*]} r1"
	assert_equal "$(cli PTTL "$(key_queue)")" -1
}

@test "a request of the first waiter and each sign of life look at a part of a long queue only" {
	local from

	long_queue 300
	later 100
	hear_calls
	from=$(date +%s%N)
	acquire w1 again=1
	answered queued
	acquire w150 again=1
	answered queued
	calls >called
	# A part of the hash, for one of the two; for both if 100 ms lie between them.
	grep -aq '"HSCAN"' called
	[ "$(grep -ac '"HSCAN"' called)" -le $((1 + ($(date +%s%N) - from) / 100000000)) ]
	run -1 grep -aE '"LRANGE" "[^"]*" "0" "-1"|"(LREM|LINSERT|ZRANGE|HKEYS|HGETALL)" "(redisson|fairlock)' called
	[ "$(wc -l <called)" -lt 100 ]
}

@test "the scripts look after a long queue ten times a second at most" {
	local from

	long_queue 100
	later 100
	from=$(date +%s%N)
	acquire w1 again=1
	hear_calls
	for i in $(seq 5); do
		acquire "w$i" again=1
		answered queued
	done
	calls >called
	[ "$(grep -ac '"HSCAN"' called)" -le $((($(date +%s%N) - from) / 100000000)) ]
	later 100
	acquire w1 again=1
	calls >called
	[ "$(grep -ac '"HSCAN"' called)" -gt 0 ]
}

@test "the scripts mend a long queue in parts" {
	long_queue 100
	cli ZREM "$(key_timeouts)" w90 >/dev/null
	cli LREM "$(key_queue)" 0 w95 >/dev/null
	for i in $(seq 40); do
		later 100
		acquire w1 again=1
	done
	all_well
	assert_equal "$(waiting)" "${ids[*]}"
}

# has_forgotten ID: our hash knows this waiter no more, after the next sign of life of the first
has_forgotten() {
	acquire w1 again=1
	[ -z "$(field "w:$1")" ]
}

@test "a dead waiter of a long queue that others have dropped is forgotten and counted no more" {
	long_queue 40
	acquire dead
	ask dead
	assert_equal "$(field ours)" 41
	cli LREM "$(key_queue)" 0 dead >/dev/null
	cli ZREM "$(key_timeouts)" dead >/dev/null
	redisson_waits r1 # as many in the queue as our hash knows
	wait_until has_forgotten dead
	assert_equal "$(field ours) $(cli LLEN "$(key_queue)")" '40 41'
	all_well
}

@test "the scripts compare the whole of a long queue once in a minute if the lengths differ" {
	long_queue 100
	cli ZREM "$(key_timeouts)" w90 >/dev/null
	acquire w1 again=1
	all_well
	cli LREM "$(key_queue)" 0 w80 >/dev/null
	hear_calls
	acquire w1 again=1
	calls >called
	run -1 grep -E '"LRANGE" "[^"]*" "0" "-1"' called
	later 61000
	acquire w1 again=1
	all_well
}

@test "the head of a long queue has a score after each script" {
	long_queue 100
	for i in 1 2; do
		cli ZREM "$(key_timeouts)" w1 >/dev/null
		renew anna
		[ -n "$(cli ZSCORE "$(key_timeouts)" w1)" ]
	done
}

@test "a Redisson id without a score gets one in a long queue although the lengths agree" {
	long_queue 100
	cli RPUSH "$(key_queue)" r1 >/dev/null
	cli ZADD "$(key_timeouts)" "$(now_ms)" r2 >/dev/null
	for i in $(seq 8); do
		later 100
		acquire w1 again=1
	done
	[ -n "$(cli ZSCORE "$(key_timeouts)" r1)" ]
	all_well
}

# The queue was mended and looked through just now; then somebody deletes the sorted set.
deletes_scores='
local time = redis.call("TIME")
local ms = string.format("%.0f", time[1] * 1000 + time[2] / 1000)
redis.call("HSET", KEYS[4], "tended", ms .. " 0 0 " .. ms)
redis.call("DEL", KEYS[3])'

@test "a sorted set that somebody deletes has a time to live again, also if the queue was mended just before" {
	long_queue 25
	on_keys EVAL "$deletes_scores"
	renew anna
	between 1 "$(cli PTTL "$(key_timeouts)")" 700000
}

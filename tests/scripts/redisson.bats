#!/usr/bin/env bats
# Turns of Redisson's waiters: how long one has, when it counts as dead, and who wakes the next one.

load ../lib/helpers
load ../lib/scripts

# What Redisson's clients see while fairlock's hold the lock.
@test "a present Redisson waiter has 5 s for its turn" {
	turn_of_present_redisson
	later 3000
	ask ben
	answered queued
	queue_is r1 ben
	left 2000 "${reply[2]}"
}

@test "a present Redisson waiter that misses its turn of 5 s is passed over and told once more" {
	turn_of_present_redisson
	told r1 0
	later 5000
	ask ben
	answered granted ben
	queue_is
	told r1 0,0
}

@test "a Redisson waiter keeps its place if a plain lock takes its turn away for a minute" {
	turn_of_present_redisson
	cli HSET job plain 1 # a client with a plain lock was quicker
	later 60000
	ask ben
	answered queued
	queue_is r1 ben
	cli DEL job
	ask ben
	answered queued
	queue_is r1 ben
}

@test "a Redisson thread that waits again is not judged by the turn of its earlier wait" {
	acquire anna
	redisson_waits r1
	present r1 ben cleo
	acquire ben
	release anna
	told r1 0
	leave ben
	redisson_takes r1
	redisson_waits r1 300001
	later 20000
	redisson_unlocks
	acquire cleo
	answered queued
	queue_is r1 cleo
}

@test "an absent Redisson waiter at the head has 5 s" {
	turn_of_absent_redisson
	later 3000
	ask ben
	answered queued
	left 2000 "${reply[2]}"
	queue_is r1 ben
}

@test "a Redisson waiter that was absent at the head for 5 s is dropped from list and sorted set" {
	turn_of_absent_redisson
	later 5000
	ask ben
	answered granted ben
	queue_is
}

@test "Redisson waiters that were absent together are dropped together" {
	acquire anna
	redisson_waits r1
	redisson_waits r2
	redisson_waits r3
	queue_up ben
	release anna
	later 5000
	ask ben
	answered granted ben
	queue_is
}

@test "Redisson waiters that were absent together are dropped together, also if the turn of the first is over first" {
	acquire anna
	redisson_waits r1
	redisson_waits r2
	redisson_waits r3
	present r1
	queue_up ben
	release anna
	absent r1
	later 1000
	ask ben
	later 4000
	ask ben
	answered queued
	queue_is r2 r3 ben
	between 1 "${reply[2]}" 1000
	later 1000
	ask ben
	answered granted ben
	queue_is
}

@test "Redisson waiters that came later than an absent head, or listen by now, are not dropped with it" {
	acquire anna
	redisson_waits r1
	redisson_waits r2
	queue_up ben
	redisson_waits r3
	release anna
	redisson_waits r4
	present r2
	later 5000
	ask ben
	answered queued
	queue_is r2 ben r3 r4
	absent r2
	ask ben
	answered queued
	later 5000
	ask ben
	answered granted ben
	queue_is # r3 and r4 were absent together with r2
}

@test "release drops a Redisson head at once if a renewal saw it absent 6 s before" {
	acquire anna
	redisson_waits r1
	queue_up ben
	later 6000
	renew anna
	release anna
	queue_is ben
	told ben 'first 30000,0'
}

@test "the 5 s of an absent Redisson head begin when a script first sees it absent" {
	acquire anna
	redisson_waits r1
	queue_up ben
	later 1000
	release anna
	told ben 'second 1000'
	later 1000
	ask ben
	left 3000 "${reply[2]}"
	later 3000
	ask ben
	answered granted ben
}

@test "a Redisson head that was present in between has another 5 s" {
	acquire anna
	redisson_waits r1
	queue_up ben
	later 2500
	present r1
	ask ben
	absent r1
	ask ben
	later 2500
	ask ben
	queue_is r1 ben
	later 2500
	ask ben
	queue_is ben
}

@test "a Redisson client that was once absent, had the lock and waits again has another 5 s" {
	turn_of_absent_redisson
	redisson_takes r1
	redisson_unlocks
	acquire cleo
	leave ben
	leave cleo
	later 600000
	acquire dora
	redisson_waits r1
	acquire emil
	answered queued
	queue_is r1 emil
}

@test "a Redisson client that waits again has another 5 s if another client was head in between" {
	acquire anna
	redisson_waits r1
	acquire ben
	release anna
	redisson_takes r1
	redisson_unlocks
	redisson_waits r2
	acquire cleo
	leave ben
	leave cleo
	remove r2
	later 600000
	acquire dora
	redisson_waits r1
	acquire emil
	answered queued
	queue_is r1 emil
}

@test "a Redisson client that waits again within seconds has another 5 s, even with a lower score" {
	turn_of_absent_redisson
	redisson_takes r1
	ask ben
	later 6000
	redisson_unlocks
	redisson_waits r1 100000
	ask ben
	answered granted ben
	queue_is r1
	acquire cleo
	queue_is r1 cleo
	left 300000 "$(ahead r1)"
}

@test "a Redisson head whose score has passed is dropped, as Redisson itself would do" {
	acquire anna lease=3600000
	redisson_waits r1
	present r1
	queue_up ben
	later 290000
	ask ben
	queue_is r1 ben
	later 10000
	ask ben
	queue_is ben
}

@test "a Redisson waiter that becomes head by a grant has 300 s at least" {
	acquire anna
	queue_up ben
	redisson_waits r1 10000
	release anna
	ask ben
	answered granted ben
	left 300000 "$(ahead r1)"
	queue_is r1
}

@test "a Redisson waiter that becomes head by a leave or a release has 300 s at least" {
	acquire anna
	acquire ben
	redisson_waits r1 -5000
	leave ben
	left 300000 "$(ahead r1)"
	cli ZADD "$(key_timeouts)" "$(($(now_ms) + 1000000))" r1
	remove r1
	acquire cleo
	redisson_waits r2 1000
	release anna
	queue_is r2
	left 300000 "$(ahead r2)"
}

@test "our waiter waits for a lock that Redisson holds, and is granted it when Redisson unlocks" {
	redisson_takes r0
	queue_up ben
	assert_equal "${reply[3]}" 1
	left 30000 "${reply[4]}"
	redisson_unlocks
	told ben 0
	ask ben
	answered granted ben
}

@test "a Redisson waiter that is first takes the lock after our release" {
	turn_of_absent_redisson
	redisson_takes r1
	assert_equal "$(owner)" r1
	queue_is ben
}

@test "our first waiter behind Redisson's asks when the lease ends, because nobody tells Redisson's" {
	acquire anna lease=10000
	redisson_waits r1
	redisson_waits r2
	present r1 r2
	queue_up ben cleo
	ask ben
	left 10001 "${reply[2]}"
	ask cleo
	assert_equal "${reply[2]}" 10500
	release anna
	acquire zoe lease=7000
	answered queued
	redisson_takes r1
	ask ben
	assert_equal "${reply[2]}" 10500
}

@test "a grant tells our first waiter behind Redisson's when to ask" {
	acquire anna
	queue_up ben
	redisson_waits r1
	present r1
	queue_up cleo dora
	release anna
	ask ben lease=6000
	answered granted ben
	told cleo 'second 5000,second 6001'
	told dora ''
}

# Queues in which only Redisson's wait

minute=60000

@test "the holder's renewals find a Redisson head dead, and its release wakes the waiter behind it" {
	acquire anna
	redisson_asks dead $((5 * minute)) queued
	redisson_asks r2 $((5 * minute)) queued
	present r2
	renew anna
	queue_is dead r2
	later 5000
	renew anna
	queue_is r2
	release anna
	told r2 0
	redisson_asks r2 $((5 * minute)) granted
}

@test "release passes over a Redisson head that a renewal saw absent 5 s before" {
	acquire anna
	redisson_asks dead $((5 * minute)) queued
	redisson_asks r2 $((5 * minute)) queued
	present r2
	renew anna
	later 5000
	release anna
	told r2 0
	queue_is r2
}

@test "renew drops no Redisson head that is present, or was absent for a moment" {
	acquire anna
	redisson_asks r1 $((5 * minute)) queued
	redisson_asks r2 $((5 * minute)) queued
	renew anna
	later 4000
	present r1
	renew anna
	absent r1
	later 4000
	renew anna
	queue_is r1 r2
	present r1
	later 6000
	renew anna
	queue_is r1 r2
	told r1 ''
	release anna
	told r1 0
}

@test "renew looks at no waiter if only ours wait" {
	acquire anna
	queue_up ben
	hear_calls
	renew anna
	run -1 grep -E '"(PUBSUB|LINDEX)"|theirs' <(calls)
}

@test "acquire with mode try that passes over a dead Redisson waiter drops the note on it" {
	acquire anna
	redisson_waits r1
	queue_up ben
	[ -n "$(field theirs)" ]
	release anna
	ask ben
	later 5500
	acquire zoe mode=try
	answered busy
	queue_is ben
	assert_equal "$(field theirs)" ''
}

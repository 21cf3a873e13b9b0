#!/usr/bin/env bats
# Redisson's patience: how much a waiter adds to its score, and takes from every score behind it
# when it leaves. Our waiters must keep their places all the same.

load ../lib/helpers
load ../lib/scripts

minute=60000 hour=3600000 day=86400000

# queue_behind_redisson MS: anna holds the lock; r1, which has so much patience, ben and cleo wait
queue_behind_redisson() {
	acquire anna
	redisson_asks r1 "$1" queued
	present r1 ben cleo
	acquire ben
	acquire cleo
}

@test "our waiters keep their places when a Redisson waiter of any patience before them is granted" {
	local ms

	for ms in 1000 $((5 * minute)) $hour $day; do
		queue_behind_redisson $ms
		release anna
		redisson_asks r1 $ms granted
		redisson_asks r2 $((5 * minute)) queued
		queue_is ben cleo r2
		redisson_unlocks
		ask ben
		answered granted ben
		release ben
		queue_is cleo r2
		ask cleo
		answered granted
		release cleo
		redisson_gives_up r2 $((5 * minute))
		absent r1 ben cleo
		all_well
	done
}

@test "our waiters keep their places when a Redisson waiter of any patience before them gives up" {
	local ms

	for ms in 1000 $((5 * minute)) $hour $day; do
		queue_behind_redisson $ms
		redisson_gives_up r1 $ms
		redisson_asks r2 $((5 * minute)) queued
		queue_is ben cleo r2
		redisson_gives_up r2 $((5 * minute))
		release anna
		ask ben
		release ben
		ask cleo
		release cleo
		absent r1 ben cleo
		all_well
	done
}

# An old version takes 300 s when it gives up, whatever it added.
@test "our waiters keep their places when a Redisson waiter takes more than its patience" {
	acquire anna
	redisson_asks r1 1000 queued
	redisson_asks r2 1000 queued
	present r1 r2
	queue_up ben
	redisson_gives_up r1 300000
	redisson_gives_up r2 300000
	redisson_asks r3 1000 queued
	queue_is ben r3
}

@test "Redisson's waiters and ours in turn, of any patience, are granted in the order of arrival" {
	local id ms order='r1 f1 r2 f2 r3 f3 r4 f4 r5 f5'
	local -A ms=([r1]=$hour [r2]=$day [r3]=1000 [r4]=300000 [r5]=$((2 * hour)))

	acquire anna
	for id in $order; do
		present "$id"
		if [ "${ms[$id]-}" ]; then
			redisson_asks "$id" "${ms[$id]}" queued
		else
			acquire "$id"
		fi
	done
	later 8000
	release anna
	for id in $order; do
		if [ "${ms[$id]-}" ]; then
			redisson_asks "$id" "${ms[$id]}" granted
			redisson_asks last 5000 queued # and drops dead ones first
			order=${order#* }
			queue_is $order last
			redisson_gives_up last 5000
			redisson_unlocks
		else
			ask "$id"
			answered granted
			release "$id"
			order=${order#* }
		fi
		all_well
	done
}

@test "our waiters keep their places when every second Redisson waiter between them gives up" {
	local id

	acquire anna
	present r1 f1 r2 f2 r3 f3
	redisson_asks r1 $hour queued
	acquire f1
	redisson_asks r2 $day queued
	acquire f2
	redisson_asks r3 $((2 * hour)) queued
	acquire f3
	redisson_gives_up r2 $day
	redisson_asks r4 1000 queued
	queue_is r1 f1 f2 r3 f3 r4
	release anna
	redisson_asks r1 $hour granted
	redisson_asks r4 1000 queued
	queue_is f1 f2 r3 f3 r4
	redisson_unlocks
	for id in f1 f2; do
		ask $id
		answered granted
		release $id
	done
	redisson_asks r3 $((2 * hour)) granted
	redisson_asks r4 1000 queued
	queue_is f3 r4
}

# dies_behind PATIENCE: our waiter behind a Redisson waiter dies when only Redisson's are left
dies_behind() {
	acquire anna
	redisson_asks r1 "$1" queued
	present r1
	queue_up dead
	redisson_asks r2 1000 queued
	release anna
	absent dead
	redisson_asks r1 "$1" granted
	redisson_unlocks
}

@test "our dead waiter holds up Redisson's for less than a minute after a grant with a patience of an hour" {
	dies_behind $hour
	between 29000 "$(ahead dead)" 60000
	later 60000
	redisson_asks r2 1000 granted
}

@test "our dead waiter holds up Redisson's for less than a minute after a grant with a patience of a day" {
	dies_behind $day
	between 29000 "$(ahead dead)" 60000
	later 60000
	redisson_asks r2 1000 granted
}

@test "our dead waiter holds up Redisson's for 330 s after a grant with a patience of a second" {
	dies_behind 1000
	between 320000 "$(ahead dead)" 329000
	redisson_asks r2 1000 queued
	later 330000
	redisson_asks r2 1000 granted
}

@test "acquire does not take the holder's lease for patience" {
	acquire anna lease=$day
	redisson_asks r1 $((5 * minute)) queued
	present r1
	queue_up ben
	between 330000 "$(ahead ben)" 361000
}

@test "renew does not take the holder's lease for patience when it first sees a Redisson waiter" {
	acquire anna lease=$day
	later $hour
	redisson_asks r1 $((5 * minute)) queued
	renew anna lease=$day
	acquire ben
	between 330000 "$(ahead ben)" 361000
}

@test "renew notes the patience of a Redisson waiter before it gives a new head more time" {
	acquire anna
	redisson_asks r1 1000 queued
	redisson_asks r2 $hour queued
	present r1 r2
	renew anna
	redisson_gives_up r1 1000
	queue_up ben
	release anna
	redisson_asks r2 $hour granted
	redisson_asks r3 1000 queued
	queue_is ben r3
}

@test "patience is noted before a sign of life or a leave changes the scores that it is counted from" {
	acquire anna
	queue_up ben
	redisson_asks r2 $hour queued
	present r2
	later 9000
	ask ben
	queue_up cleo
	between $((hour + 29000)) "$(ahead cleo)" $((hour + 31000))
	leave ben
	release anna
	redisson_asks r2 $hour granted
	redisson_asks r3 1000 queued
	queue_is cleo r3
}

@test "our waiters' scores fall when the patient Redisson waiter before them is gone" {
	acquire anna
	redisson_asks r1 $hour queued
	present r1
	queue_up ben cleo
	redisson_asks r2 $((5 * minute)) queued
	present r2
	queue_up dora
	redisson_gives_up r1 $hour
	ask ben
	ask cleo
	ask dora
	left 30000 "$(ahead ben)"
	left 30000 "$(ahead cleo)"
	left 330000 "$(ahead dora)"
}

@test "the patience of a Redisson thread that waits again is noted again" {
	acquire anna
	redisson_asks r1 $hour queued
	present r1
	queue_up ben
	release anna
	redisson_asks r1 $hour granted
	redisson_unlocks
	redisson_asks r1 $((5 * minute)) queued
	queue_up cleo
	left 330000 "$(ahead cleo)"
	leave ben
	leave cleo
	redisson_gives_up r1 $((5 * minute))
	later $day

	acquire anna
	redisson_asks r1 $hour queued
	queue_up dora
	between $((hour + 29000)) "$(ahead dora)" $((hour + 61000))
	redisson_gives_up r1 $hour
	redisson_asks r1 $day queued
	queue_up emil
	between $((day + 29000)) "$(ahead emil)" $((day + 61000))
}

@test "the notes on Redisson's waiters go when the waiters go" {
	local i

	acquire anna
	present ben
	acquire ben
	for ((i = 1; i <= 30; i++)); do
		redisson_asks r$i $hour queued
		ask ben
		redisson_gives_up r$i $hour
	done
	assert_equal "$(field theirs | wc -w)" 4
	redisson_asks r31 $hour queued
	acquire cleo
	remove r31
	assert_equal "$(field theirs)" ''
	all_well
}

many='
for i = 1, 250 do
	local last = redis.call("LINDEX", KEYS[2], -1)
	local score = last and redis.call("ZSCORE", KEYS[3], last) or ARGV[1]
	redis.call("RPUSH", KEYS[2], "r" .. i)
	redis.call("ZADD", KEYS[3], score + ARGV[2], "r" .. i)
end'

@test "the patience of 250 Redisson waiters is noted once" {
	acquire anna
	on_keys EVAL "$many" "$(now_ms)" $hour
	present ben r1
	acquire ben
	between $((250 * hour)) "$(ahead ben)" $((250 * hour + 30000))
	assert_equal "$(field theirs | wc -w)" 1000
	hear_calls
	renew anna
	looked_not_through
	ask ben
	between $((250 * hour)) "$(ahead ben)" $((250 * hour + 30000))
	run -1 grep '"theirs" "' <(calls)
}

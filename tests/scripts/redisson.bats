#!/usr/bin/env bats
# Turns of Redisson's waiters: how long one has, when it counts as dead, and who wakes the one
# behind it.

load ../lib/helpers
load ../lib/scripts

score() {
	cli ZSCORE "$(key_timeouts)" "$1"
}

# What Redisson's clients see while fairlock's hold the lock.
@test "a present Redisson waiter has 5 s for its turn" {
	acquire anna
	redisson_waits r1
	present r1
	queue_up ben
	release anna
	later 3000
	ask ben
	answered queued
	queue_is r1 ben
	left 2000 "${reply[2]}"
}

@test "a present Redisson waiter that misses its turn of 5 s is passed over and told once more" {
	acquire anna
	redisson_waits r1
	present r1
	queue_up ben
	release anna
	told r1 0
	later 5000
	ask ben
	answered granted ben
	queue_is
	told r1 0,0
}

@test "a Redisson waiter keeps its place if a plain lock takes its turn away for a minute" {
	acquire anna
	redisson_waits r1
	present r1
	queue_up ben
	release anna
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
	acquire anna
	redisson_waits r1
	queue_up ben
	release anna
	later 3000
	ask ben
	answered queued
	left 2000 "${reply[2]}"
	queue_is r1 ben
}

@test "a Redisson waiter that was absent at the head for 5 s is dropped from list and sorted set" {
	acquire anna
	redisson_waits r1
	queue_up ben
	release anna
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
	acquire anna
	redisson_waits r1
	queue_up ben
	release anna
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
	acquire anna
	redisson_waits r1
	queue_up ben
	release anna
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

@test "no script lowers the score of a Redisson waiter" {
	acquire anna
	queue_up ben
	redisson_waits r1 3000000
	redisson_waits r2 4000000
	present r1 r2
	first=$(score r1) second=$(score r2)
	queue_up cleo
	release anna
	ask ben
	answered granted ben
	ask cleo
	renew ben
	release ben
	leave cleo
	assert_equal "$(score r1) $(score r2)" "$first $second"
}

@test "our waiter's score is 30 s and what the Redisson waiters ahead may subtract" {
	acquire anna
	queue_up ben
	left 30000 "$(ahead ben)"
	redisson_waits r1
	queue_up cleo
	left 330000 "$(ahead cleo)"
	redisson_waits r2
	queue_up dora
	left 630000 "$(ahead dora)"
	ask ben
	left 30000 "$(ahead ben)"
	ask cleo
	left 330000 "$(ahead cleo)"
}

@test "grants and sweeps of the Redisson waiters ahead drop no waiter of ours" {
	redisson_takes r0
	redisson_waits r1
	queue_up ben
	redisson_waits r2
	queue_up cleo
	redisson_unlocks
	redisson_takes r1
	redisson_unlocks
	redisson_sweeps 5000
	queue_is ben r2 cleo
	ask ben
	answered granted ben
}

@test "scores stay bounded however often our waiters ask" {
	redisson_takes r0
	cli PEXPIRE job 3600000
	redisson_waits r1
	present r1
	queue_up ben cleo
	for i in 1 2 3 4 5 6 7 8; do
		later 11000
		ask ben
		ask cleo
	done
	between 0 "$(ahead ben)" 330000
	between 0 "$(ahead cleo)" 330000
	between 0 "$(ahead r1)" 300000
}

@test "our waiter that Redisson dropped comes back before our next waiter" {
	acquire anna
	queue_up ben
	redisson_waits r1
	queue_up cleo
	redisson_waits r2
	present r1 r2
	redisson_sweeps 60000
	assert_equal "$(waiting)" 'r1 cleo r2'
	ask ben
	answered queued "${ticket[ben]}"
	queue_is r1 ben cleo r2
}

@test "our waiter that Redisson dropped comes back behind Redisson's waiters if no other of ours waits" {
	acquire anna
	queue_up ben
	redisson_waits r1
	present r1
	redisson_sweeps 60000
	ask ben
	queue_is r1 ben
	left 330000 "$(ahead ben)"
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
	acquire anna
	redisson_waits r1
	queue_up ben
	release anna
	redisson_takes r1
	assert_equal "$(owner)" r1
	queue_is ben
}

@test "the keys of a queue of ours expire 10 minutes after the largest score" {
	acquire anna
	queue_up ben cleo
	left 630000 "$(cli PTTL "$(key_queue)")"
	left 630000 "$(cli PTTL "$(key_timeouts)")"
}

@test "the keys of a queue with a Redisson waiter do not expire" {
	acquire anna
	queue_up ben
	redisson_waits r1
	present r1
	queue_up cleo
	assert_equal "$(cli PTTL "$(key_queue)") $(cli PTTL "$(key_timeouts)")" '-1 -1'
}

@test "the keys of a queue expire again when its last Redisson waiter is removed" {
	acquire anna
	queue_up ben
	redisson_waits r1
	queue_up cleo
	remove r1
	between 600000 "$(cli PTTL "$(key_queue)")" 930000
	between 600000 "$(cli PTTL "$(key_timeouts)")" 930000
}

@test "the keys of a queue do not expire if Redisson dropped our waiter before one of its own came" {
	acquire anna
	queue_up_dead ben
	redisson_sweeps 60000
	queue_is
	redisson_waits r1
	present r1
	renew anna
	assert_equal "$(cli PTTL "$(key_queue)") $(cli PTTL "$(key_timeouts)")" '-1 -1'
}

@test "our waiter's score counts the Redisson waiters ahead also after Redisson dropped one of ours" {
	acquire anna
	queue_up_dead ben
	redisson_sweeps 60000
	redisson_waits r1
	present r1
	queue_up cleo
	left 330000 "$(ahead cleo)"
	assert_equal "$(cli PTTL "$(key_queue)")" -1
}

@test "our hash does not grow while many Redisson waiters come and go" {
	redisson_takes r0
	present w0 w1
	acquire w0
	for ((i = 1; i <= 30; i++)); do
		redisson_waits "r$i"
		acquire w$((i % 2))
		redisson_unlocks
		ask w$(((i + 1) % 2))
		answered granted
		release w$(((i + 1) % 2))
		redisson_takes "r$i" >/dev/null
		assert_equal "$(owner)" "r$i"
	done
	between 1 "$(cli HLEN "$(key_state)")" 40
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

# redisson_drops ID: drops it from the head of the queue, as a client whose clock is ahead
redisson_drops() {
	cli ZADD "$(key_timeouts)" 1 "$1" >/dev/null
	redisson_sweeps
}

@test "our waiter that Redisson's unlock dropped is put back before our next one is granted" {
	redisson_takes r1
	queue_up anna ben
	redisson_drops anna
	redisson_unlocks
	told ben 0
	ask ben
	answered queued
	queue_is anna ben
	told anna 0
	ask anna
	answered granted
	queue_is ben
	all_well
}

@test "our release tells its turn to a waiter that Redisson dropped" {
	acquire zed
	queue_up anna ben
	redisson_drops anna
	release zed
	told anna 0
	queue_is anna ben
}

@test "no request passes over our only waiter after Redisson dropped it" {
	redisson_takes r1
	queue_up anna
	redisson_drops anna
	redisson_unlocks
	acquire ben mode=try
	answered busy anna
	queue_is anna
	[ "$(cli PTTL "$(key_queue)")" -gt 0 ]
	redisson_drops anna
	queue_up ben
	queue_is anna ben
	told anna 0
}

@test "a dead waiter of ours goes with Redisson's sweep after its score, or with our next request" {
	redisson_takes r1
	redisson_waits r2
	present r2
	queue_up anna
	absent anna
	redisson_unlocks
	redisson_takes r2
	later 30001
	redisson_sweeps
	queue_is

	redisson_waits r3
	present r3
	queue_up ben
	absent ben
	redisson_unlocks
	redisson_takes r3
	redisson_unlocks
	queue_is ben
	acquire cleo
	answered granted
	queue_is
	all_well
}

# Redisson's patience: how much a waiter adds to its score, and takes from every score behind it.

redisson_asks='
while redis.call("LLEN", KEYS[2]) > 0 do
	local first = redis.call("LINDEX", KEYS[2], 0)
	local score = redis.call("ZSCORE", KEYS[3], first)
	if not score or tonumber(score) > tonumber(ARGV[3]) then
		break
	end
	redis.call("ZREM", KEYS[3], first)
	redis.call("LPOP", KEYS[2])
end
if redis.call("EXISTS", KEYS[1]) == 0 and (redis.call("EXISTS", KEYS[2]) == 0
		or redis.call("LINDEX", KEYS[2], 0) == ARGV[1]) then
	redis.call("LPOP", KEYS[2])
	redis.call("ZREM", KEYS[3], ARGV[1])
	for _, id in ipairs(redis.call("ZRANGE", KEYS[3], 0, -1)) do
		redis.call("ZINCRBY", KEYS[3], -tonumber(ARGV[2]), id)
	end
	redis.call("HSET", KEYS[1], ARGV[1], 1)
	redis.call("PEXPIRE", KEYS[1], 30000)
	return "granted"
elseif redis.call("ZSCORE", KEYS[3], ARGV[1]) then
	return "queued"
end
local last = redis.call("LINDEX", KEYS[2], -1)
local score = last and redis.call("ZSCORE", KEYS[3], last) or ARGV[3] + redis.call("PTTL", KEYS[1])
redis.call("ZADD", KEYS[3], score + ARGV[2], ARGV[1])
redis.call("RPUSH", KEYS[2], ARGV[1])
return "queued"'

redisson_gives_up='
local behind = false
for _, id in ipairs(redis.call("LRANGE", KEYS[2], 0, -1)) do
	if behind then
		redis.call("ZINCRBY", KEYS[3], -tonumber(ARGV[2]), id)
	end
	behind = behind or id == ARGV[1]
end
redis.call("ZREM", KEYS[3], ARGV[1])
redis.call("LREM", KEYS[2], 0, ARGV[1])'

# asks ID PATIENCE ANSWER: Redisson's tryLock, at first and each time it is woken
asks() {
	assert_equal "$(on_keys EVAL "$redisson_asks" "$1" "$2" "$(now_ms)")" "$3"
}

gives_up() {
	on_keys EVAL "$redisson_gives_up" "$1" "$2"
}

minute=60000 hour=3600000 day=86400000

@test "our waiters keep their places when a Redisson waiter of any patience before them is granted" {
	local ms

	for ms in 1000 $((5 * minute)) $hour $day; do
		acquire anna
		asks r1 $ms queued
		present r1 ben cleo
		acquire ben
		acquire cleo
		release anna
		asks r1 $ms granted
		asks r2 $((5 * minute)) queued
		queue_is ben cleo r2
		redisson_unlocks
		ask ben
		answered granted ben
		release ben
		queue_is cleo r2
		ask cleo
		answered granted
		release cleo
		gives_up r2 $((5 * minute))
		absent r1 ben cleo
		all_well
	done
}

@test "our waiters keep their places when a Redisson waiter of any patience before them gives up" {
	local ms

	for ms in 1000 $((5 * minute)) $hour $day; do
		acquire anna
		asks r1 $ms queued
		present r1 ben cleo
		acquire ben
		acquire cleo
		gives_up r1 $ms
		asks r2 $((5 * minute)) queued
		queue_is ben cleo r2
		gives_up r2 $((5 * minute))
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
	asks r1 1000 queued
	asks r2 1000 queued
	present r1 r2
	queue_up ben
	gives_up r1 300000
	gives_up r2 300000
	asks r3 1000 queued
	queue_is ben r3
}

@test "Redisson's waiters and ours in turn, of any patience, are granted in the order of arrival" {
	local id ms order='r1 f1 r2 f2 r3 f3 r4 f4 r5 f5'
	local -A ms=([r1]=$hour [r2]=$day [r3]=1000 [r4]=300000 [r5]=$((2 * hour)))

	acquire anna
	for id in $order; do
		present "$id"
		if [ "${ms[$id]-}" ]; then
			asks "$id" "${ms[$id]}" queued
		else
			acquire "$id"
		fi
	done
	later 8000
	release anna
	for id in $order; do
		if [ "${ms[$id]-}" ]; then
			asks "$id" "${ms[$id]}" granted
			asks last 5000 queued # and drops dead ones first
			order=${order#* }
			queue_is $order last
			gives_up last 5000
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
	asks r1 $hour queued
	acquire f1
	asks r2 $day queued
	acquire f2
	asks r3 $((2 * hour)) queued
	acquire f3
	gives_up r2 $day
	asks r4 1000 queued
	queue_is r1 f1 f2 r3 f3 r4
	release anna
	asks r1 $hour granted
	asks r4 1000 queued
	queue_is f1 f2 r3 f3 r4
	redisson_unlocks
	for id in f1 f2; do
		ask $id
		answered granted
		release $id
	done
	asks r3 $((2 * hour)) granted
	asks r4 1000 queued
	queue_is f3 r4
}

# dies_behind PATIENCE: our waiter stands behind a Redisson waiter, and dies when only Redisson's
# are left
dies_behind() {
	acquire anna
	asks r1 "$1" queued
	present r1
	queue_up dead
	asks r2 1000 queued
	release anna
	absent dead
	asks r1 "$1" granted
	redisson_unlocks
}

@test "our dead waiter holds up Redisson's for less than a minute after a grant with a patience of an hour" {
	dies_behind $hour
	between 29000 "$(ahead dead)" 60000
	later 60000
	asks r2 1000 granted
}

@test "our dead waiter holds up Redisson's for less than a minute after a grant with a patience of a day" {
	dies_behind $day
	between 29000 "$(ahead dead)" 60000
	later 60000
	asks r2 1000 granted
}

@test "our dead waiter holds up Redisson's for 330 s after a grant with a patience of a second" {
	dies_behind 1000
	between 320000 "$(ahead dead)" 329000
	asks r2 1000 queued
	later 330000
	asks r2 1000 granted
}

@test "acquire does not take the holder's lease for patience" {
	acquire anna lease=$day
	asks r1 $((5 * minute)) queued
	present r1
	queue_up ben
	between 330000 "$(ahead ben)" 361000
}

@test "renew does not take the holder's lease for patience when it first sees a Redisson waiter" {
	acquire anna lease=$day
	later $hour
	asks r1 $((5 * minute)) queued
	renew anna lease=$day
	acquire ben
	between 330000 "$(ahead ben)" 361000
}

@test "renew notes the patience of a Redisson waiter before it gives a new head more time" {
	acquire anna
	asks r1 1000 queued
	asks r2 $hour queued
	present r1 r2
	renew anna
	gives_up r1 1000
	queue_up ben
	release anna
	asks r2 $hour granted
	asks r3 1000 queued
	queue_is ben r3
}

@test "patience is noted before a sign of life or a leave changes the scores that it is counted from" {
	acquire anna
	queue_up ben
	asks r2 $hour queued
	present r2
	later 9000
	ask ben
	queue_up cleo
	between $((hour + 29000)) "$(ahead cleo)" $((hour + 31000))
	leave ben
	release anna
	asks r2 $hour granted
	asks r3 1000 queued
	queue_is cleo r3
}

@test "our waiters' scores fall when the patient Redisson waiter before them is gone" {
	acquire anna
	asks r1 $hour queued
	present r1
	queue_up ben cleo
	asks r2 $((5 * minute)) queued
	present r2
	queue_up dora
	gives_up r1 $hour
	ask ben
	ask cleo
	ask dora
	left 30000 "$(ahead ben)"
	left 30000 "$(ahead cleo)"
	left 330000 "$(ahead dora)"
}

@test "the patience of a Redisson thread that waits again is noted again" {
	acquire anna
	asks r1 $hour queued
	present r1
	queue_up ben
	release anna
	asks r1 $hour granted
	redisson_unlocks
	asks r1 $((5 * minute)) queued
	queue_up cleo
	left 330000 "$(ahead cleo)"
	leave ben
	leave cleo
	gives_up r1 $((5 * minute))
	later $day

	acquire anna
	asks r1 $hour queued
	queue_up dora
	between $((hour + 29000)) "$(ahead dora)" $((hour + 61000))
	gives_up r1 $hour
	asks r1 $day queued
	queue_up emil
	between $((day + 29000)) "$(ahead emil)" $((day + 61000))
}

@test "the notes on Redisson's waiters go when the waiters go" {
	local i

	acquire anna
	present ben
	acquire ben
	for ((i = 1; i <= 30; i++)); do
		asks r$i $hour queued
		ask ben
		gives_up r$i $hour
	done
	assert_equal "$(field theirs | wc -w)" 4
	asks r31 $hour queued
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

# Queues in which only Redisson's wait

@test "the holder's renewals find a Redisson head dead, and its release wakes the waiter behind it" {
	acquire anna
	asks dead $((5 * minute)) queued
	asks r2 $((5 * minute)) queued
	present r2
	renew anna
	queue_is dead r2
	later 5000
	renew anna
	queue_is r2
	release anna
	told r2 0
	asks r2 $((5 * minute)) granted
}

@test "release passes over a Redisson head that a renewal saw absent 5 s before" {
	acquire anna
	asks dead $((5 * minute)) queued
	asks r2 $((5 * minute)) queued
	present r2
	renew anna
	later 5000
	release anna
	told r2 0
	queue_is r2
}

@test "renew drops no Redisson head that is present, or was absent for a moment" {
	acquire anna
	asks r1 $((5 * minute)) queued
	asks r2 $((5 * minute)) queued
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

#!/usr/bin/env bats
# The scripts beside Redisson, which has its own ideas of scores and of who is dead.

load ../lib/helpers
load ../lib/scripts

score() {
	cli ZSCORE "$(key_timeouts)" "$1"
}

# What Redisson's clients see when ours hold the lock.
@test "a Redisson waiter that is present has 5 s for its turn" {
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

@test "a Redisson waiter that did not take its turn for 5 s is passed over, and told once more" {
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

@test "a Redisson waiter keeps its place however long the lock is held after its turn came" {
	acquire anna
	redisson_waits r1
	present r1
	queue_up ben
	release anna
	cli HSET job plain 1 # a plain lock was quicker
	later 60000
	ask ben
	answered queued
	queue_is r1 ben
	cli DEL job
	ask ben
	answered queued
	queue_is r1 ben
}

@test "the turn of an earlier wait of the same Redisson thread does not count" {
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

@test "a Redisson head that is absent is given 5 s" {
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

@test "a Redisson head that was absent for 5 s is passed over, out of list and sorted set" {
	acquire anna
	redisson_waits r1
	queue_up ben
	release anna
	later 5000
	ask ben
	answered granted ben
	queue_is
}

@test "Redisson waiters that were absent together are passed over together" {
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

@test "who came later than the dead head, or listens by now, is not passed over with it" {
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

@test "no grace is due at the release for a Redisson head that was seen absent before" {
	acquire anna
	redisson_waits r1
	queue_up ben
	later 6000
	renew anna
	release anna
	queue_is ben
	told ben 'first 30000,0'
}

@test "the time that a Redisson head was seen absent before the release counts" {
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

@test "a Redisson head that came back in time starts its 5 s anew" {
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

@test "a Redisson client that was absent once, got the lock and waits anew is given 5 s" {
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

@test "the same when another of Redisson's was head in between" {
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

@test "the same when it is back within seconds, and it is a new head" {
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

@test "a Redisson head whose score has passed is dropped, as by its own kind" {
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

@test "who becomes head is given 300 s at least" {
	acquire anna
	queue_up ben
	redisson_waits r1 10000
	release anna
	ask ben
	answered granted ben
	left 300000 "$(ahead r1)"
	queue_is r1
}

@test "who becomes head by a leave, by a release or by the death of another is given 300 s too" {
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

@test "a Redisson score is never lowered" {
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

@test "our score is 30 s more than what the Redisson waiters ahead may subtract" {
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

@test "we are not dropped by the grants and sweeps of the Redisson waiters ahead of us" {
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

@test "scores stay bounded, however often all ask" {
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

@test "one of ours that Redisson dropped comes back before the first of ours with a later ticket" {
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

@test "one of ours that Redisson dropped comes back behind Redisson when no later one of ours waits" {
	acquire anna
	queue_up ben
	redisson_waits r1
	present r1
	redisson_sweeps 60000
	ask ben
	queue_is r1 ben
	left 330000 "$(ahead ben)"
}

@test "a Redisson lock is waited for as any other, and granted when it ends" {
	redisson_takes r0
	queue_up ben
	assert_equal "${reply[3]}" 1
	left 30000 "${reply[4]}"
	redisson_unlocks
	told ben 0
	ask ben
	answered granted ben
}

@test "Redisson may go in after us when it is first" {
	acquire anna
	redisson_waits r1
	queue_up ben
	release anna
	redisson_takes r1
	assert_equal "$(owner)" r1
	queue_is ben
}

@test "the keys of a queue of ours alone expire 10 minutes after the largest score" {
	acquire anna
	queue_up ben cleo
	left 630000 "$(cli PTTL "$(key_queue)")"
	left 630000 "$(cli PTTL "$(key_timeouts)")"
}

@test "the keys of a queue with a Redisson id do not expire" {
	acquire anna
	queue_up ben
	redisson_waits r1
	present r1
	queue_up cleo
	assert_equal "$(cli PTTL "$(key_queue)") $(cli PTTL "$(key_timeouts)")" '-1 -1'
}

@test "the keys expire again when the last Redisson id is gone" {
	acquire anna
	queue_up ben
	redisson_waits r1
	queue_up cleo
	remove r1
	between 600000 "$(cli PTTL "$(key_queue)")" 930000
	between 600000 "$(cli PTTL "$(key_timeouts)")" 930000
}

@test "the keys do not expire when Redisson took out one of ours before another of its own came" {
	acquire anna
	queue_up_dead ben
	redisson_sweeps 60000
	queue_is
	redisson_waits r1
	present r1
	renew anna
	assert_equal "$(cli PTTL "$(key_queue)") $(cli PTTL "$(key_timeouts)")" '-1 -1'
}

@test "our score counts the Redisson ids ahead also when Redisson took out one of ours" {
	acquire anna
	queue_up_dead ben
	redisson_sweeps 60000
	redisson_waits r1
	present r1
	queue_up cleo
	left 330000 "$(ahead cleo)"
	assert_equal "$(cli PTTL "$(key_queue)")" -1
}

@test "our hash does not grow with the Redisson ids that come and go while somebody waits" {
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

@test "the first of ours behind Redisson's looks when a lease ends, since nobody tells those" {
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

@test "a grant tells the first of ours behind Redisson's when to look" {
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

# redisson_drops ID: its clock is ahead, and it thinks the head dead
redisson_drops() {
	cli ZADD "$(key_timeouts)" 1 "$1" >/dev/null
	redisson_sweeps
}

@test "one of ours that Redisson's unlock dropped is put back before the next of ours is granted" {
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

@test "one of ours that Redisson dropped is told its turn by a release of ours" {
	acquire zed
	queue_up anna ben
	redisson_drops anna
	release zed
	told anna 0
	queue_is anna ben
}

@test "one of ours that Redisson dropped, alone in the queue, is passed over by nobody" {
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

@test "what one of ours leaves that died behind Redisson's goes with an unlock after its score, or when somebody asks" {
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

# Redisson's patience: what a waiter adds to its score, and takes from all behind it

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

# asks ID PATIENCE ANSWER: its tryLock, at first and whenever it is woken
asks() {
	assert_equal "$(on_keys EVAL "$redisson_asks" "$1" "$2" "$(now_ms)")" "$3"
}

gives_up() {
	on_keys EVAL "$redisson_gives_up" "$1" "$2"
}

minute=60000 hour=3600000 day=86400000

@test "ours keep their places when Redisson's before them are granted, however patient these are" {
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

@test "ours keep their places when Redisson's before them give up, however patient these were" {
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

# Old versions take 300 s when they give up, whatever they added.
@test "ours keep their places when one of Redisson's took more than its patience" {
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

@test "theirs and ours in turn, with any patience: all are granted in the order of arrival" {
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
			asks last 5000 queued # looks for dead ones first
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

@test "the same when every second of Redisson's gives up" {
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

# dies_behind PATIENCE: one of ours waits behind such a one of Redisson's, and dies when only Redisson's are left
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

@test "a dead one of ours holds up Redisson's for less than a minute after a grant to an hour's patience" {
	dies_behind $hour
	between 29000 "$(ahead dead)" 60000
	later 60000
	asks r2 1000 granted
}

@test "the same after a grant to a day's patience" {
	dies_behind $day
	between 29000 "$(ahead dead)" 60000
	later 60000
	asks r2 1000 granted
}

@test "the same takes 330 s when the patience is less than 300 s" {
	dies_behind 1000
	between 320000 "$(ahead dead)" 329000
	asks r2 1000 queued
	later 330000
	asks r2 1000 granted
}

@test "the lease of the holder is no patience" {
	acquire anna lease=$day
	asks r1 $((5 * minute)) queued
	present r1
	queue_up ben
	between 330000 "$(ahead ben)" 361000
}

@test "nor is it when the holder's renewal is the first to see the Redisson waiter" {
	acquire anna lease=$day
	later $hour
	asks r1 $((5 * minute)) queued
	renew anna lease=$day
	acquire ben
	between 330000 "$(ahead ben)" 361000
}

@test "patience is noted before a renewal gives a new head more time" {
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

@test "patience is noted before a sign of life or a leave changes what it counts from" {
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

@test "a score of one of ours falls when the patient one before it is gone" {
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

@test "a Redisson thread that waits again is noted anew" {
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

@test "the notes on Redisson's waiters go with them" {
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

@test "hundreds of Redisson's are noted once" {
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

# Only Redisson's wait

@test "the holder's renewals see that a Redisson head is dead: the release wakes the one behind it" {
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

@test "a release passes over a Redisson head that a renewal saw absent 5 s before" {
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

@test "renewals leave a Redisson head alone that is there, or was away for a moment" {
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

@test "a renewal looks at nobody where only ours wait" {
	acquire anna
	queue_up ben
	hear_calls
	renew anna
	run -1 grep -E '"(PUBSUB|LINDEX)"|theirs' <(calls)
}

@test "one that does not wait and passes over a dead Redisson waiter takes it out of the notes, too" {
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

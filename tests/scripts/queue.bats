#!/usr/bin/env bats
# The queue that the scripts keep: order, the dead, the hung, those who return, restarts.

load ../lib/helpers
load ../lib/scripts

# Each asks again and releases; prints who was granted the lock.
in_one_go() {
	local id

	for id; do
		script_line acquire "$id" "$id" w 30000 wait '' 1 '' ''
		script_line release "$id" "$id" own '' 0
	done | cli | sed -n '/^granted$/{n;p}'
}

# Joining

@test "a busy lock queues, with a ticket and what the lock has left" {
	acquire anna lease=20000
	acquire ben
	answered queued
	[[ ${reply[1]} =~ ^[0-9]{16}$ ]]
	assert_equal "${reply[3]}" 1
	left 20000 "${reply[4]}"
	queue_is ben
}

@test "queueing that is repeated gives the same ticket and one entry" {
	acquire anna
	queue_up ben
	first=${ticket[ben]}
	acquire ben again=1
	answered queued "$first"
	acquire ben again=1
	answered queued "$first"
	queue_is ben
	all_well
}

@test "a hundred wait in the order in which they came, and get the lock in it" {
	local ids=() id

	for ((i = 1; i <= 100; i++)); do
		ids+=("w$i")
	done
	present_together "${ids[@]}"
	acquire anna
	for id in "${ids[@]}"; do
		script_line acquire "$id" "$id" w 30000 wait '' 0 '' ''
	done | cli >/dev/null
	queue_is "${ids[@]}"
	release anna
	run in_one_go "${ids[@]}"
	assert_output "$(printf '%s\n' "${ids[@]}")"
	queue_is
}

@test "joining, granting and releasing look through no long queue" {
	local waiters=() i
	for ((i = 0; i < 60; i++)); do
		waiters+=("w$i")
	done
	acquire anna lease=600000
	queue_up "${waiters[@]:0:50}"
	hear_calls
	queue_up "${waiters[@]:50}"
	release anna
	acquire w0 "old_ticket=${ticket[w0]}"
	answered granted
	looked_not_through
}

@test "nobody overtakes: a newcomer queues behind who waits for a free lock" {
	acquire anna
	queue_up ben
	release anna
	acquire cleo
	answered queued
	queue_is ben cleo
	assert_equal "${reply[3]} ${reply[4]}" '0 -2'
}

@test "who is granted has left the queue" {
	acquire anna
	queue_up ben cleo
	release anna
	ask ben
	answered granted ben
	queue_is cleo
	assert_equal "$(field t:ben)$(field d:ben)" ''
}

@test "a grant tells how long the waiter waited" {
	acquire anna
	queue_up ben
	release anna
	cli HINCRBY "$(key_state)" up -5000 # it was there by then
	ask ben "old_ticket=$((ticket[ben] - 5000000))"
	answered granted ben
	grown 5000 "${reply[4]}"
}

@test "the first is asked to look when the lease ends, the others for a sign of life after 10 s" {
	acquire anna lease=9000
	acquire ben
	left 9001 "${reply[2]}"
	present ben
	acquire cleo
	between 10001 "${reply[2]}" 12000
}

@test "the first is asked for a sign of life before a long lease ends" {
	acquire anna lease=3600000
	acquire ben
	between 10001 "${reply[2]}" 12000
}

@test "a lock without a time to live is told as such, and looked at again within 10 s" {
	cli HSET job somebody 1
	acquire ben
	answered queued
	assert_equal "${reply[4]}" -1
	between 1 "${reply[2]}" 10000
}

@test "behind a free lock the second looks after the rest of the turn of the first" {
	acquire anna
	queue_up ben cleo
	release anna
	later 2000
	ask cleo
	answered queued
	left 3000 "${reply[2]}"
}

@test "a sign of life renews the score, which is 30 s" {
	acquire anna
	queue_up ben
	left 30000 "$(ahead ben)"
	later 10000
	ask ben
	left 30000 "$(ahead ben)"
	queue_is ben
}

@test "a live waiter keeps its place however long the holder works" {
	acquire anna
	queue_up ben cleo
	for i in 1 2 3 4 5 6 7 8; do
		later 11000
		renew anna
		ask ben
		ask cleo
		queue_is ben cleo
	done
}

# The dead

@test "a dead head is passed over at once, and is gone from list, sorted set and hash" {
	acquire anna
	queue_up_dead ben
	queue_up cleo
	release anna
	told cleo 0
	queue_is cleo
	assert_equal "$(field t:ben)$(field d:ben)" ''
}

@test "a dead head is passed over by who asks" {
	acquire anna
	queue_up_dead ben
	present cleo
	acquire cleo
	later 31000
	ask cleo
	answered granted cleo
	queue_is
}

@test "fifty who died together cost one script" {
	local ids=() id

	for ((i = 1; i <= 50; i++)); do
		ids+=("w$i")
	done
	present_together "${ids[@]}"
	acquire anna
	for id in "${ids[@]}"; do
		script_line acquire "$id" "$id" w 30000 wait '' 0 '' ''
	done | cli >/dev/null
	queue_up live
	queue_is "${ids[@]}" live
	absent together
	wait_until listens_not w50
	release anna
	told live 0
	queue_is live
}

somebody_listens_by_pattern() {
	[ "$(cli PUBSUB NUMPAT)" = 1 ]
}

@test "the dead are dead also while somebody listens to everything by a pattern" {
	background "$CLI" -s "$SERVER_SOCKET" PSUBSCRIBE '*' >/dev/null
	subscriber[monitor]=$!
	wait_until somebody_listens_by_pattern
	acquire anna
	queue_up_dead ben
	queue_up cleo
	release anna
	told cleo 0
	queue_is cleo
}

@test "a dead second is passed over when the turn of the first is told" {
	acquire anna
	queue_up ben
	queue_up_dead cleo
	queue_up dora
	release anna
	told dora 'second 5000'
	queue_is ben dora
}

@test "who was dropped as dead comes back to its place with its ticket" {
	acquire anna
	queue_up ben cleo dora
	absent ben
	ask cleo
	queue_is cleo dora
	present ben
	come_back ben
	answered queued "${ticket[ben]}"
	queue_is ben cleo dora
	assert_equal "${reply[3]}" 1
}

@test "who was dropped from the middle comes back before the first with a later ticket" {
	acquire anna
	queue_up ben cleo dora emil
	cli LREM "$(key_queue)" 0 cleo
	cli ZREM "$(key_timeouts)" cleo
	cli HDEL "$(key_state)" t:cleo d:cleo
	cli HINCRBY "$(key_state)" ours -1
	come_back cleo
	queue_is ben cleo dora emil
}

@test "those who come back in any order stand in the old one" {
	acquire anna
	queue_up ben cleo dora emil
	cli DEL "$(key_queue)" "$(key_timeouts)"
	for id in dora ben emil cleo; do
		come_back "$id"
	done
	queue_is ben cleo dora emil
}

# The hung

@test "a hung head keeps its turn for 5 s" {
	acquire anna
	queue_up ben cleo
	release anna
	later 3000
	ask cleo
	answered queued
	left 2000 "${reply[2]}"
	queue_is ben cleo
}

@test "a hung head is passed over 5 s after its turn, and its old place is kept for it" {
	acquire anna
	queue_up ben cleo dora
	release anna
	later 5000
	ask cleo
	answered granted cleo
	queue_is dora
	come_back ben
	answered queued "${ticket[ben]}"
	queue_is ben dora
}

@test "those who were silent for 15 s go with a hung head" {
	acquire anna
	queue_up ben cleo dora emil
	later 11000
	ask emil
	release anna
	later 5000
	ask emil
	answered granted emil
	queue_is
}

@test "who gave a sign of life does not go with a hung head" {
	acquire anna
	queue_up ben cleo dora emil
	later 11000
	ask dora
	ask emil
	release anna
	later 5000
	ask emil
	answered queued
	queue_is dora emil
	told dora 0
}

@test "the silent are not passed over while the head takes its turn" {
	acquire anna
	queue_up ben cleo
	later 20000
	release anna
	ask ben
	answered granted ben
	queue_is cleo
}

@test "a turn that a plain lock snatched away is a new one when that lock is free" {
	acquire anna
	queue_up ben cleo
	release anna
	cli HSET job plain 1
	cli PEXPIRE job 30000
	ask ben
	answered queued "${ticket[ben]}"
	assert_equal "${reply[3]}" 1
	later 6000
	cli DEL job
	ask cleo
	answered queued
	queue_is ben cleo
	told ben 0,0
}

@test "nobody is hung while the lock is held" {
	acquire anna
	queue_up ben cleo
	release anna
	cli HSET job plain 1
	cli PEXPIRE job 60000
	later 6000
	ask cleo
	answered queued
	queue_is ben cleo
}

@test "the one behind a hung and silent one is told to look" {
	acquire anna
	queue_up ben cleo dora
	later 16000
	renew anna
	ask dora
	release anna
	told ben 0
	told cleo ''
	told dora 'second 1000'
}

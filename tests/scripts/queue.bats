#!/usr/bin/env bats
# The queue that the scripts keep: its order, dead and hung waiters, and waiters that come back.

load ../lib/helpers
load ../lib/scripts

# Each waiter asks again and releases. Prints the owners that were granted the lock.
in_one_go() {
	local id

	for id; do
		script_line acquire "$id" "$id" w 30000 wait '' 1 '' ''
		script_line release "$id" "$id" own '' 0
	done | cli | sed -n '/^granted$/{n;p}'
}

# Joining

@test "acquire queues a waiter for a busy lock, with a ticket and what is left of the lease" {
	acquire anna lease=20000
	acquire ben
	answered queued
	[[ ${reply[1]} =~ ^[0-9]{16}$ ]]
	assert_equal "${reply[3]}" 1
	left 20000 "${reply[4]}"
	queue_is ben
}

@test "a repeated request to queue gets the same ticket and one place" {
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

@test "a hundred waiters get the lock in the order in which they came" {
	acquire anna
	crowd 100
	queue_is "${ids[@]}"
	release anna
	run in_one_go "${ids[@]}"
	assert_output "$(printf '%s\n' "${ids[@]}")"
	queue_is
}

@test "joining, granting and releasing do not look through a long queue" {
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

@test "a newcomer queues behind the waiter of a free lock" {
	acquire anna
	queue_up ben
	release anna
	acquire cleo
	answered queued
	queue_is ben cleo
	assert_equal "${reply[3]} ${reply[4]}" '0 -2'
}

@test "a waiter that is granted the lock is out of list and hash" {
	acquire anna
	queue_up ben cleo
	release anna
	ask ben
	answered granted ben
	queue_is cleo
	assert_equal "$(field w:ben)" ''
}

@test "a grant says how long the waiter waited" {
	acquire anna
	queue_up ben
	release anna
	change run "up=$(($(column run up) - 5000))" # our hash existed by then
	ask ben "old_ticket=$((ticket[ben] - 5000000))"
	answered granted ben
	grown 5000 "${reply[4]}"
}

@test "acquire tells the first waiter to ask when the lease ends, the second to ask in 10 s" {
	acquire anna lease=9000
	acquire ben
	left 9001 "${reply[2]}"
	present ben
	acquire cleo
	between 10001 "${reply[2]}" 12000
}

@test "acquire tells the first waiter to give a sign of life before a long lease ends" {
	acquire anna lease=3600000
	acquire ben
	between 10001 "${reply[2]}" 12000
}

@test "acquire says that a lock has no time to live, and tells the waiter to ask within 10 s" {
	cli HSET job somebody 1
	acquire ben
	answered queued
	assert_equal "${reply[4]}" -1
	between 1 "${reply[2]}" 10000
}

@test "acquire tells the second waiter for a free lock to ask when the first one's turn is over" {
	acquire anna
	queue_up ben cleo
	release anna
	later 2000
	ask cleo
	answered queued
	left 3000 "${reply[2]}"
}

@test "a sign of life sets the score to 30 s again" {
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

@test "release passes over a dead head, takes it out of list and sorted set, and keeps only its ticket" {
	acquire anna
	queue_up_dead ben
	queue_up cleo
	release anna
	told cleo 0
	queue_is cleo
	assert_equal "$(column w:ben state) $(column w:ben ticket)" "dropped ${ticket[ben]}"
}

@test "a waiter that asks passes over a dead head and is granted the lock" {
	acquire anna
	queue_up_dead ben
	present cleo
	acquire cleo
	later 31000
	ask cleo
	answered granted cleo
	queue_is
}

@test "one script passes over fifty dead waiters" {
	acquire anna
	crowd 50
	queue_up live
	queue_is "${ids[@]}" live
	absent together
	wait_until listens_not w50
	release anna
	told live 0
	queue_is live
}

@test "a dead waiter counts as dead even if a client listens to all channels by a pattern" {
	listen_by_pattern '*'
	acquire anna
	queue_up_dead ben
	queue_up cleo
	release anna
	told cleo 0
	queue_is cleo
}

@test "release passes over a dead second waiter and tells the third to look after the first" {
	acquire anna
	queue_up ben
	queue_up_dead cleo
	queue_up dora
	release anna
	told dora 'second 5000'
	queue_is ben dora
}

@test "a waiter that was dropped as dead comes back to its place with its ticket" {
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

@test "a waiter that was dropped from the middle comes back before the first one with a later ticket" {
	acquire anna
	queue_up ben cleo dora emil
	cli LREM "$(key_queue)" 0 cleo
	cli ZREM "$(key_timeouts)" cleo
	cli HDEL "$(key_state)" w:cleo
	cli HINCRBY "$(key_state)" ours -1
	come_back cleo
	queue_is ben cleo dora emil
}

@test "waiters that come back in any order stand in the old one" {
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

@test "a hung head keeps its turn for 5 s more if the clock was set back" {
	acquire anna
	queue_up ben
	release anna
	told ben 0
	later -100000
	acquire cleo
	answered queued
	left 5000 "${reply[2]}"
}

@test "a hung head keeps its turn for 5 s more if our hash says that it begins in the future" {
	acquire anna
	queue_up ben cleo
	release anna
	told ben 0
	cli HSET "$(key_state)" turn "ben $(($(now_ms) + 100000))" >/dev/null
	ask cleo
	answered queued
	left 5000 "${reply[2]}"
	later 5000
	ask cleo
	answered granted cleo
}

@test "a hung head is passed over after 5 s, and has its old place when it comes back" {
	acquire anna
	queue_up ben cleo dora
	release anna
	later 5000
	ask cleo
	answered granted cleo
	queue_is dora
	told ben 0,0 # the second, so that it asks as soon as it is alive again
	come_back ben
	answered queued "${ticket[ben]}"
	queue_is ben dora
}

@test "waiters that were silent for 15 s are passed over with a hung head" {
	acquire anna
	queue_up ben cleo dora emil
	later 11000
	ask emil
	release anna
	later 5000
	ask emil
	answered granted emil
	queue_is
	told ben 0,0
	told dora 0
}

@test "a waiter that gave a sign of life is not passed over with a hung head" {
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

@test "a silent waiter keeps its place if the head takes its turn" {
	acquire anna
	queue_up ben cleo
	later 20000
	release anna
	ask ben
	answered granted ben
	queue_is cleo
}

@test "a head whose turn was taken away by a plain lock has another turn when that lock is free" {
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

@test "no waiter counts as hung while the lock is held" {
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

@test "a waiter behind hung and silent ones is told to look in 1 s" {
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

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
	assert_equal "${reply[4]}" 20000
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

@test "a grant says how long the waiter waited" {
	acquire anna
	queue_up ben
	later 5000
	release anna
	ask ben
	answered granted ben
	assert_equal "${reply[4]}" 5000
}

@test "acquire tells the first waiter to ask when the lease ends, the second to ask in 10 s" {
	acquire anna lease=9000
	acquire ben
	assert_equal "${reply[2]}" 9001
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
	assert_equal "${reply[2]}" 3000
}

# The dead

@test "release passes over a dead head, takes it out of the queue" {
	acquire anna
	queue_up_dead ben
	queue_up cleo
	release anna
	told cleo 0
	queue_is cleo
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
	assert_equal "${reply[2]}" 2000
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
	assert_equal "${reply[2]}" 5000
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

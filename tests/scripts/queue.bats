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
	acquire ben is=queued
	[[ ${reply[1]} =~ ^[0-9]{16}$ ]]
	assert_equal "${reply[3]}" 1
	assert_equal "${reply[4]}" 20000
	queue_is ben
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

@test "acquire tells the first waiter to ask when the lease ends, the second to ask in 10 s" {
	acquire anna lease=9000
	acquire ben
	assert_equal "${reply[2]}" 9001
	present ben
	acquire cleo
	between 10001 "${reply[2]}" 12000
}

# The dead

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
	come_back ben is="queued ${ticket[ben]}"
	queue_is ben cleo dora
	assert_equal "${reply[3]}" 1
}

# The hung

@test "a hung head is passed over after 5 s, and has its old place when it comes back" {
	acquire anna
	queue_up ben cleo dora
	release anna
	later 5000
	ask cleo is='granted cleo'
	queue_is dora
	told ben 0,0 # the second, so that it asks as soon as it is alive again
	come_back ben is="queued ${ticket[ben]}"
	queue_is ben dora
}

@test "waiters that were silent for 15 s are passed over with a hung head" {
	acquire anna
	queue_up ben cleo dora emil
	later 11000
	ask emil
	release anna
	later 5000
	ask emil is='granted emil'
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
	ask emil is=queued
	queue_is dora emil
	told dora 0
}

@test "a head whose turn was taken away by a plain lock has another turn when that lock is free" {
	acquire anna
	queue_up ben cleo
	release anna
	cli HSET job plain 1
	cli PEXPIRE job 30000
	ask ben is="queued ${ticket[ben]}"
	assert_equal "${reply[3]}" 1
	later 6000
	cli DEL job
	ask cleo is=queued
	queue_is ben cleo
	told ben 0,0
}

@test "one script passes over a thousand dead waiters at most, and somebody who is alive goes on" {
	acquire anna
	crowd 2101
	absent together
	wait_until listens_not w2101
	queue_up zoe
	assert_equal "$(cli ZCARD "$(key_ours)") ${reply[2]}" '1102 1'
	release anna
	assert_equal "$(cli ZCARD "$(key_ours)")" 102
	told zoe 0
	ask zoe is='granted zoe'
}

@test "no waiter counts as hung while the lock is held" {
	acquire anna
	queue_up ben cleo
	release anna
	cli HSET job plain 1
	cli PEXPIRE job 60000
	later 6000
	ask cleo is=queued
	queue_is ben cleo
}

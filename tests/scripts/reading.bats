#!/usr/bin/env bats
# The scripts that only read: status and queue.

load ../lib/helpers
load ../lib/scripts

@test "status shows the holder and the number of waiters that are present" {
	acquire anna lease=20000 'by=host 7 root make'
	acquire inner inherited=anna lease=20000
	queue_up ben
	queue_up_dead cleo
	script status
	answered anna 2
	assert_equal "${reply[2]}" 20000
	assert_equal "${reply[*]:3:5}" "${token[anna]} host 7 root make ${token[anna]} 1 1"
	assert_equal "${reply[9]}" job
}

@test "queue lists the waiters in order, with their commands and whether they are present" {
	acquire anna
	queue_up ben
	redisson_waits r1
	acquire cleo
	script queue
	assert_equal "${reply[0]} ${reply[*]:2:3}" 'ben by ben 1 1'
	assert_equal "${reply[*]:6:5}" 'r1   0 0'
	assert_equal "${reply[12]} ${reply[*]:14:3}" 'cleo by cleo 1 0'
	assert_equal "${reply[1]}" 0
}

@test "status and queue change nothing where other scripts would mend, drop or notice something" {
	acquire anna
	queue_up ben
	queue_up_dead cleo
	redisson_waits r1
	cli RPUSH "$(key_queue)" r2
	later 31000
	before=$(digest)
	script status
	script queue
	assert_equal "$(digest)" "$before"
	cli FLUSHALL
	script status
	script queue
	assert_equal "$(cli KEYS '*')" ''
}

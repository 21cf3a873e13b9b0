#!/usr/bin/env bats
# The view script: what a waiter shows about the lock on its terminal.

load ../lib/helpers
load ../lib/scripts

# view ID: the answer is in `reply`, one word a line
view() {
	script view "$1"
}

@test "view gives the waiter's place, the number of waiters, and the holder" {
	acquire anna by=$'host\t7\tann\tjob'
	queue_up ben
	queue_up cleo
	view cleo
	assert_equal "${reply[*]:0:5}" "view 2 2 anna "$'host\t7\tann\tjob'
	between 0 "${reply[5]}" 60000
	view ben
	assert_equal "${reply[*]:0:3}" 'view 1 2'
}

@test "view does not count absent waiters, but counts its caller" {
	acquire anna
	queue_up ben
	queue_up cleo
	absent ben
	view cleo
	assert_equal "${reply[*]:0:3}" 'view 1 1'
	view ben
	assert_equal "${reply[*]:0:3}" 'view 1 2'
}

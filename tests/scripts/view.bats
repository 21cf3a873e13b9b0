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

# The server's CPU time in microseconds. Unlike real time it does not grow on a busy machine.
server_us() {
	cli INFO cpu | tr -d '\r' | awk -F: '/^used_cpu_(sys|user):/ { sum += $2 } END { printf "%.0f\n", sum * 1000000 }'
}

@test "view of a queue of 1,000 takes less than 5 ms" {
	marks_take_time
	local took

	acquire anna by=$'host\t7\tann\tjob'
	crowd 1000
	view w1000
	assert_equal "${reply[*]:0:3}" 'view 1000 1000'
	view w7
	assert_equal "${reply[*]:0:3}" 'view 7 1000'
	took=$(server_us)
	for _ in {1..100}; do
		view w1000
	done
	took=$((($(server_us) - took) / 100))
	echo "# $took us for a view of a queue of 1,000" >&3
	[ "$took" -lt 5000 ]
}

@test "view gives only the owner id of a Redisson holder, and nothing of a free lock" {
	acquire anna
	cli DEL "$lock" >/dev/null
	view cleo
	assert_equal "${reply[*]:3:3}" '  -1'
	cli HSET "$lock" redisson:1 1 >/dev/null
	view ben
	assert_equal "${reply[*]:3:3}" 'redisson:1  -1'
}

#!/usr/bin/env bats
# The view script: what a waiter shows about the lock on its terminal.

load ../lib/helpers
load ../lib/scripts

# view ID [KNOWN]: the answer is in `reply`, one word a line
view() {
	script view "$1" "${2-}"
}

# held_for MS [EVENT [BY]]: adds a hold of that length to the log
held_for() {
	cli XADD "$(key_log)" '*' event "${2-released}" time 1 owner o token 1 \
		by "${3-$'host\t1\tann\tjob'}" waited 0 held "$1" >/dev/null
}

@test "view gives the waiter's place, the number of waiters, and the holder" {
	acquire anna by=$'host\t7\tann\tjob'
	queue_up ben
	queue_up cleo
	view cleo
	assert_equal "${reply[*]:0:10}" "view 2 2 ${token[anna]} 0 0 0 0 anna "$'host\t7\tann\tjob'
	between 0 "${reply[10]}" 60000
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
	cli --raw EVAL 'for i = 1, 150 do redis.call("XADD", KEYS[1], "*", "event", "released", "time", 1, "owner", "o",
		"token", 1, "by", "h\t1\tann\tjob", "waited", 0, "held", i) end' 1 "$(key_log)"
	crowd 1000
	view w1000
	assert_equal "${reply[*]:0:3}" 'view 1000 1000'
	view w7
	assert_equal "${reply[*]:0:3}" 'view 7 1000'
	assert_equal "${reply[*]:4:4}" '20 140 20 140'
	took=$(server_us)
	for _ in {1..100}; do
		view w1000
	done
	took=$((($(server_us) - took) / 100))
	echo "# $took us for a view of a queue of 1,000 and a full log" >&3
	[ "$took" -lt 5000 ]
}

@test "view gives how long released holds lasted, of the same user and command and of all" {
	local ms

	for ms in 5000 1000 3000; do held_for "$ms"; done
	held_for 9000 released $'elsewhere\t2\tann\tjob'
	held_for 100 released $'host\t1\tann\tother job'
	held_for 70 expired
	held_for 60 forced
	held_for junk
	acquire anna by=$'host\t7\tann\tjob'
	view ben
	assert_equal "${reply[*]:4:4}" '4 3000 5 3000'
}

@test "view takes holds of the same user and command for the same job, whatever their reason" {
	held_for 5000 released $'host\t1\tann\tjob\tmonday'
	held_for 1000 released $'host\t1\tann\tjob'
	held_for 3000 released $'host\t1\tann\tjob\ttuesday'
	acquire anna by=$'host\t7\tann\tjob\twednesday'
	view ben
	assert_equal "${reply[*]:4:4}" '3 3000 3 3000'
}

@test "view takes the latest twenty holds" {
	local ms

	held_for 900000
	for ms in {1..20}; do held_for "$ms"; done
	acquire anna by=$'host\t7\tann\tjob'
	view ben
	assert_equal "${reply[*]:4:4}" '20 10 20 10'
}

@test "view does not repeat a hold that its caller knows" {
	held_for 1000
	acquire anna by=$'host\t7\tann\tjob'
	view ben "${token[anna]}"
	assert_equal "${reply[3]}" "${token[anna]}"
	assert_equal "${reply[4]}" ''
	view ben 1
	assert_equal "${reply[*]:4:4}" '1 1000 1 1000'
}

@test "view gives only the owner id of a Redisson holder, and nothing of a free lock" {
	acquire anna
	cli DEL "$lock" >/dev/null
	view cleo
	assert_equal "${reply[*]:3:5}" '    -1'
	cli HSET "$lock" redisson:1 1 >/dev/null
	view ben
	assert_equal "${reply[*]:3:5}" '  redisson:1  -1'
}

#!/usr/bin/env bats
# The leave script: getting out of the queue, alone or removed by another.

load ../lib/helpers
load ../lib/scripts

@test "a waiter that leaves is out of list, sorted set and hash" {
	acquire anna
	queue_up ben cleo
	leave ben
	answered left
	queue_is cleo
	assert_equal "$(field t:ben)$(field d:ben)" ''
}

@test "leaving that is repeated gives the same answer" {
	acquire anna
	queue_up ben
	leave ben
	leave ben
	answered left
	assert_equal "$(log_lines | grep -c event=left)" 1
}

@test "the next is told when the first leaves a held lock" {
	acquire anna lease=20000
	queue_up ben cleo
	leave ben
	left 20000 "$(heard cleo | sed -n 's/^first //p')"
}

@test "the next is told when the first leaves a free lock" {
	acquire anna
	queue_up ben cleo dora
	release anna
	leave ben
	told cleo 'second 5000,0'
	told dora 'second 5000'
}

@test "leaving undoes a grant that was made meanwhile, and the next is told" {
	acquire anna
	queue_up ben cleo
	release anna
	ask ben
	answered granted
	leave ben
	answered left
	assert_equal "$(cli EXISTS job)" 0
	run heard cleo
	assert_line --index 2 0
	leave ben
	answered left
	ask cleo
	answered granted
	leave ben
	assert_equal "$(owner)" cleo
}

@test "leaving undoes going in again, and leaves the outer hold" {
	acquire anna
	acquire inner inherited=anna kind=a
	leave inner
	assert_equal "$(owner) $(holds)" 'anna 1'
	leave inner
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "leaving does not touch what another holds" {
	acquire anna
	leave zoe
	answered left
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "who is removed by another hears so, when it asks" {
	acquire anna
	queue_up ben cleo
	remove ben
	answered left
	queue_is cleo
	told ben 0
	ask ben
	answered removed
	come_back ben
	answered removed
	queue_is cleo
}

@test "removing who does not wait says so, and keeps nothing" {
	acquire anna
	before=$(digest)
	remove zoe
	answered unknown
	assert_equal "$(digest)" "$before"
}

@test "removing that is repeated gives the same answer" {
	acquire anna
	queue_up ben
	remove ben
	remove ben
	answered left
}

@test "nobody is removed under another spelling of the name" {
	acquire anna
	queue_up ben
	before=$(digest)
	lock='{job}' remove ben
	answered spelled job
	assert_equal "$(digest)" "$before"
}

@test "the holder is not removed" {
	acquire anna
	remove anna
	answered unknown
	assert_equal "$(owner)" anna
}

@test "a Redisson waiter can be removed" {
	redisson_takes r1
	redisson_waits r2
	remove r2
	answered left
	queue_is
}

@test "when the last waiter leaves a free lock, or the lock is given back, who waits for the plain one is told" {
	acquire anna
	queue_up ben
	present_on_plain_channel
	release anna
	told plain ''
	leave ben
	told plain 0
	acquire cleo
	release cleo
	told plain 0,0
}

# A client of Redisson's that waits for its plain lock
present_on_plain_channel() {
	listen plain "$(channel)" "$(channel):plain"
	wait_until listens plain
}

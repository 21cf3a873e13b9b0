#!/usr/bin/env bats
# The leave script: a waiter leaves the queue, or somebody else removes it.

load ../lib/helpers
load ../lib/scripts

@test "if the first waiter leaves a held lock, the next is told that it is first" {
	acquire anna lease=20000
	queue_up ben cleo
	leave ben
	assert_equal "$(heard cleo | sed -n 's/^first //p')" 20000
}

@test "if the first waiter leaves a free lock, the next is told its turn" {
	acquire anna
	queue_up ben cleo dora
	release anna
	leave ben
	told cleo 'second 5000,0'
	told dora 'second 5000'
}

@test "the last waiter of ours between two of Redisson's takes its marker along" {
	redisson_takes r0
	redisson_waits r1
	queue_up ben
	redisson_waits r2
	leave ben
	assert_equal "$(listed)" 'r1 r2'
}

@test "if a waiter for a lock of Redisson's leaves, the two that are first then are told to listen to the marker" {
	redisson_takes r0
	queue_up ben cleo dora
	leave ben
	is_told cleo 0
	told dora 0
}

@test "leave undoes a grant that crossed it, and tells the next waiter its turn" {
	acquire anna
	queue_up ben cleo
	release anna
	ask ben is=granted
	leave ben is=left
	assert_equal "$(cli EXISTS job)" 0
	run heard cleo
	assert_line --index 2 0
	leave ben is=left
	ask cleo is=granted
	leave ben
	assert_equal "$(owner)" cleo
}

@test "a removed waiter is woken, and is answered removed when it asks" {
	acquire anna
	queue_up ben cleo
	remove ben is=left
	queue_is cleo
	told ben 0
	ask ben is=removed
	come_back ben is=removed
	queue_is cleo
}

@test "the removal of an id that does not wait is answered unknown, and changes nothing" {
	acquire anna
	before=$(digest)
	remove zoe is=unknown
	assert_equal "$(digest)" "$before"
}

@test "a removal takes out a Redisson waiter" {
	redisson_takes r1
	redisson_waits r2
	remove r2 is=left
	queue_is
}

@test "leave and release tell clients of the plain lock when the lock is free and the queue empty" {
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

# A client of Redisson that waits for its plain lock
present_on_plain_channel() {
	listen plain "$(channel)" "$(channel):plain"
	wait_until listens plain
}

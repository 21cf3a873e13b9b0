#!/usr/bin/env bats
# The scripts on a server that was restarted, with its data (only its run id changes) or without.

load ../lib/helpers
load ../lib/scripts

# As if another server process had written all that is here.
restarted() {
	change run id=0123456789012345678901234567890123456789
}

# After a restart the lock is free; its first waiter ben is absent, and its second is cleo.
restart_with_absent_head() {
	acquire anna
	queue_up ben cleo
	release anna
	absent ben
	restarted
}

@test "after a restart an absent head keeps its place for 2 s" {
	restart_with_absent_head
	ask cleo
	answered queued
	left 2000 $(($(field back) - $(now_ms)))
	queue_is ben cleo
	later -10000 # on a slow machine, too, the 2 s are not over
	ask cleo
	answered queued
	queue_is ben cleo
}

@test "after a restart an absent head is passed over when the 2 s are over" {
	restart_with_absent_head
	ask cleo
	later 2000
	ask cleo
	answered granted cleo
	queue_is
}

@test "after a restart no waiter is passed over in the first 2 s, whichever comes back first" {
	acquire anna
	queue_up ben cleo dora
	later 31000
	absent ben cleo dora
	restarted
	for id in dora cleo ben; do
		present "$id"
		come_back "$id"
		answered queued "${ticket[$id]}"
		later -10000 # on a slow machine, too, all of them come within the 2 s
	done
	queue_is ben cleo dora
	later 32000
	ask ben
	answered granted ben
}

@test "after a restart the first waiter is told to ask when the 2 s are over" {
	acquire anna
	queue_up ben
	later 31000
	restarted
	come_back ben
	answered queued
	between 1 "${reply[2]}" 2000
}

@test "after a restart a newcomer waits behind absent waiters" {
	acquire anna
	queue_up_dead ben
	later 31000
	restarted
	acquire cleo mode=try
	answered busy
	later -10000 # still within the 2 s
	acquire cleo
	answered queued
	queue_is ben cleo
}

@test "after a restart release drops no absent waiter" {
	acquire anna
	queue_up ben cleo
	absent ben cleo
	restarted
	release anna
	answered released 0
	queue_is ben cleo
}

@test "after a restart a waiter that comes back while the lock is held has its old place" {
	acquire anna
	queue_up ben cleo
	absent ben cleo
	restarted
	present cleo
	come_back cleo
	queue_is ben cleo
	present ben
	come_back ben
	queue_is ben cleo
}

@test "a release within the 2 s tells the first two waiters to ask when these are over" {
	acquire anna
	queue_up ben cleo dora
	cli HSET "$(key_state)" back $(($(now_ms) + 1900))
	release anna
	left 1900 "$(heard ben | sed -n 's/^first //p')"
	left 1900 "$(heard cleo | sed -n 's/^second //p')"
	told dora ''
}

@test "the scripts give 2 s once for each restart" {
	acquire anna
	queue_up_dead ben
	later 31000
	restarted
	present cleo
	acquire cleo
	answered queued
	back=$(field back)
	later 1000
	ask cleo
	come_back cleo
	assert_equal "$(field back)" $((back - 1000))
}

@test "without a restart an absent head is passed over at once" {
	acquire anna
	queue_up ben cleo
	absent ben
	release anna
	told cleo 0
}

@test "an empty server keeps a waiter that knows its ticket waiting for 2 s" {
	acquire anna
	queue_up ben
	cli FLUSHALL
	come_back ben
	answered queued "${ticket[ben]}"
	between 1 "${reply[2]}" 2000
	assert_equal "$(cli EXISTS job)" 0
	later 2000
	ask ben
	answered granted ben
}

@test "on an empty server the holder takes the lock up before the waiters get it" {
	acquire anna
	queue_up ben
	wait_until is_past "${token[anna]}"
	cli FLUSHALL
	come_back ben
	renew anna
	answered renewed 30000 "${token[anna]}" 1
	later 2000
	ask ben
	answered queued
	assert_equal "$(owner)" anna
}

@test "on an empty server waiters that come back in any order stand in the old one" {
	acquire anna
	queue_up ben cleo dora
	cli FLUSHALL
	for id in cleo dora ben; do
		come_back "$id"
		answered queued "${ticket[$id]}"
		later -10000 # within the 2 s
	done
	queue_is ben cleo dora
}

@test "on an empty server a newcomer stands behind waiters that come back later" {
	acquire anna
	queue_up ben cleo
	cli FLUSHALL
	come_back ben
	acquire dora
	answered queued
	come_back cleo
	queue_is ben cleo dora
	[ "${ticket[dora]}" -gt "${ticket[cleo]}" ]
}

@test "on an empty server whose clock was set back a newcomer has a later ticket than those who are back" {
	acquire anna
	queue_up ben cleo
	ticket[cleo]=$((ticket[cleo] + 60000000)) # the clock was set back by a minute since then
	cli FLUSHALL
	come_back ben
	come_back cleo
	acquire dora
	answered queued
	queue_is ben cleo dora
	[ "${ticket[dora]}" -gt "${ticket[cleo]}" ]
}

@test "an empty server grants a newcomer the lock" {
	acquire anna
	cli FLUSHALL
	acquire ben
	answered granted ben
}

@test "without a restart a waiter that connects again is granted a free lock at once" {
	acquire anna
	queue_up ben
	release anna
	come_back ben
	answered granted ben
}

@test "a ticket is one more than the ticket before if that lies in the future" {
	acquire anna
	acquire ben
	future=$((ticket[ben] + 3600000000))
	cli HSET "$(key_state)" ticket "$future"
	acquire cleo
	assert_equal "${ticket[cleo]}" $((future + 1))
}

@test "a turn that was told before a restart is told again and lasts 5 s from then" {
	turn_of_present_redisson
	told r1 0
	restarted
	later 6000
	come_back ben
	answered queued
	queue_is r1 ben
	later 2000
	ask ben
	answered queued
	queue_is r1 ben
	told r1 0,0
	later 5000
	ask ben
	answered granted ben
}

@test "a restart without waiters keeps no later waiter waiting" {
	acquire anna
	queue_up ben
	release anna
	ask ben
	answered granted
	restarted
	queue_up cleo dora emil
	absent cleo
	release ben
	told dora 0
	ask dora
	answered granted
	come_back emil
	answered queued
	release dora
	ask emil
	answered granted
}

@test "on an empty server a newcomer is granted the lock, and earlier waiters come back in their order" {
	acquire anna
	queue_up ben cleo dora
	absent ben cleo dora
	wait_until is_past "${token[anna]}"
	cli FLUSHALL
	acquire emil
	answered granted emil
	present fred
	acquire fred
	answered queued
	present dora
	come_back dora
	release emil
	assert_equal "$(cli EXISTS job)" 0
	for id in cleo ben; do
		present "$id"
		come_back "$id"
		answered queued "${ticket[$id]}"
		later -10000 # within the 2 s
	done
	queue_is ben cleo dora fred
	later 22000
	ask dora
	answered queued
	ask ben
	answered granted ben
}

@test "on an empty server a lock that was taken up and released is kept for all earlier waiters" {
	acquire anna
	queue_up ben cleo dora
	absent ben cleo dora
	wait_until is_past "${token[anna]}"
	cli FLUSHALL
	renew anna
	answered renewed 30000 "${token[anna]}" 1
	release anna
	present dora
	come_back dora
	answered queued "${ticket[dora]}"
	acquire emil mode=try
	answered busy
	present ben
	come_back ben
	answered queued "${ticket[ben]}"
	later 2000
	ask ben
	answered granted ben
}

@test "on an empty server the 2 s are given once, however many waiters come back later" {
	acquire anna
	queue_up ben cleo
	wait_until is_past "${token[anna]}"
	cli FLUSHALL
	acquire emil
	come_back ben
	back=$(field back)
	come_back cleo
	assert_equal "$(field back)" "$back"
	later 2000
	come_back cleo
	release emil
	told ben 0
}

@test "on an empty server the 2 s that the holder began go on when a waiter comes back" {
	acquire anna
	queue_up ben
	cli FLUSHALL
	renew anna
	answered renewed
	until=$(field back)
	wait_until is_past "$((until - 1900))"
	come_back ben
	answered queued
	assert_equal "$(field back)" "$until"
}

@test "a newcomer that notices a restart does not use up the 2 s of the waiters" {
	acquire anna
	queue_up ben cleo dora
	release anna
	ask ben
	answered granted
	leave cleo # the restart loses what the server wrote last
	leave dora
	absent cleo dora
	wait_until is_past $((${ticket[dora]} / 1000))
	restarted
	present emil
	acquire emil
	answered queued
	present dora
	come_back dora
	release ben
	assert_equal "$(cli EXISTS job)" 0
	ask dora
	answered queued
	present cleo
	come_back cleo
	queue_is cleo dora emil
	later 2000
	ask cleo
	answered granted cleo
}

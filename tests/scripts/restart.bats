#!/usr/bin/env bats
# The scripts on a server that was restarted, with its data (only its run id changes) or without.

load ../lib/helpers
load ../lib/scripts

# After a restart the lock is free; its first waiter ben is absent, and its second is cleo.
restart_with_absent_head() {
	acquire anna
	queue_up ben cleo
	release anna
	absent ben
	restarted
}

@test "after a restart an absent head is passed over when the 2 s are over" {
	restart_with_absent_head
	ask cleo
	later 2000
	ask cleo is='granted cleo'
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
		come_back "$id" is="queued ${ticket[$id]}"
	done
	queue_is ben cleo dora
	later 32000
	ask ben is='granted ben'
}

@test "a release within the 2 s tells the first two waiters to ask when these are over" {
	acquire anna
	queue_up ben cleo dora
	absent ben cleo dora
	restarted
	present ben cleo dora
	come_back cleo
	later 100
	release anna
	assert_equal "$(heard ben | sed -n 's/^first //p')" 1900
	assert_equal "$(heard cleo | sed -n 's/^second //p')" 1900
	told dora ''
}

@test "the scripts give 2 s once for each restart" {
	acquire anna
	queue_up_dead ben
	later 31000
	restarted
	present cleo
	acquire cleo is=queued
	later 1000
	ask cleo
	come_back cleo
	later 1000
	ask cleo is=granted
}

@test "an empty server keeps a waiter that knows its ticket waiting for 2 s" {
	acquire anna
	queue_up ben
	cli FLUSHALL
	come_back ben is="queued ${ticket[ben]}"
	between 1 "${reply[2]}" 2000
	assert_equal "$(cli EXISTS job)" 0
	later 2000
	ask ben is='granted ben'
}

@test "on an empty server the holder takes the lock up before the waiters get it" {
	acquire anna
	queue_up ben
	later 10
	cli FLUSHALL
	come_back ben
	renew anna is="renewed 30000 ${token[anna]} 1"
	later 2000
	ask ben is=queued
	assert_equal "$(owner)" anna
}

@test "on an empty server whose clock was set back a newcomer has a later ticket than those who are back" {
	acquire anna
	queue_up ben cleo
	cli FLUSHALL
	later -60000
	come_back ben
	come_back cleo
	acquire dora is=queued
	queue_is ben cleo dora
	[ "${ticket[dora]}" -gt "${ticket[cleo]}" ]
}

@test "a turn that was told before a restart is told again and lasts 5 s from then" {
	turn_of_present_redisson
	told r1 0
	restarted
	later 6000
	come_back ben is=queued
	queue_is r1 ben
	later 2000
	ask ben is=queued
	queue_is r1 ben
	told r1 0,0
	later 5000
	ask ben is='granted ben'
}

@test "on an empty server a newcomer is granted the lock, and earlier waiters come back in their order" {
	acquire anna
	queue_up ben cleo dora
	absent ben cleo dora
	later 10
	cli FLUSHALL
	acquire emil is='granted emil'
	present fred
	acquire fred is=queued
	present dora
	come_back dora
	release emil
	assert_equal "$(cli EXISTS job)" 0
	for id in cleo ben; do
		present "$id"
		come_back "$id" is="queued ${ticket[$id]}"
	done
	queue_is ben cleo dora fred
	later 22000
	ask dora is=queued
	ask ben is='granted ben'
}

@test "a newcomer that notices a restart does not use up the 2 s of the waiters" {
	acquire anna
	queue_up ben cleo dora
	release anna
	ask ben is=granted
	leave cleo # the restart loses what the server wrote last
	leave dora
	absent cleo dora
	later 10
	restarted
	present emil
	acquire emil is=queued
	present dora
	come_back dora
	release ben
	assert_equal "$(cli EXISTS job)" 0
	ask dora is=queued
	present cleo
	come_back cleo
	queue_is cleo dora emil
	later 2000
	ask cleo is='granted cleo'
}

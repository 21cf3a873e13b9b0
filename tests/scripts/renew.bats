#!/usr/bin/env bats
# The renew script: it lengthens a lease, or says that the lock is lost. For locks that it takes up
# after a loss of data see take-up.bats.

load ../lib/helpers
load ../lib/scripts

@test "renew gives a full lease and says how long it is" {
	acquire anna lease=30000
	later 20000
	renew anna lease=30000 is="renewed 30000 ${token[anna]} 0"
	assert_equal "$(cli PTTL job)" 30000
}

@test "renew never shortens a lease" {
	acquire anna lease=60000
	renew anna lease=1000 is='renewed 60000'
	assert_equal "$(cli PTTL job)" 60000
}

@test "renew without a lease gives the one that the lock was acquired with" {
	acquire anna lease=20000
	later 10000
	renew anna lease= kind= holder_token= is="renewed 20000 ${token[anna]}"
}

@test "renew answers taken, with the holder, to an id that does not hold the lock" {
	acquire anna 'by=host 7 root make'
	before=$(digest job)
	renew ben holder_token=1 is='lost taken anna host 7 root make'
	assert_equal "$(digest job)" "$before"
}

@test "renew answers released to a process whose hold the release command gave back" {
	acquire anna
	acquire inner inherited=anna kind=a
	release anna mode=any request=command
	renew anna request=inner kind=a is=released
	assert_equal "$(holds)" 1
}

@test "renew answers lost after the lease has ended, and does not take the lock up" {
	granted_to_anna lease=1000
	later 2000
	renew anna is='lost gone'
	assert_equal "$(cli EXISTS job)" 0
}

@test "renew answers lost after somebody deleted the lock, and does not take it up" {
	granted_to_anna
	cli DEL job
	renew anna is='lost gone'
	renew anna is='lost gone'
	assert_equal "$(cli EXISTS job)" 0
}

@test "renew answers forced after release by force, and does not take the lock up" {
	granted_to_anna
	release '' mode=force request=breaker
	renew anna is='lost forced'
	renew anna is='lost forced'
	assert_equal "$(cli EXISTS job)" 0
}

@test "renew answers lost if another owner had the lock after a loss of data" {
	granted_to_anna
	cli FLUSHALL
	acquire ben
	release ben
	renew anna is='lost gone'
	assert_equal "$(cli EXISTS job)" 0
}

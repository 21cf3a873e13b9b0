#!/usr/bin/env bats
# The renew script: it lengthens a lease, or says that the lock is lost. For locks that it takes up
# after a loss of data see take-up.bats.

load ../lib/helpers
load ../lib/scripts

@test "renew gives a full lease and says how long it is" {
	acquire anna lease=30000
	later 20000
	renew anna lease=30000
	answered renewed 30000 "${token[anna]}" 0
	assert_equal "$(cli PTTL job)" 30000
}

@test "renew never shortens a lease" {
	acquire anna lease=60000
	renew anna lease=1000
	answered renewed
	assert_equal "${reply[1]}" 60000
	assert_equal "$(cli PTTL job)" 60000
}

@test "renew without a lease gives the one that the lock was acquired with" {
	acquire anna lease=20000
	later 10000
	renew anna lease= kind= holder_token=
	answered renewed 20000 "${token[anna]}"
}

@test "renew without a lease gives a Redisson lock 30 s, not the lease of the hold before" {
	acquire anna lease=90000
	release anna
	redisson_takes rex
	renew rex lease= kind= holder_token=
	answered renewed 30000
}

@test "a lock that was renewed expires, and is logged, at the end of the new lease" {
	acquire anna lease=20000
	later 10000
	renew anna lease=20000
	later 60000
	acquire ben
	answered granted ben
	run log_lines
	assert_line --index 1 --regexp '^event=expired\|.*\|owner=anna\|.*\|held=[0-9]+\|status=\|cause=$'
	assert_equal "$(sed "s/.*held=\([0-9]*\).*/\1/" <<<"${lines[1]}")" 30000
}

@test "renew answers taken, with the holder, to an id that does not hold the lock" {
	acquire anna 'by=host 7 root make'
	before=$(digest job)
	renew ben holder_token=1
	answered lost taken anna host 7 root make
	assert_equal "$(digest job)" "$before"
}

@test "renew answers released to a process whose hold the release command gave back" {
	acquire anna
	acquire inner inherited=anna kind=a
	release anna mode=any request=command
	renew anna request=inner kind=a
	answered released
	assert_equal "$(holds)" 1
}

@test "renew answers lost after the lease has ended, and does not take the lock up" {
	granted_to_anna lease=1000
	later 2000
	renew anna
	answered lost gone
	assert_equal "$(cli EXISTS job)" 0
}

@test "renew answers lost after somebody deleted the lock, and does not take it up" {
	granted_to_anna
	cli DEL job
	renew anna
	answered lost gone
	renew anna
	answered lost gone
	assert_equal "$(cli EXISTS job)" 0
}

@test "renew answers forced after release by force, and does not take the lock up" {
	granted_to_anna
	release '' mode=force request=breaker
	renew anna
	answered lost forced
	renew anna
	answered lost forced
	assert_equal "$(cli EXISTS job)" 0
}

@test "renew answers forced, with the new holder, after the lock was broken and another owner has it" {
	acquire anna
	release '' mode=force request=breaker
	acquire ben
	renew anna
	answered lost forced ben 'by ben'
	assert_equal "$(owner)" ben
}

@test "renew answers lost if another owner had the lock after a loss of data" {
	granted_to_anna
	cli FLUSHALL
	acquire ben
	release ben
	renew anna
	answered lost gone
	assert_equal "$(cli EXISTS job)" 0
}

@test "on a server out of memory renew answers taken, with the holder" {
	acquire carl
	release carl
	later 100
	acquire ben
	cli CONFIG SET maxmemory 1 >/dev/null
	renew anna "holder_token=$((token[ben] - 1))"
	cli CONFIG SET maxmemory 0 >/dev/null
	answered lost taken ben 'by ben'
}

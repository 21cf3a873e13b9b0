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
	left 30000 "$(cli PTTL job)"
}

@test "renew never shortens a lease" {
	acquire anna lease=60000
	renew anna lease=1000
	answered renewed
	left 60000 "${reply[1]}"
	left 60000 "$(cli PTTL job)"
}

@test "renew without a lease gives the one that the lock was acquired with" {
	acquire anna lease=20000
	later 10000
	renew anna lease= kind= holder_token=
	answered renewed 20000 "${token[anna]}"
}

@test "renew without a lease gives the one that the lock was acquired with, also after a longer renewal" {
	acquire anna lease=20000
	renew anna lease=90000
	later 75000
	renew anna lease=
	answered renewed 20000
}

@test "renew without a lease gives a Redisson lock 30 s, not the lease of the hold before" {
	acquire anna lease=90000
	release anna
	redisson_takes rex
	renew rex lease= kind= holder_token=
	answered renewed 30000
}

@test "renew gives a time to live to a lock that has lost its own" {
	acquire anna
	cli PERSIST job
	renew anna lease=20000
	answered renewed 20000
	left 20000 "$(cli PTTL job)"
}

@test "a repeated renewal changes nothing" {
	acquire anna
	renew anna
	renew anna
	answered renewed 30000
	assert_equal "$(owner) $(holds)" 'anna 1'
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
	grown 30000 "$(sed "s/.*held=\([0-9]*\).*/\1/" <<<"${lines[1]}")"
}

@test "renew answers taken, with the holder, to an id that does not hold the lock" {
	acquire anna 'by=host 7 root make'
	before=$(digest job)
	renew ben holder_token=1
	answered lost taken anna host 7 root make
	assert_equal "$(digest job)" "$before"
}

@test "renew refuses another spelling of the name" {
	acquire anna
	before=$(digest)
	lock='{job}' renew anna
	answered spelled job
	assert_equal "$(digest)" "$before"
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

@test "renew answers taken, with the new holder, after the lease has ended and the lock has passed on" {
	acquire anna lease=1000
	later 2000
	acquire ben 'by=host 8 root make'
	renew anna
	answered lost taken ben host 8 root make
	assert_equal "$(owner)" ben
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

@test "renew answers lost after Redisson broke, took and released the lock" {
	granted_to_anna
	cli DEL job
	redisson_takes r1
	redisson_unlocks
	renew anna
	answered lost gone
	assert_equal "$(cli EXISTS job)" 0
}

@test "renew answers taken after Redisson broke and took the lock" {
	granted_to_anna
	cli DEL job
	redisson_takes r1
	renew anna
	answered lost taken r1
	assert_equal "$(owner)" r1
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
	sleep 0.01
	acquire ben
	cli CONFIG SET maxmemory 1 >/dev/null
	renew anna "holder_token=$((token[ben] - 1))"
	cli CONFIG SET maxmemory 0 >/dev/null
	answered lost taken ben 'by ben'
}

#!/usr/bin/env bats
# The renew script: fresh leases, loss, and taking a lock up after a loss of data.

load ../lib/helpers
load ../lib/scripts

# A grant to anna, and a clock that has gone on since.
granted_to_anna() {
	acquire anna "$@"
	wait_until is_past "${token[anna]}"
}

@test "a renewal gives a full lease and tells how long it is" {
	acquire anna lease=30000
	later 20000
	renew anna lease=30000
	answered renewed 30000 "${token[anna]}" 0
	left 30000 "$(cli PTTL job)"
}

@test "a renewal never shortens the lease" {
	acquire anna lease=60000
	renew anna lease=1000
	answered renewed
	left 60000 "${reply[1]}"
	left 60000 "$(cli PTTL job)"
}

@test "a renewal without a lease gives the one that the lock was taken with" {
	acquire anna lease=20000
	later 10000
	renew anna lease= kind= holder_token=
	answered renewed 20000 "${token[anna]}"
}

@test "a renewal without a lease gives that one also after a longer renewal" {
	acquire anna lease=20000
	renew anna lease=90000
	later 75000
	renew anna lease=
	answered renewed 20000
}

@test "a renewal without a lease gives Redisson's lock the usual one, not that of the hold before" {
	acquire anna lease=90000
	release anna
	redisson_takes rex
	renew rex lease= kind= holder_token=
	answered renewed 30000
}

@test "a renewal gives a lease to a lock that lost its time to live" {
	acquire anna
	cli PERSIST job
	renew anna lease=20000
	answered renewed 20000
	left 20000 "$(cli PTTL job)"
}

@test "a renewal that is repeated changes nothing" {
	acquire anna
	renew anna
	renew anna
	answered renewed 30000
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "after a renewal the lock expires at the end of that lease, and is logged so" {
	acquire anna lease=20000
	later 10000
	renew anna lease=20000
	later 60000
	acquire ben
	answered granted ben
	run log_lines
	assert_line --index 1 --regexp '^event=expired\|.*\|owner=anna\|.*\|held=[0-9]+$'
	grown 30000 "${lines[1]##*=}"
}

@test "who does not hold the lock cannot renew it" {
	acquire anna 'by=host 7 root make'
	before=$(digest job)
	renew ben holder_token=1
	answered lost taken anna host 7 root make
	assert_equal "$(digest job)" "$before"
}

@test "nothing is renewed or taken up under another spelling of the name" {
	acquire anna
	before=$(digest)
	lock='{job}' renew anna
	answered spelled job
	assert_equal "$(digest)" "$before"
}

@test "a process whose hold was given back hears that, not that the lock is lost" {
	acquire anna
	acquire inner inherited=anna kind=a
	release anna mode=any request=command
	renew anna request=inner kind=a
	answered released
	assert_equal "$(holds)" 1
}

@test "a lock whose lease ended is lost, and not taken up" {
	granted_to_anna lease=1000
	later 2000
	renew anna
	answered lost gone
	assert_equal "$(cli EXISTS job)" 0
}

@test "a lock whose lease ended and that another took is lost" {
	acquire anna lease=1000
	later 2000
	acquire ben 'by=host 8 root make'
	renew anna
	answered lost taken ben host 8 root make
	assert_equal "$(owner)" ben
}

@test "a deleted lock is lost, and not taken up" {
	granted_to_anna
	cli DEL job
	renew anna
	answered lost gone
	renew anna
	answered lost gone
	assert_equal "$(cli EXISTS job)" 0
}

@test "a broken lock is lost, and says why" {
	granted_to_anna
	release '' mode=force request=breaker
	renew anna
	answered lost forced
	renew anna
	answered lost forced
	assert_equal "$(cli EXISTS job)" 0
}

@test "a broken lock that another took since is lost" {
	acquire anna
	release '' mode=force request=breaker
	acquire ben
	renew anna
	answered lost taken ben
	assert_equal "$(owner)" ben
}

@test "a lock that Redisson broke, took and gave back is lost" {
	granted_to_anna
	cli DEL job
	redisson_takes r1
	redisson_unlocks
	renew anna
	answered lost gone
	assert_equal "$(cli EXISTS job)" 0
}

@test "a lock that Redisson broke and took is lost" {
	granted_to_anna
	cli DEL job
	redisson_takes r1
	renew anna
	answered lost taken r1
	assert_equal "$(owner)" r1
}

@test "a lock that another got and gave back since is lost" {
	granted_to_anna
	cli FLUSHALL
	acquire ben
	release ben
	renew anna
	answered lost gone
	assert_equal "$(cli EXISTS job)" 0
}

# After a loss of data

@test "a server that lost its data has the lock taken up again, with the same token" {
	granted_to_anna
	cli FLUSHALL
	renew anna lease=20000
	answered renewed 20000 "${token[anna]}" 1
	assert_equal "$(owner) $(holds)" 'anna 1'
	left 20000 "$(cli PTTL job)"
	assert_equal "$(field token)" "${token[anna]}"
}

@test "taking up that is repeated holds once" {
	granted_to_anna
	cli FLUSHALL
	renew anna
	renew anna
	answered renewed 30000 "${token[anna]}"
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "a server whose data is older than the grant has the lock taken up again" {
	acquire zoe
	release zoe
	granted_to_anna
	cli DEL job
	cli HSET "$(key_state)" token "${token[zoe]}"
	cli HDEL "$(key_state)" owner since until holds
	renew anna
	answered renewed 30000 "${token[anna]}" 1
}

@test "what is left of a hold that is over is not told of the lock that is taken up" {
	acquire zoe
	cli HSET "$(key_state)" waited 77777
	release zoe
	token[anna]=$((token[zoe] + 1))
	renew anna
	answered renewed 30000 "${token[anna]}" 1
	acquire inner inherited=anna
	answered granted anna "${token[anna]}"
	between 29000 "${reply[3]}" 30000
	assert_equal "${reply[*]:4}" '0 2'
}

@test "a --min-hold of a hold that was broken is none of the lock that is taken up" {
	acquire zoe
	release zoe min=20000
	answered kept
	release x request=f mode=force
	token[anna]=$((token[zoe] + 1))
	renew anna
	answered renewed 30000 "${token[anna]}" 1
	release anna
	answered released 0
}

@test "the unheard ticket of a hold that is over is none of the lock that is taken up" {
	acquire zoe
	present ben
	acquire ben handed=1
	release zoe
	renew ben holder_token="$(field token)"
	release ben
	answered released 0
	token[anna]=$(($(field token) + 1))
	renew anna
	answered renewed 30000 "${token[anna]}" 1
	assert_equal "$(field unheard)" ''
}

@test "a lock that another got after the loss of data is lost" {
	granted_to_anna
	cli FLUSHALL
	acquire ben
	renew anna
	answered lost taken ben
	assert_equal "$(owner)" ben
}

@test "a lock that Redisson got after the loss of data is lost" {
	granted_to_anna
	cli FLUSHALL
	redisson_takes r1
	renew anna
	answered lost taken r1
	assert_equal "$(owner)" r1
}

@test "the renew command, which knows no token, takes no lock up" {
	acquire anna
	cli FLUSHALL
	renew anna kind= holder_token=
	answered lost gone
	assert_equal "$(cli EXISTS job)" 0
}

@test "a lock that was taken up excludes others and is given back as ever" {
	granted_to_anna
	cli FLUSHALL
	renew anna
	queue_up ben
	assert_equal "${reply[3]}" 1
	later 2000
	release anna
	answered released 0
	told ben 0
}

@test "the token after a lock was taken up is larger" {
	granted_to_anna
	cli FLUSHALL
	renew anna
	release anna
	later 2000
	acquire ben
	[ "${token[ben]}" -gt "${token[anna]}" ]
}

@test "siblings of one owner all keep their holds over a loss of data" {
	acquire anna
	acquire left inherited=anna
	acquire right inherited=anna
	wait_until is_past "${token[anna]}"
	cli FLUSHALL
	renew anna request=left "holder_token=${token[anna]}"
	answered renewed 30000 "${token[anna]}" 1
	renew anna
	answered renewed
	renew anna request=right
	answered renewed
	renew anna request=left
	answered renewed
	assert_equal "$(owner) $(holds)" 'anna 3'
	release anna request=left
	answered released 2
	release anna request=right
	answered released 1
	release anna
	answered released 0
}

@test "a hold that was given back after the lock was taken up is not counted again" {
	acquire anna
	acquire inner inherited=anna kind=a
	wait_until is_past "${token[anna]}"
	cli FLUSHALL
	renew anna
	renew anna request=inner kind=a
	assert_equal "$(holds)" 2
	release anna mode=any request=command
	answered released 1
	renew anna request=inner kind=a
	answered released
	assert_equal "$(holds)" 1
}

@test "what our hash forgot of a hold is in it again after the next renewal, and nothing is held twice" {
	acquire anna
	acquire inner inherited=anna
	cli DEL "$(key_state)"
	renew anna
	answered renewed 30000 "${token[anna]}" 1
	renew anna request=inner "holder_token=${token[anna]}"
	answered renewed 30000 "${token[anna]}" 1
	assert_equal "$(owner) $(holds)" 'anna 2'
	release anna request=inner
	answered released 1
	release anna
	answered released 0
}

@test "a lock that was taken up can be broken, and stays broken" {
	granted_to_anna
	cli FLUSHALL
	renew anna
	release '' mode=force request=breaker
	answered forced anna
	renew anna
	answered lost forced
}

@test "who waits when a lock is taken up is told when the lease ends" {
	acquire anna
	queue_up ben
	wait_until is_past "${token[anna]}"
	cli FLUSHALL
	come_back ben
	renew anna lease=20000
	answered renewed
	told ben 'first 20000'
}

@test "a server without memory: a holder learns that another has the lock" {
	acquire carl
	release carl
	sleep 0.01
	acquire ben
	cli CONFIG SET maxmemory 1 >/dev/null
	renew anna "holder_token=$((token[ben] - 1))"
	cli CONFIG SET maxmemory 0 >/dev/null
	answered lost taken ben 'by ben'
}

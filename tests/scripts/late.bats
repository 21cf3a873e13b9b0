#!/usr/bin/env bats
# Late copies of requests. Their sender has given up the connection and sent the request again over
# another, and the server reads the old copy last.

load ../lib/helpers
load ../lib/scripts

nobody_holds() {
	assert_equal "$(owner)" ''
	all_well
}

@test "acquire ignores a late first request after the second copy was granted and released" {
	acquire anna again=1 strays=1
	answered granted anna
	release anna strays=1
	answered released
	acquire anna
	answered removed
	nobody_holds
}

@test "acquire ignores a late first request after the second copy was queued and its sender has left" {
	acquire zed
	acquire anna again=1 strays=1
	answered queued
	leave anna strays=1
	release zed
	acquire anna
	answered removed
	nobody_holds
}

@test "acquire ignores a first request that arrives after its sender has left" {
	leave ben strays=1
	answered left
	acquire ben
	answered removed
	nobody_holds
	acquire cleo
	answered granted
}

@test "acquire ignores the second of three copies after the first was queued and its sender has left" {
	acquire zed
	acquire anna
	leave anna strays=2
	release zed
	acquire anna again=1 strays=1
	answered removed
	nobody_holds
}

@test "acquire ignores a late sign of life after its sender was granted the lock and released it" {
	acquire zed
	queue_up anna
	release zed
	come_back anna strays=1
	answered granted
	release anna strays=1
	ask anna
	answered removed
	nobody_holds
}

@test "acquire ignores a late first request after the lease has ended" {
	acquire anna again=1 strays=1 lease=1000
	answered granted
	later 1001
	acquire anna
	answered removed
	nobody_holds
}

@test "acquire ignores a late sign of life after the lease has ended" {
	acquire zed
	queue_up anna
	release zed
	come_back anna strays=1 lease=1000
	answered granted
	later 1001
	ask anna
	answered removed
	nobody_holds
}

@test "acquire ignores a late request to go in again after that hold was released, not the outer one" {
	acquire anna
	acquire inner inherited=anna again=1 strays=1
	answered granted anna
	release anna request=inner strays=1
	answered released 1
	acquire inner inherited=anna
	answered removed
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "a late copy neither changes a holder's lease nor puts a waiter back that was passed over" {
	acquire anna again=1 strays=1 lease=60000
	acquire anna
	answered removed
	left 60000 "$(cli PTTL job)"
	queue_up ben
	come_back ben strays=1
	absent ben
	later 60001
	acquire cleo
	answered granted
	ask ben
	answered removed
	queue_is
	present ben
	come_back ben strays=2
	answered queued
	queue_is ben
}

@test "a new copy counts, and is granted, after the first grant has expired or was broken" {
	acquire anna again=1 strays=1 lease=1000
	later 1001
	acquire anna again=1 strays=2
	answered granted anna
	release zoe mode=force
	acquire anna again=1 strays=3
	answered granted anna
}

@test "a request of another process with the same owner does not count as a late copy" {
	acquire anna again=1 strays=1
	release anna strays=1
	acquire anna request=second inherited=anna
	answered granted anna
	release anna request=second
	leave anna request=third strays=1
	acquire anna request=fourth
	answered granted anna
}

@test "acquire with mode try leaves no mark without a time to live at a busy lock" {
	redisson_takes r1
	acquire anna mode=try again=1 strays=1
	answered busy r1
	between 1 "$(cli PTTL "$(key_state)")" 86400000
	assert_equal "$(field name)" ''
}

# cleo comes back over one more connection.
returns() {
	acquire cleo again=1 strays=$((++strays_of_cleo))
}

@test "our hash does not grow with late copies while the queue is never empty" {
	acquire anna
	queue_up ben
	for ((i = 1; i <= 100; i++)); do
		script_line acquire "w$i" "w$i" w 30000 wait '' 1 '' '' '' 1
		script_line leave "w$i" "w$i" 1
	done | cli >/dev/null
	between 100 "$(cli HLEN "$(key_state)")" 140
	later 600001
	shrinks_to 45 returns
	queue_is ben cleo
}

@test "a late copy of a release command does not release the lock that its owner has taken again" {
	acquire anna kind=a
	release anna request=by-hand mode=any again=1 strays=1
	answered released 0
	acquire anna request=second kind=a
	answered granted anna
	release anna request=by-hand mode=any
	answered late
	assert_equal "$(owner) $(holds) $(column h:anna holds)" 'anna 1 ,asecond,'
}

@test "a late copy of a release does not release the lock that the same process has taken again" {
	for mode in own unused; do
		acquire anna
		release anna again=1 strays=1 mode=$mode
		answered released 0
		acquire anna strays=1
		answered granted anna
		release anna mode=$mode
		answered late
		assert_equal "$(owner) $(holds)" 'anna 1'
		cli FLUSHALL >/dev/null
	done
}

@test "a late release neither hands the lock over nor keeps it for a --min-hold" {
	acquire anna
	release anna again=1 strays=1
	acquire anna strays=1
	present ben
	acquire ben handed=1
	release anna
	answered late
	release anna min=60000
	answered late
	told ben ''
	assert_equal "$(owner) $(column h:anna keep)" 'anna -'
	left 30000 "$(cli PTTL job)"
}

@test "a late release by force breaks no lock, even after the first answer was forgotten" {
	acquire anna
	release anna request=breaker mode=force again=1 strays=1
	answered forced anna
	acquire ben
	change r:breaker answer=-
	release anna request=breaker mode=force
	answered late
	assert_equal "$(owner)" ben
}

@test "renew ignores a late renewal after a newer one, and after the release" {
	acquire anna lease=1000
	renew anna lease=1000 strays=1
	answered renewed
	renew anna lease=60000
	answered late
	left 1000 "$(cli PTTL job)"
	release anna strays=1
	renew anna
	answered late
	nobody_holds
	assert_equal "$(log_lines | grep -o 'event=[a-z]*' | paste -sd ' ')" 'event=granted event=released'
}

@test "a late renew command does not lengthen the lease of a lock that its owner has taken again" {
	acquire anna kind=a
	renew anna request=by-hand kind='' holder_token='' lease=60000 strays=1
	answered renewed 60000
	release anna request=gives-back mode=any
	acquire anna request=second kind=a lease=1000
	renew anna request=by-hand kind='' holder_token='' lease=60000
	answered late
	left 1000 "$(cli PTTL job)"
}

@test "a late leave does not take out a waiter that waits again" {
	acquire zed
	acquire anna
	leave anna strays=1
	answered left
	acquire anna strays=1
	answered queued
	leave anna
	answered late
	queue_is anna
}

@test "a late removal does not take out a waiter that waits again under the same id" {
	acquire zed
	acquire anna
	remove anna strays=1
	answered left
	cli HDEL "$(key_state)" w:anna >/dev/null
	acquire anna request=second
	answered queued
	remove anna
	answered late
	queue_is anna
}

@test "requests of the guard are late after the wrapper has released the lock for it" {
	acquire anna
	renew anna strays=3
	release anna strays=1000000
	answered released 0
	acquire anna request=second
	release anna strays=3
	answered late
	renew anna strays=4
	answered late
	assert_equal "$(owner) $(column h:anna holds)" 'anna ,wsecond,'
}

@test "a server out of memory knows late copies" {
	acquire anna kind=a
	cli CONFIG SET maxmemory 1 >/dev/null
	release anna request=by-hand mode=any again=1 strays=1
	cli CONFIG SET maxmemory 0 >/dev/null
	answered released 0
	acquire anna request=second kind=a
	release anna request=by-hand mode=any
	answered late
}

@test "the check for late copies costs the usual renewal and release one field that is read" {
	acquire anna
	hear_calls
	renew anna
	release anna
	calls >"$BATS_TEST_TMPDIR/called"
	assert_equal "$(grep -c '"r:anna"' "$BATS_TEST_TMPDIR/called")" 2
	assert_equal "$(grep '"r:anna"' "$BATS_TEST_TMPDIR/called" | grep -c HMGET)" 2
}

@test "our hash does not grow with the marks of releases if there are never waiters" {
	for ((i = 1; i <= 100; i++)); do
		script_line acquire "w$i" "w$i" w 30000 wait '' 0 '' ''
		script_line release "w$i" "w$i" own '' 1 '' 1
	done | cli >/dev/null
	between 100 "$(cli HLEN "$(key_state)")" 140
	later 600001
	shrinks_to 45 leave nobody
}

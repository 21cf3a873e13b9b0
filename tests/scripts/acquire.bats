#!/usr/bin/env bats
# The acquire script: grants, going in again, and its answers.

load ../lib/helpers
load ../lib/scripts

@test "a free lock is granted, with token, time to live, no wait and one hold" {
	before=$(now_ms)
	acquire anna lease=20000
	answered granted anna
	between "$before" "${reply[2]}" "$(now_ms)"
	left 20000 "${reply[3]}"
	assert_equal "${reply[*]:4}" '0 1'
	assert_equal "$(owner)" anna
}

@test "the lock key expires with the lease" {
	acquire anna lease=20000
	left 20000 "$(cli PTTL job)"
}

@test "the same request again gets the same grant, and holds once" {
	acquire anna
	first=${token[anna]}
	later 1000
	acquire anna again=1
	answered granted anna "$first"
	assert_equal "$(holds)" 1
	assert_equal "$(log_lines | wc -l)" 1
}

changes() { cli INFO persistence | tr -d '\r' | sed -n 's/^rdb_changes_since_last_save://p'; }

# From version 7.2 on, WAIT on a connection that has written nothing counts replicas that lack what another
# connection wrote before it was lost.
@test "a grant and a renewal that are repeated write something all the same: WAIT counts from there" {
	acquire anna
	for again in acquire renew acquire renew; do
		before=$(changes)
		"$again" anna
		[ "$(changes)" -gt "$before" ]
	done
}

@test "a repeated grant tells the time that is really left when the lease of the first ran on" {
	acquire anna lease=30000
	later 10000
	acquire anna again=1 lease=5000
	left 20000 "${reply[3]}"
}

@test "a grant that was repeated after its lease is a new one with a new token" {
	acquire anna lease=5000
	first=${token[anna]}
	later 6000
	acquire anna again=1
	answered granted anna
	[ "${token[anna]}" -gt "$first" ]
	assert_equal "$(holds)" 1
}

@test "only our hash and our log are kept beside a held lock" {
	acquire anna
	assert_equal "$(cli KEYS '*' | sort | paste -sd ' ')" 'fairlock:{job} fairlock_log:{job} job'
}

@test "a name with braces is used as it is" {
	lock='a{b}c'
	acquire anna
	answered granted anna
	assert_equal "$(cli KEYS '*' | sort | paste -sd ' ')" 'a{b}c fairlock:a{b}c fairlock_log:a{b}c'
}

@test "ids of real owners work as well as short ones" {
	acquire 0a1b2c3d-0000-4000-8000-000000000001:12
	acquire 0a1b2c3d-0000-4000-8000-000000000002:123 mode=try
	answered busy 0a1b2c3d-0000-4000-8000-000000000001:12
}

# Going in again

@test "an inherited owner that holds the lock goes in, as that owner, with that token" {
	acquire anna
	acquire inner inherited=anna
	answered granted anna "${token[anna]}"
	assert_equal "${reply[5]}" 2
	assert_equal "$(holds)" 2
}

@test "going in counts once when the request is repeated" {
	acquire anna
	acquire inner inherited=anna
	acquire inner inherited=anna again=1
	answered granted anna "${token[anna]}"
	assert_equal "${reply[5]} $(holds)" '2 2'
}

@test "of siblings that go in side by side each counts once, whoever repeats" {
	acquire anna
	acquire left inherited=anna
	acquire right inherited=anna
	acquire left inherited=anna again=1
	acquire right inherited=anna again=1
	assert_equal "$(holds)" 3
}

@test "an inherited owner goes in past those who wait" {
	acquire anna
	queue_up ben
	acquire inner inherited=anna
	answered granted anna
	queue_is ben
}

@test "any of several inherited owners may be the holder" {
	acquire anna
	acquire inner 'inherited=zoe anna ben'
	answered granted anna
}

@test "an inherited owner that holds nothing does not open a held lock" {
	acquire anna
	acquire daemon inherited=old
	answered queued
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "an inherited owner that holds nothing gets a free lock under a fresh id" {
	acquire daemon inherited=old
	answered granted daemon
	assert_equal "$(owner)" daemon
}

@test "two daemons that outlived a wrap do not both get in by its id" {
	acquire one inherited=old
	acquire two inherited=old
	answered queued
	assert_equal "$(owner) $(holds)" 'one 1'
}

@test "going in again never shortens the lease" {
	acquire anna lease=60000
	acquire inner inherited=anna lease=1000
	left 60000 "${reply[3]}"
	left 60000 "$(cli PTTL job)"
}

@test "going in again with a longer lease lengthens it" {
	acquire anna lease=20000
	acquire inner inherited=anna lease=60000
	left 60000 "${reply[3]}"
	left 60000 "$(cli PTTL job)"
}

@test "going in again gives a lease to a lock that lost its time to live" {
	acquire anna
	cli PERSIST job
	acquire inner inherited=anna lease=20000
	left 20000 "$(cli PTTL job)"
}

@test "after going in again the lock expires at the end of the longer lease, and is logged so" {
	acquire anna lease=20000
	acquire inner inherited=anna lease=60000
	later 70000
	acquire ben
	answered granted ben
	run log_lines
	assert_line --index 1 --regexp '^event=expired\|.*\|owner=anna\|.*\|held=[0-9]+$'
	grown 60000 "${lines[1]##*=}"
}

# Tokens

@test "each grant has a larger token" {
	for i in 1 2 3 4 5; do
		acquire "run$i"
		release "run$i"
	done
	[ "${token[run1]}" -lt "${token[run2]}" ]
	[ "${token[run2]}" -lt "${token[run3]}" ]
	[ "${token[run3]}" -lt "${token[run4]}" ]
	[ "${token[run4]}" -lt "${token[run5]}" ]
}

@test "a token grows by one when the one before lies in the future" {
	acquire anna
	release anna
	future=$(($(now_ms) + 3600000))
	cli HSET "$(key_state)" token "$future"
	acquire ben
	assert_equal "${token[ben]}" $((future + 1))
}

@test "a token grows across a server that lost its data" {
	acquire anna
	cli FLUSHALL
	wait_until is_past "${token[anna]}"
	acquire ben
	[ "${token[ben]}" -gt "${token[anna]}" ]
}

@test "a token is written in digits only" {
	acquire anna
	[[ ${reply[2]} =~ ^[0-9]{13}$ ]]
	[[ $(field token) =~ ^[0-9]{13}$ ]]
}

# Not waiting

@test "trying a busy lock says who holds it" {
	acquire anna 'by=host 7 root make'
	acquire ben mode=try
	answered busy anna host 7 root make
}

@test "trying a busy lock changes nothing" {
	acquire anna
	before=$(digest)
	acquire ben mode=try
	assert_equal "$(digest)" "$before"
}

@test "trying a lock that Redisson holds creates no key" {
	redisson_takes r1
	acquire ben mode=try
	answered busy r1
	assert_equal "$(cli KEYS '*')" job
}

@test "trying a lock for which Redisson waits creates no key" {
	redisson_takes r1
	redisson_waits r2
	acquire ben mode=try
	answered busy r1
	assert_equal "$(cli EXISTS "$(key_state)" "$(key_log)")" 0
}

@test "trying a free lock takes it" {
	acquire ben mode=try
	answered granted ben
}

@test "trying a free lock for which somebody waits is busy" {
	acquire anna
	queue_up ben
	release anna
	acquire cleo mode=try
	answered busy ben
	queue_is ben
}

@test "trying goes past the dead, and leaves no trace of itself" {
	acquire anna
	queue_up_dead ben
	release anna
	acquire cleo mode=try
	answered granted cleo
	queue_is
}

# A limit

@test "a queue with as many present as the limit is full" {
	acquire anna
	queue_up ben cleo
	acquire dora limit=2
	answered full 2
	queue_is ben cleo
}

@test "a full queue is left without a trace" {
	acquire anna
	queue_up ben
	before=$(digest)
	acquire dora limit=1
	answered full 1
	assert_equal "$(digest)" "$before"
}

@test "a limit counts those who are present only" {
	acquire anna
	queue_up ben
	queue_up_dead cleo dora emil
	acquire fred limit=2
	answered queued
}

@test "a Redisson waiter who is present counts for the limit" {
	acquire anna
	redisson_waits r1
	present r1
	acquire ben limit=1
	answered full 1
}

@test "a limit of none keeps everybody out of a busy lock, and nobody out of a free one" {
	acquire anna limit=0
	answered granted anna
	acquire ben limit=0
	answered full 0
}

@test "a limit does not turn away who is in the queue already" {
	acquire anna
	queue_up ben cleo
	acquire cleo again=1 limit=1
	answered queued "${ticket[cleo]}"
	ask ben limit=0
	answered queued "${ticket[ben]}"
}

# Names

@test "a name is refused while its other spelling is in use" {
	acquire anna
	before=$(digest)
	lock='{job}' acquire ben
	answered spelled job
	assert_equal "$(digest)" "$before"
}

@test "the other spelling is refused the other way round too" {
	lock='{job}' acquire anna
	answered granted anna
	acquire ben
	answered spelled '{job}'
}

@test "a server out of memory lets nobody into a lock of Redisson" {
	acquire anna
	release anna
	redisson_takes rex
	cli CONFIG SET maxmemory 1 >/dev/null
	run acquire inner inherited=rex
	cli CONFIG SET maxmemory 0 >/dev/null
	assert_failure
	assert_output --partial OOM
	assert_equal "$(holds)" 1
}

@test "who stands first is granted without a sign of life, on a server out of memory too" {
	acquire anna
	queue_up ben carl
	cli DEL "$lock" >/dev/null
	hear_calls
	cli CONFIG SET maxmemory 1 >/dev/null
	run acquire ben "old_ticket=${ticket[ben]}"
	cli CONFIG SET maxmemory 0 >/dev/null
	assert_success
	assert_equal "$(owner) $(waiting)" 'ben carl'
	calls >"$BATS_TEST_TMPDIR/called"
	grep -q '"LPOP"' "$BATS_TEST_TMPDIR/called"
	run ! grep -E '"ZADD"|"HSET" "[^"]*" "t:' "$BATS_TEST_TMPDIR/called"
}

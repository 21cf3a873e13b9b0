#!/usr/bin/env bats
# What the scripts do for --min-hold and --once-per.

load ../lib/helpers
load ../lib/scripts

# The least time

@test "the last release before the least time keeps the lock held for the rest of it" {
	acquire anna lease=5000
	later 2000
	release anna min=50000
	answered kept
	left 48000 "${reply[1]}"
	left 48000 "$(cli PTTL job)"
	assert_equal "$(owner) $(holds)" 'anna 1'
	all_well
}

@test "the rest of the least time may be shorter than the lease" {
	acquire anna lease=60000
	release anna min=10000
	left 10000 "$(cli PTTL job)"
}

@test "a release after the least time frees the lock at once" {
	acquire anna
	later 10000
	release anna min=9000
	answered released 0
	assert_equal "$(cli EXISTS job)" 0
}

@test "a release of an unused lock frees it at once, whatever the least time" {
	acquire anna
	release anna mode=unused min=50000
	answered released 0
	assert_equal "$(cli EXISTS job)" 0
}

@test "the first waiter for a kept lock is told when the least time ends, and gets the lock then" {
	acquire anna lease=60000
	queue_up ben cleo
	release anna min=10000
	[[ $(heard ben) =~ ^first\ ([0-9]+)$ ]]
	left 10000 "${BASH_REMATCH[1]}"
	told cleo ''
	later 10001
	wait_until gone
	ask ben
	answered granted ben
	all_well
}

gone() { [ "$(cli EXISTS job)" = 0 ]; }

@test "a request for a kept lock waits, or is busy, until the least time ends" {
	acquire anna
	release anna min=10000
	acquire ben mode=try
	answered busy anna
	present ben
	acquire ben
	answered queued
	assert_equal "${reply[3]}" 1
	left 10001 "${reply[2]}"
}

@test "a repeated release of a kept lock gets the same answer, also after the least time" {
	acquire anna
	release anna min=10000
	release anna min=10000 again=1
	answered kept
	left 10000 "${reply[1]}"
	later 10001
	wait_until gone
	release anna min=10000 again=1
	answered released 0
	assert_equal "$(log_lines | grep -c released)" 1
}

@test "a kept lock cannot be renewed, and its owner cannot go in again" {
	acquire anna
	release anna min=10000
	renew anna lease=60000
	answered released
	renew anna kind='' holder_token='' lease=60000
	answered released
	acquire daemon mode=try inherited=anna
	answered busy anna
	acquire anna again=1 # a late copy
	answered removed
	left 10000 "$(cli PTTL job)"
	assert_equal "$(holds)" 1
}

@test "the end of a least time is logged as a release at that time" {
	local granted

	acquire anna
	granted=${token[anna]}
	release anna min=10000
	later 10001
	wait_until gone
	acquire ben
	answered granted
	assert_equal "$(log_lines | grep -o 'event=[a-z]*' | paste -sd ' ')" 'event=granted event=released event=granted'
	assert_equal "$(log_lines | sed -n 's/^event=released.*|held=//p')" 10000
	[ "${token[ben]}" -gt "$granted" ]
}

@test "release finds nothing to give back in a kept lock" {
	acquire anna
	release anna min=10000
	release anna request=other mode=any
	answered not held anna
	left 10000 "$(cli PTTL job)"
}

@test "if a Redisson waiter is first for a kept lock, our first waiter wakes it at the end of the least time" {
	acquire anna lease=60000
	redisson_waits R1
	present R1
	queue_up ben
	release anna min=10000
	[[ $(heard ben) =~ ^second\ ([0-9]+)$ ]]
	left 10001 "${BASH_REMATCH[1]}"
	told R1 ''
	later 10001
	wait_until gone
	ask ben
	answered queued
	told R1 0
}

@test "release by force frees a kept lock" {
	acquire anna
	queue_up ben
	release anna min=10000
	release dora mode=force
	answered forced anna
	ask ben
	answered granted ben
}

@test "the least time of an inner hold outlasts the outer hold, and does not shorten its lease" {
	acquire anna lease=30000
	acquire inner inherited=anna
	release anna request=inner min=10000
	answered released 1
	left 30000 "$(cli PTTL job)"
	release anna
	answered kept
	left 10000 "${reply[1]}"
}

@test "the least time of an outer hold lasts although an inner hold outlives it" {
	acquire anna lease=5000
	acquire inner inherited=anna kind=a lease=5000
	release anna min=20000
	answered released 1
	left 20000 "$(cli PTTL job)"
	release anna request=other mode=any
	answered kept
	left 20000 "$(cli PTTL job)"
}

@test "a release of an inner hold that is repeated after the outer release is answered as done" {
	acquire anna
	acquire inner inherited=anna
	release anna request=inner
	answered released 1
	release anna min=10000
	answered kept
	release anna request=inner again=1
	answered released 0
	release anna request=other
	answered not held anna
	left 10000 "$(cli PTTL job)"
}

@test "a lock kept for three days remembers its owner until a day after the end" {
	acquire anna
	release anna min=259200000
	left $((259200000 + 86400000)) "$(cli PTTL "$(key_state)")"
	later 172800000
	acquire ben
	answered queued
	left $((86400000 + 86400000)) "$(cli PTTL "$(key_state)")"
	later 86400001
	wait_until gone
	ask ben again=1
	assert_equal "$(log_lines | grep -o 'event=[a-z]*' | paste -sd ' ')" 'event=granted event=released event=granted'
}

@test "a least time does not apply to the next grant" {
	acquire anna
	release anna min=10000
	later 10001
	wait_until gone
	acquire ben
	release ben
	answered released 0
	# An older version, which knows no least time, may leave this behind; so may others.
	cli HSET "$(key_state)" keep 9007199254740991 >/dev/null
	acquire cleo
	assert_equal "$(field keep)" ''
	release cleo
	answered released 0
}

# Once per period

@test "once per period: acquire answers ran within nine tenths of the period after a start, and grants after that" {
	acquire anna period=60000
	answered granted
	release anna
	acquire ben period=60000
	answered ran
	grown 0 "${reply[1]}"
	later 50000
	acquire ben period=60000
	answered ran
	grown 50000 "${reply[1]}"
	later 4000
	acquire ben period=60000
	answered granted
}

@test "once per period: each start of a wrap counts, with or without a period; acquire's grant does not" {
	acquire keeper kind=a
	release keeper
	acquire cleo mode=try period=60000
	answered granted
	release cleo
	later 60000
	acquire dora
	release dora
	acquire eve period=60000
	answered ran
}

@test "once per period: a request that is answered ran leaves nothing behind, held or free" {
	acquire anna period=60000
	for mode in wait try; do
		acquire ben mode="$mode" period=60000
		answered ran
	done
	queue_is
	release anna
	acquire ben period=60000
	answered ran
	queue_is
	nothing_left
	all_well
}

@test "once per period: a request without a period is granted in any case" {
	acquire anna period=60000
	release anna
	acquire ben
	answered granted
}

@test "once per period: each waiter behind a run is answered ran in its turn and passes the turn on" {
	acquire zoe kind=a
	present anna ben cleo dora
	acquire anna period=60000
	acquire ben period=60000
	acquire cleo period=60000
	acquire dora
	release zoe
	ask anna period=60000
	answered granted
	ask ben period=60000 # a sign of life
	answered queued
	release anna
	[[ $(heard ben) =~ (^|$'\n')0$ ]]
	ask ben period=60000
	answered ran
	[[ $(heard cleo) =~ (^|$'\n')0$ ]]
	ask cleo period=60000
	answered ran
	[[ $(heard dora) =~ (^|$'\n')0$ ]]
	queue_is dora
	ask dora
	answered granted
	assert_equal "$(log_lines | grep -c '^event=left')" 2
	all_well
}

@test "once per period: a waiter whose turn comes long after the last start is granted the lock" {
	acquire anna period=60000 lease=86400000
	later 55000
	present ben
	acquire ben period=60000
	answered queued
	release anna
	ask ben period=60000
	answered granted
}

@test "once per period: a repeated request gets the same answer" {
	acquire anna period=60000
	acquire anna period=60000 again=1
	answered granted
	present ben
	release anna
	acquire ben period=60000 again=1
	answered ran
	acquire cleo
	later 1000
	acquire ben period=1000 # that start is long enough ago
	answered queued
	release cleo
	ask ben period=60000
	answered ran
	ask ben period=60000 again=1
	answered ran
	queue_is
}

@test "once per period: an unused grant does not count, and the start before it counts again" {
	acquire anna
	release anna mode=unused
	acquire anna period=60000
	answered granted
	release anna
	later 57000
	acquire ben period=60000
	answered granted
	release ben mode=unused
	release ben mode=unused again=1
	answered released
	acquire cleo period=60000
	answered granted
	release cleo mode=unused
	acquire dora period=100000
	answered ran
	between 57000 "${reply[1]}" 86400000
}

@test "once per period: a grant that leave undoes does not count" {
	acquire anna period=60000
	leave anna
	acquire ben period=60000
	answered granted
}

@test "once per period: going in again is granted and does not count" {
	acquire anna
	acquire inner inherited=anna period=60000
	answered granted anna
	release anna request=inner mode=unused
	answered released 1
	release anna
	acquire ben period=60000
	answered ran
}

@test "once per period: our hash is kept for twice the longest period that was asked for, and at least a day" {
	acquire anna period=60000
	release anna
	left 86400000 "$(cli PTTL "$(key_state)")"
	acquire ben period=604800000 # within the minute in which no time to live is renewed
	answered ran
	left $((2 * 604800000)) "$(cli PTTL "$(key_state)")"
	later 60000
	acquire anna period=604800000
	answered ran
	left $((2 * 604800000 - 60000)) "$(cli PTTL "$(key_state)")"
	later 700000000
	acquire anna period=604800000
	release anna
	acquire ben
	release ben
	left $((2 * 604800000)) "$(cli PTTL "$(key_state)")"
}

@test "once per period: a running COMMAND counts after the server has lost its data" {
	acquire anna period=604800000
	cli FLUSHALL
	renew anna period=604800000
	answered renewed
	assert_equal "${reply[3]}" 1
	release anna
	left $((2 * 604800000)) "$(cli PTTL "$(key_state)")"
	acquire ben period=60000
	answered ran
}

@test "once per period: a running COMMAND counts after a failover has lost its start" {
	acquire anna
	release anna
	later 100000
	cli COPY "$(key_state)" "{job}old" >/dev/null
	acquire ben period=60000
	answered granted
	# as after a failover to a replica that lacks the start
	cli DEL job "$(key_state)" >/dev/null
	cli RENAME "{job}old" "$(key_state)" >/dev/null
	renew ben period=60000
	answered renewed
	assert_equal "${reply[3]}" 1
	release ben
	acquire cleo period=60000
	answered ran
}

@test "once per period: a hold taken up after a failover and not used does not count; the start before it does" {
	acquire anna
	release anna
	later 100000
	cli COPY "$(key_state)" "{job}old" >/dev/null
	acquire ben period=60000
	cli DEL job "$(key_state)" >/dev/null
	cli RENAME "{job}old" "$(key_state)" >/dev/null
	renew ben period=60000
	answered renewed
	release ben mode=unused
	acquire cleo period=200000
	answered ran
	grown 100000 "${reply[1]}"
	acquire cleo period=60000
	answered granted
}

@test "a server out of memory takes back an unused grant, and undoes one" {
	local refused=0 started

	acquire anna
	release anna
	started=$(cli HGET "$(key_state)" started)
	later 1000
	acquire ben
	cli CONFIG SET maxmemory 1 >/dev/null
	release ben mode=unused || refused=1
	cli CONFIG SET maxmemory 0 >/dev/null
	assert_equal "$refused" 0
	answered released 0
	assert_equal "$(cli HGET "$(key_state)" started)" $((started - 1000))
	acquire cleo
	cli CONFIG SET maxmemory 1 >/dev/null
	leave cleo || refused=1
	cli CONFIG SET maxmemory 0 >/dev/null
	assert_equal "$refused" 0
	assert_equal "$(cli EXISTS job)" 0
}

@test "once per period: after the clock was set back an hour the lock is granted" {
	acquire anna period=60000
	release anna
	later -3600000
	acquire ben period=60000
	answered granted
}

# If the ticks were slots of the clock, one in nine ran twice and one in six not at all (two hosts,
# jitter of 5 ms).
@test "once per period: two hosts whose ticks jitter get one run in each of 100 periods" {
	local tick runs host

	for ((tick = 0; tick < 100; tick++)); do
		runs=0
		for host in $((RANDOM % 2)) again; do
			[ "$host" != again ] || host=other
			acquire "$host$tick" mode=try period=60000
			[ "${reply[0]}" != granted ] || {
				runs=$((runs + 1))
				release "$host$tick"
			}
		done
		[ "$runs" = 1 ] || fail "tick $tick: $runs runs"
		# A script call takes 10 ms or more, and that jitters, too.
		later $((59985 + RANDOM % 11))
	done
}

#!/usr/bin/env bats
# acquire with `newest` when something goes wrong: waiters die, answers are lost, the server restarts, records are damaged.

load ../lib/helpers
load ../lib/scripts
load ../lib/supersede

@test "a dead waiter is superseded like any other, and stays so when it is back" {
	acquire anna
	asks_newest cleo
	queue_up dora
	absent cleo
	asks_newest ed
	queue_is ed dora
	present cleo
	is_superseded cleo again=1
}

@test "a waiter that did not hear its ticket is superseded, whether it was queued or dropped since" {
	acquire anna
	acquire cleo newest=0
	asks_newest ed
	acquire cleo newest=0 again=1
	answered superseded 'by ed'

	lock=other
	acquire anna
	acquire cleo newest=0
	queue_up dora
	release anna
	assert_equal "$(column w:cleo state)" dropped
	ask dora
	asks_newest ed
	acquire cleo newest=0 again=1
	answered superseded 'by ed'
	queue_is ed
}

@test "a first request that is sent again has the same place" {
	acquire anna
	asks_newest cleo
	acquire cleo newest=0 again=1
	answered queued "${ticket[cleo]}"
	acquire cleo newest=0
	answered queued "${ticket[cleo]}"
	asks_newest ed
	acquire ed newest=0 again=1
	answered queued "${ticket[cleo]}"
	queue_is ed
	run superseded_events
	assert_equal ${#lines[@]} 1
}

@test "a first request that comes only when it is sent again supersedes one that began to wait before it" {
	local since

	acquire anna
	asks_newest cleo
	later 9000
	since=$(column newest since)
	asks_newest ed newest=-5000 again=1
	answered queued "${ticket[cleo]}"
	is_superseded cleo
	assert [ "$(column newest since)" -le $(($(now_ms) - 5000)) ]
	assert [ "$(column newest since)" -gt "$since" ]
}

@test "a first request that was lost on its way, and comes after that of a newer one, is superseded" {
	acquire anna
	asks_newest cleo
	present ed
	acquire ed newest=-600000 again=1 strays=1
	answered superseded 'by cleo' anna
	acquire ed newest=-5 # the one that was lost
	answered removed
	queue_is cleo
	release anna
	asks_again cleo
	answered granted
	release cleo
	acquire ed newest=-600000 again=1 strays=2
	answered superseded
	queue_is
	all_well
}

@test "if the clock was set back, a first request that comes late is that of a new one" {
	acquire anna
	asks_newest cleo
	change newest since=$((${reply[5]} + 3600000))
	asks_newest ed newest=-1000 again=1
	answered queued "${ticket[cleo]}"
	queue_is ed
}

@test "a time without sense harms nobody else" {
	local time

	acquire anna
	for time in 99999999999999999999 -99999999999999999999 -0 1e400 -1e400 nan; do
		asks_newest "c$time" newest="$time"
		answered queued
		queue_is "c$time"
		assert_equal "$(column newest id)" "c$time"
		assert_regex "$(column newest since)" '^[0-9]+$'
		assert [ "$(column newest since)" -le "$(now_ms)" ]
		change newest since=0
	done
	all_well
}

@test "a late copy of the request of a superseded waiter gets no lock and no place" {
	acquire anna
	asks_newest cleo
	asks_again cleo again=1 strays=1
	asks_newest ed
	release anna
	release ed
	acquire cleo newest=0 # its very first request
	answered removed
	asks_again cleo strays=1
	answered superseded
	queue_is ed
}

@test "a waiter that was away is superseded by one that has come since, also after that has ended" {
	acquire anna
	asks_newest cleo
	absent cleo
	queue_up dora
	release anna # passes over cleo
	ask dora
	release dora
	acquire ed newest=0
	answered granted ed
	asks_again cleo again=1
	answered superseded 'by ed' ed 'by ed'
	release ed
	is_superseded cleo again=1
	assert_equal "${reply[*]:0:2}" 'superseded by ed'
	queue_is
}

@test "a waiter whose grant was lost is superseded by one that has come since" {
	acquire cleo newest=0 lease=1000
	later 1001
	asks_newest ed
	answered granted ed
	acquire cleo newest=0 again=1
	answered superseded 'by ed'
}

@test "after a loss of data the first that comes back is the newest, and stands where it stood" {
	acquire anna
	asks_newest cleo
	cli FLUSHALL >/dev/null
	acquire anna
	asks_again cleo again=1
	answered queued "${ticket[cleo]}"
	asks_newest ed
	answered queued "${ticket[cleo]}"
	cli FLUSHALL >/dev/null
	acquire anna
	asks_again ed again=1
	is_superseded cleo again=1
	queue_is ed
}

@test "after a loss of data two that wait do not both come back" {
	acquire anna
	asks_newest cleo
	asks_newest ed
	cli FLUSHALL >/dev/null
	acquire anna
	asks_again cleo again=1
	answered queued
	is_superseded ed again=1
	queue_is cleo
}

declare -gA SINCE

# two_wait: ed has superseded cleo, which has not heard it; SINCE has since when each waits, as it knows it
two_wait() {
	acquire anna
	asks_newest cleo
	SINCE[cleo]=${reply[5]}
	wait_until has_passed "${SINCE[cleo]}"
	asks_newest ed
	SINCE[ed]=${reply[5]}
}

has_passed() { [ "$(now_ms)" -gt "$1" ]; }

# is_back ID [WORD=VALUE...]: it asks over a new connection
is_back() { asks_again "$1" newest="${SINCE[$1]}" again=1 "${@:2}"; }

@test "after a loss of data a newer waiter takes over the place of an older one that was back first" {
	two_wait
	queue_up dora
	cli FLUSHALL >/dev/null
	acquire anna
	is_back cleo
	answered queued "${ticket[cleo]}"
	ask dora again=1
	is_back ed
	answered queued "${ticket[cleo]}"
	queue_is ed dora
	assert_equal "$(column newest id) $(column newest since)" "ed ${SINCE[ed]}"
	is_superseded cleo newest="${SINCE[cleo]}"
	assert_equal "${reply[1]}" 'by ed'
	is_back ed
	queue_is ed dora
	all_well
}

@test "after a loss of data one stays of two that began to wait at nearly the same time" {
	two_wait
	SINCE[ed]=$((SINCE[cleo] - 10)) # the one that came later was the newer one
	cli FLUSHALL >/dev/null
	acquire anna
	is_back cleo
	is_back ed
	answered queued
	is_superseded cleo newest="${SINCE[cleo]}"
	queue_is ed
}

@test "after a loss of data a newer waiter is the newest also if an older one has the lock by now" {
	two_wait
	cli FLUSHALL >/dev/null
	is_back cleo
	later 2001
	SINCE[cleo]=$((SINCE[cleo] - 2001)) SINCE[ed]=$((SINCE[ed] - 2001))
	is_back cleo
	answered granted cleo
	is_back ed
	answered queued
	queue_is ed
	assert_equal "$(column newest id)" ed
	is_back cleo
	answered granted cleo
}

@test "after a loss of data a waiter from before is superseded by one that has come since, and by a newer one from before" {
	two_wait
	cli FLUSHALL >/dev/null
	acquire anna
	is_back ed
	is_superseded cleo newest="${SINCE[cleo]}" again=1
	asks_newest fay
	is_superseded ed newest="${SINCE[ed]}"
	is_superseded cleo newest="${SINCE[cleo]}" again=1
	queue_is fay
}

# keep_copy, go_back: the server's data are copied, and are this copy again
keep_copy() {
	local key

	for key in $(cli KEYS '*'); do
		cli COPY "$key" "{job}old:$key" >/dev/null
	done
}

go_back() {
	local key

	for key in $(cli KEYS '{job}old:*'); do
		cli COPY "$key" "${key#'{job}old:'}" REPLACE >/dev/null
	done
}

@test "a waiter that an old copy of the data does not know is newer than the newest of that copy" {
	acquire anna
	asks_newest cleo
	SINCE=([cleo]=${reply[5]})
	queue_up dora
	keep_copy
	wait_until has_passed "${SINCE[cleo]}"
	asks_newest ed
	SINCE[ed]=${reply[5]}
	is_superseded cleo newest="${SINCE[cleo]}"
	go_back
	is_back ed
	answered queued "${ticket[cleo]}"
	queue_is ed dora
	is_superseded cleo newest="${SINCE[cleo]}"
	is_back ed
	queue_is ed dora
}

@test "an old copy of the data ends no waiter, whether the newest that it knows runs or has run" {
	local who

	for who in behind_holder behind_another; do
		cli FLUSHALL >/dev/null
		acquire anna newest=0
		if [ "$who" = behind_another ]; then
			release anna
			acquire ben
		fi
		keep_copy
		wait_until has_passed "$(column newest since)"
		asks_newest "$who"
		SINCE=(["$who"]=${reply[5]})
		go_back
		is_back "$who"
		answered queued "${ticket[$who]}"
		queue_is "$who"
		assert_equal "$(column newest id)" "$who"
	done
}

@test "a superseded waiter stays so when the clock is set back and no data were lost" {
	two_wait
	change newest since=$((SINCE[cleo] - 1000))
	change run lost=$((SINCE[cleo] - 2000))
	is_superseded cleo newest="${SINCE[cleo]}"
	queue_is ed
}

@test "after a restart a new one in the place of the first is not granted the lock for 2 s" {
	acquire anna
	asks_newest cleo
	release anna
	absent cleo
	change run id=0123456789012345678901234567890123456789
	asks_newest ed
	answered queued
	queue_is ed
	later 2001
	asks_again ed
	answered granted
}

@test "a place that Redisson took away in a long queue is taken over, too" {
	acquire anna
	crowd 15
	asks_newest cleo
	mapfile -t ids < <(seq -f v%g 15)
	queue_up_dead "${ids[@]}"
	cli LREM "$(key_queue)" 0 cleo >/dev/null
	cli ZREM "$(key_timeouts)" cleo >/dev/null
	asks_newest ed
	answered queued "${ticket[cleo]}"
	assert_equal "$(cli LINDEX "$(key_queue)" 15)" ed
	assert_equal "$(cli LLEN "$(key_queue)") $(field ours)" '31 31'
	all_well
}

@test "a waiter that has a place already, and asks as a new one, has one place" {
	acquire anna
	queue_up ben
	asks_newest cleo
	queue_up dora
	acquire dora newest=0
	answered queued "${ticket[cleo]}"
	queue_is ben dora
	assert_equal "$(field ours)" 2
	all_well
}

@test "a damaged name of the newest counts as none" {
	local text

	acquire anna
	asks_newest cleo
	for text in '' - cleo 'cleo x' 'cleo 99999999999999999999' 'a b 1' ' '; do
		cli HSET "$(key_state)" newest "$text" >/dev/null
		asks_again cleo
		answered queued "${ticket[cleo]}"
		assert_equal "$(column newest id)" cleo
	done
}

@test "a server out of memory refuses a new one, and changes nothing" {
	acquire anna
	asks_newest cleo
	present ed
	before=$(digest)
	cli CONFIG SET maxmemory 1 >/dev/null
	run acquire ed newest=0
	cli CONFIG SET maxmemory 0 >/dev/null
	assert_output --partial OOM
	assert_equal "$(digest)" "$before"
	asks_again cleo
	answered queued
	acquire ed newest=0
	answered queued "${ticket[cleo]}"
}

@test "a waiter whose grant came too late is superseded by one that has come since" {
	acquire anna newest=0 lease=100
	wait_until is_free_by_now
	acquire ben kind=a
	asks_newest cleo
	acquire anna newest=0 # it has no ticket, and no connection broke
	answered superseded by cleo
	queue_is cleo
	release ben mode=any request=x
	acquire cleo newest=0 handed=1
	answered granted cleo
	acquire anna newest=0
	answered superseded by cleo
	queue_is
}

is_free_by_now() { [ "$(cli EXISTS job)" = 0 ]; }

@test "a new one takes over the place of one that was away for a moment, and was taken out as dead" {
	acquire anna
	queue_up ben
	asks_newest cleo
	asks_again cleo # it has heard its ticket
	queue_up dora
	absent ben cleo
	ask dora # it finds those before it absent
	queue_is dora
	assert_equal "$(column w:cleo state)" dropped
	asks_newest ed
	answered queued "${ticket[cleo]}"
	queue_is ed dora
	present ben cleo
	ask ben
	queue_is ben ed dora
	is_superseded cleo
	queue_is ben ed dora
	all_well
}

@test "the newest waiter that was taken out as dead, and is back, has its place, and is superseded there" {
	acquire anna
	queue_up ben
	asks_newest cleo
	asks_again cleo # it has heard its ticket
	queue_up dora
	absent ben cleo
	ask dora
	present ben cleo
	asks_again cleo
	answered queued "${ticket[cleo]}"
	queue_is cleo dora
	asks_newest ed
	queue_is ed dora
	is_superseded cleo
}

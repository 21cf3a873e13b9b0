#!/usr/bin/env bats
# acquire with `newest` when the server restarts, loses its data, or goes back to an old copy, and when its clock is set back.

load ../lib/helpers
load ../lib/scripts
load ../lib/supersede

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

@test "if the clock was set back, a first request that comes late is that of a new one" {
	acquire anna
	asks_newest cleo
	change newest since=$((${reply[5]} + 3600000))
	asks_newest ed newest=-1000 again=1
	answered queued "${ticket[cleo]}"
	queue_is ed
}

@test "a waiter that the hash knows is superseded also if the note of that was refused, and the clock was set back" {
	two_wait
	change w:cleo state=dropped
	change newest since=$((SINCE[cleo] - 1000))
	is_superseded cleo newest="${SINCE[cleo]}"
	queue_is ed
}

@test "a waiter whose grant came too late is superseded by a newer one, also if the clock was set back meanwhile" {
	acquire anna
	asks_newest cleo handed=5ec
	SINCE=([cleo]=${reply[5]})
	release anna
	answered released
	later 5001 # it did not take the lock
	asks_newest ed
	answered granted ed
	change newest since=$((SINCE[cleo] - 1000))
	is_back cleo
	answered superseded 'by ed'
	queue_is
}

#!/usr/bin/env bats
# acquire with `newest`, which is wrap --supersede: of the waiters that ask so, only the newest goes on waiting.

load ../lib/helpers
load ../lib/scripts
load ../lib/supersede

@test "a new one takes over the place and the ticket of the one before" {
	acquire anna
	queue_up ben
	asks_newest cleo
	queue_up dora
	asks_newest ed
	answered queued "${ticket[cleo]}"
	queue_is ben ed dora
	assert_equal "$(field ours) $(column newest id)" '3 ed'
	all_well
}

@test "the one before is told, and answered who superseded it, and who holds the lock" {
	acquire anna
	asks_newest cleo
	asks_newest ed
	told cleo 0
	asks_again cleo
	answered superseded 'by ed' anna 'by anna'
	is_superseded cleo again=1
	queue_is ed
}

@test "each is told the one that took over its place, also when that was superseded in turn" {
	acquire anna
	asks_newest cleo
	asks_newest ed
	asks_newest fay
	asks_again cleo
	answered superseded 'by ed' anna
	asks_again ed
	answered superseded 'by fay' anna
	leave cleo
	asks_again cleo
	answered superseded 'by fay' anna
}

@test "superseding is logged once, with both processes and how long the earlier one waited" {
	acquire anna
	asks_newest cleo
	later 7000
	asks_newest ed
	is_superseded cleo
	leave cleo
	run superseded_events
	assert_output --regexp '^cleo by cleo 7[0-9]{3} by ed$'
	assert_equal "$(cli HEXISTS "$(key_state)" n:superseded)" 0
}

@test "a superseded waiter that leaves leaves no record" {
	acquire anna
	asks_newest cleo
	asks_newest ed
	asks_again cleo
	leave cleo
	answered left anna
	assert_equal "$(field w:cleo)" ''
	is_superseded cleo
}

# is_forgotten FIELD: after another call our hash has no such field
is_forgotten() {
	leave ben && [ -z "$(field "$1")" ]
}

@test "the note to a superseded waiter stays ten minutes" {
	local i

	acquire anna lease=86400000
	asks_newest cleo
	asks_newest ed
	assert_equal "$(column w:cleo state) $(column w:cleo by)" 'superseded by ed'
	for ((i = 1; i <= 50; i++)); do
		echo HSET "$(key_state)" "stays$i" stays
		echo HSET "$(key_state)" "r:r$i" rubbish
	done | cli >/dev/null
	leave ed
	shrinks_to 65 leave ben # all of it was looked through
	assert_equal "$(column w:cleo state)" superseded
	later 600001
	wait_until is_forgotten w:cleo
	is_superseded cleo
}

@test "a stream of 50 keeps the place between the other waiters, and the last one gets the lock in its turn" {
	local i

	acquire anna
	queue_up ben
	for ((i = 1; i <= 25; i++)); do acquire "w$i" newest=0; done
	queue_up dora
	for ((i = 26; i < 50; i++)); do acquire "w$i" newest=0; done
	asks_newest w50 handed=5ec
	queue_is ben w50 dora
	release anna
	ask ben
	answered granted
	release ben
	assert_equal "$(owner)" w50
	run heard w50
	assert_line --regexp '^granted .* 5ec$'
	queue_is dora
	for i in 1 25 49; do is_superseded "w$i"; done
	run superseded_events
	assert_equal ${#lines[@]} 49
}

@test "nobody supersedes a waiter without --supersede, and such a one supersedes nobody" {
	acquire anna
	queue_up ben
	asks_newest cleo
	queue_up dora
	queue_is ben cleo dora
	ask ben
	answered queued
	ask dora
	answered queued
	asks_again cleo
	answered queued
}

@test "the place is kept between waiters of Redisson's" {
	acquire anna
	redisson_waits r1
	asks_newest cleo
	redisson_waits r2 900000
	queue_up dora
	asks_newest ed
	queue_is r1 ed r2 dora
	between 320000 "$(ahead ed)" 330000
	all_well
}

@test "a waiter of Redisson's is never superseded, though our hash names it" {
	acquire anna
	redisson_waits r1
	cli HSET "$(key_state)" newest "r1 $(now_ms)" >/dev/null
	asks_newest cleo
	queue_is r1 cleo
}

@test "a new one is granted the free lock in place of the one whose turn it was, at once" {
	acquire anna
	asks_newest cleo
	queue_up dora
	release anna
	assert_equal "$(column turn id)" cleo
	asks_newest ed
	answered granted ed
	queue_is dora
	assert_equal "$(field turn)" ''
	is_superseded cleo
	assert_equal "$(owner)" ed
}

@test "a new one in the place of the first is first, and is handed the lock" {
	acquire anna
	asks_newest cleo
	asks_newest ed handed=5ec
	answered queued
	assert_equal "${reply[3]}" 1
	release anna
	[[ $(heard ed) = 'granted '*' 5ec' ]]
	assert_equal "$(owner)" ed
}

@test "behind a waiter whose turn it is, a new one only takes over the place" {
	acquire anna
	queue_up ben
	asks_newest cleo
	release anna
	asks_newest ed
	answered queued
	queue_is ben ed
	assert_equal "$(column turn id)" ben
	ask ben
	answered granted
}

@test "a holder is not superseded, whether it was granted or handed the lock" {
	acquire anna
	asks_newest cleo handed=5ec
	queue_up dora
	release anna
	assert_equal "$(owner)" cleo # the message is under way
	asks_newest ed
	queue_is dora ed
	asks_again cleo
	answered granted cleo
	asks_again cleo again=1
	answered granted cleo
	asks_again ed
	answered queued
	assert_equal "$(superseded_events)" ''
}

@test "a process that goes into the lock of its own wrap supersedes nobody" {
	acquire anna newest=0
	asks_newest cleo
	acquire inner inherited=anna newest=0
	answered granted anna
	asks_again cleo
	answered queued
}

@test "--max-queue does not count one whose place is taken over" {
	acquire anna
	asks_newest cleo
	asks_newest ed limit=1
	answered queued
	present fay
	acquire fay limit=1
	answered full 1
	asks_newest gus limit=0
	answered queued
	queue_is gus
}

@test "one that does not wait supersedes nobody: because of --once-per, --max-queue or mode try" {
	acquire anna
	asks_newest cleo
	acquire ed newest=0 period=60000
	answered ran
	acquire ed newest=0 mode=try
	answered busy
	leave cleo
	queue_up ben
	acquire ed newest=0 limit=1
	answered full
	assert_equal "$(column newest id)" cleo
	queue_is ben
}

@test "each process has waited since it came, however old its place is" {
	acquire anna
	asks_newest cleo
	later 20000
	asks_newest ed
	queue_up fay
	later 3000
	script queue
	grown 3000 "${reply[1]}"
	script log '' '' 1
	script status
	grown 3000 "${reply[10]}"
	release anna
	asks_again ed
	answered granted ed
	grown 3000 "${reply[4]}"

	asks_newest gus handed=5ec
	later 20000
	asks_newest hal handed=5ec
	later 3000
	leave fay
	release ed # in a row
	assert_equal "$(owner)" hal
	grown 3000 "$(column h:hal waited)"
	renew hal lease=60000
	asks_newest ivy handed=5ec
	later 20000
	asks_newest jo handed=5ec
	later 3000
	release hal mode=any request=other
	release hal min=0
	assert_equal "$(owner)" jo
	grown 3000 "$(column h:jo waited)"
}

@test "the longest waiter is not always the first" {
	acquire anna
	asks_newest cleo
	queue_up dora
	change w:dora ticket=$((ticket[dora] - 20000000))
	asks_newest ed
	queue_is ed dora
	script status
	grown 20000 "${reply[10]}"
}

@test "log tells since when a waiter waits that took over a place" {
	acquire anna
	asks_newest cleo
	later 20000
	asks_newest ed
	run on_keys EVALSHA "$SHA_log" "$(channel)" '' '' 1
	between $((began / 1000)) "$(grep -x 'by ed' -B1 <<<"$output" | tail -n 2 | head -n 1)" "$(now_ms)"
}

@test "the usual grant of a free lock makes its process the newest" {
	acquire anna
	release anna
	acquire cleo newest=0
	answered granted
	assert_equal "$(column newest id)" cleo
	acquire cleo newest=0
	assert_equal "$(column newest id) $(holds)" 'cleo 1'
}

#!/usr/bin/env bats
# acquire with `newest`, which is wrap --supersede: of the waiters that ask so, only the newest goes on waiting.

load ../lib/helpers
load ../lib/scripts

# asks_newest ID [WORD=VALUE...]: it asks with --supersede for the first time, and listens
asks_newest() {
	present "$1"
	acquire "$1" newest=1 "${@:2}"
}

# asks_again ID [WORD=VALUE...]: the sign of life of one that does
asks_again() {
	ask "$1" newest=1 "${@:2}"
}

# superseded_events: the fields of these events in the log, "owner by waited actor", one a line
superseded_events() {
	on_keys EVAL '
		local found = {}
		for _, entry in ipairs(redis.call("XRANGE", KEYS[5], "-", "+")) do
			local field = {}
			for i = 1, #entry[2], 2 do
				field[entry[2][i]] = entry[2][i + 1]
			end
			if field.event == "superseded" then
				found[#found + 1] = table.concat({field.owner, field.by, field.waited, field.actor}, " ")
			end
		end
		return found'
}

# is_superseded ID [WORD=VALUE...]: asks, and is answered that; then it has neither the lock nor a place
is_superseded() {
	asks_again "$@"
	answered superseded
	[[ " $(waiting) $(owner) $(scored) " != *" $1 "* ]]
}

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
	for ((i = 1; i <= 25; i++)); do acquire "w$i" newest=1; done
	queue_up dora
	for ((i = 26; i < 50; i++)); do acquire "w$i" newest=1; done
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
	acquire anna newest=1
	asks_newest cleo
	acquire inner inherited=anna newest=1
	answered granted anna
	asks_again cleo
	answered queued
}

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
	acquire cleo newest=1
	asks_newest ed
	acquire cleo newest=1 again=1
	answered superseded 'by ed'

	lock=other
	acquire anna
	acquire cleo newest=1
	queue_up dora
	release anna
	assert_equal "$(column w:cleo state)" dropped
	ask dora
	asks_newest ed
	acquire cleo newest=1 again=1
	answered superseded 'by ed'
	queue_is ed
}

@test "a first request that is sent again has the same place" {
	acquire anna
	asks_newest cleo
	acquire cleo newest=1 again=1
	answered queued "${ticket[cleo]}"
	acquire cleo newest=1
	answered queued "${ticket[cleo]}"
	asks_newest ed
	acquire ed newest=1 again=1
	answered queued "${ticket[cleo]}"
	queue_is ed
	run superseded_events
	assert_equal ${#lines[@]} 1
}

@test "a first request that comes only when it is sent again is that of a new one" {
	acquire anna
	asks_newest cleo
	asks_newest ed again=1
	answered queued "${ticket[cleo]}"
	is_superseded cleo
}

@test "a late copy of the request of a superseded waiter gets no lock and no place" {
	acquire anna
	asks_newest cleo
	asks_again cleo again=1 strays=1
	asks_newest ed
	release anna
	release ed
	acquire cleo newest=1 # its very first request
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
	acquire ed newest=1
	answered granted ed
	asks_again cleo again=1
	answered superseded 'by ed' ed 'by ed'
	release ed
	is_superseded cleo again=1
	assert_equal "${reply[*]:0:2}" 'superseded '
	queue_is
}

@test "a waiter whose grant was lost is superseded by one that has come since" {
	acquire cleo newest=1 lease=1000
	later 1001
	asks_newest ed
	answered granted ed
	acquire cleo newest=1 again=1
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
	acquire ed newest=1 period=60000
	answered ran
	acquire ed newest=1 mode=try
	answered busy
	leave cleo
	queue_up ben
	acquire ed newest=1 limit=1
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
	acquire dora newest=1
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
	run acquire ed newest=1
	cli CONFIG SET maxmemory 0 >/dev/null
	assert_output --partial OOM
	assert_equal "$(digest)" "$before"
	asks_again cleo
	answered queued
	acquire ed newest=1
	answered queued "${ticket[cleo]}"
}

@test "the usual grant of a free lock makes its process the newest" {
	acquire anna
	release anna
	acquire cleo newest=1
	answered granted
	assert_equal "$(column newest id)" cleo
	acquire cleo newest=1
	assert_equal "$(column newest id) $(holds)" 'cleo 1'
}

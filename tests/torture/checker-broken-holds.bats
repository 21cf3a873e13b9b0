# The checker of the torture test on holds that were broken, died, are kept, or run once in a period.
load ../lib/helpers
load checker

# ---- Holds that were broken, or whose holders died

# broken FIELDS: one and two have slots; FIELDS say what is broken; then three and four begin with these slots, and
# one goes on
broken() {
	slot_job one
	slot_job two
	slot_job three
	say start one 4 1
	say start two 5 2
	later 5 event force "\"lock\":\"x\",$1"
	later 5 say start three 6 1
	later 50 say beat one 4 1
	ends one 76
	finish three 6 1
	say end two 5 2
	ends two "${TWO:-0}"
}

@test "the checker excuses a short overlap of a section whose slot was broken" {
	broken '"slot":"1"'
	fine
}

@test "the checker excuses a short overlap of a section whose owner was named when the hold was broken" {
	event waiter '"owner":"one:7","job":"one"'
	broken '"owner":"one:7"'
	fine
}

@test "the checker reports an overlap, and a lost lock, although the hold of another slot was broken" {
	broken '"slot":"2"'
	check
	assert_failure
	assert_line --partial 'exclusion: lock x: one (token 4, slot 1) ran 50.0 ms after three'
	assert_line --partial 'statuses: one (lock x, lease 3000 ms): it ended with 76'
}

@test "the checker reports a lost lock although the hold of another owner was broken" {
	TWO=76 broken '"slot":"1"'
	violated 'statuses: two (lock x, lease 3000 ms): it ended with 76'
}

@test "the checker excuses a job without a section that lost a slot that may have been its own" {
	slot_job one
	event force '"lock":"x","slot":"2"'
	later 10 ends one 76
	fine
}

# dead MS: one has a slot, and dies; so long after that it still holds
dead() {
	slot_job one
	slot_job two
	say start one 5 1
	seen one
	fault kill one wrapper
	fault kill one guard
	ends one -9
	later "$1" seen one two
	section two 6 2
}

@test "the checker accepts that a dead holder has its slot until its lease has ended" {
	dead 2900
	fine
}

@test "the checker reports that a dead holder has its slot for longer than its lease" {
	dead 9000
	violated 'left: one had ended with -9, and still held lock x 9.0 s later, with a lease of 3000 ms'
}

@test "the checker reports a sorted set of holders that does not agree with the lock" {
	SOUND=false seen one two
	violated 'left: the key and the holders of lock x did not agree'
}

# ---- --min-hold and --once-per

# kept HOW-ONE HOW-TWO MS: one holds for 100 ms, with --min-hold 1000; two begins so long after one
kept() {
	say start one 5 "$1"
	later 100 finish one 5 "$1"
	later $(($3 - 100))
	say start two 6 "$2"
	later 10 finish two 6 "$2"
}

@test "the checker reports a section that begins while a slot is kept for --min-hold" {
	slot_job one '"1"' '"min_hold":1000'
	slot_job two '"1"'
	kept 1 1 800
	violated 'exclusion: lock x: two began 126 ms before the --min-hold of one was over'
}

@test "the checker accepts a section that begins when the --min-hold is over, or with another slot" {
	slot_job one '"1"' '"min_hold":1000'
	slot_job two '"1"'
	kept 1 1 1001
	fine
	: >events
	: >history
	slot_job one '"1"' '"min_hold":1000'
	slot_job two '"2"'
	kept 1 2 500
	fine
}

@test "the checker excuses a section that begins when the slot kept for --min-hold is broken or asked for, and no other" {
	local how

	for how in 'force "lock":"x"' 'asked "lock":"x","status":0'; do
		: >events
		: >history
		slot_job one '"1"' '"min_hold":1000'
		slot_job two '"1"'
		section one 5 1
		later 100 event "${how% *}" "${how#* },\"slot\":\"2\""
		section two 6 1
		violated 'exclusion: lock x: two began'
		sed -i 's/"slot":"2"/"slot":"1"/' events
		fine
	done
}

@test "the checker excuses that a job that ended holds its lock for its --min-hold, and reports more" {
	shared_job one
	sed -i 's/"own":0/"own":0,"min_hold":1000/' events
	seen one
	section one 5 shared
	later 700 seen one
	fine
	later 2000 seen one
	violated 'left: one had ended with 0, and still held lock x'
}

# once MS: two runs once in 2000 ms, and starts so long after one
once() {
	job one
	shared_job two
	sed -i '$s/"own":0/"own":0,"once_per":2000/' events
	section one 5
	later $(($1 - 100))
	section two 6 shared
}

@test "the checker reports a COMMAND that starts too early for its --once-per" {
	once 1500
	violated 'exclusion: lock x: two began 167 ms too early for its --once-per after one'
}

@test "the checker accepts a COMMAND that starts when its --once-per is over" {
	once 1801
	fine
}

@test "the checker accepts that a job with --once-per did not start, and reports it without that option" {
	job two '"once_per":2000'
	later 10 ends two 75
	fine
	job one
	later 10 ends one 75
	violated 'statuses: one (lock x, lease 3000 ms): it ended with 75'
}

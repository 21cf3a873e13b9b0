# The checker of the torture test on exclusion: the overlaps of two sections that it reports, the
# few that it excuses, and tokens.
load ../lib/helpers
load checker

@test "the checker accepts a history without a fault" {
	job one
	job two
	seen one two
	section one 5
	later 1 seen '' two
	section two 6
	fine
	assert_output '2 critical sections, 0 violations, 0 excused'
}

@test "the checker reports two critical sections that overlap" {
	job one
	job two
	say start one 5
	later 10 say start two 6
	later 1 say beat one 5
	later 10 finish one 5
	finish two 6
	violated 'exclusion: lock x: one (token 5) ran 1.0 ms after two (token 6) had begun'
}

# overlapping COMMAND...: one goes on 50 ms after two has begun; COMMAND happens before that
overlapping() {
	job one
	job two
	say start one 5
	later 1000 "$@"
	later 1000 say start two 6
	later 10 finish two 6
	later 40 say beat one 5
	ends one "${STATUS:-76}"
}

one_guard() { fault kill one guard; }
both_guards() {
	fault kill one guard
	later 1 fault stop one wrapper 8
}
both_killed() {
	fault kill one wrapper 8
	later 100 fault kill one guard
}
both_stopped() {
	fault stop one guard
	fault stop one wrapper 8
}
stopped_and_killed() {
	fault stop one wrapper 8
	later 100 fault kill one guard
}
one_after_the_other() {
	fault stop one guard 8
	later 100 fault cont one guard 8
	later 100 fault stop one wrapper 9
}

@test "the checker reports an overlap although one guard was killed" {
	overlapping one_guard
	violated 'exclusion: lock x: one (token 5) ran 50.0 ms after two (token 6) had begun'
}

@test "the checker reports an overlap although both guards were stopped, one after the other" {
	overlapping one_after_the_other
	violated 'exclusion: '
}

@test "the checker reports an overlap although both guards were stopped at once" {
	overlapping both_stopped
	violated 'exclusion: '
}

@test "the checker reports an overlap although one guard was killed after the other one was stopped" {
	overlapping stopped_and_killed
	violated 'exclusion: '
}

@test "the checker excuses an overlap if one guard was killed and then the other one stopped" {
	overlapping both_guards
	fine
}

@test "the checker excuses an overlap if both guards were killed" {
	STATUS=-9 overlapping both_killed
	fine
}

command_stopped() {
	fault stop one command 9
	later 100 fault kill one guard
	later 100 fault cont one command 9
}

@test "the checker reports an overlap although COMMAND was stopped when its guard was killed" {
	overlapping command_stopped
	violated 'exclusion: '
}

clock_set() {
	event step "\"ms\":$1"
}

@test "the checker excuses a short overlap after the server's clock was set forward, and reports a long one" {
	overlapping clock_set 4000
	fine
	later 9000 say beat one 5
	violated 'exclusion: '
}

@test "the checker reports an overlap although the server's clock was set back" {
	overlapping clock_set -4000
	violated 'exclusion: '
}

# paused COMMAND...: the machine of one stands still for 2 s; COMMAND looks at the lock in that time
paused() {
	job one
	job two
	seen three one
	say start two 4
	later 100 event paused '"job":"one"'
	sed -i "\$s/\"until\":[0-9]*/\"until\":$((at + 2000000000))/" events
	later 500 "$@"
	later 500 finish two 4
	job four
	say start four 6
	later 1100 say start one 5
	later 10 say end one 5
	ends one 76
	finish four 6
}

@test "the checker reports a waiter that was paused with its clock and then began with an old token" {
	paused seen two one
	violated 'tokens: lock x: one began with token 5 after four, with 6'
}

@test "the checker excuses an overlap of a holder that was paused with its clock" {
	paused seen one
	fine
}

@test "the checker reports a section that began with the token of a forged message" {
	job one
	section one 4102444800123
	violated 'forged: lock x: one began with token 4102444800123, of a forged message'
}

lock_broken() {
	event force '"lock":"x"'
}

@test "the checker excuses a short overlap of a COMMAND whose lock was broken, and reports a long one" {
	overlapping lock_broken
	fine
	later 6000 say beat one 5
	violated 'exclusion: '
}

@test "the checker excuses that overlap, too, if the lock was broken after the wrapper had died" {
	job one
	job two
	say start one 5
	later 100 fault kill one wrapper
	ends one -9
	later 100 event force '"lock":"x"'
	later 10 say start two 6
	later 10 say beat one 5
	finish two 6
	fine
	later 6000 say beat one 5
	violated 'exclusion: '
}

@test "the checker excuses any overlap of a script whose lock was broken, because nothing stops a script" {
	script_job keeper one
	job two
	say start one 5
	later 1000 event force '"lock":"x"'
	later 10 say start two 6
	say end two 6
	later 9000 say beat one 5
	say end one 5
	script_status one release 76
	ends one 76
	ends two 0
	fine
}

@test "the checker excuses a short overlap after the server lost its data, and reports a long one" {
	overlapping data_lost
	fine
	later 7000 say beat one 5
	violated 'exclusion: '
}

@test "the checker reports an overlap although the server was restarted with its data" {
	overlapping data_kept
	# a restart with the data is no excuse for the status 76, either
	check
	assert_failure
	assert_line --partial 'exclusion: '
}

@test "the checker excuses and counts an overlap while the machine stood still, and reports a longer one" {
	overlapping one_guard
	echo "{\"at\":$((at - 300000000)),\"what\":\"stall\",\"until\":$((at - 100000000))}" >>history
	fine
	assert_output --partial ', 1 excused'
	# a longer overlap is not excused
	later 200 say beat one 5
	violated 'exclusion: lock x: one (token 5) ran 250.0 ms after two'
}

@test "the checker reports an overlap of a script within its lease, whatever was done to the script" {
	script_job script one
	fault stop one script
	job two
	say start one 5
	later 10 say start two 6
	later 10 say beat one 5
	ends one 76
	finish two 6
	violated 'exclusion: '
}

# keeper MS: the keeper of a script is killed; the script goes on for so long, and then beside
# another job
keeper() {
	script_job keeper one
	job two
	say start one 5
	later 10 fault kill one keeper
	later "$1" say start two 6
	later 10 say beat one 5
	ends one 0
	finish two 6
}

@test "the checker reports an overlap of a script within a third of the lease after its keeper was killed" {
	keeper 900
	violated 'exclusion: '
}

@test "the checker excuses an overlap of a script a third of the lease after its keeper was killed" {
	keeper 1100
	fine
}

@test "the checker reports a token that is smaller than the one before" {
	job one
	job two
	section one 6
	later 1 section two 5
	violated 'tokens: lock x: two began with token 5 after one, with 6'
}

# set_back MS COMMAND: between one and two the clock is set back by MS, and COMMAND happens
set_back() {
	job one
	section one 5000
	event step "\"ms\":-$1"
	later 5 "$2"
	later 500 job two
	section two 4000
}

@test "the checker excuses a smaller token: the clock was set back, and the server lost its data" {
	set_back 2000 data_lost
	fine
}

@test "the checker reports a smaller token although the clock was set back by less, or no data were lost" {
	set_back 900 data_lost
	violated 'tokens: lock x: two began with token 4000 after one, with 5000'
	: >events
	: >history
	set_back 2000 data_kept
	violated 'tokens: lock x: two began with token 4000 after one, with 5000'
}

@test "the checker reports a token that two sections had" {
	job one
	job two
	section one 6
	later 1 section two 6
	violated 'tokens: two and one both had token 6'
}

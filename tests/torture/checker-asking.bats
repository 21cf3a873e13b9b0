# The checker of the torture test on release --stop, --supersede and --once-ok.
load ../lib/helpers
load checker

# stopped STATUS FROM UNTIL [FIELDS]: release --stop ran from FROM to UNTIL, in ms from now, and ended so
stopped() {
	echo "{\"at\":$((at + $2 * 1000000)),\"until\":$((at + $3 * 1000000)),\"what\":\"asked\",\"lock\":\"x\",\"status\":$1${4:+,$4}}" >>events
}

@test "the checker reports a job that was stopped, and that nobody had asked to" {
	job one
	say start one 5
	later 50 ends one 124
	violated 'statuses: one (lock x, lease 3000 ms): it ended with 124'
	stopped 0 -20 10
	fine
}

@test "the checker reports a job that was asked to stop, did so, and ended with another status" {
	job one
	say start one 5
	later 10 stopped 0 0 20
	later 30 ends one 0
	violated 'statuses: one (lock x, lease 3000 ms): it ended with 0'
}

@test "the checker reports a job that runs on after release --stop said that it is over" {
	job one
	say start one 5
	later 10 stopped 0 0 20
	later 500 say beat one 5
	ends one 124
	violated 'exclusion: lock x: one ran 480 ms after release --stop had said that its hold is over'
}

@test "the checker accepts a job that runs on after release --stop gave up" {
	job one
	say start one 5
	later 10 stopped 75 0 20
	later 500 say beat one 5
	ends one 124
	fine
}

@test "the checker accepts a job that began after another one was asked to stop" {
	job one
	say start one 5
	job two
	later 10 stopped 0 0 20
	later 20 ends one 124
	section two 6
	fine
}

@test "the checker accepts that the holder of one slot runs on when another one was asked to stop" {
	slot_job one
	slot_job two
	say start one 5 1
	say start two 6 2
	later 10 stopped 0 0 20 '"slot":"1"'
	later 30 ends one 124
	later 500 finish two 6 2
	fine
}

@test "the checker reports a job of which only the newest counts, and that gave up though none came" {
	job one '"newest":true'
	later 10 ends one 75
	violated 'statuses: one (lock x, lease 3000 ms): it ended with 75'
	at=$((at - 5000000))
	job two '"newest":true'
	later 10 section two 5
	fine
}

@test "the checker reports two waiters at once of which only the newest counts" {
	job three
	job one '"newest":true'
	job two '"newest":true'
	say start three 4
	later 5 seen three one two
	later 5 finish three 4
	section two 5
	ends one 75
	violated 'order: lock x: one and two waited at once, both with --supersede'
}

# taken_over NEWEST: two waits behind one; three comes, of the same kind as one, and begins before two
taken_over() {
	job zero
	job one "\"newest\":$1,\"wait\":1"
	job two
	say start zero 4
	later 5 seen zero one
	later 5 seen zero one two
	later 5 job three "\"newest\":$1"
	later 5 ends one 75
	finish zero 4
	later 5 say start three 5
	later 5 seen three two
	later 50 finish three 5
	section two 6
}

@test "the checker accepts that a newer job takes over the place of an older one" {
	taken_over true
	fine
}

@test "the checker reports a newer job that takes a place before others, and has no right to" {
	taken_over false
	violated 'order: lock x: three was granted token 5 before two'
}

@test "the checker reports a job that skipped its run though none had gone well" {
	job one '"once_ok":1000,"own":1'
	section_of_one() { say start one 5; later 50; say end one 5; ends one 1; }
	section_of_one
	job two '"once_ok":1000'
	later 10 ends two 0
	violated 'statuses: two (lock x, lease 3000 ms): it ended with 0'
}

@test "the checker accepts a job that skipped its run since one had gone well" {
	job one '"once_ok":1000'
	section one 5
	job two '"once_ok":1000'
	later 10 ends two 0
	fine
}

@test "the checker accepts a job that skipped its run since an inner wrap of another job had gone well" {
	job one '"lock":"y","inner":["x"]'
	job two '"once_ok":1000'
	LOCK=y say start one 4
	say start one/inner 5
	later 10 say end one/inner 5
	later 1 ends two 0
	later 2000
	LOCK=y say end one 4
	ends one 0
	fine
}

#!/usr/bin/env bats
# The checker of the torture test on wraps of several locks (wrap --also): the locks are x and y.
load ../lib/helpers
load checker

# on_y COMMAND...: say or seen, of lock y
on_y() {
	local file=events

	"$@"
	[ "$1" != say ] || file=history
	sed -i '$s/"lock":"x"/"lock":"y"/' "$file"
}

# both_job NAME [FIELDS]: a wrap of both locks begins
both_job() { job "$1" "\"also\":[\"y\"]${2:+,$2}"; }

# both WHAT JOB TOKEN: a line for each of the locks, of which each has an owner of its own
both() {
	say "$1" "$2" "$3"
	on_y say "$1" "$2" "$3" exclusive "$2-y"
}

@test "the checker accepts two wraps of both locks, one after the other" {
	both_job one
	both_job two
	both start one 5
	later 50 both end one 5
	ends one 0
	later 5 both start two 6
	later 50 both end two 6
	ends two 0
	fine
	assert_output '4 critical sections, 0 violations, 0 excused'
}

@test "the checker reports two wraps that overlap on the lock that only one of them names last" {
	both_job one
	job two
	sed -i '$s/"lock":"x"/"lock":"y"/' events
	both start one 5
	later 10 on_y say start two 6
	later 1 both beat one 5
	later 10 both end one 5
	ends one 0
	on_y say end two 6
	ends two 0
	violated 'exclusion: lock y: one (token 5) ran 1.0 ms after two (token 6) had begun'
}

@test "the checker reports a wrap of both locks that began with one of them" {
	both_job one
	section one 5
	violated "exclusion: one began with ['x'], and asked for ['x', 'y']"
}

# waits_for_y COMMAND...: one holds x for 9 s while it waits for y; COMMAND happens in each of these seconds
waits_for_y() {
	both_job one
	job two
	seen '' one two
	seen one two
	on_y seen '' one
	for second in {1..9}; do
		"$@"
		later 1000
	done
	seen one two
	on_y seen '' one
	both start one 5
	later 100 both end one 5
	ends one 0
	seen '' two
	on_y seen ''
	section two 6
}

three_has_y() {
	case $second in
	1) on_y say start three 4 ;;
	9) on_y say end three 4 ;;
	*) on_y say beat three 4 ;;
	esac
}

@test "the checker accepts that a wrap holds one lock for long while it waits for the other" {
	job three
	sed -i '$s/"lock":"x"/"lock":"y"/' events
	waits_for_y three_has_y
	ends three 0
	fine
}

@test "the checker reports that a lock is idle for long while a wrap of both locks waits for it" {
	waits_for_y true
	violated 'idle: lock y: nobody had it for 9.'
}

@test "the checker reports a wrap of both locks that timed out, and still holds one" {
	both_job one '"wait":100'
	on_y seen '' one
	seen one
	later 200 ends one 75
	later 10 seen one
	violated 'left: one had ended with 75, and still held lock x'
}

@test "the checker reports a wrap of both locks that has ended, and still waits for the other" {
	both_job one '"wait":100'
	seen one
	later 200 ends one 75
	later 10 on_y seen '' one
	violated 'left: one had ended with 75, and still waited for lock y'
}

@test "the checker reports a wrap of both locks that never ends, as in a deadlock" {
	both_job one
	seen one
	on_y seen '' one
	later 100000 event end '"x":0'
	check
	assert_line --partial 'served: one (wrap, lock x) had not ended when all was over: it never got the lock'
}

@test "the checker reports an older token of a wrap that waits for another lock while the data are lost before and after a newer one" {
	both_job one
	job two
	later 10 data_lost
	later 10 section two 6
	later 10 data_lost
	later 10 both start one 5
	later 10 both end one 5
	ends one 0
	violated 'tokens: lock x: one began with token 5 after two, with 6'
}

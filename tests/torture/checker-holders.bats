# The checker of the torture test on several holders: what fits together, slots, and their tokens.
load ../lib/helpers
load checker

# both HOW-ONE HOW-TWO: the sections of one and two overlap by 10 ms
both() {
	say start one 5 "$1"
	later 10 say start two 6 "$2"
	later 10 say beat one 5 "$1"
	finish one 5 "$1"
	finish two 6 "$2"
}

@test "the checker accepts two shared sections that overlap" {
	shared_job one
	shared_job two
	both shared shared
	fine
}

@test "the checker accepts two sections with different slots that overlap" {
	slot_job one
	slot_job two
	both 2 1
	fine
}

@test "the checker reports two sections with one slot that overlap" {
	slot_job one
	slot_job two
	both 1 1
	violated 'exclusion: lock x: one (token 5, slot 1) ran 10.0 ms after two (token 6, slot 1) had begun'
}

@test "the checker reports a section with a slot while another one began to have two others" {
	slot_job one
	slot_job two
	slot_job three
	say start three 4 2
	both 1 1
	finish three 4 2
	violated 'exclusion: lock x: one (token 5, slot 1) '
}

@test "the checker reports a shared section in an exclusive one, and the reverse" {
	job one
	shared_job two
	both exclusive shared
	violated 'exclusion: lock x: one (token 5) ran 10.0 ms after two (token 6, shared) had begun'
	: >events
	: >history
	shared_job one
	job two
	both shared exclusive
	violated 'exclusion: lock x: one (token 5, shared) ran 10.0 ms after two (token 6) had begun'
}

@test "the checker reports a section with a slot in an exclusive one, and the reverse" {
	job one
	slot_job two
	both exclusive 1
	violated 'exclusion: lock x: one (token 5) ran 10.0 ms after two (token 6, slot 1) had begun'
	: >events
	: >history
	slot_job one
	job two
	both 1 exclusive
	violated 'exclusion: lock x: one (token 5, slot 1) ran 10.0 ms after two (token 6) had begun'
}

@test "the checker reports a shared section beside one with a slot" {
	slot_job one
	shared_job two
	both 1 shared
	violated 'exclusion: lock x: one (token 5, slot 1) ran 10.0 ms after two (token 6, shared) had begun'
}

@test "the checker reports an exclusive section in a shared one behind which another shared one began" {
	shared_job one
	shared_job two
	job three
	say start one 5 shared
	say start three 6
	say start two 7 shared
	say end two 7 shared
	say end three 6
	later 10 say end one 5 shared
	check
	assert_failure
	assert_line --partial 'exclusion: lock x: one (token 5, shared) ran 10.0 ms after three (token 6) had begun'
	assert_line --partial 'exclusion: lock x: three (token 6) ran 0.0 ms after two (token 7, shared) had begun'
}

@test "the checker reports a slot that the job has not asked for" {
	slot_job one '"db1","db2"'
	section one 5 db3
	violated "exclusion: lock x: one has slot 'db3', and asked for ['db1', 'db2']"
}

@test "the checker reports more sections than there are slots" {
	slot_job one
	slot_job two
	slot_job three
	say start three 4 3
	both 1 2
	finish three 4 3
	violated "exclusion: lock x: three has slot '3', and asked for ['1', '2']"
}

@test "the checker reports a section that asked for slots and has none" {
	slot_job one
	section one 5 slots
	violated "exclusion: lock x: one has slot '', and asked for ['1', '2']"
}

@test "the checker reports an exclusive section that has a slot" {
	job one
	echo "{\"at\":$at,\"what\":\"start\",\"lock\":\"x\",\"token\":5,\"job\":\"one\",\"pid\":7,\"owner\":\"one:7\",\"mode\":\"exclusive\",\"slot\":\"1\"}" >>history
	later 10 ends one -9
	fault kill one wrapper
	violated "exclusion: lock x: one has slot '1', and asked for []"
}

# ---- Going in again

# inside HOW FIELDS: the job one has slot 1, and goes in again with that
inside() {
	slot_job one '"1","2"' "\"inner\":[\"x\"],\"inner_mode\":\"slots\",\"inner_slots\":[\"1\",\"2\"]${2:+,$2}"
	say start one 5 1
	later 5 say start one/inner 5 "$1" one
	later 5 say end one/inner 5 "$1" one
	say end one 5 1
	ends one "${STATUS:-0}"
}

@test "the checker accepts a section that goes in again and keeps its slot" {
	inside 1
	fine
}

@test "the checker reports a section that goes in again and has another slot" {
	inside 2
	violated 'tokens: lock x: one/inner had it as slot 2, and one as slot 1'
}

@test "the checker accepts a shared section inside an exclusive hold, and reports another exclusive one beside it" {
	job one '"inner":["x"],"inner_mode":"shared","inner_slots":[]'
	say start one 5
	later 5 say start one/inner 5 shared one
	later 5 say end one/inner 5 shared one
	finish one 5
	fine
	job two
	say start two 6
	later 5 say beat one/inner 5 shared one
	finish two 6
	violated 'exclusion: lock x: one/inner (token 5) ran 5.0 ms after two (token 6) had begun'
}

@test "the checker reports a section that went in although it asked for something else" {
	STATUS=64 inside 1 '"misfit":true,"own":64'
	violated 'exclusion: lock x: one/inner went into a hold that is not what it asked for'
}

@test "the checker reports that a wrap that does not fit into the outer one was not refused" {
	slot_job one '"1"' '"inner":["x"],"inner_mode":"shared","inner_slots":[],"misfit":true,"own":64'
	section one 5 1
	violated 'statuses: one (lock x, lease 3000 ms): it ended with 0, not with any of [64]'
}

# ---- Tokens

@test "the checker accepts shared sections that begin in another order than that of their tokens" {
	shared_job one
	shared_job two
	seen zero one two
	later 5 seen one,two
	say start two 6 shared
	later 5 say start one 5 shared
	finish one 5 shared
	finish two 6 shared
	fine
}

@test "the checker reports a shared section that was asked for later and has the smaller token" {
	shared_job two
	say start two 6 shared
	later 5 shared_job one
	later 5 section one 5 shared
	finish two 6 shared
	violated 'tokens: lock x: one asked after two had begun with token 6, and got 5'
}

@test "the checker reports a smaller token of a slot that was waited for when another one had begun" {
	slot_job one
	slot_job two
	later 5 seen two one
	say start two 6 1
	later 5 seen two one
	later 5 section one 5 2
	finish two 6 1
	violated 'tokens: lock x: one asked after two had begun with token 6, and got 5'
}

@test "the checker reports a token that two shared sections had" {
	shared_job one
	shared_job two
	say start one 5 shared
	later 5 section two 5 shared
	finish one 5 shared
	violated 'tokens: two and one both had token 5 of lock x'
}

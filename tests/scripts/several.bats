#!/usr/bin/env bats
# A wrap of several locks: its holds are of kind v until it has all of them, and its start does not count before.

load ../lib/helpers
load ../lib/scripts

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# started: prints when the last COMMAND was started; -: none was
started() { column started last; }

# entries: prints the `holds` of the hold of anna
entries() { column h:anna holds; }

@test "a grant of kind v is no start, whether it is asked for or handed over" {
	acquire anna kind=v
	assert_equal "$(entries) $(started)" ',vanna, -'
	present ben cleo
	acquire ben kind=v handed=1
	answered queued
	release anna
	assert_equal "$(column h:ben holds) $(started)" ',vben, -'
	acquire cleo kind=v handed=1
	answered queued
	release ben min=1 # not the usual case
	assert_equal "$(column h:cleo holds) $(started)" ',vcleo, -'
}

@test "a hold of kind v is renewed as others are, and stays one" {
	acquire anna kind=v lease=20000
	renew anna kind=v lease=30000
	answered renewed 30000 "${token[anna]}" 0
	assert_equal "$(entries) $(started)" ',vanna, -'
}

@test "a renewal with start makes the hold one of wrap, and the start counts from then on" {
	acquire anna kind=v
	later 5000
	renew anna start=1
	answered renewed 30000 "${token[anna]}" 0
	assert_equal "$(entries)" ',wanna,'
	grown 5000 $(($(started) - $(column h:anna since)))
	release anna
	acquire ben period=60000
	answered ran
}

@test "a hold whose COMMAND runs is renewed, though an old copy of the data says that it has not begun" {
	acquire anna kind=v
	renew anna
	answered renewed 30000 "${token[anna]}" 0
	assert_equal "$(entries)" ',wanna,'
}

@test "a server out of memory lets COMMAND start, and lets a COMMAND that runs go on, whatever an old copy says" {
	local start

	for start in 1 ''; do
		acquire anna kind=v
		cli CONFIG SET maxmemory 1 >/dev/null
		renew anna start="$start"
		cli CONFIG SET maxmemory 0 >/dev/null
		answered renewed 30000 "${token[anna]}" 0
		assert_equal "$(entries)" ',wanna,'
		release anna
	done
}

@test "a renewal with start counts once, however often it is sent" {
	acquire ben
	release ben
	before=$(started)
	acquire anna kind=v
	renew anna start=1
	first=$(started)
	wait_until is_past "$first"
	renew anna start=1
	answered renewed
	assert_equal "$(entries) $(started) $(column started before)" ",wanna, $first $before"
}

@test "a late copy of a renewal with start counts nothing" {
	acquire anna kind=v
	renew anna kind=v strays=1
	renew anna start=1 strays=0
	answered late
	assert_equal "$(entries) $(started)" ',vanna, -'
}

@test "a renewal with start does not bring back a hold that is over" {
	acquire anna kind=v
	release anna mode=unused
	acquire ben
	before=$(digest job)
	renew anna start=1
	answered lost taken ben
	assert_equal "$(digest job)" "$before"
}

@test "a hold of kind v that is given back unused takes no start away" {
	acquire ben
	release ben
	before=$(started)
	acquire anna kind=v
	release anna mode=unused
	answered released 0
	assert_equal "$(started)" "$before"
	is_free job
}

@test "a hold that started and is given back unused takes its start away" {
	acquire ben
	release ben
	before=$(started)
	acquire anna kind=v
	renew anna start=1
	release anna mode=unused
	assert_equal "$(started)" "$before"
}

@test "a process that goes into a hold starts nothing that counts, and gives back its own entry only" {
	acquire anna
	before=$(started)
	acquire inner kind=v inherited=anna
	answered granted anna
	wait_until is_past "$before"
	renew anna request=inner start=1
	answered renewed
	assert_equal "$(entries) $(started)" ",wanna,winner, $before"
	release anna request=inner mode=unused
	answered released 1
	assert_equal "$(entries) $(started)" ",wanna, $before"
}

@test "release any gives back no hold of kind v" {
	acquire anna kind=v
	release anna request=other mode=any
	answered 'not acquired'
	assert_equal "$(entries)" ',vanna,'
}

@test "leave undoes a grant of kind v, and takes no start away" {
	acquire ben
	release ben
	before=$(started)
	acquire anna kind=v
	leave anna
	answered left
	assert_equal "$(started)" "$before"
	is_free job
}

@test "after a loss of data a hold of kind v is taken up without a start, and with start it counts from now on" {
	acquire anna kind=v
	cli FLUSHALL
	renew anna kind=v
	answered renewed 30000
	assert_equal "${reply[3]}" 1
	assert_equal "$(entries) $(started)" ',vanna, '
	cli FLUSHALL
	wait_until is_past "${token[anna]}"
	renew anna start=1
	answered renewed 30000
	assert_equal "${reply[3]}" 1
	assert_equal "$(entries)" ',wanna,'
	between "$((token[anna] + 1))" "$(started)" "$(now_ms)"
}

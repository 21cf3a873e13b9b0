#!/usr/bin/env bats
# acquire --while-pid with --max-hold: the keeper gives the lock back after a time, whatever the process does.
load ../lib/helpers
load ../lib/one_server

# cause OWNER: prints how the log says that this owner's hold ended
cause() { "$FAIRLOCK" log --json job | jq -c --arg owner "$1" '.log[] | select(.owner == $owner and .event == "released") | [.status, .cause]'; }

setup() {
	begin
	background sleep 600
	pid=$!
}

@test "the keeper gives the lock back after --max-hold from the grant, and the process lives on" {
	local owner

	owner=$("$FAIRLOCK" acquire --while-pid "$pid" --max-hold 2s -l 1m job)
	"$FAIRLOCK" status -q job
	wait_until is_free job
	assert_equal "$(cause "$owner")" '[null,"max-hold"]'
	[ "$("$FAIRLOCK" log --json job | jq '.log[] | select(.event == "released").held_ms')" -ge 1900 ]
	kill -0 "$pid"
	nothing_left
}

@test "the lock is renewed until --max-hold is over, and then the next waiter has it" {
	"$FAIRLOCK" acquire --while-pid "$pid" --max-hold 4s -l 1s job >id
	background "$FAIRLOCK" wrap job touch ran
	local waiter=$!
	wait_until in_queue job 1
	ends_with 0 "$waiter"
	test -e ran
	assert_equal "$(cause "$(<id)")" '[null,"max-hold"]'
}

@test "--max-hold gives back the hold of its own process only" {
	local owner

	owner=$("$FAIRLOCK" acquire -l 10m job)
	"$FAIRLOCK" acquire --owner "$owner" --while-pid "$pid" --max-hold 1s -l 1m job
	[ "$(cli HGET job "$owner")" = 2 ]
	wait_until has_holds "$owner" 1
	"$FAIRLOCK" release --owner "$owner" job
	is_free job
	nothing_left
}

has_holds() { [ "$(cli HGET job "$1")" = "$2" ]; }

@test "acquire refuses --max-hold without --while-pid, and does not heed a default for it then" {
	run -64 "$FAIRLOCK" acquire --max-hold 1h job
	assert_line --index 0 "fairlock: cannot use option '--max-hold': it needs --while-pid, too"
	FAIRLOCK_MAX_HOLD=1ms run -0 "$FAIRLOCK" acquire job
	"$FAIRLOCK" status -q job
}

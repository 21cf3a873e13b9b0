#!/usr/bin/env bats
# fairlock log --lines: the last events.

load ../lib/helpers
load ../lib/one_server

setup() {
	begin
	for status in 1 2 3; do
		"$FAIRLOCK" wrap job sh -c "exit $status" || true
	done
}

# events WORD...: prints the events and statuses that log with these words shows
events() {
	"$FAIRLOCK" log --raw --noheadings -o EVENT,STATUS "$@" | paste -sd ' '
}

@test "log --lines N shows the last N events, also all that there are, and none" {
	assert_equal "$(events -n 3 job)" 'released 2 granted - released 3'
	assert_equal "$(events --lines=1 job)" 'released 3'
	assert_equal "$(events -n 100 job)" "$(events job)"
	assert_equal "$(events -n6 job)" "$(events job)"
	assert_equal "$(events -n 0 job)" ''
	assert_equal "$("$FAIRLOCK" log --json -n 2 job | jq -c '[.log[].event]')" '["granted","released"]'
}

@test "log --lines --follow shows the last N events, and then all that come" {
	local name

	for name in job ''; do
		# shellcheck disable=SC2086
		background "$FAIRLOCK" log --raw --noheadings -o EVENT,STATUS --follow -n 1 $name >"followed.$name"
		wait_until lines_in "followed.$name" 1
	done
	"$FAIRLOCK" wrap job sh -c 'exit 7' || true
	for name in job ''; do
		wait_until lines_in "followed.$name" 3
		assert_equal "$(paste -sd ' ' "followed.$name")" 'released 3 granted - released 7'
	done
}

@test "log --lines goes with no figures and no drawing, and takes a number" {
	local option

	for option in --stats --plot; do
		run -64 "$FAIRLOCK" log -n 3 $option job
		assert_line --index 0 "fairlock: cannot use option '--lines': it does not go with $option"
	done
	run -64 "$FAIRLOCK" log -n x job
	assert_line --index 0 "fairlock: cannot use option '--lines': 'x' is not a number"
	run -64 "$FAIRLOCK" log -n -1 job
	assert_line --index 0 "fairlock: cannot use option '--lines': '-1' is not a number"
}

# The server's clock was 400 days ahead when leases began, and is set right: no lease goes on for 400 days.
load ../lib/jobs

setup() {
	cd "$BATS_TEST_TMPDIR" || exit
	set_clock $(($(date +%s%3N) + 400 * 86400000))
	printf '%s\n' '#!/bin/sh' "CLOCKWORK_FILE='$PWD/clock' LD_PRELOAD='$BUILD/programs/clockwork.so' exec '$SERVER' \"\$@\"" >server
	chmod +x server
	SERVER=$PWD/server
	start_server
}

teardown() { stop_server; }

set_right() { set_clock "$(date +%s%3N)"; }

# left_of NAME LEAST MOST: the key of the lock has so many ms to live
left_of() {
	local left

	left=$(cli PTTL "$1")
	if [ "$left" -lt "$2" ] || [ "$left" -gt "$3" ]; then fail "$left ms"; fi
}

@test "the rest of a --min-hold is no longer than that" {
	"$FAIRLOCK" wrap --min-hold 2s job true
	set_right
	left_of job 86400000 86400000000
	run -0 "$FAIRLOCK" wrap -w 20s job true
}

@test "each slot and each shared hold has its own lease" {
	"$FAIRLOCK" acquire -l 3s --slots 2 job
	"$FAIRLOCK" acquire -l 10m --slots 2 job
	"$FAIRLOCK" acquire -l 3s --shared shared
	set_right
	run -0 "$FAIRLOCK" wrap -w 20s --slots 2 job true
	left_of job 500000 600000
	run -0 "$FAIRLOCK" wrap -w 20s shared true
}

@test "doctor finds such a lock, and its remedy shortens the lease" {
	"$FAIRLOCK" acquire -l 30s job
	"$FAIRLOCK" acquire -l 30s --slots 2 slotted
	"$FAIRLOCK" acquire -l 30d by-hand
	run "$FAIRLOCK" doctor
	refute_output --partial 'longer lease'
	set_right
	run "$FAIRLOCK" doctor
	output=$(tr -s ' \n' ' ' <<<"$output") # its lines are broken
	assert_output --partial 'lock job has a longer lease than its holder asked for'
	assert_output --partial 'lock slotted has a longer lease than its holder asked for'
	assert_output --partial 'lock by-hand has a longer lease than its holder asked for'
	for lock in job slotted by-hand; do
		assert_output --partial "fairlock wrap --skip $lock true"
		"$FAIRLOCK" wrap --skip "$lock" true
	done
	left_of job 1 30000
	left_of slotted 1 30000
	left_of by-hand 2500000000 2592000000
	run "$FAIRLOCK" doctor
	refute_output --partial 'longer lease'
}

#!/usr/bin/env bats
# Crowds that want slots, or share the lock with writers between: never more than fit, in order, and nothing is left.
#
# SLOT_JOBS, SHARED_JOBS: how many there are, 200 and 500 for a thorough run

load ../lib/helpers
load ../lib/one_server
load ../lib/holders

# comes NUMBER SECONDS MODE [OPTION...]: a job with this section comes, and waits or has the lock when this returns. Its
# process id is added to `wrappers`.
comes() {
	background "$FAIRLOCK" wrap -v "${@:4}" job ./section "$1" "$2" "$3" 2>"said.$1"
	wrappers+=($!)
	WAIT_S=60 wait_until grep -qE 'waiting for lock|got lock' "said.$1"
}

# all_end_well COUNT: all jobs end with 0, and were in order
all_end_well() {
	local wrapper

	for wrapper in "${wrappers[@]}"; do ends_with 0 "$wrapper"; done
	nothing_wrong
	in_order
	assert_equal "$(wc -l <trace)" "$1"
	nothing_left
}

@test "jobs with --slots 8: never more than eight at a time, in order, and each slot is used" {
	local count=${SLOT_JOBS:-24} wrappers=() i owner

	write_section
	owner=$("$FAIRLOCK" acquire -l 10m job)
	for ((i = 1; i <= count; i++)); do comes "$i" 0.05 slot --slots 8; done
	in_queue job "$count"
	"$FAIRLOCK" release --owner "$owner" job
	all_end_well "$count"
	assert_equal "$(cut -d ' ' -f 4 trace | sort -u | xargs)" '1 2 3 4 5 6 7 8'
}

@test "jobs with --shared and writers between: no reader beside a writer, and none overtakes" {
	local count=${SHARED_JOBS:-50} wrappers=() i owner

	write_section
	owner=$("$FAIRLOCK" acquire -l 10m job)
	for ((i = 1; i <= count; i++)); do
		if ((i % 16 == 0)); then comes "$i" 0.02 x; else comes "$i" 0.02 s --shared; fi
	done
	in_queue job "$count"
	"$FAIRLOCK" release --owner "$owner" job
	all_end_well "$count"
}

@test "a writer among readers that keep coming starts when the readers before it are done" {
	local wrappers=() i

	write_section
	for ((i = 1; i <= 40; i++)); do
		if ((i % 13 == 0)); then comes "$i" 0.1 x; else comes "$i" 0.3 s --shared; fi
	done
	all_end_well 40
}

@test "readers, writers and jobs with slots that come at random" {
	local wrappers=() i

	write_section
	for ((i = 1; i <= 40; i++)); do
		case $((RANDOM % 4)) in
		0) comes "$i" 0.05 x ;;
		1) comes "$i" 0.1 s --shared ;;
		*) comes "$i" 0.1 slot --slots $((1 + RANDOM % 4)) ;;
		esac
	done
	all_end_well 40
}

#!/usr/bin/env bats
# Waiters for slots and shared holds that hang, die or go away, and holds inside one another when the server loses its data.

load ../lib/helpers
load ../lib/jobs
load ../lib/holders

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	start_server
}

# joins_readers FROM TO: readers with these numbers wait behind the others; PIDS has their process ids, by number
joins_readers() {
	local i

	for ((i = $1; i <= $2; i++)); do
		join_waiters --shared job sh -c "echo $i >>order; exec sleep 600"
		PIDS[i]=$WAITER
	done
}

# ---- One

# is_handed SLOT WORD...: a wrap with these options waits, and is handed the lock with this slot; then it asks no more
is_handed() {
	local holder

	holder=$("$FAIRLOCK" acquire -l 5m job)
	background "$FAIRLOCK" wrap -v "${@:2}" job sh -c 'echo "slot ${FAIRLOCK_SLOT-none}"' >out 2>steps
	WAITER=$!
	wait_until in_queue job 1
	"$FAIRLOCK" release --owner "$holder" job
	status_of "$WAITER"
	assert_equal "$STATUS $(cat out)" "0 slot $1"
	[ "$(grep -c 'asking for lock' steps)" = 1 ]
}

# On a busy machine a message may be too old when it is heard: then the waiter asks.
@test "a waiter that is handed a slot or a shared hold starts COMMAND without asking again" {
	wait_until is_handed 1 --slots 2
	wait_until is_handed db1 --slots db1,db2
	wait_until is_handed none --shared
}

# ---- Many at once

@test "sixty readers start, but for two that hang, which have their place when they wake up" {
	local PIDS=() owner pid

	owner=$("$FAIRLOCK" acquire -l 5m job)
	joins_readers 1 60
	for pid in "${PIDS[20]}" "${PIDS[21]}"; do stop "$pid"; done
	"$FAIRLOCK" release --owner "$owner" job
	WAIT_S=40 wait_until lines_in order 58
	kill -CONT "${PIDS[20]}" "${PIDS[21]}"
	wait_until lines_in order 60
	in_queue job 0
	consistent
}


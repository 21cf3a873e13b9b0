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

@test "all of sixty readers that wait behind a writer start when it ends" {
	local PIDS=() owner

	owner=$("$FAIRLOCK" acquire -l 5m job)
	joins_readers 1 60
	"$FAIRLOCK" release --owner "$owner" job
	wait_until has_holders 60
	wait_until lines_in order 60
	in_queue job 0
	consistent
}

# One script hands the lock to a number of waiters, and tells the next to go on.
@test "all of sixty readers start though some of them are killed" {
	local PIDS=() owner dead

	owner=$("$FAIRLOCK" acquire -l 5m job)
	joins_readers 1 60
	dead=("${PIDS[@]:19:5}")
	kill -KILL "${dead[@]}"
	"$FAIRLOCK" release --owner "$owner" job
	wait_until lines_in order 55
	wait_until in_queue job 0
}

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

# ---- Waiters that hang or die

@test "a waiter that hangs when it is handed a slot costs 5 s: then the next waiter has the slot" {
	local hung

	join_holders --slots 1 job
	join_waiters --slots 1 job touch hung
	hung=$WAITER
	join_waiters --slots 1 job touch ran
	stop "$hung"
	let_go "$HOLDER"
	WAIT_S=40 ends_with 0 "$WAITER"
	[ -e ran ]
	[ ! -e hung ]
	kill -CONT "$hung"
	ends_with 0 "$hung"
	[ -e hung ]
	nothing_left
}

@test "a waiter that hangs costs those in other slots nothing" {
	local hung first second

	join_holders --slots a,b job
	first=$HOLDER
	join_holders --slots a,b job
	second=$HOLDER
	join_waiters --slots a job touch hung
	hung=$WAITER
	stop "$hung"
	let_go "$first"
	still_runs "$second"
	WAIT_S=40 wait_until "$FAIRLOCK" wrap -n --slots a job true
	still_runs "$second"
	kill -CONT "$hung"
	ends_with 0 "$hung"
	has_holders 1
}

@test "acquire and wrap wait for slots side by side, each told in its own way" {
	local owner i

	owner=$("$FAIRLOCK" acquire job)
	for i in 1 2 3; do
		# shellcheck disable=SC2016
		background sh -c '"$FAIRLOCK" acquire --slots 3 job >"acquired.$1"' - "$i"
		wait_until in_queue job $((2 * i - 1))
		# shellcheck disable=SC2016
		join_waiters --slots 3 job sh -c 'echo "$FAIRLOCK_SLOT" >>slots'
	done
	run -75 "$FAIRLOCK" wrap -n --slots 3 job true
	"$FAIRLOCK" release --owner "$owner" job
	for i in 1 2 3; do wait_until test -s "acquired.$i"; done
	# all three slots are acquired, and one of the wraps may wait for them
	consistent
	"$FAIRLOCK" release -q --force job
	wait_until lines_in slots 3
	wait_until nothing_left
}

@test "an exclusive acquire that waits behind readers is told when the last of them is gone, and readers behind it wait" {
	join_holders --shared job
	# shellcheck disable=SC2016
	background sh -c '"$FAIRLOCK" acquire --json job >acquired'
	wait_until in_queue job 1
	join_waiters --shared job touch ran
	let_go "$HOLDER"
	wait_until test -s acquired
	in_queue job 1
	[ ! -e ran ]
	"$FAIRLOCK" release --owner "$(jq -r .owner acquired)" job
	ends_with 0 "$WAITER"
}

# ---- The keeper

@test "a keeper with a slot ends when its hold is released or broken, and only its own" {
	local owner slot other keeper process how

	background sleep 600
	process=$!
	read -r other slot < <("$FAIRLOCK" acquire -l 3m --while-pid "$process" --slots 2 job)
	for how in release force; do
		read -r owner slot < <("$FAIRLOCK" acquire -l 3m --while-pid "$process" --slots 2 job)
		assert_equal "$slot" 2
		keeper=$(pgrep -f -- "acquire -l 3m --while-pid $process --slots 2 job" | tail -n 1)
		if [ "$how" = release ]; then
			"$FAIRLOCK" release --owner "$owner" job
		else
			"$FAIRLOCK" release -q --force --slot 2 job
		fi
		wait_until ended "$keeper"
		assert_equal "$(cli ZRANGE 'fairlock_holders:{job}' 0 -1)" "$other"
	done
}

@test "keepers with slots take their holds up again when the server has lost its data" {
	local owner slot process lock=job before=() after=() i

	background sleep 600
	process=$!
	for i in 1 2 3; do
		read -r owner slot < <("$FAIRLOCK" acquire -l 9s --while-pid "$process" --slots 3 job)
		before+=("$owner=$slot")
	done
	stop_server
	start_server
	wait_until has_holders 3
	for i in "${before[@]}"; do after+=("${i%=*}$(column "h:${i%=*}" mode)"); done
	assert_equal "${after[*]}" "${before[*]}"
	consistent
	kill "$process"
	wait_until is_free job
}

# ---- Holds inside one another

@test "holds inside a slot and inside a shared hold survive a loss of data, and end one by one" {
	local kind

	for kind in '--slots 2' --shared; do
		rm -f go.*
		# shellcheck disable=SC2086,SC2016
		background "$FAIRLOCK" wrap -l 9s $kind job sh -c '
			"$FAIRLOCK" wrap -l 9s '"$kind"' job sh -c "touch inner; while [ ! -e go.inner ]; do sleep 0.05; done"
			echo "inner $?" >>said
			while [ ! -e go.outer ]; do sleep 0.05; done' 2>messages
		HOLDER=$!
		wait_until test -e inner
		# shellcheck disable=SC2086
		join_holders -l 9s $kind job
		stop_server
		start_server
		wait_until has_holders 2
		# both processes have renewed
		for _ in 1 2 3; do wait_until ends_after "$(id_of "$HOLDER")" $(($(now_ms) + 8000)); done
		touch go.inner
		wait_until grep -q 'inner 0' said
		has_holders 2
		touch go.outer
		wait_until has_holders 1
		consistent
		"$FAIRLOCK" release -q --force job
		rm said inner
		! grep lost messages
	done
}

# ---- Other programs

@test "when somebody deletes the holders' sorted set, all holders stop, and the lock is free soon" {
	local first kind

	for kind in '--slots 2' --shared; do
		# shellcheck disable=SC2086
		join_holders -l 3s $kind job
		first=$HOLDER
		# shellcheck disable=SC2086
		join_holders -l 3s $kind job
		cli DEL 'fairlock_holders:{job}' >/dev/null
		ends_with 76 "$first"
		ends_with 76 "$HOLDER"
		run -0 "$FAIRLOCK" wrap -w 20s job true
		nothing_left
	done
}

@test "a COMMAND that cannot be executed gives its slot back at once, and the next waiter has it" {
	join_holders --slots 1 job
	join_waiters --slots 1 job ./no-such-command
	join_waiters --slots 1 job touch ran
	let_go "$HOLDER"
	ends_with 0 "$WAITER"
	[ -e ran ]
	nothing_left
}

@test "a wrapper and a guard that are stopped past the lease do not let COMMAND run beside the next in its slot" {
	local guard command

	join_holders -l 2s --slots 1 job
	guard=$(pgrep -P "$HOLDER")
	command=$(pgrep -P "$guard")
	stop "$HOLDER"
	stop "$guard"
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap -w 20s --slots 1 job sh -c 'kill -0 "$1" 2>/dev/null && ! grep -q "^State:.Z" "/proc/$1/status" && echo alive; true' - "$command"
	refute_output
}

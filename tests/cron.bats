#!/usr/bin/env bats
# What cron jobs need of wrap: limits in time, once per period, and silence.
load helpers

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; cd "$BATS_TEST_TMPDIR" || return; }

# A COMMAND that says who it is and stays.
# shellcheck disable=SC2016
STAY='echo $$ >pid; exec sleep 600'

gone() { [ "$(cli EXISTS "$1")" = 0 ]; }

# ends_with STATUS PID
ends_with() {
	local status=0

	wait "$2" || status=$?
	assert_equal "$status" "$1"
}

# A limit in time

@test "--max-hold stops COMMAND, gives the lock back and says so, with status 124" {
	run -124 "$FAIRLOCK" wrap --max-hold 300ms job -- sh -c "$STAY"
	assert_output 'fairlock: lock job was held for 300ms, as long as --max-hold allows; stopping sh'
	ended "$(<pid)"
	gone job
}

@test "--max-hold: who ends in time keeps its status, and nothing is said" {
	run -3 "$FAIRLOCK" wrap --max-hold 1m job -- sh -c 'exit 3'
	refute_output
}

@test "--max-hold: what COMMAND makes of the signal does not count" {
	run -124 "$FAIRLOCK" wrap --max-hold 300ms job -- sh -c 'trap "echo told; exit 0" TERM; while :; do sleep 0.05; done'
	assert_line told
}

@test "--max-hold: who ignores the signal is killed after --kill-after, with all that it started" {
	run -124 "$FAIRLOCK" wrap --max-hold 300ms -k 200ms job -- \
		sh -c 'trap "" TERM; setsid sleep 600 & echo $! >child; while :; do sleep 600; done'
	ended "$(<child)"
	gone job
}

@test "--max-hold: the first signal is that of --signal" {
	run -124 "$FAIRLOCK" wrap --max-hold 300ms -s INT job -- \
		python3 -c 'import time
try: time.sleep(600)
except KeyboardInterrupt: print("INT")'
	assert_line INT
}

@test "--max-hold: the next in the queue has the lock when COMMAND is gone" {
	background "$FAIRLOCK" wrap --max-hold 1s job -- sh -c "$STAY" 2>said
	wait_until test -s pid
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap -w 20s job -- sh -c 'kill -0 "$(cat pid)" 2>/dev/null && echo alive; echo mine'
	assert_output mine
}

@test "--max-hold: a COMMAND that is stopped is continued for its end" {
	background "$FAIRLOCK" wrap --max-hold 1s job -- sh -c "$STAY" 2>said
	wait_until test -s pid
	kill -STOP "$(<pid)"
	ends_with 124 $!
	ended "$(<pid)"
}

@test "--max-hold also when the server is away" {
	unset SERVER_DIR
	start_server # of this test alone
	background "$FAIRLOCK" wrap --max-hold 2s -l 1m job -- sh -c "$STAY" 2>said
	local wrapper=$!
	wait_until test -s pid
	stop_server
	ends_with 124 "$wrapper"
	ended "$(<pid)"
	grep -q 'as long as --max-hold allows; stopping sh' said
	grep -q 'cannot' said # giving it back did not work
}

@test "--max-hold of nothing is a mistake" {
	run -64 "$FAIRLOCK" wrap --max-hold 0 job true
	assert_line "fairlock: cannot use option '--max-hold': '0' is not a duration over 0"
}

# Spreading

# What --verbose says about the waiting, in ms.
jitter() {
	"$FAIRLOCK" wrap -v --jitter "$1" job true 2>&1 | sed -nE 's/.* asking in ([0-9]+) ms$/\1/p'
}

@test "--jitter waits a random time up to so long, and no two the same" {
	local begun=${EPOCHREALTIME//[.,]/} waited=0 times=()

	while [ ${#times[@]} -lt 8 ]; do
		times+=("$(jitter 100ms)")
		[ "${times[-1]}" -le 100 ]
		waited=$((waited + times[-1]))
	done
	[ $((${EPOCHREALTIME//[.,]/} - begun)) -ge $((waited * 1000)) ]
	[ "$(printf '%s\n' "${times[@]}" | sort -u | wc -l)" -gt 1 ]
}

@test "--jitter: a signal ends the wait, and COMMAND does not run" {
	local waiter

	# whoever draws less than some seconds is too lucky for this test: once in 10,000 times
	background "$FAIRLOCK" wrap -v --jitter 1d job touch ran 2>said
	waiter=$!
	wait_until grep -q 'asking in' said
	kill -TERM "$waiter"
	ends_with 143 "$waiter"
	[ ! -e ran ]
	gone job
}

@test "--jitter is not part of --wait" {
	hold job
	background "$FAIRLOCK" wrap -v --jitter 300ms -w 1s job true 2>said
	local waiter=$!

	wait_until grep -q 'waiting for lock' said
	ends_with 75 "$waiter"
	kill "$HOLDER"
}

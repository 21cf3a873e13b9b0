#!/usr/bin/env bats
# What cron jobs need of wrap: limits in time, once per period, and silence.
load ../lib/helpers

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
	run -124 "$FAIRLOCK" wrap --max-hold 2s job -- sh -c "$STAY"
	assert_output 'fairlock: lock job was held for 2s, as long as --max-hold allows; stopping sh'
	ended "$(<pid)"
	gone job
}

@test "--max-hold: who ends in time keeps its status, and nothing is said" {
	run -3 "$FAIRLOCK" wrap --max-hold 1m job -- sh -c 'exit 3'
	refute_output
}

@test "--max-hold: what COMMAND makes of the signal does not count" {
	run -124 "$FAIRLOCK" wrap --max-hold 2s job -- sh -c 'trap "echo told; exit 0" TERM; while :; do sleep 0.05; done'
	assert_line told
}

@test "--max-hold: who ignores the signal is killed after --kill-after, with all that it started" {
	run -124 "$FAIRLOCK" wrap --max-hold 2s -k 200ms job -- \
		sh -c 'trap "" TERM; setsid sleep 600 & echo $! >child; while :; do sleep 600; done'
	ended "$(<child)"
	gone job
}

@test "--max-hold: a guard that is held up for a moment at the end of --kill-after goes on, while the lease lasts" {
	local guard

	background "$FAIRLOCK" wrap --max-hold 1s -k 1s -l 1m job -- \
		sh -c 'trap "touch asked" TERM; while :; do sleep 0.05; done' 2>said
	wait_until test -e asked
	guard=$(pgrep -P "$!")
	kill -STOP "$guard"
	sleep 1.5 # SIGKILL is due half a second ago
	kill -CONT "$guard"
	ends_with 124 $!
	gone job
}

@test "--max-hold: the first signal is that of --signal" {
	run -124 "$FAIRLOCK" wrap --max-hold 2s -s USR1 job -- sh -c 'trap "echo USR1; exit 0" USR1; while :; do sleep 0.05; done'
	assert_line USR1
}

@test "--max-hold: the next in the queue has the lock when COMMAND is gone" {
	background "$FAIRLOCK" wrap --max-hold 1s job -- sh -c "$STAY" 2>said
	wait_until test -s pid
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap -w 20s job -- sh -c 'kill -0 "$(cat pid)" 2>/dev/null && echo alive; echo mine'
	assert_output mine
}

@test "--max-hold: a COMMAND that is stopped is continued for its end" {
	background "$FAIRLOCK" wrap --max-hold 2s job -- sh -c "$STAY" 2>said
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

# A least time

@test "--min-hold: wrap ends with COMMAND and its status, and the lock stays held for the rest" {
	local begun=$SECONDS

	run -3 "$FAIRLOCK" wrap --min-hold 1m -l 5s job sh -c 'exit 3'
	refute_output
	[ $((SECONDS - begun)) -lt 30 ]
	run -0 "$FAIRLOCK" status -q job
	[ "$(cli PTTL job)" -gt 10000 ]
	[ "$(cli PTTL job)" -le 60000 ]
	run -75 "$FAIRLOCK" wrap -n job true
}

@test "--min-hold: whoever waits gets the lock when it ends" {
	local begun

	"$FAIRLOCK" wrap --min-hold 2s -l 1m job true
	begun=$(cli HGET 'fairlock:{job}' since)
	run -0 "$FAIRLOCK" wrap -w 20s job true
	# by the server's clock: the grants lie apart, but not as far as the lease
	[ $(($(cli HGET 'fairlock:{job}' token) - begun)) -ge 2000 ]
	[ $(($(cli HGET 'fairlock:{job}' token) - begun)) -lt 20000 ]
}

@test "--min-hold: a waiter that was there before is woken at its end, not at that of the lease" {
	background "$FAIRLOCK" wrap --min-hold 2s -l 1m job sh -c 'until test -e go; do sleep 0.02; done'
	wait_until "$FAIRLOCK" status -q job
	background "$FAIRLOCK" wrap job touch ran
	wait_until in_queue job 1
	touch go
	wait_until test -e ran # within 20 s
}

@test "--min-hold: not for a COMMAND that is not found, or cannot be executed" {
	touch plain
	run -127 "$FAIRLOCK" wrap --min-hold 1m job no-such-command
	gone job
	run -126 "$FAIRLOCK" wrap --min-hold 1m job ./plain
	gone job
}

@test "--min-hold also for a COMMAND that is killed, or stopped by --max-hold" {
	run -124 "$FAIRLOCK" wrap --min-hold 1m --max-hold 100ms job sleep 600
	[ "$(cli PTTL job)" -gt 10000 ]
	cli FLUSHALL
	run "$FAIRLOCK" wrap --min-hold 1m job sh -c 'kill -KILL $$'
	[ "$status" = 137 ]
	[ "$(cli PTTL job)" -gt 10000 ]
}

@test "--min-hold: whoever lost the lock leaves the next holder alone" {
	background "$FAIRLOCK" wrap --min-hold 1m job -- sh -c "$STAY" 2>said
	local wrapper=$!

	wait_until test -s pid
	"$FAIRLOCK" release --force job
	ends_with 76 "$wrapper"
	gone job
}

# Once per period

@test "--once-per: not obtained when a COMMAND was started just now, and the reason is told" {
	run -3 "$FAIRLOCK" wrap --once-per 1h job sh -c 'exit 3'
	refute_output
	run -75 "$FAIRLOCK" wrap --once-per 1h job echo again
	assert_output --regexp '^fairlock: cannot get lock job: its command ran already, [0-9]+m?s ago, once per 1h$'
	run -0 "$FAIRLOCK" wrap -q -E 0 --once-per 1h job echo again
	refute_output
	run -0 "$FAIRLOCK" wrap job echo 'who does not ask for it runs'
	assert_output
}

@test "--once-per: who waited behind a run ends with 75 at its turn, and the next has its" {
	owner=$("$FAIRLOCK" acquire -l 10m job)
	background "$FAIRLOCK" wrap --once-per 1h job touch first
	wait_until in_queue job 1
	background "$FAIRLOCK" wrap --once-per 1h job touch second 2>said
	local second=$!
	wait_until in_queue job 2
	background "$FAIRLOCK" wrap job touch third
	local third=$!
	wait_until in_queue job 3
	"$FAIRLOCK" release --owner "$owner" job
	ends_with 75 "$second"
	ends_with 0 "$third"
	[ -e first ]
	[ ! -e second ]
	grep -q 'ran already' said
}

@test "--once-per: a COMMAND that is not found, or cannot be executed, did not run" {
	touch plain
	run -127 "$FAIRLOCK" wrap --once-per 1h job no-such-command
	run -126 "$FAIRLOCK" wrap --once-per 1h job ./plain
	run -0 "$FAIRLOCK" wrap --once-per 1h job true
}

@test "--once-per: a COMMAND that failed, or was killed, ran" {
	run "$FAIRLOCK" wrap --once-per 1h job sh -c 'kill -KILL $$'
	[ "$status" = 137 ]
	run -75 "$FAIRLOCK" wrap --once-per 1h job true
}

@test "--once-per: an inner one goes straight in" {
	run -0 "$FAIRLOCK" wrap --once-per 1h job "$FAIRLOCK" wrap --once-per 1h job echo inner
	assert_output inner
}

#!/usr/bin/env bats
# The options of wrap that cron jobs need: --max-hold, --jitter, --min-hold and --once-per.
load ../lib/helpers
load ../lib/one_server

# A COMMAND that writes its process id into `pid`, and stays.
# shellcheck disable=SC2016
STAY='echo $$ >pid; exec sleep 600'

# ---- --max-hold ----

@test "wrap --max-hold stops COMMAND, gives the lock back, says so and ends with 124" {
	run -124 "$FAIRLOCK" wrap --max-hold 2s job -- sh -c "$STAY"
	assert_output 'fairlock: lock job was held for 2s, as long as --max-hold allows; stopping sh'
	ended "$(<pid)"
	is_free job
}

@test "wrap --max-hold kills a COMMAND that ignores the signal, and its descendants, after --kill-after" {
	run -124 "$FAIRLOCK" wrap --max-hold 2s -k 200ms job -- \
		sh -c 'trap "" TERM; setsid sleep 600 & echo $! >child; while :; do sleep 600; done'
	ended "$(<child)"
	is_free job
}

@test "a guard that is stopped past --kill-after, but not past the lease, still gives the lock back and ends with 124" {
	local guard

	background "$FAIRLOCK" wrap --max-hold 1s -k 1s -l 1m job -- \
		sh -c 'trap "touch asked" TERM; while :; do sleep 0.05; done' 2>said
	wait_until test -e asked
	guard=$(pgrep -P "$!")
	kill -STOP "$guard"
	sleep 1.5 # SIGKILL is due half a second ago
	kill -CONT "$guard" 2>/dev/null || true # its timer has done that
	ends_with 124 $!
	is_free job
}

@test "wrap --max-hold stops COMMAND in time even if the server is away" {
	unset SERVER_DIR
	start_server # of this test alone
	background "$FAIRLOCK" wrap --max-hold 2s -l 1m job -- sh -c "$STAY" 2>said
	local wrapper=$!
	wait_until test -s pid
	stop_server
	ends_with 124 "$wrapper"
	ended "$(<pid)"
	grep -q 'as long as --max-hold allows; stopping sh' said
	grep -q 'cannot' said # the guard could not give the lock back
}

# ---- --jitter ----

# jitter DUR: prints for how many ms a wrap with this --jitter waits
jitter() {
	"$FAIRLOCK" wrap -v --jitter "$1" job true 2>&1 | sed -nE 's/.* asking in ([0-9]+) ms$/\1/p'
}

@test "wrap --jitter DUR waits a random time of at most DUR, which differs from run to run" {
	local begun=${EPOCHREALTIME//[.,]/} waited=0 times=()

	while [ ${#times[@]} -lt 8 ]; do
		times+=("$(jitter 100ms)")
		[ "${times[-1]}" -le 100 ]
		waited=$((waited + times[-1]))
	done
	[ $((${EPOCHREALTIME//[.,]/} - begun)) -ge $((waited * 1000)) ]
	[ "$(printf '%s\n' "${times[@]}" | sort -u | wc -l)" -gt 1 ]
}

# ---- --min-hold ----

@test "wrap --min-hold ends with COMMAND and its status, and the lock stays held for the rest of the time" {
	local begun=$SECONDS

	run -3 "$FAIRLOCK" wrap --min-hold 1m -l 5s job sh -c 'exit 3'
	refute_output
	[ $((SECONDS - begun)) -lt 30 ]
	run -0 "$FAIRLOCK" status -q job
	[ "$(cli PTTL job)" -gt 10000 ]
	[ "$(cli PTTL job)" -le 60000 ]
	run -75 "$FAIRLOCK" wrap -n job true
}

@test "a new waiter gets the lock when --min-hold is over, and not later" {
	local begun

	"$FAIRLOCK" wrap --min-hold 2s -l 1m job true
	begun=$(holder_column job since)
	run -0 "$FAIRLOCK" wrap -w 20s job true
	# by the server's clock, the time between the grants is --min-hold, and not the lease
	[ $(($(cli HGET 'fairlock:{job}' token) - begun)) -ge 2000 ]
	[ $(($(cli HGET 'fairlock:{job}' token) - begun)) -lt 20000 ]
}

@test "wrap --min-hold gives the lock back at once if COMMAND is not found or cannot be executed" {
	touch plain
	run -127 "$FAIRLOCK" wrap --min-hold 1m job no-such-command
	is_free job
	run -126 "$FAIRLOCK" wrap --min-hold 1m job ./plain
	is_free job
}

# ---- --once-per ----

@test "wrap --once-per does not run COMMAND again within the period, ends with 75 and says why" {
	run -3 "$FAIRLOCK" wrap --once-per 1h job sh -c 'exit 3'
	refute_output
	run -75 "$FAIRLOCK" wrap --once-per 1h job echo again
	assert_output --regexp '^fairlock: cannot get lock job: its command started [0-9]+m?s ago, within --once-per 1h$'
	run -0 "$FAIRLOCK" wrap -q -E 0 --once-per 1h job echo again
	refute_output
	run -0 "$FAIRLOCK" wrap job echo 'who does not ask for it runs'
	assert_output
}

@test "a waiter with --once-per ends with 75 at its turn if COMMAND has run meanwhile, and the next waiter gets the lock" {
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
	grep -q 'its command started' said
}

@test "wrap --once-per counts a COMMAND that was killed" {
	run "$FAIRLOCK" wrap --once-per 1h job sh -c 'kill -KILL $$'
	[ "$status" = 137 ]
	run -75 "$FAIRLOCK" wrap --once-per 1h job true
}

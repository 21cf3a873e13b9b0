#!/usr/bin/env bats
# wrap --once-ok: runs COMMAND unless one has ended with 0. release --forget-run, and what status says of it.

load ../lib/helpers
load ../lib/one_server
load ../lib/holders

# A COMMAND that runs until the file `go` is there.
GO='until [ -e go ]; do sleep 0.05; done'

@test "wrap --once-ok runs COMMAND until it has ended with 0, and ends with 0 silently then" {
	run -3 "$FAIRLOCK" wrap --once-ok 1h job sh -c 'echo ran >>ran; exit 3'
	run -0 "$FAIRLOCK" wrap --once-ok 1h job sh -c 'echo ran >>ran'
	run -0 "$FAIRLOCK" wrap --once-ok 1h -E 9 job sh -c 'echo ran >>ran'
	refute_output
	run -0 "$FAIRLOCK" wrap -n --once-ok 1h job sh -c 'echo ran >>ran'
	assert_equal "$(wc -l <ran)" 2
	nothing_left
}

@test "wrap --once-ok runs COMMAND again when the last success was started nine tenths of DUR ago" {
	run -0 "$FAIRLOCK" wrap --once-ok 1s job true
	sleep 1
	run -0 "$FAIRLOCK" wrap --once-ok 1s job echo ran
	assert_output ran
}

@test "those that wait with --once-ok end with 0 when COMMAND has ended with 0, also while somebody else holds the lock" {
	local first plain once

	background "$FAIRLOCK" wrap --once-ok 1h job sh -c "$GO"
	first=$!
	wait_until "$FAIRLOCK" status -q job
	join_waiters job sh -c 'until [ -e over ]; do sleep 0.05; done'
	plain=$WAITER
	join_waiters --once-ok 1h -w 5m job touch ran
	once=$WAITER
	touch go
	ends_with 0 "$once"
	"$FAIRLOCK" status -q job # the plain one holds it
	ends_with 0 "$first"
	touch over
	ends_with 0 "$plain"
	[ ! -e ran ]
	assert_equal "$("$FAIRLOCK" log --json job | jq -c '[.log[] | select(.event == "left") | .pid]')" "[$once]"
}

@test "a run that takes longer than DUR satisfies those that wait for it" {
	local first

	background "$FAIRLOCK" wrap --once-ok 1ms job sh -c "$GO"
	first=$!
	wait_until "$FAIRLOCK" status -q job
	join_waiters --once-ok 1ms job touch ran
	touch go
	ends_with 0 "$WAITER"
	ends_with 0 "$first"
	[ ! -e ran ]
}

@test "a run that fails lets the next waiter run, and the others wait for that" {
	local last

	background "$FAIRLOCK" wrap --once-ok 1h job sh -c "$GO; exit 1"
	wait_until "$FAIRLOCK" status -q job
	join_waiters --once-ok 1h job sh -c 'sleep 0.5; echo second >>ran'
	last=$WAITER
	join_waiters --once-ok 1h job sh -c 'echo third >>ran'
	touch go
	ends_with 0 "$last"
	ends_with 0 "$WAITER"
	assert_equal "$(cat ran)" second
}

@test "124, a signal, a lost lock and a COMMAND that cannot be executed are no success" {
	run -124 "$FAIRLOCK" wrap --max-hold 1s job sh -c 'trap "exit 0" TERM; while :; do sleep 0.05; done'
	run "$FAIRLOCK" wrap job sh -c 'kill -KILL $$'
	run -127 "$FAIRLOCK" wrap job no-such-command
	# shellcheck disable=SC2016
	run -76 "$FAIRLOCK" wrap job sh -c 'trap "exit 0" TERM; "$FAIRLOCK" release --force job; while :; do sleep 0.05; done'
	run -0 "$FAIRLOCK" wrap --once-ok 1h job echo ran
	assert_output ran
}

@test "with -n wrap --once-ok ends with 75 while a COMMAND runs, with --skip with 0, and with --wait in time" {
	hold job
	run -75 "$FAIRLOCK" wrap -n --once-ok 1h job touch ran
	assert_output --partial 'held by'
	run -0 "$FAIRLOCK" wrap --skip --once-ok 1h job touch ran
	refute_output
	run -75 "$FAIRLOCK" wrap -w 200ms --once-ok 1h job touch ran
	assert_output --partial 'timed out after 200ms'
	[ ! -e ran ]
	in_queue job 0
}

@test "--once-ok does not go with --once-per, wherever that is set, and has no variable and no key" {
	run -64 "$FAIRLOCK" wrap --once-ok 1h --once-per 1h job touch ran
	assert_line "fairlock: cannot use option '--once-per': it does not go with --once-ok"
	FAIRLOCK_ONCE_PER=1h run -64 "$FAIRLOCK" wrap --once-ok 1h job touch ran
	assert_line 'fairlock: cannot use --once-ok: it does not go with the once-per of FAIRLOCK_ONCE_PER'
	echo 'once-per = 1h' >settings
	run -64 "$FAIRLOCK" wrap --config settings --once-ok 1h job touch ran
	assert_line 'fairlock: cannot use --once-ok: it does not go with the once-per of settings:1'
	echo 'once-ok = 1h' >settings
	run -78 "$FAIRLOCK" wrap --config settings job touch ran
	"$FAIRLOCK" wrap job true
	FAIRLOCK_ONCE_OK=1h run -0 "$FAIRLOCK" wrap job echo ran
	assert_output ran
	[ ! -e ran ]
}

# ---- release --forget-run ----

@test "release --forget-run lets a job run again, says what it forgot, and needs no owner" {
	"$FAIRLOCK" wrap job true
	run -0 "$FAIRLOCK" release --forget-run job
	assert_output --regexp '^forgot the last start of lock job, [0-9]+m?s ago$'
	run -0 "$FAIRLOCK" wrap --once-ok 1h job echo ran
	assert_output ran
	run -0 "$FAIRLOCK" release -q --forget-run job
	refute_output
	run -0 "$FAIRLOCK" wrap --once-per 1h job echo ran
	assert_output ran
	owner=$("$FAIRLOCK" acquire other)
	"$FAIRLOCK" release --owner "$owner" other
	run -0 "$FAIRLOCK" release --forget-run other
	assert_output 'lock other had no last start'
}

@test "release --forget-run leaves the holder and the waiters alone, and what runs then counts when it ends with 0" {
	local first

	background "$FAIRLOCK" wrap --once-ok 1h job sh -c "$GO" 2>said
	first=$!
	wait_until "$FAIRLOCK" status -q job
	join_waiters --once-ok 1h job touch ran
	run -0 "$FAIRLOCK" release --forget-run job
	in_queue job 1
	touch go
	ends_with 0 "$first"
	ends_with 0 "$WAITER"
	[ ! -e ran ]
	[ ! -s said ]
}

# ---- status ----

@test "status tells when a COMMAND last ended with 0" {
	local before ok

	run -3 "$FAIRLOCK" wrap job sh -c 'exit 3'
	assert_equal "$("$FAIRLOCK" status --json job | jq -c '.locks[0] | [.last_start == null, .last_ok]')" '[false,null]'
	before=$(date +%s)
	"$FAIRLOCK" wrap job sleep 1.5
	ok=$("$FAIRLOCK" status --json job | jq -r '.locks[0].last_ok')
	[ "$(date -d "$ok" +%s)" -gt "$before" ]
	run -0 "$FAIRLOCK" status --noheadings --raw -o LAST_OK job
	assert_output "$ok"
	"$FAIRLOCK" release -q --forget-run job
	assert_equal "$("$FAIRLOCK" status --json job | jq -c '.locks[0] | [.last_start, .last_ok]')" '[null,null]'
}

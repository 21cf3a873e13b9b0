# The options of wrap that jobs need which many hosts or a cron start: --once-ok, --once-per, --min-hold, --max-hold and --jitter.

load ../lib/one_server
load ../lib/holders

# A COMMAND that runs until the file `go` is there.
GO='until [ -e go ]; do sleep 0.05; done'
# A COMMAND that writes its process id into `pid`, and stays.
STAY='echo $$ >pid; exec sleep 600'

# ---- --once-ok ----

@test "wrap --once-ok runs COMMAND until it has ended with 0, and ends with 0 silently then" {
	run -3 "$FAIRLOCK" wrap --once-ok 1h job sh -c 'echo ran >>ran; exit 3'
	run -0 "$FAIRLOCK" wrap --once-ok 1h job sh -c 'echo ran >>ran'
	run -0 "$FAIRLOCK" wrap --once-ok 1h -E 9 job sh -c 'echo ran >>ran'
	refute_output
	run -0 "$FAIRLOCK" wrap -n --once-ok 30d job sh -c 'echo ran >>ran'
	[ "$(cli PTTL 'fairlock:{job}')" -gt $((29 * 86400000)) ] # the server has DUR in ms
	[ "$(cli PTTL 'fairlock:{job}')" -le $((30 * 86400000)) ]
	assert_equal "$(wc -l <ran)" 2
	nothing_left
}

@test "those that wait with --once-ok end with 0 when COMMAND has ended with 0, also while somebody else holds the lock" {
	local first plain once long

	background "$FAIRLOCK" wrap --once-ok 1h job sh -c "$GO"
	first=$!
	wait_until "$FAIRLOCK" status -q job
	join_queue job sh -c 'until [ -e over ]; do sleep 0.05; done'
	plain=$WAITER
	join_queue --once-ok 1h -w 5m job touch ran
	once=$WAITER
	join_queue --once-ok 1ms job touch ran # a run that takes longer satisfies it, too
	long=$WAITER
	touch go
	ends_with 0 "$once"
	ends_with 0 "$long"
	"$FAIRLOCK" status -q job # the plain one holds it
	ends_with 0 "$first"
	touch over
	ends_with 0 "$plain"
	[ ! -e ran ]
	assert_equal "$("$FAIRLOCK" log --json job | jq -c '[.log[] | select(.event == "left") | .pid] | sort')" \
		"$(printf '%s\n' "$once" "$long" | sort -n | paste -sd , | sed 's/.*/[&]/')"
}

@test "124, a signal, a lost lock and a COMMAND that cannot be executed are no success" {
	run -124 "$FAIRLOCK" wrap --max-hold 1s job sh -c 'trap "exit 0" TERM; while :; do sleep 0.05; done'
	run "$FAIRLOCK" wrap job sh -c 'kill -KILL $$'
	run -127 "$FAIRLOCK" wrap job no-such-command
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
	run -9 "$FAIRLOCK" wrap -w 200ms -E 9 --once-ok 1h job touch ran
	assert_output --partial 'timed out after 200ms'
	[ ! -e ran ]
	in_queue job 0
}

# ---- release --forget-run ----

@test "release --forget-run lets a job run again, says what it forgot, and needs no owner" {
	local option

	"$FAIRLOCK" wrap job true
	for option in --once-ok --once-per; do
		run -0 "$FAIRLOCK" release --forget-run job
		assert_output --regexp '^forgot the last start of lock job, [0-9]+m?s ago$'
		run -0 "$FAIRLOCK" wrap $option 1h job echo ran
		assert_output ran
	done
	run -0 "$FAIRLOCK" release -q --forget-run job
	refute_output
	run -0 "$FAIRLOCK" release --forget-run job
	assert_output 'lock job had no last start'
}

# ---- --once-per ----

@test "wrap --once-per does not run COMMAND again within the period, however it ended, ends with 75 and says why" {
	run -137 "$FAIRLOCK" wrap --once-per 1h job sh -c 'kill -KILL $$'
	run -75 "$FAIRLOCK" wrap --once-per 1h job echo again
	assert_output --regexp '^fairlock: cannot get lock job: its command started [0-9]+m?s ago, within --once-per 1h$'
	run -0 "$FAIRLOCK" wrap -q -E 0 --once-per 1h job echo again
	refute_output
	run -0 "$FAIRLOCK" wrap job echo 'who does not ask for it runs'
	assert_output
}

# ---- --min-hold ----

@test "a new waiter gets the lock when --min-hold is over, and not later" {
	local begun

	"$FAIRLOCK" wrap --min-hold 1s -l 1m job true
	begun=$(holder_column job since)
	run -0 "$FAIRLOCK" wrap -w 20s job true
	# by the server's clock, the time between the grants is --min-hold, and not the lease
	[ $(($(cli HGET 'fairlock:{job}' token) - begun)) -ge 1000 ]
	[ $(($(cli HGET 'fairlock:{job}' token) - begun)) -lt 20000 ]
}

@test "wrap --min-hold gives the lock back at once if COMMAND is not found or cannot be executed" {
	touch plain
	run -127 "$FAIRLOCK" wrap --min-hold 1m job no-such-command
	is_free job
	run -126 "$FAIRLOCK" wrap --min-hold 1m job ./plain
	is_free job
}

# ---- --max-hold and --jitter ----

@test "wrap --max-hold kills a COMMAND that ignores the signal, and its descendants, after --kill-after" {
	run -124 "$FAIRLOCK" wrap --max-hold 1s -k 200ms job -- \
		sh -c 'trap "" TERM; setsid sleep 600 & echo $! >child; while :; do sleep 600; done'
	ended "$(<child)"
	is_free job
}

@test "a guard that is stopped past --kill-after, but not past the lease, still gives the lock back and ends with 124" {
	local guard

	background "$FAIRLOCK" wrap --max-hold 2s -k 2s -l 1m job -- \
		sh -c 'trap "touch asked" TERM; while :; do sleep 0.05; done' 2>said
	wait_until "$FAIRLOCK" status -q job
	guard=$(pgrep -P "$!")
	wait_until test -e asked
	kill -STOP "$guard" 2>/dev/null || true # a busy machine may be late
	sleep 2.5 # SIGKILL is due half a second ago
	kill -CONT "$guard" 2>/dev/null || true # its timer has done that
	ends_with 124 $!
	is_free job
}

@test "wrap --max-hold stops COMMAND in time even if the server is away" {
	local wrapper

	SERVER_DIR=$PWD start_server # of this test alone
	background "$FAIRLOCK" wrap --max-hold 2s -l 1m --connect-timeout 500ms job -- sh -c "$STAY" 2>said
	wrapper=$!
	wait_until test -s pid
	stop_server
	ends_with 124 "$wrapper"
	ended "$(<pid)"
	grep -q 'as long as --max-hold allows; stopping sh' said
	grep -q 'cannot' said # the guard could not give the lock back
}

@test "wrap --jitter DUR waits a random time of at most DUR, which differs from run to run" {
	local begun waited=0 times=()

	begun=$(ms)
	while [ ${#times[@]} -lt 8 ]; do
		times+=("$("$FAIRLOCK" wrap -v --jitter 100ms job true 2>&1 | sed -nE 's/.* asking in ([0-9]+) ms$/\1/p')")
		[ "${times[-1]}" -le 100 ]
		waited=$((waited + times[-1]))
	done
	[ $(($(ms) - begun)) -ge "$waited" ]
	[ "$(printf '%s\n' "${times[@]}" | sort -u | wc -l)" -gt 1 ]
}

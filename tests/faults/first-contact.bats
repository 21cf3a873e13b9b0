# A server that is down when a command first asks it: wrap, acquire, renew and release try for --connect-timeout. What
# only shows, and what cannot pass, fails at once.
load ../lib/jobs
load ../lib/screens

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# meets_restart COMMAND...: runs it in the background while the server is down, and starts the server with its data. It ends with 0.
meets_restart() {
	local command

	stop_server TERM
	background "$FAIRLOCK" "$@" >printed 2>said
	command=$!
	sleep 1
	start_server --appendonly yes
	ends_with 0 "$command"
}

@test "a restart of the server that takes 2 s fails none of the 60 wraps that start meanwhile" {
	pids=() failed=0
	start_server --appendonly yes
	for ((i = 1; i <= 60; i++)); do
		background "$FAIRLOCK" wrap -w 1m job true 2>>said
		pids+=($!)
		[ "$i" != 15 ] || stop_server TERM
		[ "$i" != 45 ] || start_server --appendonly yes
		sleep 0.067
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || : $((failed++))
	done
	assert_equal "$(cat said)" ''
	assert_equal "$failed" 0
}

@test "acquire, renew and release wait for a server that restarts" {
	start_server --appendonly yes
	meets_restart acquire -n job
	owner=$(cat printed)
	meets_restart renew --owner "$owner" job
	meets_restart release --owner "$owner" job
	is_free job
	[ ! -s said ]
}

@test "a command that only shows fails at once, and so does completion" {
	for command in status 'status -q job' queue log doctor; do
		run -69 timeout 20 "$FAIRLOCK" $command --connect-timeout 10m
	done
	run -0 timeout 20 "$FAIRLOCK" --complete status ''
}

@test "a wrong password, or none, fails at once" {
	start_server
	cli CONFIG SET requirepass SECRET >/dev/null
	run -77 env FAIRLOCK_PASSWORD=wrong timeout 20 "$FAIRLOCK" wrap --connect-timeout 10m job true
	run -77 timeout 20 "$FAIRLOCK" wrap --connect-timeout 10m job true
}

@test "a wrap tries no longer than its --wait, and acquire -n as long as --connect-timeout" {
	run -69 timeout 20 "$FAIRLOCK" wrap -w 1 --connect-timeout 10m job true
	assert_output "fairlock: cannot reach $FAIRLOCK_URL: No such file or directory"
	from=$(ms)
	run -69 timeout 20 "$FAIRLOCK" acquire -n --connect-timeout 2 job
	assert_output "fairlock: cannot reach $FAIRLOCK_URL: No such file or directory"
	[ $(($(ms) - from)) -ge 1900 ]
}

@test "on a terminal wrap and release say after a second that they try a server that is down" {
	for command in 'wrap job true' 'release --force job'; do
		terminal 160
		type_line "clear; time \"\$FAIRLOCK\" ${command%% *} --connect-timeout 4 ${command#* }"
		wait_until shows '^fairlock: cannot reach unix:/nonexistent.*: No such file or directory; trying again$'
		shows_not '^real'
		wait_until shows '^fairlock: cannot reach unix:/nonexistent.*: No such file or directory$'
		on_terminal kill-server
	done
}

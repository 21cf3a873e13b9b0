# A server that is down when a command first asks it: wrap, acquire, renew and release try for --connect-timeout. What
# only shows, and what cannot pass, fails at once.
load ../lib/helpers
load ../lib/jobs
load ../lib/screens

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# meets_restart COMMAND...: runs it in the background while the server is down, and starts the server with its data. Sets STATUS.
meets_restart() {
	local command

	stop_server TERM
	background "$FAIRLOCK" "$@" >printed 2>said
	command=$!
	sleep 1
	start_server --appendonly yes
	status_of "$command"
}

@test "a restart of the server that takes 2 s fails none of the 60 wraps that start meanwhile" {
	local i pid pids=() failed=0

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
	local owner

	start_server --appendonly yes
	meets_restart acquire -n job
	# shellcheck disable=SC2153 # status_of sets STATUS
	assert_equal "$STATUS" 0
	owner=$(cat printed)
	meets_restart renew --owner "$owner" job
	assert_equal "$STATUS" 0
	meets_restart release --owner "$owner" job
	assert_equal "$STATUS" 0
	is_free job
	[ ! -s said ]
}

@test "wrap waits for a server that loads its data" {
	local wrap

	start_server --appendonly yes --rdbcompression no
	cli EVAL 'for i = 1, 20 do redis.call("SET", i, string.rep("x", 3000)) end' 0
	cli BGREWRITEAOF >/dev/null
	wait_until aof_is_rewritten
	stop_server
	server_answers() { cli PING | grep -q LOADING; }
	start_server --appendonly yes --key-load-delay 100000 --loading-process-events-interval-bytes 1024
	run -69 "$FAIRLOCK" status
	assert_output --partial 'it is still loading its data'
	run -0 "$FAIRLOCK" wrap --connect-timeout 1m job true
	refute_output
}

aof_is_rewritten() { cli INFO persistence | grep -q 'aof_rewrite_in_progress:0'; }

@test "a command that only shows fails at once, and so does completion" {
	local command

	for command in status 'status -q job' queue log doctor; do
		# shellcheck disable=SC2086
		run -69 timeout 20 "$FAIRLOCK" $command --connect-timeout 10m
	done
	run -0 timeout 20 "$FAIRLOCK" --complete status ''
}

@test "a wrong password fails at once" {
	start_server
	cli CONFIG SET requirepass SECRET >/dev/null
	run -77 timeout 20 "$FAIRLOCK" wrap --connect-timeout 10m job true
	run -77 env FAIRLOCK_PASSWORD=wrong timeout 20 "$FAIRLOCK" wrap --connect-timeout 10m job true
}

@test "a wrap tries no longer than its --wait, and acquire -n as long as --connect-timeout" {
	run -69 timeout 20 "$FAIRLOCK" wrap -w 1 --connect-timeout 10m job true
	assert_output "fairlock: cannot reach $FAIRLOCK_URL: No such file or directory"
	local from

	from=$(ms)
	run -69 timeout 20 "$FAIRLOCK" acquire -n --connect-timeout 2 job
	assert_output "fairlock: cannot reach $FAIRLOCK_URL: No such file or directory"
	[ $(($(ms) - from)) -ge 1900 ]
}

@test "on a terminal wrap and release say after a second that they try a server that is down" {
	local command

	for command in 'wrap job true' 'release --force job'; do
		terminal 160
		type_line "clear; time \"\$FAIRLOCK\" ${command%% *} --connect-timeout 4 ${command#* }"
		wait_until shows '^fairlock: cannot reach unix:/nonexistent.*: No such file or directory; trying again$'
		shows_not '^real'
		wait_until shows '^fairlock: cannot reach unix:/nonexistent.*: No such file or directory$'
		on_terminal kill-server
	done
}

# A process of fairlock or the lock itself is killed, stopped or removed: holders never overlap, and
# COMMAND does not outlive its lease.
load ../lib/helpers
load ../lib/jobs
load ../lib/proxy

setup() { cd "$BATS_TEST_TMPDIR" || return; }

@test "when the wrapper is killed all of COMMAND is dead before the lease ends, and the lock is given back" {
	start_server
	start_job -l 6s
	kill -KILL "$WRAPPER"
	dead_before_lease_ends
	wait_until ended "$GUARD"
	[ "$(cli EXISTS job)" = 0 ]
}

@test "when the guard is killed all of COMMAND is dead before the lease ends, and the status is 76" {
	start_server
	start_job -l 6s
	kill -KILL "$GUARD"
	dead_before_lease_ends
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
	[ "$(cli EXISTS job)" = 0 ]
	# The wrapper says so at once, not only when the deadline comes near.
	grep -q 'lost the guard of lock job: it died' said
}

@test "when the guard is stopped past the lease all of COMMAND is dead at the deadline, and the status is 76" {
	start_server
	start_job -l 6s
	kill -STOP "$GUARD"
	dead_before_lease_ends
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
}

@test "when COMMAND ends while its guard is stopped its status counts, and the lock is given back" {
	local command

	start_server
	background "$FAIRLOCK" wrap -l 3s job sh -c 'sleep 600 & echo $! >daemon; while [ ! -e go ]; do sleep 0.05; done; exit 3' 2>said
	WRAPPER=$!
	wait_until test -s daemon
	GUARD=$(pgrep -P "$WRAPPER")
	command=$(pgrep -P "$GUARD")
	stop "$GUARD"
	touch go
	wait_until has_ended_unseen "$command"
	status_of "$WRAPPER"
	[ "$STATUS" = 3 ]
	assert_equal "$(cat said)" ''
	[ "$(cli EXISTS job)" = 0 ]
	wait_until ended "$GUARD"
	kill "$(cat daemon)" # fairlock has left it alone
}

has_ended_unseen() { [ "$(ps -o stat= -p "$1" | cut -c1)" = Z ]; }

@test "when only COMMAND goes on after its wrapper was stopped and its guard killed, it is dead at the deadline" {
	start_server
	start_job -l 6s
	stop "$(pgrep -P "$GUARD" -xf 'sh job')"
	stop "$WRAPPER"
	kill -KILL "$GUARD"
	wait_until ended "$GUARD"
	kill -CONT "$(sed -n 2p pids)" "$(sed -n 1p pids)"
	dead_before_lease_ends
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
	[ "$(cli EXISTS job)" = 0 ]
}

@test "when the guard is stopped and the wrapper killed the guard goes on and gives the lock back" {
	start_server
	start_job -l 6s
	stop "$GUARD"
	kill -KILL "$WRAPPER"
	dead_before_lease_ends
	wait_until ended "$GUARD"
	[ "$(cli EXISTS job)" = 0 ]
}

@test "when wrapper and guard are stopped all of COMMAND is dead at the deadline, and the status is 76" {
	start_server
	start_job -l 6s
	stop "$GUARD"
	stop "$WRAPPER"
	dead_before_lease_ends
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
}

@test "when all are stopped and only COMMAND goes on all of it is dead at the deadline" {
	local command

	start_server
	start_job -l 6s
	command=$(pgrep -P "$GUARD" -xf 'sh job')
	kill -STOP "$GUARD" "$command" "$WRAPPER"
	wait_until is_stopped "$WRAPPER"
	kill -CONT "$command"
	dead_before_lease_ends
}

@test "when wrapper and guard are stopped while COMMAND has time to end, it is killed in time" {
	start_server
	start_proxy "$SERVER_SOCKET" "$PWD/far"
	FAIRLOCK_URL=unix://$PWD/far start_job -l 6s -k 2s
	proxy cut
	note_lease_end
	wait_until grep -q 'lost lock job' said
	stop "$GUARD"
	stop "$WRAPPER"
	dead_in_time
}

@test "when a guard is killed that has unread signals COMMAND is stopped" {
	start_server
	start_job -l 5s
	kill -STOP "$GUARD"
	kill -USR1 "$WRAPPER"
	wait_until signal_taken
	kill -KILL "$GUARD"
	dead_before_lease_ends
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
}

# No signal is pending for the wrapper: it has passed it on.
signal_taken() { grep -q '^ShdPnd:.*0000000000000000$' "/proc/$WRAPPER/status"; }

# The stopped server has a request that it has not read.
asked() { ss -xHp | grep "pid=$SERVER_PID," | awk '$3 > 0 { found = 1 } END { exit !found }'; }

@test "when the guard is killed while it gives the lock back the wrapper does that, and the status is COMMAND's" {
	start_server
	background "$FAIRLOCK" wrap -l 5m --connect-timeout 30s job sh -c 'while [ ! -e go ]; do sleep 0.05; done; exit 3'
	WRAPPER=$!
	wait_until "$FAIRLOCK" status -q job
	wait_until pgrep -P "$WRAPPER"
	GUARD=$(pgrep -P "$WRAPPER")
	kill -STOP "$SERVER_PID"
	touch go
	wait_until asked
	kill -KILL "$GUARD"
	wait_until ended "$GUARD"
	kill -CONT "$SERVER_PID"
	status_of "$WRAPPER"
	[ "$STATUS" = 3 ]
	[ "$(cli EXISTS job)" = 0 ]
}

@test "when the wrapper is stopped far past its lease the lock stays held and COMMAND runs" {
	start_server
	start_job -l 4s -k 100ms # renewals cannot use the part of the lease that is the grace
	kill -STOP "$WRAPPER"
	sleep 6
	[ "$(cli PTTL job)" -gt 0 ]
	run all_dead
	assert_failure
	grep -c '' pids
	kill -CONT "$WRAPPER"
	# shellcheck disable=SC2046
	kill -KILL $(cat pids)
	status_of "$WRAPPER"
}

@test "when the process group of the wrapper is killed the guard gives the lock back" {
	start_server
	background setsid "$FAIRLOCK" wrap -l 30s job sh -c 'touch ready; exec sleep 600'
	wait_until test -e ready
	[ "$(ps -o pgid= -p $! | tr -d ' ')" = $! ]
	kill -KILL -- "-$!"
	wait_until test_gone job
}

@test "a holder whose lock somebody deletes stops COMMAND and does not take the lock again" {
	start_server
	start_job -l 6s
	cli DEL job >/dev/null
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
	all_dead
	[ "$(cli EXISTS job)" = 0 ]
}

@test "release --force tells the holder at once, which stops COMMAND and does not take the lock again" {
	start_server
	start_job
	local from
	from=$(ms)
	run -0 "$FAIRLOCK" release --force job
	assert_output --regexp 'lock job was held by sh job \(pid [0-9]+, .*\) as [0-9a-f-]+:[0-9]+'
	wait_until all_dead
		# Without the message the holder would ask after 10 s, and its grace under a whole
		# lease is 10 s.
	[ $(($(ms) - from)) -lt 8000 ]
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
	grep -q 'somebody broke it by force' said
	[ "$(cli EXISTS job)" = 0 ]
	run -0 "$FAIRLOCK" release --force job
	assert_output 'lock job was free'
}

@test "with --on-lost warn COMMAND goes on after a loss, and the status is 76" {
	start_server
	background "$FAIRLOCK" wrap --on-lost warn job sh -c 'touch ready; while [ ! -e go ]; do sleep 0.05; done; touch done' 2>said
	local wrapper=$!
	wait_until test -e ready
	"$FAIRLOCK" release --force -q job
	wait_until grep -q 'lost lock job' said
	touch go
	status_of "$wrapper"
	[ "$STATUS" = 76 ]
	[ -e done ]
}

@test "with --on-lost warn and a stopped guard the loss is told, and the wrapper ends with COMMAND" {
	start_server
	background "$FAIRLOCK" wrap -l 1s --on-lost warn job sh -c 'touch runs; while [ ! -e go ]; do sleep 0.05; done' 2>said
	WRAPPER=$!
	wait_until test -e runs
	GUARD=$(pgrep -P "$WRAPPER")
	stop "$GUARD"
	wait_until grep -q 'lost lock job' said
	stop "$GUARD"
	touch go
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
}

@test "COMMAND gets the signal that -s names, and time until SIGKILL" {
	start_server
	cat >job <<'END'
trap 'echo usr1 >>trace; exit 0' USR1
trap 'echo term >>trace' TERM
echo ready >>trace
while :; do sleep 0.05; done
END
	background "$FAIRLOCK" wrap -s USR1 -k 1s job sh job
	local wrapper=$!
	wait_until grep -q ready trace
	"$FAIRLOCK" release --force -q job
	status_of "$wrapper"
	[ "$STATUS" = 76 ]
	[ "$(tr '\n' ' ' <trace)" = 'ready usr1 ' ]
}

@test "a COMMAND that is stopped is killed when the lock is lost" {
	start_server
	start_job
	# shellcheck disable=SC2046
	kill -STOP $(cat pids)
	"$FAIRLOCK" release --force -q job
	wait_until all_dead
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
}

@test "a private server that COMMAND started is not stopped with it" {
	new_home
	# shellcheck disable=SC2016
	start_server
	# shellcheck disable=SC2016
	at_home env FAIRLOCK_URL="$FAIRLOCK_URL" "$FAIRLOCK" wrap outer sh -c '
		FAIRLOCK_URL=local: "$FAIRLOCK" wrap inner true
		"$FAIRLOCK" release --force -q outer
		sleep 60' || true
	run -0 at_home "$FAIRLOCK" wrap -u local: inner echo alive
	assert_output alive
	[ "$(grep -c 'Server initialized' "$HOME_DIR"/.local/state/fairlock/*/server.log)" = 1 ]
}

@test "when the lock of a killed wrapper is broken SIGKILL comes within a second" {
	start_server
	start_job -l 30s
	kill -KILL "$WRAPPER"
	"$FAIRLOCK" release -q --force job
	local from
	from=$(ms)
	wait_until all_dead
	# Under a whole lease the grace is 10 s.
	[ $(($(ms) - from)) -lt 8000 ]
}

@test "the wrapper of a COMMAND that is stopped and then killed goes on" {
	start_server
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap job sh -c 'echo $$ >pid; exec sleep 600'
	local wrapper=$!
	wait_until test -s pid
	kill -STOP "$(cat pid)"
	wait_until grep -q '^State:.*T' "/proc/$wrapper/status"
	kill -KILL "$(cat pid)"
	status_of "$wrapper"
	[ "$STATUS" = 137 ]
}

@test "a wrapper that was stopped when COMMAND ended goes on, and leaves COMMAND's daemons alone" {
	start_server
	cat >daemon <<'END'
trap 'touch signalled; exit' TERM CONT
echo $$ >there
while :; do sleep 0.1; done
END
	background "$FAIRLOCK" wrap -l 5s job sh -c 'setsid sh daemon & while ! test -e go; do sleep 0.02; done; exit 5' 2>said
	local wrapper=$! until
	wait_until test -s there
	until=$(($(ms) + 5500)) # the lease would have ended by then
	stop "$wrapper"
	touch go
	status_of "$wrapper"
	[ "$STATUS" = 5 ]
	test_free job
	wait_until later_than "$until"
	run -0 cat said
	assert_output ''
	[ ! -e signalled ]
	kill -KILL "$(cat there)"
}

test_free() { [ "$(cli EXISTS "$1")" = 0 ]; }
later_than() { [ "$(ms)" -gt "$1" ]; }

@test "the lock is renewed before COMMAND has been executed" {
	start_server
	# Each execve takes 6 s, and COMMAND's own happens under the lock. A sanitizer cannot look
	# for leaks under strace.
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 run -0 strace -f -qq -e trace=execve -e inject=execve:delay_enter=6000000 -o /dev/null \
		"$FAIRLOCK" wrap -l 5s -k 100ms job /bin/echo done
	assert_output done
}

@test "a COMMAND that forks and ends faster than it can be listed is stopped" {
	start_server
	background "$FAIRLOCK" wrap -l 6s job "$BUILD/programs/fleeting" generations 30
	local wrapper=$! size
	wait_until test -s generations
	cli DEL job >/dev/null
	status_of "$wrapper"
	[ "$STATUS" = 76 ]
	size=$(stat -c %s generations)
	sleep 0.5
	[ "$(stat -c %s generations)" = "$size" ]
}

@test "with --on-lost warn a COMMAND that was not executed before the lease ended is not executed at all" {
	start_server
	"$FAIRLOCK" wrap job true # so that the server knows the scripts
	start_proxy "$SERVER_SOCKET" "$PWD/far"
	proxy delay 20
	# COMMAND's process, which stood by, looks for its parent a second time when the lock is
	# granted.
	FAIRLOCK_URL=unix://$PWD/far ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 background strace -f -qq -e trace=getppid \
		-e inject=getppid:delay_enter=10000000:when=2 -o /dev/null \
		"$FAIRLOCK" wrap --on-lost warn -l 8s -k 1s job touch executed 2>said
	local tracer=$!
	wait_until "$FAIRLOCK" status -q job
	kill -STOP "$SERVER_PID"
	WAIT_S=60 wait_until ended "$tracer"
	status_of "$tracer"
	[ "$STATUS" = 76 ]
	[ ! -e executed ]
}

# A pipe that is full and that nobody reads.
full_pipe() {
	mkfifo full
	exec 8<>full
	dd if=/dev/zero of=full bs=4096 oflag=nonblock 2>/dev/null || true
}

@test "with a standard error that is full all of COMMAND is dead when the lease ends" {
	start_server
	full_pipe
	SAID=full start_job -l 4s -k 200ms
	note_lease_end
	kill -STOP "$SERVER_PID"
	dead_in_time
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
}

@test "with a standard error that is full --verbose costs no waiter its turn" {
	start_server
	full_pipe
	background "$FAIRLOCK" wrap -v job sh -c 'until test -e go; do sleep 0.05; done' 2>full
	wait_until "$FAIRLOCK" status -q job
	background "$FAIRLOCK" wrap -v job touch ran 2>full
	wait_until in_queue job 1
	touch go
	wait_until test -e ran
}

@test "a holder that is cut off, with a slower clock than its server, stops COMMAND before the next holder starts" {
	LD_PRELOAD=$BUILD/programs/clockwork.so CLOCKWORK_RATE=1.083 start_server
	start_proxy "$SERVER_SOCKET" "$PWD/far"
	FAIRLOCK_URL=unix://$PWD/far start_job -l 20s -k 500ms
	# shellcheck disable=SC2016
	background sh -c 'until "$FAIRLOCK" wrap -nq job sh -c "read -r up rest </proc/uptime; echo \"\$up\" >next"; do sleep 0.05; done'
	proxy cut
	WAIT_S=40 wait_until test -s next
	LEASE_END=$(cat next)
	dead_in_time
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
}

# Processes of fairlock or of COMMAND that die or are stopped: holders never overlap, and COMMAND
# does not outlive its lease.
load ../lib/helpers
load ../lib/jobs

setup() { start_in_folder; }

@test "when the wrapper is killed all of COMMAND is dead before the lease ends, and the lock is given back" {
	start_job -l 6s
	kill -KILL "$WRAPPER"
	dead_before_lease_ends
	wait_until ended "$GUARD"
	[ "$(cli EXISTS job)" = 0 ]
}

@test "when the guard is killed all of COMMAND is dead before the lease ends, and the status is 76" {
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
	start_job -l 6s
	kill -STOP "$GUARD"
	dead_before_lease_ends
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
}

@test "when COMMAND ends while its guard is stopped its status counts, and the lock is given back" {
	local command

	background "$FAIRLOCK" wrap -l 10s job sh -c 'sleep 600 & echo $! >daemon; while [ ! -e go ]; do sleep 0.05; done; exit 3' 2>said
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

# trace PID: stops the process in such a way that SIGKILL ends it, and no other signal makes it go on
trace() {
	background python3 -c 'import ctypes, os, sys
PTRACE_ATTACH, WALL, pid = 16, 0x40000000, int(sys.argv[1])
failed = ctypes.CDLL(None).ptrace(PTRACE_ATTACH, pid, None, None)
failed or os.waitpid(pid, WALL)
print(failed, flush=True)
failed or os.waitpid(pid, WALL)' "$1" >traced
	wait_until test -s traced
	[ "$(cat traced)" = 0 ] || skip 'here no process may trace another one'
}

@test "when the guard hangs the wrapper takes over before the guard's timer kills the guard" {
	start_job -l 4s -k 1s
	trace "$GUARD"
	dead_before_lease_ends
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
	run -0 cat said
	assert_output 'fairlock: lost the guard of lock job: it is frozen or very slow; stopped sh'
}

@test "when only COMMAND goes on after its wrapper was stopped and its guard killed, it is dead at the deadline" {
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
	start_job -l 6s
	stop "$GUARD"
	kill -KILL "$WRAPPER"
	dead_before_lease_ends
	wait_until ended "$GUARD"
	[ "$(cli EXISTS job)" = 0 ]
}

@test "when wrapper and guard are stopped all of COMMAND is dead at the deadline, and the status is 76" {
	start_job -l 6s
	stop "$GUARD"
	stop "$WRAPPER"
	dead_before_lease_ends
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
}

# The timer that wakes the guard wakes it for a moment: a second one kills it, and its death wakes the wrapper.
@test "a guard that is stopped again and again dies, and wakes its wrapper" {
	start_job -l 4s -k 1s
	stop "$WRAPPER"
	background python3 -c 'import os, signal, sys, time
while True:
    os.kill(int(sys.argv[1]), signal.SIGSTOP)
    time.sleep(0.00001)' "$GUARD" 2>/dev/null
	wait_until is_stopped "$GUARD"
	note_lease_end
	dead_in_time
	ends_with 76 "$WRAPPER"
	ended "$GUARD"
	wait_until is_free job
}

@test "when a guard is killed that has unread signals COMMAND is stopped" {
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
	background setsid "$FAIRLOCK" wrap -l 30s job sh -c 'touch ready; exec sleep 600'
	wait_until test -e ready
	[ "$(ps -o pgid= -p $! | tr -d ' ')" = $! ]
	kill -KILL -- "-$!"
	wait_until is_free job
}

@test "a wrapper that was stopped when COMMAND ended goes on, and leaves COMMAND's daemons alone" {
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
	is_free job
	wait_until later_than "$until"
	run -0 cat said
	assert_output ''
	[ ! -e signalled ]
	kill -KILL "$(cat there)"
}

later_than() { [ "$(ms)" -gt "$1" ]; }

# out_of_memory FILE: the system has to read it from the disk
out_of_memory() {
	sync "$1"
	dd if="$1" iflag=nocache count=0 status=none
}

# tells_what_is_in_memory FILE: its file system does
tells_what_is_in_memory() {
	python3 -c 'import os, sys; os.preadv(os.open(sys.argv[1], os.O_RDONLY), [bytearray(4)], 0, os.RWF_NOWAIT)' "$1"
}

# execs_slowly WORD...: runs WORD..., and each execve takes 6 s. A sanitizer cannot look for leaks under strace.
execs_slowly() {
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 run strace -f -qq -e trace=execve -e inject=execve:delay_enter=6000000 -o /dev/null "$@"
}

@test "the lock is renewed while COMMAND's exec waits for a disk" {
	cp /bin/echo slow
	out_of_memory slow
	execs_slowly "$FAIRLOCK" wrap -l 5s -k 100ms job ./slow 'done'
	assert_success
	assert_output 'done'
}

@test "COMMAND does not begin after the lease if its program was in memory, and its exec was held up all the same" {
	# The guard waits for such an exec, and does not renew meanwhile.
	cat /bin/echo >/dev/null
	execs_slowly "$FAIRLOCK" wrap -l 5s -k 100ms job /bin/echo 'done'
	if tells_what_is_in_memory /bin/echo; then
		[ "$status" = 76 ]
		refute_line 'done'
	else
		assert_success
	fi
	is_free job
}

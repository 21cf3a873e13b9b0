# Processes of fairlock or of COMMAND that die or are stopped: holders never overlap, and COMMAND
# does not outlive its lease.
load ../lib/jobs

setup() { start_in_folder; }

# Each fault kills or stops processes of a job that was just started.
wrapper_dies() { kill -KILL "$WRAPPER"; }
guard_dies() { kill -KILL "$GUARD"; }
guard_stops() { stop "$GUARD"; }
both_stop() { stop "$GUARD" && stop "$WRAPPER"; }
guard_stops_and_wrapper_dies() { stop "$GUARD" && kill -KILL "$WRAPPER"; }

guard_dies_with_unread_signals() {
	stop "$GUARD"
	kill -USR1 "$WRAPPER"
	wait_until signal_taken
	kill -KILL "$GUARD"
}

# No signal is pending for the wrapper: it has passed it on.
signal_taken() { grep -q '^ShdPnd:.*0000000000000000$' "/proc/$WRAPPER/status"; }

# only COMMAND goes on
guard_dies_and_all_but_COMMAND_stop() {
	stop "$(pgrep -P "$GUARD" -xf 'sh job')"
	stop "$WRAPPER"
	kill -KILL "$GUARD"
	wait_until ended "$GUARD"
	kill -CONT "$(sed -n 2p pids)" "$(sed -n 1p pids)"
}

@test "whichever of wrapper and guard dies or is stopped, all of COMMAND is dead before the lease ends, and the lock is given back" {
	while read -r fault status; do
		echo "$fault"
		start_job -l 6s
		"$fault"
		dead_before_lease_ends
		ends_with "$status" "$WRAPPER"
		wait_until ended "$GUARD"
		is_free job
		case $fault in
		guard_dies)
			grep -q 'lost the guard of lock job: it died' said
			assert_equal "$("$FAIRLOCK" log --json job | jq -c '.log | last | [.status, .cause]')" '[137,"lost"]'
			;;
		wrapper_dies)
			assert_equal "$(cat said)" 'fairlock: lost the wrapper of lock job; stopping sh'
			assert_equal "$("$FAIRLOCK" log --json job | jq -c '.log | last | [.status, .cause]')" '[137,"wrap died"]'
			;;
		esac
	done <<'END'
wrapper_dies 137
guard_dies 76
guard_stops 76
both_stop 76
guard_stops_and_wrapper_dies 137
guard_dies_with_unread_signals 76
guard_dies_and_all_but_COMMAND_stop 76
END
}

@test "when COMMAND ends while its wrapper, its guard or both are stopped, its status counts, and its daemons live" {
	cat >daemon <<'END'
trap 'touch signalled; exit' TERM CONT
while [ -e daemon ]; do sleep 0.1; done
END
	until_go="setsid sh daemon & $until_go"
	for stopped in "GUARD" "WRAPPER" "GUARD WRAPPER"; do
		run_until_go -l 6s
		command=$(pgrep -P "$GUARD")
		for pid in $stopped; do stop "${!pid}"; done
		touch go
		wait_until has_ended "$command"
		ends_with 3 "$WRAPPER"
		wait_until ended "$GUARD"
		assert_equal "$(cat said)" ''
		is_free job
		assert_equal "$("$FAIRLOCK" log --json job | jq -r '.log | last | .cause')" exit
	done
	sleep 6.5 # the lease would have ended by then
	[ ! -e signalled ]
	rm daemon
}

# has_ended PID: it may wait for a parent that is stopped
has_ended() { ended "$1" || [ "$(ps -o stat= -p "$1" | cut -c1)" = Z ]; }

@test "a COMMAND that ended while its guard was stopped counts as stopped if the guard is killed: nothing that it left behind goes on" {
	until_go="sleep 100 & echo \$! >child; $until_go"
	run_until_go
	command=$(pgrep -P "$GUARD")
	stop "$GUARD"
	touch go
	wait_until has_ended "$command"
	kill -KILL "$GUARD"
	ends_with 76 "$WRAPPER"
	grep -q 'lost the guard of lock job: it died; .* has ended$' said
	ended "$(cat child)"
}

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
	ends_with 76 "$WRAPPER"
	run -0 cat said
	assert_output 'fairlock: lost the guard of lock job: it is frozen or very slow; sh has ended'
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

# The stopped server has a request that it has not read.
asked() { ss -xHp | grep "pid=$SERVER_PID," | awk '$3 > 0 { found = 1 } END { exit !found }'; }

@test "when the guard is killed while it gives the lock back the wrapper does that, and the status is COMMAND's" {
	run_until_go -l 5m --connect-timeout 30s
	kill -STOP "$SERVER_PID"
	touch go
	wait_until asked
	kill -KILL "$GUARD"
	wait_until ended "$GUARD"
	kill -CONT "$SERVER_PID"
	ends_with 3 "$WRAPPER"
	is_free job
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
	kill -KILL $(cat pids)
	wait_until ended "$WRAPPER"
}

@test "when the process group of the wrapper is killed the guard gives the lock back" {
	background setsid "$FAIRLOCK" wrap -l 30s job sh -c 'touch ready; exec sleep 600'
	wait_until test -e ready
	[ "$(ps -o pgid= -p $! | tr -d ' ')" = $! ]
	kill -KILL -- "-$!"
	wait_until is_free job
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
	sync slow
	dd if=slow iflag=nocache count=0 status=none # it is in memory no more
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

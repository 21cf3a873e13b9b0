# Redisson and fairlock where fairlock's holders have slots or share the lock: Redisson's want it alone.

load interop
load ../lib/holders

# shell_wants WORD OPTION...: a waiter with these options, which writes WORD into `trace` when it is granted
shell_wants() {
	join_queue "${@:2}" job sh -c "echo $1 >>trace; sleep 0.02"
}

# ends_with_76 PID...: these wraps have lost the lock
ends_with_76() {
	local pid

	for pid; do
		ends_with 76 "$pid"
		grep -q 'lost lock job' "said.$pid"
	done
}

@test "behind a Redisson holder, waiters for slots, shared holds and Redisson's keep their order" {
	start_java anna
	start_java ben
	ask anna a.0 lock job
	shell_wants 1 --slots 3
	shell_wants 2 --shared
	java_waits ben b.1 run job trace 3 20
	shell_wants 4 --slots db1,db2
	java_waits anna a.1 run job trace 5 20
	java_waits ben b.2 run job trace 6 20
	shell_wants 7 --shared
	shell_wants 8
	shell_wants 9 --slots 1
	ask anna a.0 unlock job
	trace_is 1 2 3 4 5 6 7 8 9
	wait_until gone job
	nothing_left
}

@test "a Redisson waiter waits until the last slot is given back, and no slot behind it overtakes" {
	local second

	start_java anna
	join_two --slots 3 job
	second=$HOLDER
	java_waits anna a.1 run job trace 1 20
	shell_wants 2 --slots 3
	java_waits anna a.2 run job trace 3 20
	shell_wants 4 --shared
	run -75 "$FAIRLOCK" wrap -n --slots 3 job true
	let_go "$FIRST"
	in_queue job 4
	[ ! -e trace ]
	let_go "$second"
	trace_is 1 2 3 4
	wait_until gone job
}

@test "for Redisson, a lock with slots is taken by somebody else" {
	start_java anna
	join_two --slots 3 job
	is_answered true anna a.1 isLocked job
	is_answered false anna a.1 isHeld job
	is_answered 0 anna a.1 getHoldCount job
	is_answered false anna a.1 tryLock job 0
	is_answered false anna a.1 tryLock job 300
	ask anna a.1 remainTimeToLive job
	[ "$answer" -gt 0 ]
	has_holders 2
	consistent
	in_queue job 0
}

@test "forceUnlock breaks the lock for all of its holders, who notice it at the next renewal" {
	local option

	start_java anna
	for option in '--slots 3' --shared; do
		join_two -l 6s $option job
		is_answered true anna a.1 forceUnlock job
		ends_with_76 "$FIRST" "$HOLDER"
		is_free job
	done
	nothing_left
}

#!/usr/bin/env bats
# Redisson and fairlock where fairlock's holders have slots or share the lock: Redisson's want it alone.

load ../lib/helpers
load interop
load ../lib/holders

# shell_wants WORD OPTION...: a waiter with these options, which writes WORD into `trace` when it is granted
shell_wants() {
	join_waiters "${@:2}" job sh -c "echo $1 >>trace; sleep 0.02"
}

# keys: prints all keys with their values, and when they expire, but for what `theirs` and `run` say
keys() {
	local key

	for key in $(cli --raw KEYS '*' | sort); do
		echo "$key: $(cli --raw PEXPIRETIME "$key") $(everything_in "$key" | sort | xargs)"
	done
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
	local first second

	start_java anna
	join_holders --slots 3 job
	first=$HOLDER
	join_holders --slots 3 job
	second=$HOLDER
	java_waits anna a.1 run job trace 1 20
	shell_wants 2 --slots 3
	java_waits anna a.2 run job trace 3 20
	shell_wants 4 --shared
	run -75 "$FAIRLOCK" wrap -n --slots 3 job true
	let_go "$first"
	in_queue job 4
	[ ! -e trace ]
	let_go "$second"
	trace_is 1 2 3 4
	wait_until gone job
}

@test "a Redisson waiter waits until the last shared hold is given back, and no reader behind it overtakes" {
	local first

	start_java anna
	join_holders --shared job
	first=$HOLDER
	join_holders --shared job
	java_waits anna a.1 run job trace 1 20
	shell_wants 2 --shared
	java_waits anna a.2 run job trace 3 20
	shell_wants 4 --shared
	run -75 "$FAIRLOCK" wrap -n --shared job true
	let_go "$HOLDER"
	in_queue job 4
	[ ! -e trace ]
	let_go "$first"
	trace_is 1 2 3 4
	wait_until gone job
}

@test "for Redisson, a lock with slots is taken by somebody else" {
	start_java anna
	join_holders --slots 3 job
	join_holders --slots 3 job
	ask anna a.1 isLocked job
	[ "$answer" = true ]
	ask anna a.1 isHeld job
	[ "$answer" = false ]
	ask anna a.1 getHoldCount job
	[ "$answer" = 0 ]
	ask anna a.1 tryLock job 0
	[ "$answer" = false ]
	ask anna a.1 tryLock job 300
	[ "$answer" = false ]
	ask anna a.1 remainTimeToLive job
	[ "$answer" -gt 0 ]
	has_holders 2
	consistent
	in_queue job 0
}

@test "unlock by a Redisson client that does not hold the lock changes nothing" {
	local option before

	start_java anna
	for option in '--slots 3' --shared; do
		# shellcheck disable=SC2086
		"$FAIRLOCK" acquire -l 5m $option job
		# shellcheck disable=SC2086
		"$FAIRLOCK" acquire -l 5m $option job
		before=$(keys)
		ask anna a.1 unlock job
		[[ $answer = 'failed IllegalMonitorStateException'* ]]
		assert_equal "$(keys)" "$before"
		"$FAIRLOCK" release -q --force job
	done
}

@test "forceUnlock breaks the lock for all of its holders, who notice it at the next renewal" {
	local option first

	start_java anna
	for option in '--slots 3' --shared; do
		# shellcheck disable=SC2086
		join_holders -l 6s $option job
		first=$HOLDER
		# shellcheck disable=SC2086
		join_holders -l 6s $option job
		ask anna a.1 forceUnlock job
		[ "$answer" = true ]
		ends_with_76 "$first" "$HOLDER"
		is_free job
	done
	nothing_left
}

@test "forceUnlock gives the lock to the first waiter, which may want a slot" {
	start_java anna
	join_holders -l 6s --shared job
	# shellcheck disable=SC2016
	join_waiters --slots 2 job sh -c 'echo "$FAIRLOCK_SLOT" >slot; sleep 1'
	ask anna a.1 forceUnlock job
	ends_with 0 "$WAITER"
	assert_equal "$(<slot)" 1
	ends_with_76 "$HOLDER"
	nothing_left
}

# granted_in_time: the Redisson waiter has the lock within 20 s. All holders died: no script of ours wakes it when the last
# lease ends. An old Redisson takes from its own score how long it sleeps, so it needs a script of ours that comes by then.
granted_in_time() {
	local start took

	start=$(ms)
	if [[ $REDISSON = 3.* ]]; then
		wait_until is_free job
		"$FAIRLOCK" wrap -w 20s job true
	fi
	trace_is redisson
	took=$(($(ms) - start))
	echo "after $took ms"
	[ "$took" -lt 20000 ]
}

@test "a Redisson waiter is told when the last of several leases ends earlier than it saw" {
	local owner

	start_java anna
	owner=$("$FAIRLOCK" acquire -l 5m --shared job)
	"$FAIRLOCK" acquire -l 6s --shared job
	java_waits anna a.1 run job trace redisson 0
	"$FAIRLOCK" release --owner "$owner" job
	granted_in_time
	wait_until gone job
	rm trace
	"$FAIRLOCK" acquire -l 5m --slots 2 job
	"$FAIRLOCK" acquire -l 6s --slots 2 job
	java_waits anna a.1 run job trace redisson 0
	"$FAIRLOCK" release -q --force --slot 1 job
	granted_in_time
}

@test "a waiter for a slot gets past a dead Redisson waiter" {
	local first

	start_java anna
	join_holders --slots 2 job
	first=$HOLDER
	java_waits anna a.1 run job trace dead 0
	shell_wants slot --slots 2
	kill_java anna
	trace_is slot
	still_held_by "$first"
}

still_held_by() { [ -n "$(id_of "$1")" ]; }

# in_mixed_order COUNT: each that wants the lock alone, Redisson's too, came after all with smaller numbers and before all
# with larger ones; ours have tokens in their order
in_mixed_order() {
	assert_equal "$(wc -l <trace)" "$1"
	awk '
		{ number[NR] = $1; alone[NR] = NF == 1 || $2 == "x" }
		END {
			for (i = 1; i <= NR; i++)
				for (j = i + 1; j <= NR; j++)
					if ((alone[i] || alone[j]) && number[i] > number[j]) {
						print number[i] " went before " number[j]
						exit 1
					}
		}' trace
	grep ' ' trace >ours
	mv ours trace
	in_order
}

@test "Redisson's waiters, slots and shared holds that come in random order are granted in the order of arrival" {
	local i

	write_section
	start_java anna
	start_java ben
	ask anna a.0 lock job
	for ((i = 1; i <= 40; i++)); do
		case $((RANDOM % 5)) in
		0) java_waits anna "a.$i" run job trace "$i" 20 ;;
		1) java_waits ben "b.$i" run job trace "$i" 20 ;;
		2) join_waiters job ./section "$i" 0.02 x ;;
		3) join_waiters --shared job ./section "$i" 0.02 s ;;
		4) join_waiters --slots 2 job ./section "$i" 0.02 slot ;;
		esac
	done
	ask anna a.0 unlock job
	wait_until gone job
	nothing_wrong
	cat trace
	in_mixed_order 40
	nothing_left
	! grep failed anna.out ben.out
}

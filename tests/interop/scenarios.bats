#!/usr/bin/env bats
# The scenarios of Redisson's own tests of its fair lock, with fairlock in some of the roles.

load ../lib/helpers
load interop

@test "eight owners that never unlock get the lock one after another, as each lease ends" {
	local i
	start_java anna
	for i in 0 2 4 6; do
		tell anna "a.$i" tryLockNote job "$PWD/trace" "$i" 60000 2000
		wait_until in_line $((i + 1))
		acquires_and_forgets $((i + 1))
		wait_until in_line $((i + 2))
	done
	trace_is 0 1 2 3 4 5 6 7
}

# in_line COUNT: succeeds if so many owners have come: they wait, or have had the lock
in_line() {
	local had=0

	[ ! -e trace ] || had=$(wc -l <trace)
	[ $((had + $(all_waiting job))) -ge "$1" ]
}

# acquires_and_forgets WORD: an acquire that writes WORD into `trace`, and never releases
acquires_and_forgets() {
	background sh -c '"$FAIRLOCK" acquire -w 60s -l 2s job && echo "$1" >>trace' sh "$@" >/dev/null
}

@test "a hundred tasks of both kinds all get the lock, and never two at once" {
	local i workers=()
	start_java anna
	for i in $(seq 50); do
		tell anna "a.$i" run job "$PWD/trace" "$i" 2
		background "$FAIRLOCK" wrap job sh -c 'mkdir trace.in && echo shell >>trace && rmdir trace.in'
		workers+=($!)
	done
	WAIT_S=120 wait_until traced 100
	for i in "${workers[@]}"; do
		wait "$i"
	done
	wait_until all_answered 50
	run -1 grep failed anna.out
	wait_until gone job
}

all_answered() {
	[ "$(grep -c ' run ok$' anna.out)" = "$1" ]
}

@test "waiters that time out again and again behind a patient one do not push scores into the future" {
	local i place=0 score
	start_java anna
	hold job
	java_waits anna a.5 tryLock job 120000
	for i in 1 2 3 4 5; do
		tell anna a.1 tryLock job 300 30000
		tell anna a.2 tryLock job 300 30000
		run -75 "$FAIRLOCK" wrap -w 0.2 job true
		tell anna a.3 tryLock job 300 30000
		run -75 "$FAIRLOCK" wrap -w 0.2 job true
	done
	wait_until timed_out 15
	wait_until in_queue job 1
	java_waits anna a.4 tryLock job 30000
	shell_waits job
	kill_java anna
	for score in $(cli --raw ZRANGE 'redisson_lock_timeout:{job}' 0 -1 WITHSCORES | sed -n 'n;p'); do
		place=$((place + 1))
		echo "place $place: $((score - $(ms))) ms ahead"
		[ $((score - $(ms))) -le $((31000 + 300000 * place)) ]
	done
	[ "$place" = 3 ]
}

timed_out() {
	[ "$(grep -c 'tryLock false' anna.out)" = "$1" ]
}

@test "a waiter that times out has waited its time, and leaves no trace" {
	local start took
	start_java anna
	hold job
	start=$(ms)
	ask anna a.1 tryLock job 1000
	[ "$answer" = false ]
	took=$(($(ms) - start))
	[ "$took" -ge 990 ]
	in_queue job 0
	kill -TERM "$HOLDER"
	wait_until ended "$HOLDER"
	ask anna a.1 lock job
	start=$(ms)
	run -75 "$FAIRLOCK" wrap -w 1s job true
	took=$(($(ms) - start))
	[ "$took" -ge 990 ]
	[ "$took" -lt 6000 ]
	in_queue job 0
}

@test "Redisson and fairlock agree on whether a lock is held, by whom, and how often" {
	start_java anna
	ask anna a.1 isLocked job
	[ "$answer" = false ]
	hold job
	ask anna a.1 isLocked job
	[ "$answer" = true ]
	ask anna a.1 getHoldCount job
	[ "$answer" = 0 ]
	ask anna a.1 remainTimeToLive job
	[ "$answer" -gt 0 ] && [ "$answer" -le 30000 ]
	kill -TERM "$HOLDER"
	wait_until ended "$HOLDER"
	ask anna a.1 lock job
	ask anna a.1 lock job
	run -0 "$FAIRLOCK" status --raw --noheadings -o CLIENT,HOLDS job
	assert_output 'redisson 2'
	ask anna a.1 unlock job
	run -0 "$FAIRLOCK" status --raw --noheadings -o CLIENT,HOLDS job
	assert_output 'redisson 1'
	ask anna a.1 unlock job
	run -1 "$FAIRLOCK" status -q job
}

@test "a fairlock waiter whose replies do not come leaves a clean queue" {
	start_java anna
	ask anna a.0 lock job
	java_waits anna a.1 run job trace redisson 0
	background "$FAIRLOCK" wrap -w 5s --connect-timeout 500ms job true 2>said
	local waiter=$! status=0

	wait_until is_queued job "$waiter"
	cli CLIENT PAUSE 60000 WRITE >/dev/null
	wait_until leave_is_held_up
	cli CLIENT UNPAUSE >/dev/null
	wait "$waiter" || status=$?
	[ "$status" = 75 ] || [ "$status" = 69 ]
	wait_until in_queue job 1
	ask anna a.0 unlock job
	trace_is redisson
	wait_until gone job
}

# leave_is_held_up: succeeds if a connection of fairlock's waits for the end of the pause;
# Redisson's come by TCP
leave_is_held_up() {
	cli --raw CLIENT LIST | grep -v ' addr=127.0.0.1:' | grep -q ' flags=[A-Z]*b'
}

@test "a frozen JVM at the head of the queue delays the next waiter by about 5 s at most, and queues again" {
	local took
	start_java anna
	hold job
	java_waits anna a.1 run job trace redisson 0
	shell_waits job shell
	freeze_java anna
	end_hold_for shell
	[ "$took" -lt 9000 ]
	kill -CONT "${JVM[anna]}"
	trace_is shell redisson
}

@test "fairlock takes as NAME the name to which Redisson's NameMapper has changed a lock's name" {
	[[ $REDISSON != 3.13.* ]] || skip 'this version has no NameMapper'
	start_java anna
	ask anna mapped.1 lock job
	run -0 "$FAIRLOCK" status -q prefix:job
	run -75 "$FAIRLOCK" wrap -n prefix:job true
	ask anna mapped.1 unlock job
	run -0 "$FAIRLOCK" wrap -n prefix:job true
}

#!/usr/bin/env bats
# A wrap inside COMMAND, whose job must be killed when the wrap around it is stopped: its guard is spared long enough to
# give its lock back, and no longer than the lease allows.

load ../lib/helpers
load ../lib/jobs
load ../lib/waiters

setup() { start_in_folder; }

# write_hard FILE: a script that ignores TERM, and writes its process id into `pids` and beats into `beats.hard`
write_hard() {
	cat >"$1" <<'END'
#!/bin/sh
trap '' TERM
echo $$ >>pids
while :; do
	read -r up rest </proc/uptime
	echo "$up" >>beats.hard
	sleep 0.05
done
END
	chmod +x "$1"
}

# start_nested DEPTH OPTION... NAME: `wrap OPTION... NAME` runs a script that runs a wrap of `job` that runs a script, and
# so on; the innermost of DEPTH wraps runs a script that ignores TERM. Sets WRAPPER and GUARD; INNER and INNER_GUARD, which
# are those of the second wrap; and SCRIPT, which runs that.
start_nested() {
	local level

	: >pids
	write_hard hard
	for ((level = $1; level > 1; level--)); do
		# shellcheck disable=SC2016
		printf '#!/bin/sh\n"$FAIRLOCK" wrap -l 1m job ./%s\nexit 1\n' \
			"$([ "$level" = "$1" ] && echo hard || echo "level$level")" >"level$((level - 1))"
		chmod +x "level$((level - 1))"
	done
	background "$FAIRLOCK" wrap -l 1m "${@:2}" ./level1 2>said
	WRAPPER=$!
	wait_until has_begun
	GUARD=$(pgrep -P "$WRAPPER") && SCRIPT=$(pgrep -P "$GUARD") && INNER=$(pgrep -P "$SCRIPT") &&
		INNER_GUARD=$(pgrep -P "$INNER") || ended "$WRAPPER"
}

# has_begun: the script that ignores TERM runs, unless --max-hold was over before that on a slow machine
has_begun() { [ -s pids ] || ended "$WRAPPER"; }

# wait_for_job: a waiter for `job` looks for the hard script when it has the lock. Sets WAITER.
wait_for_job() {
	# shellcheck disable=SC2016
	join_queue job sh -c 'for pid in $(cat pids); do ! kill -0 "$pid" || echo "$pid lives" >>wrong; done'
}

# next_has_it: the waiter had the lock long before the lease of those before it ended, and all was dead by then
next_has_it() {
	wait_until ended "$WAITER"
	wait "$WAITER"
	all_dead
	[ ! -e wrong ]
	is_free job
}

# is_held_twice OWNER: two processes hold the lock as this owner
is_held_twice() { [ "$(cli HGET job "$1")" = 2 ]; }

is_asked() { grep -q 'was asked to stop' said; }

@test "when SIGKILL ends a wrap inside another one of the same lock, the lock is free at once, in 20 rounds" {
	local round

	for round in {1..5}; do
		start_nested 2 -k 100ms job
		run -0 "$FAIRLOCK" release --stop job
		ends_with 124 "$WRAPPER"
		all_dead
		is_free job

		start_nested 3 -k 100ms job
		run -0 "$FAIRLOCK" release --stop job
		ends_with 124 "$WRAPPER"
		all_dead
		is_free job

		start_nested 2 -k 100ms --max-hold 700ms job
		ends_with 124 "$WRAPPER"
		all_dead
		is_free job

		start_nested 3 -k 0 --max-hold 700ms job
		ends_with 124 "$WRAPPER"
		all_dead
		is_free job
	done
}

@test "with --signal KILL the lock is free at once, too" {
	start_nested 3 -s KILL job
	run -0 "$FAIRLOCK" release --stop job
	ends_with 124 "$WRAPPER"
	all_dead
	is_free job
}

@test "when SIGKILL ends a wrap inside that of another lock, both locks are free at once" {
	start_nested 2 -k 100ms --max-hold 700ms outer
	ends_with 124 "$WRAPPER"
	all_dead
	is_free outer
	is_free job
	run -0 "$FAIRLOCK" log --json job
	assert_equal "$(jq -r '.log | map(.event) | join(" ")' <<<"$output")" 'granted released'
}

@test "whichever process dies while nested wraps are stopped, the next waiter has the lock when all is dead" {
	local victim

	for victim in WRAPPER GUARD SCRIPT INNER INNER_GUARD; do
		start_nested 2 -k 300ms job
		wait_for_job
		"$FAIRLOCK" release -q --stop --wait 0 job || true
		wait_until is_asked
		kill -KILL "${!victim}" 2>/dev/null || true # the script may be dead
		next_has_it
		wait "$WRAPPER" || true
	done
}

@test "whichever process of each of two nested wraps dies, in either order, the next waiter has the lock when all is dead" {
	local outer inner order

	for outer in WRAPPER GUARD; do
		for inner in INNER INNER_GUARD; do
			for order in "$outer $inner" "$inner $outer"; do
				start_nested 3 -k 300ms job
				wait_for_job
				"$FAIRLOCK" release -q --stop --wait 0 job || true
				wait_until is_asked
				for victim in $order; do
					kill -KILL "${!victim}" 2>/dev/null || true # it may be dead
					sleep "0.$((RANDOM % 3))"
				done
				next_has_it
				wait "$WRAPPER" || true
			done
		done
	done
}

@test "a wrap that is no descendant of the one that is stopped keeps its hold under the same owner" {
	local owner inner

	write_hard hard
	background "$FAIRLOCK" wrap -l 1m -k 100ms job ./hard 2>said
	WRAPPER=$!
	wait_until test -s pids
	owner=$(cli --raw HKEYS job)
	FAIRLOCK_OWNER=$owner FAIRLOCK_HELD=$owner background "$FAIRLOCK" wrap job sleep 600
	inner=$!
	wait_until is_held_twice "$owner"
	run -75 "$FAIRLOCK" release --stop job
	ends_with 124 "$WRAPPER"
	still_runs "$inner"
	assert_equal "$(cli HGET job "$owner")" 1
	kill -TERM "$inner"
	wait_until is_free job
}

@test "a COMMAND that forks faster than it can be listed inside nested wraps is stopped" {
	local size

	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap -l 1m -k 100ms job "$FAIRLOCK" wrap -l 1m job "$BUILD/programs/fleeting" generations 30
	WRAPPER=$!
	wait_until test -s generations
	run -0 "$FAIRLOCK" release --stop --wait 3s job
	ends_with 124 "$WRAPPER"
	size=$(stat -c %s generations)
	sleep 0.5
	[ "$(stat -c %s generations)" = "$size" ]
}

@test "a process that only has a guard's name is killed soon after the others" {
	local from

	write_hard fairlock-guard
	background "$FAIRLOCK" wrap -l 1m -k 0 job ./fairlock-guard
	WRAPPER=$!
	wait_until test -s pids
	from=$(ms)
	run -0 "$FAIRLOCK" release --stop job
	[ $(($(ms) - from)) -lt 20000 ]
	all_dead
	ends_with 124 "$WRAPPER"
}

# Whatever has a guard's name is dead before the lease ends.
@test "no process with a guard's name outlives the lease when the server is gone" {
	write_hard fairlock-guard
	background "$FAIRLOCK" wrap -l 6s -k 1s job ./fairlock-guard
	WRAPPER=$!
	wait_until test -s pids
	stop "$WRAPPER" # the guard does that by itself
	kill -STOP "$SERVER_PID"
	read -r up rest </proc/uptime
	LEASE_END=$(awk -v up="$up" 'BEGIN { print up + 6 }')
	dead_in_time beats.hard
	ends_with 76 "$WRAPPER"
}

@test "no process with a guard's name outlives the lease when the real guard is killed" {
	write_hard fairlock-guard
	background "$FAIRLOCK" wrap -l 6s -k 2s job ./fairlock-guard
	WRAPPER=$!
	wait_until test -s pids
	kill -KILL "$(pgrep -P "$WRAPPER")"
	note_lease_end
	dead_in_time beats.hard
	ends_with 76 "$WRAPPER"
}

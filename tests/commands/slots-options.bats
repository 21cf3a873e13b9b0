#!/usr/bin/env bats
# The options of wrap and acquire beside --slots and --shared.

load ../lib/helpers
load ../lib/one_server
load ../lib/holders

# ---- Not obtained ----

@test "-n ends with 75 at once when no slot is free, and leaves no trace" {
	join_holders --slots 2 job
	join_holders --slots 2 job
	cli DEL 'fairlock_log:{job}' >/dev/null
	run -75 "$FAIRLOCK" wrap -n --slots 2 job touch ran
	run -75 "$FAIRLOCK" acquire -n --slots 2 job
	run -75 "$FAIRLOCK" wrap -n --shared job touch ran
	[ ! -e ran ]
	assert_equal "$(cli EXISTS 'redisson_lock_queue:{job}' 'redisson_lock_timeout:{job}' 'fairlock_log:{job}')" 0
	run -0 "$FAIRLOCK" wrap -n --slots other job true
}

@test "-n ends with 75 though a slot is free if somebody waits" {
	join_holders --slots 3 job
	join_waiters job true
	run -75 "$FAIRLOCK" wrap -n --slots 3 job true
	run -75 "$FAIRLOCK" acquire -n --slots 3 job
}

@test "-w ends the wait for a slot, and the waiter is out of the queue" {
	join_holders --slots 1 job
	run -75 "$FAIRLOCK" wrap -w 100ms --slots 1 job true
	assert_output --partial 'timed out after 100ms'
	run -75 "$FAIRLOCK" acquire -w 100ms --shared job
	in_queue job 0
	let_go "$HOLDER"
	nothing_left
}

@test "--skip does nothing, silently, when no slot is free, and runs COMMAND when one is" {
	join_holders --slots 2 job
	# shellcheck disable=SC2016
	run -3 "$FAIRLOCK" wrap --skip --slots 2 job sh -c 'echo "$FAIRLOCK_SLOT"; exit 3'
	assert_output 2
	join_holders --slots 2 job
	run -0 "$FAIRLOCK" wrap --skip --slots 2 job touch ran
	refute_output
	[ ! -e ran ]
	run -9 "$FAIRLOCK" wrap -nq -E 9 --slots 2 job touch ran
	refute_output
}

@test "--max-queue counts the waiters, not the holders" {
	join_holders --slots 2 job
	run -0 "$FAIRLOCK" wrap --max-queue 0 --slots 2 job true
	join_holders --slots 2 job
	run -75 "$FAIRLOCK" wrap --max-queue 0 --slots 2 job true
	assert_output --partial 'the queue is full (0 waiting)'
	join_waiters --max-queue 1 --slots 2 job true
	run -75 "$FAIRLOCK" wrap --max-queue 1 --shared job true
	assert_output --partial 'the queue is full (1 waiting)'
}

# ---- --once-per ----

@test "--once-per counts for the lock: a start in one slot is a start of the lock" {
	run -0 "$FAIRLOCK" wrap --slots a,b job true
	run -75 "$FAIRLOCK" wrap --once-per 1h --slots b job touch ran
	assert_output --partial 'within --once-per 1h'
	run -75 "$FAIRLOCK" wrap --once-per 1h --shared job touch ran
	[ ! -e ran ]
}

@test "of ten hosts with --once-per and a slot for each, one runs" {
	local i wrappers=()

	for i in {1..10}; do
		background "$FAIRLOCK" wrap --once-per 1h --slots 10 job sh -c 'echo ran >>ran; sleep 0.2' 2>>said
		wrappers+=($!)
	done
	for i in "${wrappers[@]}"; do
		wait "$i" || true
	done
	assert_equal "$(wc -l <ran)" 1
	nothing_left
}

@test "a waiter whose --once-per is not over when its turn comes makes way for the next" {
	local once owner slot

	read -r owner slot < <("$FAIRLOCK" acquire --slots 1 job)
	join_waiters --slots 1 job true
	join_waiters --once-per 1h --slots 1 job touch ran
	once=$WAITER
	join_waiters --slots 1 job touch last
	"$FAIRLOCK" release --owner "$owner" job
	ends_with 0 "$WAITER"
	ends_with 75 "$once"
	[ -e last ]
	[ ! -e ran ]
}

# ---- --min-hold, --max-hold, --jitter, --lease ----

@test "--min-hold keeps its slot, not those of the others, and not the shared hold of the others" {
	# shellcheck disable=SC2016
	local print='echo "$FAIRLOCK_SLOT"'

	run -0 "$FAIRLOCK" wrap --min-hold 1h --slots 2 job -c "$print"
	assert_output 1
	run -0 "$FAIRLOCK" wrap --slots 2 job -c "$print"
	assert_output 2
	run -75 "$FAIRLOCK" wrap -n --slots 1 job true
	consistent
	run -0 "$FAIRLOCK" wrap --min-hold 1h --shared other true
	run -0 "$FAIRLOCK" wrap -n --shared other true
	run -75 "$FAIRLOCK" wrap -n other true
	run -0 "$FAIRLOCK" release -q --force other
	run -0 "$FAIRLOCK" wrap -n other true
}

@test "a slot that --min-hold keeps goes to the first waiter when it is over" {
	"$FAIRLOCK" wrap --min-hold 1500ms --slots 1 job true
	join_waiters --slots 1 job touch ran
	ends_with 0 "$WAITER"
	[ -e ran ]
	nothing_left
}

@test "--max-hold ends the hold of one slot, with 124, and the next waiter has it" {
	local other

	join_holders --slots 2 job
	other=$HOLDER
	background "$FAIRLOCK" wrap --max-hold 2s --slots 2 job sleep 600 2>said.max
	HOLDER=$!
	wait_until has_holders 2
	# shellcheck disable=SC2016
	join_waiters --slots 2 job sh -c 'echo "$FAIRLOCK_SLOT" >slot'
	ends_with 124 "$HOLDER"
	ends_with 0 "$WAITER"
	assert_equal "$(<slot)" 2
	grep -q 'as long as --max-hold allows' said.max
	has_holders 1
	kill -0 "$other"
}

@test "--jitter goes before the first question for a slot" {
	run -0 "$FAIRLOCK" wrap --jitter 100ms --slots 2 job -c 'echo "$FAIRLOCK_SLOT"'
	assert_output 1
	run -0 "$FAIRLOCK" wrap --jitter 100ms --shared job echo shared
	assert_output shared
}

@test "--reason goes with a slot" {
	local lock=job

	background "$FAIRLOCK" wrap --reason 'by hand' --slots 2 job sleep 600 2>said
	HOLDER=$!
	wait_until has_holders 1
	assert_equal "$(column "h:$(id_of "$HOLDER")" by | cut -f 4-)" $'sleep\tby hand'
	"$FAIRLOCK" release -q --force --slot 1 job
	wait_until grep -q 'lost lock job' said
	ends_with 76 "$HOLDER"
}

@test "a lease of its own: one holder's renewals do not lengthen that of another" {
	local owner slot

	read -r owner slot < <("$FAIRLOCK" acquire -l 2s --slots 2 job)
	join_holders -l 2s --slots 2 job
	wait_until has_expired "$owner"
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap --slots 2 job -c 'echo "$FAIRLOCK_SLOT"'
	assert_output 1
	assert_equal "$(slot_held_by "$HOLDER")" 2
	kill -0 "$HOLDER"
}

# has_expired OWNER: its lease has ended
has_expired() {
	local ends

	ends=$(ends_of "$1")
	[ -z "$ends" ] || [ "$ends" -lt "$(now_ms)" ]
}

#!/usr/bin/env bats
# wrap --also that is asked to stop, or loses one of its locks, while others are still held.

load ../lib/helpers
load ../lib/jobs

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	start_server
}

@test "a wrap that is asked to stop while it waits for its next lock leaves that queue, and gives back what it has" {
	waits_under --also a b touch ran
	run -0 "$FAIRLOCK" release --stop a
	ends_with 124 "$WAITER"
	grep -q 'cannot keep lock a: was asked to stop by fairlock release --stop' said
	in_queue b 0
	is_free a
	[ ! -e ran ]
	"$FAIRLOCK" log --raw --noheadings -o EVENT b | grep -qx left
}

@test "a wrap that is asked to stop in the moment in which it gets its next lock holds none afterwards" {
	local round

	for round in {1..10}; do
		waits_under --also a b sleep 30
		background "$FAIRLOCK" release --stop a >out
		kill -TERM "$HOLDER"
		ends_with 124 "$WAITER"
		wait_until ended "$HOLDER" # it may give b back later than the waiter ends
		is_free a
		is_free b
	done
}

# heartbeat: a COMMAND that takes no notice of TERM, and writes the time into `beat`
heartbeat='trap "" TERM; while :; do date +%s%N >beat.new; mv beat.new beat; sleep 0.02; done'

@test "if the guard dies after the loss of one of several locks, the others give COMMAND no more time than that one had" {
	local ends last

	background "$FAIRLOCK" wrap -l 6s -k 2s --also b a -c "$heartbeat" 2>said
	WAITER=$!
	wait_until test -e beat
	ends=$(($(date +%s%N) / 1000000 + $(cli PTTL a)))
	# the lock's end cannot be seen by the holder, who is not told: a key of another type
	cli RENAME a elsewhere >/dev/null
	cli SET a x >/dev/null
	wait_until grep -q 'stopping' said
	sleep 1.5 # most of --kill-after: another one would end after the lease
	kill -KILL "$(pgrep -P "$WAITER")"
	ends_with 76 "$WAITER"
	last=$(($(cat beat) / 1000000))
	[ "$last" -lt "$ends" ] || fail "COMMAND ran $((last - ends)) ms after the lease"
}

@test "when a wait is over just as the next lock is asked for, it says that it timed out" {
	background "$FAIRLOCK" acquire -l 20s a >owner
	wait_until test -s owner
	background "$FAIRLOCK" wrap -w 1s --also b a true 2>said
	WAITER=$!
	wait_until in_queue a 1
	kill -STOP "$WAITER"
	"$FAIRLOCK" release --owner "$(cat owner)" a
	sleep 1.2
	kill -CONT "$WAITER"
	wait "$WAITER" && status=0 || status=$?
	[ "$status" = 0 ] || [ "$status" = 75 ] || fail "$status: $(cat said)"
}

#!/usr/bin/env bats
# For a moment the guard of a waiter that has moved up to the first place listens for the wrapper, and takes the grant. The wrapper is
# stopped meanwhile, so that nobody else can take it.

load ../lib/helpers
load ../lib/jobs
load ../lib/clocks

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	start_server
	mkfifo go
}

# hand_over_to_stopped [-g] OPTION...: `wrap OPTION... job sh -c "$WORK"` becomes the first in the queue, its wrapper WAITER is stopped, and
# the lock is handed over while the guard listens. Sets GUARD, and returns when COMMAND has begun. With -g, a Ctrl-Z stops the job, and
# COMMAND need not begin.
hand_over_to_stopped() {
	local group='' before

	[ "${1-}" != -g ] || { group=group && shift; }
	need_clock
	hold job
	background "$FAIRLOCK" wrap job sh -c 'read -r _ <go'
	before=$!
	wait_until in_queue job 1
	background env "${CLOCKED[@]}" "${LEAD[@]}" "$DYNAMIC" wrap "$@" job sh -c "echo \$\$ >>began; $WORK" 2>said
	WAITER=$!
	wait_until in_queue job 2
	wait_until has_no_child "$WAITER"
	background python3 "$BATS_TEST_DIRNAME/../lib/stop_first.py" "$WAITER" clock go $group >guard
	wait_until grep -q ready guard
	kill "$HOLDER"
	wait_until grep -q '^[0-9]' guard
	GUARD=$(tail -n 1 guard)
	wait "$before"
	[ -n "$group" ] || wait_until test -s began
}

# How the wrapper becomes the leader of a process group: as a shell's job. The guard of another leads a session then.
LEAD=(python3 -c 'import os, sys; os.setpgrp(); os.execv(sys.argv[1], sys.argv[1:])')

has_no_child() { ! pgrep -P "$1"; }

@test "while its wrapper is stopped the guard of the first waiter takes the grant, and COMMAND runs" {
	WORK='until [ -e end ]; do sleep 0.05; done; exit 7'
	hand_over_to_stopped
	is_stopped "$WAITER"
	[ "$("$FAIRLOCK" status --raw --noheadings -o OWNER job)" = "$(owner_of "$WAITER")" ]
	touch end
	wait_until is_free job
	status_of "$WAITER" # the guard's end continues it
	assert_equal "$STATUS" 7
	assert_equal "$(wc -l <began)" 1
	assert_equal "$(<said)" ''
}

# owner_of WRAPPER: prints the owner id that COMMAND found
owner_of() { tr '\0' '\n' <"/proc/$(<began)/environ" | sed -n 's/^FAIRLOCK_OWNER=//p'; }

@test "a wrapper whose guard has taken the grant passes signals on that came while it was stopped" {
	WORK='trap "echo >told; exit 3" TERM; while :; do sleep 0.05; done'
	LEAD=(setsid)
	hand_over_to_stopped
	kill -TERM "$WAITER"
	kill -CONT "$WAITER"
	status_of "$WAITER"
	assert_equal "$STATUS" 3
	test -e told
	wait_until is_free job
}

@test "when a wrapper whose guard has taken the grant is killed COMMAND is stopped, and the lock is given back" {
	WORK='while :; do sleep 0.05; done'
	hand_over_to_stopped
	kill -KILL "$WAITER"
	wait_until ended "$(<began)"
	wait_until is_free job
}

@test "when the guard that has taken the grant is killed the stopped wrapper goes on, and COMMAND is stopped" {
	WORK='while :; do sleep 0.05; done'
	hand_over_to_stopped
	kill -KILL "$GUARD"
	status_of "$WAITER"
	assert_equal "$STATUS" 76
	wait_until ended "$(<began)"
	wait_until is_free job
	assert_regex "$(<said)" 'lost the guard of lock job: it died; stopping sh'
}

@test "when wrapper and guard are both stopped after the guard took the grant COMMAND is dead before the lease ends" {
	WORK='trap "" TERM; set -- command; . ./live'
	write_job # for `live`
	hand_over_to_stopped -l 10s # a grant that is older than a tenth of that is none
	stop "$GUARD"
	note_lease_end
	cp began pids
	touch beats.session beats.orphan
	dead_in_time
	status_of "$WAITER"
	assert_equal "$STATUS" 76
}

@test "a job that is stopped while its guard listens does not keep the lock from the next waiter" {
	WORK=true
	hand_over_to_stopped -g -l 10s
	"$FAIRLOCK" wrap --wait 20s job true
	kill -CONT "-$WAITER"
	status_of "$WAITER"
	assert_equal "$STATUS" 0
}

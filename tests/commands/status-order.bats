#!/usr/bin/env bats
# fairlock status: which locks it shows, and in which order (--all, --sort).

load ../lib/helpers
load ../lib/one_server

# names WORD...: prints the names that `status WORD...` shows, on one line
names() {
	"$FAIRLOCK" status --raw --noheadings -o NAME "$@" | xargs
}

@test "status shows what is held first, then what is waited for, then free locks, and job2 before job10" {
	local name

	for name in job10 job2 a10 a2 z10 z2; do
		"$FAIRLOCK" acquire $name
	done
	for name in z10 z2; do
		background "$FAIRLOCK" wrap $name sleep 600
		wait_until in_queue $name 1
		cli DEL $name # nobody holds it for a moment: the waiter stands first
		kill -STOP $!
	done
	"$FAIRLOCK" release --force a10
	"$FAIRLOCK" release --force a2
	[ "$(names)" = 'job2 job10 z2 z10' ]
	[ "$(names --all)" = 'job2 job10 z2 z10 a2 a10' ]
	[ "$("$FAIRLOCK" status -a --json | jq -r '.locks[].name' | xargs)" = 'job2 job10 z2 z10 a2 a10' ]
}

@test "status shows free locks if they are named, with --all, and in metrics" {
	"$FAIRLOCK" acquire job
	"$FAIRLOCK" acquire free
	"$FAIRLOCK" release --force free
	[ "$(names)" = job ]
	[ "$(names free job)" = 'free job' ]
	[ "$(names --all)" = 'job free' ]
	[ "$("$FAIRLOCK" status --json | jq -c '[.locks[].name]')" = '["job"]' ]
	[ "$("$FAIRLOCK" status --json -a | jq -c '[.locks[].name]')" = '["job","free"]' ]
	run -0 "$FAIRLOCK" status --prometheus
	assert_line 'fairlock_held{lock="free"} 0'
	assert_line 'fairlock_locks 2'
	assert_equal "$("$FAIRLOCK" status --prometheus --all | grep -c .)" "${#lines[@]}"
	"$FAIRLOCK" release --force job
	run -0 "$FAIRLOCK" status
	refute_output
}

@test "the server keeps what --once-ok remembers for DUR, and a day at least" {
	local ttl

	"$FAIRLOCK" wrap --once-ok 30d long true
	"$FAIRLOCK" wrap --once-ok 1h short true
	ttl=$(cli PTTL 'fairlock:{long}')
	[ "$ttl" -le $((30 * 86400000)) ]
	[ "$ttl" -gt $((30 * 86400000 - 60000)) ]
	[ "$(cli PTTL 'fairlock:{short}')" -le $((86400000 + 30000)) ]
}

@test "status --sort sorts by a column, also one that is not shown, numbers as numbers, unknown ones first" {
	"$FAIRLOCK" acquire -l 9s a
	"$FAIRLOCK" acquire -l 100s b
	"$FAIRLOCK" acquire -l 20s c
	"$FAIRLOCK" acquire d
	cli PERSIST d
	"$FAIRLOCK" acquire e
	"$FAIRLOCK" release --force e
	[ "$(names --all --sort LEASE_MS)" = 'd e a c b' ]
	[ "$(names --all --sort lease)" = 'e a c b d' ] # "none" is more than any number
	[ "$(names --sort NAME d c a)" = 'a c d' ]
	[ "$("$FAIRLOCK" status --all --json --sort LEASE_MS -o NAME | jq -c .)" = '{"locks":[{"name":"d"},{"name":"e"},{"name":"a"},{"name":"c"},{"name":"b"}]}' ]
	run -64 "$FAIRLOCK" status --sort COLOUR
	[[ ${lines[0]} == "fairlock: cannot sort by column 'COLOUR': "* ]]
	run -64 "$FAIRLOCK" log --sort TIME --follow job
	assert_line --index 0 "fairlock: cannot use option '--sort': it does not go with --follow"
}

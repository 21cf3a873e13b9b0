#!/usr/bin/env bats
# wrap and acquire --shared: any number of holders at once, none beside an exclusive one, and neither waits for ever.

load ../lib/helpers
load ../lib/one_server
load ../lib/holders

# joins_reader, joins_writer: one more waiter, which writes its number into `order` and holds until it is ended
joins_reader() { join_waiters --shared job sh -c "echo r$1 >>order; exec sleep 600"; }
joins_writer() { join_waiters job sh -c "echo w$1 >>order; exec sleep 600"; }
order_has() { [ "$(wc -l <order)" = "$1" ]; }

@test "shared holds stand beside each other, and an exclusive one waits until the last of them is gone" {
	local first second

	join_holders --shared job
	first=$HOLDER
	join_holders --shared job
	second=$HOLDER
	consistent
	run -75 "$FAIRLOCK" wrap -n job true
	joins_writer 1
	let_go "$first"
	in_queue job 1
	has_holders 1
	let_go "$second"
	wait_until grep -q w1 order
	in_queue job 0
}

@test "a shared hold waits for an exclusive one, and all that wait start together when that is over" {
	local i

	hold job
	for i in 1 2 3 4 5; do joins_reader "$i"; done
	run -75 "$FAIRLOCK" wrap -n --shared job true
	kill -TERM "$HOLDER"
	wait_until has_holders 5
	wait_until order_has 5
	in_queue job 0
	consistent
}

@test "readers that wait behind a writer start at once when the writer gives up" {
	local writer

	join_holders --shared job
	joins_writer 1
	writer=$WAITER
	joins_reader 2
	joins_reader 3
	kill -TERM "$writer"
	ends_with 143 "$writer"
	wait_until order_has 2
	has_holders 3
	assert_equal "$(sort order | xargs)" 'r2 r3'
}

# ---- Going in again ----

@test "going in again shares what is shared, and adds no holder" {
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap --shared job sh -c '
		FAIRLOCK_HELD= FAIRLOCK_OWNER= "$FAIRLOCK" wrap --shared job true
		"$FAIRLOCK" wrap --shared job sh -c "echo \$FAIRLOCK_TOKEN"
		echo "$FAIRLOCK_TOKEN"; "$FAIRLOCK" acquire --shared job >owner; "$FAIRLOCK" release job; echo "$FAIRLOCK_OWNER"'
	assert_equal "${lines[0]}" "${lines[1]}"
	assert_equal "${lines[2]}" "$(<owner)"
	nothing_left
}

@test "inside a shared hold, asking for a slot or for the lock alone is a mistake in usage, not a deadlock" {
	local option advice

	for option in '--slots b' '--slots 3' ''; do
		advice=${option:+' instead of --slots'}
		# shellcheck disable=SC2086
		run -64 timeout 20 "$FAIRLOCK" wrap --shared job "$FAIRLOCK" wrap $option job touch ran
		assert_line --index 0 "fairlock: cannot go into lock job: the enclosing hold is shared; use --shared${advice:-, too}"
	done
	run -64 "$FAIRLOCK" wrap --shared job "$FAIRLOCK" acquire -nq -E 0 job
	[ ! -e ran ]
	nothing_left
}

# ---- acquire, renew, release ----

@test "acquire --shared prints the owner id alone, and --json has the mode" {
	run -0 "$FAIRLOCK" acquire --shared job
	assert_output --regexp '^[-0-9a-f]+:[0-9]+$'
	run -0 "$FAIRLOCK" acquire --shared --json job
	assert_equal "$(jq -r '"\(.mode) \(.slot)"' <<<"$output")" 'shared null'
	has_holders 2
}

@test "renew and release act on one of several shared holds" {
	local one two before

	one=$("$FAIRLOCK" acquire --shared job)
	two=$("$FAIRLOCK" acquire --shared job)
	before=$(ends_of "$two")
	"$FAIRLOCK" renew -l 5m --owner "$one" job
	ends_after "$one" $((before + 60000))
	assert_equal "$(ends_of "$two")" "$before"
	consistent
	"$FAIRLOCK" release --owner "$one" job
	run -76 "$FAIRLOCK" renew --owner "$one" job
	has_holders 1
	consistent # both keys live no longer than the lease that is left
	"$FAIRLOCK" release --owner "$two" job
	nothing_left
}

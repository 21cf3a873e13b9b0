#!/usr/bin/env bats
# tests/demo, which make demo runs after it has installed and built the programs.

load ../lib/helpers

@test "the demo runs three jobs in turn, and leaves nothing behind, also if it is interrupted" {
	local job

	export TMPDIR=$BATS_TEST_TMPDIR/tmp
	mkdir "$TMPDIR"
	run -0 "$TESTS_DIR/demo"
	assert_equal "$(grep -oE 'job [123] (has the lock|is done)' <<<"$output")" \
		"$(printf 'job %s has the lock\njob %s is done\n' 1 1 2 2 3 3)"
	[ -z "$(ls "$TMPDIR")" ]
	background "$TESTS_DIR/demo" >"$BATS_TEST_TMPDIR/said"
	job=$!
	wait_until grep -q 'job 3 asks' "$BATS_TEST_TMPDIR/said"
	kill "$job"
	ends_with 1 "$job"
	[ -z "$(ls "$TMPDIR")" ]
}

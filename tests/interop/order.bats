#!/usr/bin/env bats
# Many grants to Redisson and fairlock in random order: see mixed.py, which prints the seed that
# repeats a run.

load ../lib/helpers
load interop

@test "500 grants in mixed queues of 3 to 20 are in the order of arrival, without an overlap" {
	python3 "$BATS_TEST_DIRNAME/mixed.py" 500 "$PORT" "$SERVER_SOCKET" "$FAIRLOCK" "${CLIENT[@]}"
}

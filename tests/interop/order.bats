#!/usr/bin/env bats
# Many grants to Redisson and fairlock in random order: see mixed.py, which prints the seed that
# repeats a run.

load ../lib/helpers
load interop

mixed() {
	python3 "$BATS_TEST_DIRNAME/mixed.py" "$1" "$2" "$PORT" "$SERVER_SOCKET" "$FAIRLOCK" "${CLIENT[@]}"
}

@test "500 grants in mixed queues of 3 to 20 are in the order of arrival, without an overlap" {
	mixed order 500
}

@test "1,000 mixed grants, time-outs and deaths leave bounded scores, a list and a sorted set that agree, and no keys" {
	mixed drift 1000
}

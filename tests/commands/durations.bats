#!/usr/bin/env bats
# Which durations fairlock reads and how it shows them. No server is needed.

load ../lib/helpers
load ../lib/settings

@test "a duration is a number with a unit, or a sum; no time but zero becomes zero, and nothing is rounded twice" {
	local text shown

	while read -r text shown; do
		FAIRLOCK_WAIT=$text run "$FAIRLOCK" doctor -u "unix:$gone"
		assert_line --regexp "^  wait +$shown +FAIRLOCK_WAIT$"
	done <<-'END'
		0 0ms
		90 1m30s
		0.5 500ms
		.5 500ms
		1.5h 1h30m
		0.5w 3d12h
		5min 5m
		1w2d3h4min5sec6ms 9d3h
		1m1ms1s1sec 1m2s
		58s59ms1s 59.059s
		0.0001 1ms
		0.0000000000000000000000000000001 1ms
		0.0000000000000000000000000000000 0ms
		1.001 1.001s
		4.35 4.35s
		0.0010000000000000000000000000001 2ms
		4611686018427387903ms 53375995583d15h
	END
}

@test "what is no duration is refused" {
	local text

	while IFS='|' read -r text; do
		run -64 "$FAIRLOCK" wrap -w "$text" x true
		assert_line --index 0 "fairlock: cannot use option '--wait': '$text' is not a duration (90, 1.5h, 1h30m)"
	done <<-'END'
		|
		1.|
		-1|
		+1|
		1 s|
		 5m |
		1h30|
		1min30|
		-1h30|
		1e3|
		inf|
		1,5h|
		1.5.5|
		h1|
		1H|
		1mi|
		5mins|
		2Days|
		1y|
		1.h|
		15250284452472w|
		4611686018427387904ms|
		9223372036854775.808|
		99999999999999999999999999|
		9223372036854775807ms1ms|
	END
}

#!/usr/bin/env bats
# fairlock log --stats: the figures, compared with figures that were worked out by hand.

load ../lib/helpers
load ../lib/history

# stats [FILTER]: prints this part of the figures (jq 1.7 prints 1.0000 as written; + 0 makes it 1)
stats() {
	"$FAIRLOCK" log --stats --json job | jq -c ".stats${1-}"
}

@test "log --stats prints the figures of a log with every kind of event" {
	entries <<-END
		0 granted 1 ann 0 -
		10 released 1 ann 0 10
		20 granted 2 bob 5 -
		50 expired 2 bob 5 30
		55 left - ann 20 -
		60 granted 3 ann 40 -
		80 forced 3 ann 40 20
		90 granted 4 bob 10 -
		100 lost 4 bob - -
	END
	assert_equal "$(stats)" "$(jq -c . <<-END
		{"from": "2026-11-21T03:00:00.000Z", "to": "2026-11-21T03:01:40.000Z",
		"granted": 4, "released": 1, "expired": 1, "forced": 1, "lost": 1, "left": 1, "superseded": 0, "failed": 0,
		"busy": 0.7000, "mean_holders": 0.7000, "most_holders": 1,
		"waited_ms": {"median": 7500, "p95": 40000, "longest": 40000},
		"held_ms": {"median": 20000, "p95": 30000, "longest": 30000}}
	END
	)"
	run -0 "$FAIRLOCK" log --stats job
	assert_output "$(cat <<-END
		job: Nov 21 03:00:00 to Nov 21 03:01:40 (1m40s)

		 busy  granted released  expired   forced     lost     left   failed
		 70 %        4        1        1        1        1        1        0

		          median      95 %   longest
		waited        7s       40s       40s
		held         20s       30s       30s
	END
	)"
}

@test "log --stats counts a hold that goes on as busy until now, and leaves it out of held_ms" {
	hold job
	assert_equal "$(stats '|[.granted, .busy + 0, .held_ms.longest]')" '[1,1,null]'
}

# ---- Several holders ----

@test "log --stats counts an hour that several shared once as busy, and prints the mean and the most holders" {
	entries <<-END
		0 granted 1 ann 0 -
		0 granted 2 bob 0 -
		20 granted 3 cleo 0 -
		40 released 1 ann 0 40
		40 released 2 bob 0 40
		60 released 3 cleo 0 40
		90 granted 4 ann 0 -
		100 released 4 ann 0 10
	END
	assert_equal "$(stats '|[.busy + 0, .mean_holders + 0, .most_holders, .released]')" '[0.7,1.3,3,4]'
	run -0 "$FAIRLOCK" log --stats job
	assert_line --regexp '^ 70 %        4        4 '
	assert_equal "${lines[-1]}" '1.30 holders on average, at most 3 at once'
}

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

@test "log --stats counts COMMANDs that failed among the released" {
	"$FAIRLOCK" wrap job true
	run -3 "$FAIRLOCK" wrap job sh -c 'exit 3'
	run -124 "$FAIRLOCK" wrap --max-hold 100ms job sleep 60
	"$FAIRLOCK" release --owner "$("$FAIRLOCK" acquire job)" job
	assert_equal "$(stats '|[.released, .failed]')" '[4,2]'
	run -0 "$FAIRLOCK" log --stats job
	assert_line --index 2 --regexp '^ *[0-9]+ %        4        4        0        0        0        0        2$'
}

@test "log --stats prints a 95th percentile that 95 of 100 waits do not exceed" {
	for ((i = 100; i > 0; i--)); do
		echo "$((1000 - i)) granted $((1000 - i)) ann $i -"
	done | entries
	assert_equal "$(stats .waited_ms)" '{"median":50500,"p95":95000,"longest":100000}'
}

@test "log --stats prints the figures of an empty log and of a single entry" {
	assert_equal "$(stats '|[.granted, .busy, .from, .waited_ms.median, .held_ms.longest]')" '[0,null,null,null,null]'
	run -0 --separate-stderr "$FAIRLOCK" log --stats job
	assert_line --index 0 'job: nothing is known'
	at 10 granted 1 ann 3
	assert_equal "$(stats '|[.granted, .busy, .waited_ms.median, .waited_ms.p95]')" '[1,null,3000,3000]'
	cli DEL "$key" >/dev/null
	at 10 released 1 ann 3 10
	assert_equal "$(stats '|[.released, .busy + 0, .from, .held_ms.p95]')" '[1,1,"2026-11-21T03:00:00.000Z",10000]'
}

@test "log --stats counts a hold that goes on as busy until now, and leaves it out of held_ms" {
	hold job
	assert_equal "$(stats '|[.granted, .busy + 0, .held_ms.longest]')" '[1,1,null]'
}

@test "log --stats counts an expired hold that is not logged yet as busy until its lease ended" {
	"$FAIRLOCK" acquire --lease 1s job
	wait_until is_free job
	assert_equal "$(stats '|[.granted, .expired, .busy + 0]')" '[1,0,1]'
	run -0 "$FAIRLOCK" log --stats --json --since 1h job
	jq -e '.stats.busy < 0.01' <<<"$output"
}

@test "log --stats counts the time of two holds that overlap after a loss of data once" {
	entries <<-END
		0 granted 1 ann 0 -
		10 granted 2 bob 0 -
		20 lost 1 ann 0 20
		30 released 2 bob 0 20
		50 granted 3 bob 0 -
		60 released 3 bob 0 10
	END
	assert_equal "$(stats .busy)" 0.6667
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

@test "log --stats begins with --since for the mean of the holders, too" {
	local now

	now=$(date +%s)
	base=$((now - 1000)) entries <<-END
		0 granted 1 ann 0 -
		0 granted 2 bob 0 -
		600 released 1 ann 0 600
		600 released 2 bob 0 600
	END
	run -0 "$FAIRLOCK" log --stats --json --since "@$((now - 500))" job
	jq -e '.stats | .busy > 0.19 and .busy < 0.21 and .mean_holders > 0.38 and .mean_holders < 0.42' <<<"$output"
}

@test "log --stats counts a slot that expired and is not logged yet until its lease ended, beside one that is held" {
	"$FAIRLOCK" acquire --lease 1s --slots 2 job >/dev/null
	"$FAIRLOCK" acquire --lease 1h --slots 2 job >/dev/null
	expired() { [ "$(cli ZCOUNT 'fairlock_holders:{job}' "$(now_ms)" +inf)" = 1 ]; }
	wait_until expired
	sleep 0.5
	stats '|[.granted, .expired, .busy + 0, .mean_holders < 2]' | grep -qx '\[2,0,1,true\]'
	run -0 "$FAIRLOCK" log --stats job
	assert_line --regexp '^1\.[0-9]+ holders on average, at most 2 at once$'
}

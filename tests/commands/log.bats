#!/usr/bin/env bats
# fairlock log: the list, --since, --follow, --stats, --plot

load ../lib/helpers
load ../lib/history

setup_file() { start_server; }

# A value of the log of "job": events .FILTER
events() {
	"$FAIRLOCK" log --json job | jq -c ".log$1"
}

logged() {
	[ "$(events '[-1].event')" = "\"$1\"" ]
}

# last_is EVENT SINCE: the last event is this one, and happened between SINCE and now
last_is() {
	local time

	wait_until logged "$1"
	time=$(date -d "$(events '[-1].time' | tr -d '"')" +%s%3N)
	[ "$time" -ge "$2" ] && [ "$time" -le "$(now_ms)" ] || fail "$1 at $time is not in $2..$(now_ms)"
}

# ---- The events ----

@test "a lock without a log has an empty one" {
	run -0 "$FAIRLOCK" log job
	refute_output
	run -0 "$FAIRLOCK" log --json job
	assert_equal "$(jq -c . <<<"$output")" '{"log":[]}'
	run -0 "$FAIRLOCK" log --plot job
	assert_output 'job: nothing is known'
	assert_equal "$(cli DBSIZE)" 0
}

@test "a grant and a release are logged with who, when and how long" {
	before=$(now_ms)
	LOGNAME=bob background "$FAIRLOCK" wrap job sleep 0.1
	wrapper=$!
	wait $wrapper
	last_is released "$before"
	"$FAIRLOCK" log --json job | jq -e --arg host "$(uname -n)" --arg pid $wrapper '.log
		| map(.event) == ["granted", "released"] and .[0].waited_ms == 0 and .[0].held_ms == null
		and .[1].held_ms >= 100 and .[0].token == .[1].token and .[0].token > 1e12
		and all(.host == $host and .user == "bob" and "\(.pid)" == $pid and .command == "sleep 0.1"
			and (.owner | endswith(":" + $pid)))'
}

@test "JSON has the keys that the manual names, in this order, and times of RFC 3339" {
	"$FAIRLOCK" wrap job true
	assert_equal "$(events '[0]|keys_unsorted|join(" ")')" \
		'"time event owner host pid user command token waited_ms held_ms"'
	[[ $(events '[0].time') =~ ^\"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z\"$ ]]
}

@test "who waited is logged with how long" {
	hold job
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	sleep 0.2
	kill -TERM "$HOLDER"
	wait $!
	[ "$(events '|map(select(.event == "granted"))|last.waited_ms')" -ge 200 ]
}

@test "a lease that ended is logged with the time when it did, by the next that comes" {
	before=$(now_ms)
	"$FAIRLOCK" acquire --lease 1s job
	wait_until free
	gone=$(now_ms)
	sleep 0.2
	"$FAIRLOCK" acquire job
	assert_equal "$(events '|map(.event)')" '["granted","expired","granted"]'
	events '[1]' | jq -e ".held_ms == 1000 and (.time | sub(\"[.].*\"; \"Z\") | fromdate) <= $((gone / 1000))"
	time=$(date -d "$(events '[1].time' | tr -d '"')" +%s%3N)
	[ "$time" -ge $((before + 1000)) ]
	[ "$time" -le "$gone" ]
}

free() {
	[ "$(cli EXISTS job)" = 0 ]
}

@test "a lock that was taken away by force" {
	owner=$("$FAIRLOCK" acquire job)
	before=$(now_ms)
	"$FAIRLOCK" release --force job
	last_is forced "$before"
	assert_equal "$(events '[-1].owner')" "\"$owner\""
}

@test "a lock that was lost to another when the server lost its data" {
	hold --lease 6s job
	before=$(now_ms)
	cli FLUSHALL >/dev/null
	"$FAIRLOCK" acquire job
	last_is lost "$before"
	assert_equal "$(events '[-1].pid')" "$HOLDER"
}

@test "a waiter that gave up" {
	hold job
	before=$(now_ms)
	run -75 "$FAIRLOCK" wrap --wait 300ms job true
	last_is left "$before"
	events '[-1]' | jq -e '.waited_ms >= 250 and .held_ms == null and .token == null and .command == "true"'
}

# ---- The table ----

@test "the table has headings and a line for each event, in local time" {
	at 12 granted 1 ann 0
	at 77 released 1 ann 0 65
	TZ=Asia/Tokyo run -0 "$FAIRLOCK" log job
	assert_equal "$(sed 's/ *$//' <<<"$output")" "$(cat <<-'END'
		TIME            EVENT    WAITED HELD USER HOST PID COMMAND
		Nov 21 12:00:12 granted     0ms      ann  db1  100 backup.sh
		Nov 21 12:01:17 released    0ms 1m5s ann  db1  100 backup.sh
	END
	)"
}

@test "raw output has milliseconds and times of RFC 3339" {
	at 77 released 1 ann 0 65
	run -0 "$FAIRLOCK" log --raw --noheadings job
	assert_output '2026-11-21T03:01:17.000Z released 0 65000 ann db1 100 backup.sh'
	run -0 "$FAIRLOCK" log --raw -o token,held job
	assert_output $'TOKEN HELD\n1 1m5s'
}

@test "mistakes in usage" {
	for options in '--stats --plot' '--stats --follow' '--plot --follow' '--plot --json' '--stats --raw' \
		'--plot --noheadings' '--stats -o TIME' '--since -1' '--since 1h30' '-o STATE' '--json --raw'; do
		# shellcheck disable=SC2086
		run -64 "$FAIRLOCK" log $options job
	done
	run -64 "$FAIRLOCK" log
	run -64 "$FAIRLOCK" log job other
	"$FAIRLOCK" acquire job
	run -64 "$FAIRLOCK" log '{job}'
	assert_line --partial 'shares keys with job'
}

# ---- --since ----

# ago SECONDS EVENT [WRITTEN]: an event so long ago, that was written so long ago
ago() {
	now=$(now_ms)
	cli XADD $key "$((now - ${3-$1} * 1000))-*" event "$2" time $((now - $1 * 1000)) owner aa:1 \
		token '' by '' waited '' held '' >/dev/null
}

@test "only what happened since then, whenever it was written" {
	ago 7200 granted
	ago 3000 released
	ago 7000 expired 100
	ago 10 granted 0
	run -0 "$FAIRLOCK" log --raw --noheadings -o EVENT job
	assert_output $'granted\nreleased\nexpired\ngranted'
	run -0 "$FAIRLOCK" log --since 1h --raw --noheadings -o EVENT job
	assert_output $'released\ngranted'
	run -0 "$FAIRLOCK" log --since 5 job
	refute_output
	run -0 "$FAIRLOCK" log --since 0 job
	refute_output
	run -0 "$FAIRLOCK" log --since 100000d --raw --noheadings -o EVENT job
	assert_equal "${#lines[@]}" 4
	run -0 "$FAIRLOCK" log --since 1h --json --stats job
	assert_equal "$(jq -c '.stats|[.granted, .released, .expired]' <<<"$output")" '[1,1,0]'
}

# ---- --follow ----

# follow [OPTION...]: into the file `followed`; its process id is in FOLLOWER
follow() {
	background env --default-signal=INT,PIPE "$FAIRLOCK" log --follow "$@" job \
		>"$BATS_TEST_TMPDIR/followed" 2>"$BATS_TEST_TMPDIR/complaints"
	FOLLOWER=$!
}

# followed COUNT: so many lines were printed
followed() {
	[ "$(wc -l <"$BATS_TEST_TMPDIR/followed")" = "$1" ]
}

@test "following prints what is there, then each new event at once" {
	"$FAIRLOCK" wrap job true
	follow --raw -o EVENT
	wait_until followed 3
	SECONDS=0
	"$FAIRLOCK" acquire job
	wait_until followed 4
	"$FAIRLOCK" release --force job
	wait_until followed 5
	[ "$SECONDS" -le 4 ] # less than it sleeps
	assert_equal "$(cat "$BATS_TEST_TMPDIR/followed")" $'EVENT\ngranted\nreleased\ngranted\nforced'
	kill -s INT $FOLLOWER
	status=0
	wait $FOLLOWER || status=$?
	assert_equal "$status" 130
	assert_equal "$(cat "$BATS_TEST_TMPDIR/complaints")" ''
}

@test "following an empty log, and only what happened since" {
	ago 100 granted
	follow --since 50 --raw --noheadings -o EVENT
	wait_until asleep
	ago 100 expired 0
	ago 0 granted 0
	wait_until followed 1
	assert_equal "$(cat "$BATS_TEST_TMPDIR/followed")" granted
}

# It waits for events.
asleep() {
	cli CLIENT LIST | grep -q 'cmd=xread'
}

@test "who follows asks seldom when nothing happens" {
	follow
	wait_until asleep
	commands() {
		cli INFO stats | sed -n 's/^total_commands_processed:\([0-9]*\).*/\1/p'
	}
	count=$(commands)
	sleep 2
	# ours are two and one a cycle, and the commands of the script
	[ $(($(commands) - count)) -le 20 ]
}

@test "who follows what happened since asks seldom, too, when all that is there is older" {
	ago 100 granted
	follow --since 50
	wait_until asleep
	asked() {
		cli INFO commandstats | sed -n 's/^cmdstat_xread:calls=\([0-9]*\),.*/\1/p'
	}
	cli CONFIG RESETSTAT >/dev/null
	sleep 2
	count=$(asked)
	[ "${count:-0}" -le 2 ] || fail "asked $count times in 2 s"
}

@test "JSON that is followed has an object a line" {
	"$FAIRLOCK" wrap job true
	follow --json
	wait_until followed 2
	"$FAIRLOCK" acquire job
	wait_until followed 3
	assert_equal "$(jq -cs . "$BATS_TEST_TMPDIR/followed")" "$(events '')"
	assert_equal "$(jq -c .event "$BATS_TEST_TMPDIR/followed" | paste -sd ' ')" '"granted" "released" "granted"'
}

@test "the table that is followed keeps its columns" {
	at 12 granted 1 ann 0
	follow
	wait_until followed 2
	at 77 released 1 ann 0 65
	wait_until followed 3
	assert_equal "$(sed 's/ *$//' "$BATS_TEST_TMPDIR/followed")" "$(cat <<-'END'
		TIME            EVENT   WAITED HELD USER HOST PID COMMAND
		Nov 21 03:00:12 granted    0ms      ann  db1  100 backup.sh
		Nov 21 03:01:17 released    0ms 1m5s ann  db1  100 backup.sh
	END
	)"
}

@test "a server that is restarted is followed further, and no line is lost or repeated" {
	SERVER_DIR=$BATS_TEST_TMPDIR start_server --appendonly yes
	"$FAIRLOCK" wrap job true
	follow --json
	wait_until followed 2
	"$FAIRLOCK" wrap job true
	stop_server
	start_server --appendonly yes
	"$FAIRLOCK" wrap job true
	wait_until followed 6
	"$FAIRLOCK" wrap job true
	wait_until followed 8
	assert_equal "$(jq -cs . "$BATS_TEST_TMPDIR/followed")" "$(events '')"
}

@test "on a cluster, a log is read and followed through any node, and through a failover" {
	local slot owner

	load ../lib/cluster
	start_cluster
	slot=$(slot_of job)
	owner=$(owner_of "$slot")
	FAIRLOCK_URL=redis://127.0.0.1:$(grep -vx "$owner" < <(tr ' ' '\n' <<<"$CLUSTER_PORTS") | head -n 1)
	"$FAIRLOCK" wrap job true
	follow --json
	wait_until followed 2
	fail_over_to "$(replica_of "$owner")"
	wait_until has_moved "$slot" "$owner"
	"$FAIRLOCK" wrap job true
	wait_until followed 4
	assert_equal "$(jq -cs . "$BATS_TEST_TMPDIR/followed")" "$(events '')"
	[ "$("$FAIRLOCK" log --stats --json job | jq .stats.released)" = 2 ]
}

@test "a log that begins anew under an earlier clock is followed" {
	"$FAIRLOCK" wrap job true
	follow --raw --noheadings -o EVENT
	wait_until followed 2
	wait_until asleep
	cli DEL $key >/dev/null
	at 0 granted
	at 1 lost
	wait_until followed 4
	at 2 left
	wait_until followed 5
	assert_equal "$(paste -sd ' ' "$BATS_TEST_TMPDIR/followed")" 'granted released granted lost left'
}

@test "a log that lost its latest entries is not printed again" {
	"$FAIRLOCK" wrap job true
	follow --raw --noheadings -o EVENT
	wait_until followed 2
	cli XDEL $key "$(cli --raw XREVRANGE $key + - COUNT 1 | head -n 1)" >/dev/null
	"$FAIRLOCK" acquire job
	wait_until followed 3
	assert_equal "$(paste -sd ' ' "$BATS_TEST_TMPDIR/followed")" 'granted released granted'
}

@test "who follows ends when nobody reads any more" {
	"$FAIRLOCK" wrap job true
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	background head -n 1 "$BATS_TEST_TMPDIR/pipe" >/dev/null
	background env --default-signal=PIPE "$FAIRLOCK" log --follow job >"$BATS_TEST_TMPDIR/pipe"
	follower=$!
	wait_until ended $follower
	status=0
	wait $follower || status=$?
	assert_equal "$status" 141
}

@test "a full disk is told" {
	at 0 granted
	run -71 timeout 20 sh -c '"$FAIRLOCK" log --follow job >/dev/full'
	assert_output --partial 'fairlock: cannot write to standard output: '
}

@test "a server that is not there at the start is told" {
	run -69 timeout 20 "$FAIRLOCK" log --follow --url unix:/nonexistent job
}

# ---- --stats ----

# stats [FILTER]
# (jq 1.7 shows a number as it was written, 1.0000, until it is reckoned with.)
stats() {
	"$FAIRLOCK" log --stats --json job | jq -c ".stats${1-}"
}

@test "figures, as worked out by hand" {
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
		"granted": 4, "released": 1, "expired": 1, "forced": 1, "lost": 1, "left": 1,
		"holding_ms": null, "waiting": 0, "busy": 0.7000,
		"waited_ms": {"median": 7500, "p95": 40000, "longest": 40000},
		"held_ms": {"median": 20000, "p95": 30000, "longest": 30000}}
	END
	)"
	run -0 "$FAIRLOCK" log --stats job
	assert_output "$(cat <<-END
		job: Nov 21 03:00:00 to Nov 21 03:01:40 (1m40s)

		 busy  granted released  expired   forced     lost     left
		 70 %        4        1        1        1        1        1

		          median      95 %   longest
		waited        7s       40s       40s
		held         20s       30s       30s
	END
	)"
}

@test "of a hundred, 95 are no longer than the 95th percentile" {
	for ((i = 100; i > 0; i--)); do
		echo "$((1000 - i)) granted $((1000 - i)) ann $i -"
	done | entries
	assert_equal "$(stats .waited_ms)" '{"median":50500,"p95":95000,"longest":100000}'
}

@test "figures of an empty log and of one entry" {
	assert_equal "$(stats '|[.granted, .busy, .from, .waited_ms.median, .held_ms.longest]')" '[0,null,null,null,null]'
	run -0 "$FAIRLOCK" log --stats job
	assert_line --index 0 'job: nothing is known'
	at 10 granted 1 ann 3
	assert_equal "$(stats '|[.granted, .busy, .waited_ms.median, .waited_ms.p95]')" '[1,null,3000,3000]'
	cli DEL "$key" >/dev/null
	at 10 released 1 ann 3 10
	assert_equal "$(stats '|[.released, .busy + 0, .from, .held_ms.p95]')" '[1,1,"2026-11-21T03:00:00.000Z",10000]'
}

@test "a hold that goes on counts as busy until now, and not among those that are over" {
	is_held() {
		[ "$(stats .holding_ms)" -ge 100 ]
	}
	hold job
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	wait_until is_held
	assert_equal "$(stats '|[.granted, .waiting, .busy + 0, .held_ms.longest]')" '[1,1,1,null]'
	run -0 "$FAIRLOCK" log --stats job
	[[ ${lines[-1]} =~ ^held\ now,\ for\ [0-9ms]+\;\ 1\ waiting$ ]]
}

@test "a hold that ended unnoticed was busy until its lease ended" {
	"$FAIRLOCK" acquire --lease 1s job
	wait_until free
	assert_equal "$(stats '|[.granted, .expired, .holding_ms, .busy + 0]')" '[1,0,null,1]'
	run -0 "$FAIRLOCK" log --stats --json --since 1h job
	jq -e '.stats.busy < 0.01' <<<"$output"
}

@test "what overlaps after a loss of data is busy once" {
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

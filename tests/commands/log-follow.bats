#!/usr/bin/env bats
# fairlock log --follow: new events as they come, however the server or its log fare meanwhile.

load ../lib/helpers
load ../lib/history

# follow [OPTION...]: starts log --follow, which prints into `followed`; sets FOLLOWER
follow() {
	background env --default-signal=INT,PIPE "$FAIRLOCK" log --follow "$@" job \
		>"$BATS_TEST_TMPDIR/followed" 2>"$BATS_TEST_TMPDIR/complaints"
	FOLLOWER=$!
}

# followed COUNT: succeeds if it has printed so many lines
followed() {
	[ "$(wc -l <"$BATS_TEST_TMPDIR/followed")" = "$1" ]
}

@test "log --follow prints the events so far, then each new one, and ends with 130 on SIGINT" {
	"$FAIRLOCK" wrap job true
	follow --raw -o EVENT
	wait_until followed 3
	SECONDS=0
	"$FAIRLOCK" acquire job
	wait_until followed 4
	"$FAIRLOCK" release --force job
	wait_until followed 5
	[ "$SECONDS" -le 4 ] # it looks every second
	assert_equal "$(cat "$BATS_TEST_TMPDIR/followed")" $'EVENT\ngranted\nreleased\ngranted\nforced'
	kill -s INT "$FOLLOWER"
	ends_with 130 "$FOLLOWER"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/complaints")" ''
}

@test "log --follow --since leaves out older events, even if they are written now" {
	ago 100 granted
	follow --since 50 --raw --noheadings -o EVENT
	wait_until asleep
	ago 100 expired 0
	ago 0 granted 0
	wait_until followed 1
	assert_equal "$(cat "$BATS_TEST_TMPDIR/followed")" granted
}

@test "log --follow --since counts from its start, and later events are not too old" {
	follow --since 1ms --raw --noheadings -o EVENT
	wait_until asleep
	"$FAIRLOCK" wrap job true
	wait_until followed 2
}

# asleep: succeeds if it has looked for events
asleep() {
	cli CLIENT LIST | grep -q 'cmd=eval'
}

@test "log --follow asks the server seldom while nothing happens" {
	follow
	wait_until asleep
	commands() {
		cli INFO stats | sed -n 's/^total_commands_processed:\([0-9]*\).*/\1/p'
	}
	count=$(commands)
	sleep 2
	# two commands are this test's; each look has one more, and those of the script
	[ $(($(commands) - count)) -le 20 ]
}

@test "log --follow --json prints an object per line" {
	"$FAIRLOCK" wrap job true
	follow --json
	wait_until followed 2
	"$FAIRLOCK" acquire job
	wait_until followed 3
	assert_equal "$(jq -cs . "$BATS_TEST_TMPDIR/followed")" "$(events '')"
	assert_equal "$(jq -c .event "$BATS_TEST_TMPDIR/followed" | paste -sd ' ')" '"granted" "released" "granted"'
}

@test "log --follow keeps the columns of its table" {
	at 12 granted 1 ann 0
	follow
	wait_until followed 2
	at 77 released 1 ann 0 65
	wait_until followed 3
	assert_equal "$(sed 's/ *$//' "$BATS_TEST_TMPDIR/followed")" "$(cat <<-'END'
		TIME                EVENT   WAITED HELD STATUS CAUSE USER HOST PID COMMAND
		Nov 21 03:00:12.000 granted    0ms                   ann  db1  100 backup.sh
		Nov 21 03:01:17.000 released    0ms 1m5s              ann  db1  100 backup.sh
	END
	)"
}

@test "log --follow goes on after a restart of the server, and neither loses nor repeats a line" {
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

@test "log --follow and --stats work through any node of a cluster, and through a failover" {
	local slot owner

	load ../lib/nodes
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

@test "log --follow goes on when the log is deleted and begins anew" {
	"$FAIRLOCK" wrap job true
	follow --raw --noheadings -o EVENT
	wait_until followed 2
	cli DEL $key >/dev/null
	"$FAIRLOCK" acquire job
	wait_until followed 3
	"$FAIRLOCK" release --force job
	wait_until followed 4
	assert_equal "$(paste -sd ' ' "$BATS_TEST_TMPDIR/followed")" 'granted released granted forced'
}

@test "log --follow does not print events again when the log has lost its latest entries" {
	"$FAIRLOCK" wrap job true
	follow --raw --noheadings -o EVENT
	wait_until followed 2
	cli XDEL $key "$(cli --raw XREVRANGE $key + - COUNT 1 | head -n 1)" >/dev/null
	"$FAIRLOCK" acquire job
	wait_until followed 3
	assert_equal "$(paste -sd ' ' "$BATS_TEST_TMPDIR/followed")" 'granted released granted'
}

@test "log --follow ends when its reader has ended" {
	"$FAIRLOCK" wrap job true
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	background head -n 1 "$BATS_TEST_TMPDIR/pipe" >/dev/null
	background env --default-signal=PIPE "$FAIRLOCK" log --follow job >"$BATS_TEST_TMPDIR/pipe"
	follower=$!
	wait_until ended $follower
	ends_with 141 "$follower"
}

@test "log --follow ends with 71 and a message if standard output is full" {
	at 0 granted
	run -71 timeout 20 sh -c '"$FAIRLOCK" log --follow job >/dev/full'
	assert_output --partial 'fairlock: cannot write to standard output: '
}

@test "log --follow ends with 69 if the server is not there at the start" {
	run -69 timeout 20 "$FAIRLOCK" log --follow --url unix:/nonexistent job
}

@test "log --follow shows slots if the first events have one" {
	"$FAIRLOCK" wrap --slots 2 job true
	background "$FAIRLOCK" log --follow job >"$BATS_TEST_TMPDIR/followed"
	wait_until grep -q released "$BATS_TEST_TMPDIR/followed"
	"$FAIRLOCK" wrap job true
	follows() { [ "$(wc -l <"$BATS_TEST_TMPDIR/followed")" = 5 ]; }
	wait_until follows
	head -n 1 "$BATS_TEST_TMPDIR/followed" | grep -Eq '^TIME +EVENT +SLOT +WAITED '
	sed -n 2p "$BATS_TEST_TMPDIR/followed" | grep -Eq ' granted +1 '
}

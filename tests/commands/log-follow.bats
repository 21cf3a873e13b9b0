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

@test "log --follow ends when its reader has ended" {
	"$FAIRLOCK" wrap job true
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	background head -n 1 "$BATS_TEST_TMPDIR/pipe" >/dev/null
	background env --default-signal=PIPE "$FAIRLOCK" log --follow job >"$BATS_TEST_TMPDIR/pipe"
	follower=$!
	wait_until ended $follower
	ends_with 141 "$follower"
}

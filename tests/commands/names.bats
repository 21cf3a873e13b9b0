#!/usr/bin/env bats
# The names of locks, as the shells' completions ask for them.

load ../lib/helpers

setup_file() { start_server; }

setup() {
	cli FLUSHALL >/dev/null
	for name in job2 job1 '{x}' 'my job'; do
		"$FAIRLOCK" acquire "$name" >/dev/null
	done
}

# silent_within MS COMMAND...: prints nothing, and that quickly.
silent_within() {
	local ms=$1 start

	shift
	start=$(date +%s%3N)
	run -0 "$@"
	refute_output
	[ $(($(date +%s%3N) - start)) -lt "$ms" ]
}

@test "where NAME stands, the names on the server are offered" {
	offering job1 run -0 "$FAIRLOCK" --complete status ''
	assert_output $'job1\njob2\nmy job\n{x}'
}

@test "only names that begin like the word are offered" {
	offering job1 run -0 "$FAIRLOCK" --complete release --force j
	assert_output $'job1\njob2'
}

@test "the server is the one of the words before" {
	url=$FAIRLOCK_URL
	export FAIRLOCK_URL=unix:/nowhere
	offering job1 run -0 "$FAIRLOCK" --complete wrap --url "$url" j
	assert_output $'job1\njob2'
}

@test "no names and no complaint when there is no server" {
	run -0 "$FAIRLOCK" --complete status --url "unix:$BATS_TEST_TMPDIR/none" ''
	refute_output
}

@test "a server that does not answer holds nobody up" {
	kill -STOP "$SERVER_PID" # for a reply, others wait 5 s
	silent_within 4000 "$FAIRLOCK" --complete status '' || failed=yes
	kill -CONT "$SERVER_PID"
	[ -z "${failed:-}" ]
}

@test "a private server that does not run is not started" {
	new_home
	run -0 at_home env -u FAIRLOCK_URL "$FAIRLOCK" --complete status ''
	refute_output
	run -1 at_home pgrep -f 'redis-server|valkey-server'
	refute_output
}

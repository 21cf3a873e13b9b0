#!/usr/bin/env bats
# The names of locks that completion offers, and how it gets them from a server.

load ../lib/helpers
load ../lib/one_server

setup() {
	begin
	for name in job2 job1 '{x}' 'my job'; do
		"$FAIRLOCK" acquire "$name" >/dev/null
	done
}

# silent_within MS COMMAND...: COMMAND succeeds within MS and prints nothing
silent_within() {
	local ms=$1 start

	shift
	start=$(date +%s%3N)
	run -0 "$@"
	refute_output
	[ $(($(date +%s%3N) - start)) -lt "$ms" ]
}

@test "completion offers the server's locks, sorted, where NAME stands" {
	offering job1 run -0 "$FAIRLOCK" --complete status ''
	assert_output $'job1\njob2\nmy job\n{x}'
}

@test "completion offers only names that begin like the typed word" {
	offering job1 run -0 "$FAIRLOCK" --complete release --force j
	assert_output $'job1\njob2'
}

@test "completion asks the server that an earlier word gives" {
	url=$FAIRLOCK_URL
	export FAIRLOCK_URL=unix:/nowhere
	offering job1 run -0 "$FAIRLOCK" --complete wrap --url "$url" j
	assert_output $'job1\njob2'
}

@test "completion offers no names and prints no message if there is no server" {
	run -0 "$FAIRLOCK" --complete status --url "unix:$BATS_TEST_TMPDIR/none" ''
	refute_output
}

@test "completion gives up quickly on a server that does not answer" {
	kill -STOP "$SERVER_PID" # the other commands wait for a reply for 5 s
	silent_within 4000 "$FAIRLOCK" --complete status '' || failed=yes
	kill -CONT "$SERVER_PID"
	[ -z "${failed:-}" ]
}

@test "completion does not start a private server" {
	new_home
	run -0 at_home env -u FAIRLOCK_URL "$FAIRLOCK" --complete status ''
	refute_output
	run -1 at_home pgrep -f 'redis-server|valkey-server'
	refute_output
}

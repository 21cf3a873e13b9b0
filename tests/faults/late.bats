#!/usr/bin/env bats
# Late copies: a connection breaks behind a request, the client repeats the request over another one, and the server reads
# the first copy long after. It must change nothing.

load ../lib/helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	# every command tries again on a cluster, since a slot may be on its way
	start_server --cluster-enabled yes --cluster-port "$(free_port)"
	cli CLUSTER ADDSLOTSRANGE 0 16383 >/dev/null
	wait_until cluster_is_up
}

cluster_is_up() {
	cli CLUSTER INFO | grep -q '^cluster_state:ok'
}

# come_late WORD COMMAND...: runs it; the copy with the word in it that it sends first is kept
come_late() {
	background python3 "$TESTS_DIR/lib/late.py" "$SERVER_SOCKET" "$1" .
	wait_until test -e port
	FAIRLOCK_URL=redis://127.0.0.1:$(cat port) run -0 "${@:2}"
}

# The server has read the copy that was kept.
late_copy_comes() {
	touch go
	wait_until test -e gone
}

@test "release: the same owner, who has the lock again, keeps it" {
	owner=$("$FAIRLOCK" acquire job)
	come_late any "$FAIRLOCK" release --owner "$owner" job
	assert_equal "$(cli EXISTS job)" 0
	run -0 "$FAIRLOCK" acquire --owner "$owner" job
	late_copy_comes
	assert_equal "$(cli HKEYS job)" "$owner"
}

@test "release --force: whoever has the lock next keeps it" {
	run -0 "$FAIRLOCK" acquire job
	come_late force "$FAIRLOCK" release --force job
	assert_equal "$(cli EXISTS job)" 0
	owner=$("$FAIRLOCK" acquire job)
	late_copy_comes
	assert_equal "$(cli HKEYS job)" "$owner"
}

@test "renew: the same owner, who has the lock again, keeps its own lease" {
	owner=$("$FAIRLOCK" acquire job)
	come_late 86400000 "$FAIRLOCK" renew --owner "$owner" -l 1d job
	[ "$(cli PTTL job)" -gt 80000000 ]
	run -0 "$FAIRLOCK" release --owner "$owner" job
	run -0 "$FAIRLOCK" acquire -l 30s --owner "$owner" job
	late_copy_comes
	[ "$(cli PTTL job)" -le 30000 ]
}

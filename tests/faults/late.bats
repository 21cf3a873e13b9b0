#!/usr/bin/env bats
# Late copies: a connection breaks behind a request, the client repeats the request over another
# connection, and the server reads the first copy long after. The late copy must change nothing.

load ../lib/helpers
load ../lib/nodes

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	# On a cluster every command tries again, since a slot may be on its way.
	start_lone_cluster
}

# come_late WORD COMMAND...: runs COMMAND; the first copy of its request that has WORD is kept back
come_late() {
	background python3 "$TESTS_DIR/faults/late.py" "$SERVER_SOCKET" "$1" .
	wait_until test -e port
	FAIRLOCK_URL=redis://127.0.0.1:$(cat port) run -0 "${@:2}"
}

# The server has read the copy that was kept back.
late_copy_comes() {
	touch go
	wait_until test -e gone
}

@test "a late release does not release the lock that its owner has taken again" {
	owner=$("$FAIRLOCK" acquire job)
	come_late any "$FAIRLOCK" release --owner "$owner" job
	assert_equal "$(cli EXISTS job)" 0
	run -0 "$FAIRLOCK" acquire --owner "$owner" job
	late_copy_comes
	assert_equal "$(cli HKEYS job)" "$owner"
}

@test "a late release --force does not break the next holder's lock" {
	run -0 "$FAIRLOCK" acquire job
	come_late force "$FAIRLOCK" release --force job
	assert_equal "$(cli EXISTS job)" 0
	owner=$("$FAIRLOCK" acquire job)
	late_copy_comes
	assert_equal "$(cli HKEYS job)" "$owner"
}

@test "a late renew does not lengthen the lease of a lock that its owner has taken again" {
	owner=$("$FAIRLOCK" acquire job)
	come_late 86400000 "$FAIRLOCK" renew --owner "$owner" -l 1d job
	[ "$(cli PTTL job)" -gt 80000000 ]
	run -0 "$FAIRLOCK" release --owner "$owner" job
	run -0 "$FAIRLOCK" acquire -l 30s --owner "$owner" job
	late_copy_comes
	[ "$(cli PTTL job)" -le 30000 ]
}

# release --stop in a cluster: it reaches the holder through any node, and follows the slot to another one.

load ../lib/helpers
load ../lib/nodes
load ../lib/jobs
load ../lib/holders

setup_file() { start_cluster; }

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	use_cluster
}

teardown() { wait_until cluster_is_ready; }

cli() { node_cli "$OWNER" "$@"; }

# is_asked: somebody has asked a holder of `job`
is_asked() { cli --raw XRANGE 'fairlock_log:{job}' - + | grep -q '^asked$'; }

# holds_hard WORD...: COMMAND ignores TERM, and is killed after 3 s
holds_hard() {
	background "$FAIRLOCK" wrap -l 1m -k 3s "$@" job sh -c 'trap "" TERM; touch runs; while :; do sleep 0.1; done' 2>said
	HOLDER=$!
	wait_until test -e runs
}

# asked_in_background: `release --stop job` has asked. Sets STOPPER.
asked_in_background() {
	background "$FAIRLOCK" release --stop job >out 2>told
	STOPPER=$!
	wait_until is_asked
}

# both_end: the holder with 124, and then release --stop with 0
both_end() {
	ends_with 124 "$HOLDER"
	ends_with 0 "$STOPPER"
	grep -q "lock job was held by sh -c .* (pid $HOLDER, " out
	OWNER=$(owner_of "$SLOT")
	is_free job
}

@test "release --stop reaches the holder from any node, and hears at once that the lock is free" {
	local began

	hold -l 1h job
	began=$(ms)
	run -0 "$FAIRLOCK" release --stop --url "redis://127.0.0.1:$(replica_of "$OTHER")" job
	[ $(($(ms) - began)) -lt 8000 ] # less than it would take to look again
	ends_with 124 "$HOLDER"
	is_free job
}

@test "of several holders in a cluster only the one that is meant is asked" {
	local first

	join_holders --slots 2 job
	first=$HOLDER
	join_holders --slots 2 job
	run -0 "$FAIRLOCK" release --stop --slot 1 job
	ends_with 124 "$first"
	assert_equal "$(slot_held_by "$HOLDER")" 2
	run -0 "$FAIRLOCK" release --stop job
	ends_with 124 "$HOLDER"
	is_free job
}

@test "a request to stop, and its answer, survive a failover of the cluster's node" {
	holds_hard
	asked_in_background
	fail_over_to "$(replica_of "$OWNER")"
	both_end
}

@test "a request to stop, and its answer, follow the slot to another node" {
	holds_hard --slots 2
	asked_in_background
	move_slot "$SLOT" "$OTHER"
	both_end
}

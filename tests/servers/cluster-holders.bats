# Several holders of a lock in a cluster: they stay holders when a node fails or the cluster's slot moves.

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

@test "when a cluster's slot moves, holders keep the lock's slots and go to the new node with their waiters" {
	local pids=()

	for _ in 1 2 3; do
		join_holders -l 20s --slots 3 job
		pids+=("$HOLDER")
	done
	join_waiters --connect-timeout 10s --slots 3 job sh -c 'echo "$FAIRLOCK_SLOT" >slot'
	move_slot "$SLOT" "$OTHER"
	use_cluster
	wait_until in_queue job 1
	for HOLDER in "${pids[@]}"; do wait_until ends_after "$(id_of "$HOLDER")" $(($(now_ms) + 15000)); done
	assert_equal "$(for HOLDER in "${pids[@]}"; do slot_held_by "$HOLDER"; done | xargs)" '1 2 3'
	consistent
	let_go "${pids[1]}"
	ends_with 0 "$WAITER"
	assert_equal "$(<slot)" 2
	for HOLDER in "${pids[0]}" "${pids[2]}"; do let_go "$HOLDER"; done
	wait_until is_free job
}

@test "while the holders' sorted set has not come to the new node yet, those that want the lock alone break no hold" {
	local first key

	join_holders -l 20s --slots 2 job
	first=$HOLDER
	join_holders -l 20s --slots 2 job
	join_waiters --connect-timeout 10s job touch alone
	open_slot "$SLOT" "$OTHER"
	for key in job 'fairlock:{job}' 'redisson_lock_queue:{job}' 'fairlock_log:{job}' 'redisson_lock_timeout:{job}'; do
		move_keys "$SLOT" "$OTHER" "$key"
	done
	run -69 "$FAIRLOCK" acquire -n --connect-timeout 1s job
	move_keys "$SLOT" "$OTHER"
	close_slot "$SLOT" "$OTHER"
	use_cluster
	wait_until in_queue job 1
	for HOLDER in "$first" "$HOLDER"; do wait_until ends_after "$(id_of "$HOLDER")" $(($(now_ms) + 15000)); done
	consistent
	let_go "$first"
	let_go "$HOLDER"
	ends_with 0 "$WAITER"
	[ -e alone ]
}

# Locks in a cluster: fairlock finds the node with the lock's slot, and follows the slot.
load ../lib/failover

setup_file() { start_cluster; }

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	use_cluster
}

# The nodes that a test stopped go on, and the cluster is as before.
teardown() {
	local port

	for port in $CLUSTER_PORTS; do
		continue_node "$port" 2>/dev/null || true
	done
	[ "${OWN_CLUSTER:-}" != yes ] || return 0
	for port in $CLUSTER_PORTS; do
		[ "${BATS_TEST_COMPLETED:-}" = 1 ] || node_cli "$port" CLUSTER SETSLOT "$SLOT" STABLE >/dev/null
	done
	wait_until cluster_is_ready
}

# for the functions of holders.bash
cli() { node_cli "$OWNER" "$@"; }

# own_cluster [OPTION...]: a cluster of which this test may kill nodes. The URL names all nodes.
own_cluster() {
	OWN_CLUSTER=yes
	start_cluster "$@"
	use_cluster
	printf -v FAIRLOCK_URL '127.0.0.1:%s,' $CLUSTER_PORTS
	FAIRLOCK_URL=redis://${FAIRLOCK_URL%,}
}

# waits_at PORT COUNT: COUNT clients listen at this node for the lock job, not counting its holder
waits_at() {
	[ "$(node_cli "$1" --raw PUBSUB "${CHANNELS:-SHARDCHANNELS}" 'redisson_lock__channel:{job}:*' |
		grep -cv "$HOLD_OWNER")" = "$2" ]
}

# ---- Finding the node

@test "the lock can be taken, renewed, shown and released through every node, masters and replicas" {
	for port in $CLUSTER_PORTS; do
		export FAIRLOCK_URL=redis://127.0.0.1:$port
		owner=$("$FAIRLOCK" acquire job)
		[ "$(node_cli "$OWNER" HKEYS job)" = "$owner" ]
		"$FAIRLOCK" renew --owner "$owner" job
		run -0 "$FAIRLOCK" status -q job
		run -75 "$FAIRLOCK" wrap -n job true
		run -75 "$FAIRLOCK" wrap -w 500ms job true
		[[ $output = *'timed out'* ]]
		run -0 "$FAIRLOCK" queue --noheadings job
		[ -z "$output" ]
		"$FAIRLOCK" release --owner "$owner" job
		run -1 "$FAIRLOCK" status -q job
		run -7 "$FAIRLOCK" wrap job sh -c 'exit 7'
	done
}

@test "fairlock passes over seeds that are dead or hang" {
	run -7 "$FAIRLOCK" wrap --url "redis://127.0.0.1:$(free_port),127.0.0.1:$OTHER" job sh -c 'exit 7'
	hung=$(replica_of "$OTHER")
	stop_node "$hung"
	run -7 "$FAIRLOCK" wrap --connect-timeout 500ms --url "redis://127.0.0.1:$hung,127.0.0.1:$OTHER" job sh -c 'exit 7'
	fails_with 69 'Connection refused' --url "redis://127.0.0.1:$(free_port),127.0.0.1:$(free_port)"
}

@test "fairlock refuses a DB other than 0" {
	fails_with 78 '' --url "$FAIRLOCK_URL/1"
	# the latter from Valkey 9 on, whose clusters may have several
	[[ $stderr = *': a cluster has database 0 only' || $stderr = *': it has no database 1' ]]
	run -7 "$FAIRLOCK" wrap --url "$FAIRLOCK_URL/0" job sh -c 'exit 7'
}

@test "release --force and queue --remove reach a holder and a waiter that use other nodes" {
	hold_job -l 20s
	queue_up 1 --url "redis://127.0.0.1:$OWNER"
	queue_up 2
	wait_until waits_at "$OWNER" 2
	id=$("$FAIRLOCK" queue --noheadings -o OWNER job | head -n 1)
	"$FAIRLOCK" queue --remove "$id" --url "redis://127.0.0.1:$(replica_of "$OTHER")" job
	wait_until ended "$(<waiter.1.pid)"
	ends_with 75 "$(<waiter.1.pid)"
	run -0 "$FAIRLOCK" release --force --url "redis://127.0.0.1:$(replica_of "$OWNER")" job
	ends_with 76 "$HOLDER"
	wait "$(<waiter.2.pid)"
	grep -qE 'broke it by force|it is held by' said # whichever it sees first
}

@test "a cluster with a password accepts it, and status 77 says that it is missing or wrong" {
	NODES_PASSWORD=secret own_cluster
	fails_with 77 'it wants a password: FAIRLOCK_PASSWORD or --password-file'
	export FAIRLOCK_PASSWORD=secret
	run -7 "$FAIRLOCK" wrap job sh -c 'exit 7'
	FAIRLOCK_PASSWORD=wrong fails_with 77 'the password from FAIRLOCK_PASSWORD'
}

@test "release --stop reaches the holder from any node, and hears at once that the lock is free" {
	hold_job -l 1h
	began=$(ms)
	run -0 "$FAIRLOCK" release --stop --url "redis://127.0.0.1:$(replica_of "$OTHER")" job
	[ $(($(ms) - began)) -lt 8000 ] # less than it would take to look again
	ends_with 124 "$HOLDER"
}

# ---- Moving the slot

# A script has five keys. While a slot moves, a node serves the script only if it has all of them.
@test "while a slot moves and all its keys have moved, fairlock asks the new node (ASK)" {
	hold_job -l 9s
	queue_up 1
	open_slot "$SLOT" "$OTHER"
	move_keys "$SLOT" "$OTHER"
	queue_up 2
	run -75 "$FAIRLOCK" wrap -n job true
	[[ $output = *'held by'* ]]
	FAIRLOCK_HELD=$HOLD_OWNER run -7 "$FAIRLOCK" wrap --replicas 1 job sh -c 'exit 7'
	wait_until waits_at "$OTHER" 2
	"$FAIRLOCK" status -q job
	wait_until still_held cluster_cli
	close_slot "$SLOT" "$OTHER"
	held_on
	all_went_well 2
}

@test "while only some keys of a slot have moved (TRYAGAIN), fairlock tries until the connect timeout, or they have moved" {
	owner=$("$FAIRLOCK" acquire job)
	open_slot "$SLOT" "$OTHER"
	move_keys "$SLOT" "$OTHER" job
	fails_with 69 'the lock is moving to another node' --connect-timeout 300ms
	background "$FAIRLOCK" wrap --connect-timeout 20s -w 20s job touch ran
	waiter=$!
	sleep 0.5
	move_keys "$SLOT" "$OTHER"
	close_slot "$SLOT" "$OTHER"
	"$FAIRLOCK" release --owner "$owner" job
	wait "$waiter"
	[ -e ran ]
}

@test "when a slot moves slowly, key by key, the holder keeps its token and the waiters their order" {
	hold_job -l 30s
	queue_up_to 2
	open_slot "$SLOT" "$OTHER"
	for key in job 'fairlock:{job}' 'redisson_lock_queue:{job}' 'fairlock_log:{job}' 'redisson_lock_timeout:{job}' \
		'fairlock_queue:{job}'; do
		move_keys "$SLOT" "$OTHER" "$key"
		sleep 0.3
	done
	queue_up 3 --connect-timeout 10s
	move_keys "$SLOT" "$OTHER"
	close_slot "$SLOT" "$OTHER"
	wait_until still_held cluster_cli
	wait_until waits_at "$OTHER" 3
	held_on
	all_went_well 3
}

@test "a newer waiter supersedes the one before on a cluster, also while the slot moves" {
	hold_job -l 30s
	queue_up 1
	queue_up old --supersede
	queue_up 3
	queue_up mid --supersede
	ends_with 75 "$(<waiter.old.pid)"
	move_slot "$SLOT" "$OTHER"
	wait_until waits_at "$OTHER" 3
	queue_up 2 --supersede
	ends_with 75 "$(<waiter.mid.pid)"
	grep -q 'superseded by sh -c' waiter.old waiter.mid
	held_on
	all_went_well 3
}

# The number of holds that the log calls broken. (An earlier test may have broken some.)
broken_locks() { "$FAIRLOCK" log --json job | jq '[.log[] | select(.event == "forced")] | length'; }

# A release would hand the lock over, but the node refuses its key, which has just gone.
@test "a release while the slot begins to move tells the first waiter, which keeps its place" {
	before=$(broken_locks)
	hold_job -l 9s
	queue_up_to 2
	open_slot "$SLOT" "$OTHER"
	held_on
	run -1 grep -qx job <(node_cli "$OWNER" --raw CLUSTER GETKEYSINSLOT "$SLOT" 10)
	assert_equal "$(node_cli "$OWNER" ZCARD 'fairlock_queue:{job}')" 2
	move_keys "$SLOT" "$OTHER"
	close_slot "$SLOT" "$OTHER"
	all_went_well 2
	assert_equal "$(broken_locks)" "$before"
}

# The release drops the dead waiter, and with it the list, which the node refuses as well.
@test "a release while the slot begins to move, with only a dead waiter, does not log the lock as broken" {
	before=$(broken_locks)
	hold_job -l 9s
	queue_up 1
	kill -KILL "$(<waiter.1.pid)"
	wait_until ended "$(<waiter.1.pid)"
	assert_equal "$(node_cli "$OWNER" ZCARD 'fairlock_queue:{job}')" 1
	open_slot "$SLOT" "$OTHER"
	touch go
	wait_until job_is_gone
	move_keys "$SLOT" "$OTHER"
	close_slot "$SLOT" "$OTHER"
	held_on
	"$FAIRLOCK" wrap job true
	assert_equal "$(broken_locks)" "$before"
}

job_is_gone() { ! node_cli "$OWNER" --raw CLUSTER GETKEYSINSLOT "$SLOT" 10 | grep -qx job; }

# ---- Failover

@test "when the master is killed the holder keeps its token and the waiters their order" {
	own_cluster
	hold_job -l 20s --replicas 1
	queue_up_to 3
	kill_node "$OWNER"
	wait_until has_moved "$SLOT" "$OWNER"
	wait_until still_held cluster_cli
	queue_up 4 --connect-timeout 10s
	wait_until waits_at "$(owner_of "$SLOT")" 4
	held_on
	all_went_well 4
}

@test "a newcomer during a failover gets the lock within the connect timeout, or status 69" {
	own_cluster
	kill_node "$OWNER"
	fails_with 69 '' --connect-timeout 100ms
	run -7 "$FAIRLOCK" wrap --connect-timeout 15s job sh -c 'exit 7'
}

@test "while a master without a replica is dead (CLUSTERDOWN) a newcomer gets status 69 and a waiter waits on" {
	own_cluster
	hold_job -l 30s
	queue_up 1 --connect-timeout 1s
	replica=$(replica_of "$OWNER")
	kill_node "$replica"
	stop_node "$OWNER"
	wait_until eval 'node_cli "$OTHER" CLUSTER INFO | grep cluster_state:fail'
	fails_with 69 '' --connect-timeout 500ms
	touch go
	sleep 1
	[ ! -e history ]
	continue_node "$OWNER"
	held_on
	all_went_well 1
}

# ---- Several holders

@test "when a cluster's slot moves, holders keep the lock's slots and go to the new node with their waiters" {
	pids=()
	for _ in 1 2 3; do
		join_holders -l 20s --slots 3 job
		pids+=("$HOLDER")
	done
	join_queue --connect-timeout 10s --slots 3 job sh -c 'echo "$FAIRLOCK_SLOT" >slot'
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
	join_two -l 20s --slots 2 job
	join_queue --connect-timeout 10s job touch alone
	open_slot "$SLOT" "$OTHER"
	for key in job 'fairlock:{job}' 'redisson_lock_queue:{job}' 'fairlock_log:{job}' 'redisson_lock_timeout:{job}'; do
		move_keys "$SLOT" "$OTHER" "$key"
	done
	run -69 "$FAIRLOCK" acquire -n --connect-timeout 1s job
	move_keys "$SLOT" "$OTHER"
	close_slot "$SLOT" "$OTHER"
	use_cluster
	wait_until in_queue job 1
	for HOLDER in "$FIRST" "$HOLDER"; do wait_until ends_after "$(id_of "$HOLDER")" $(($(now_ms) + 15000)); done
	consistent
	let_go "$FIRST"
	let_go "$HOLDER"
	ends_with 0 "$WAITER"
	[ -e alone ]
}

# ---- Several locks: each is on another node, and has a connection of its own

# name_at PORT LETTER: prints a name that begins so, of a lock on this node
name_at() {
	local i

	for ((i = 0; i < 100; i++)); do
		[ "$(owner_of "$(slot_of "$2$i")")" != "$1" ] || break
	done
	echo "$2$i"
}

# name_three: A, B and C are names on three masters, in the order of their bytes; OF_A, OF_B and OF_C are the ports of these
name_three() {
	read -r OF_A OF_B OF_C < <(master_nodes | head -n 3 | xargs)
	A=$(name_at "$OF_A" a)
	B=$(name_at "$OF_B" b)
	C=$(name_at "$OF_C" c)
}

@test "locks on three nodes are held together, renewed, and given back" {
	name_three
	run -0 "$FAIRLOCK" wrap -l 1s -k 100ms --also "$C" --also "$A" "$B" sh -c \
		'sleep 1.5; "$FAIRLOCK" status --raw --noheadings -o NAME; echo "$FAIRLOCK_TOKENS"'
	assert_line --index 0 "$A"
	assert_line --index 1 "$B"
	assert_line --index 2 "$C"
	assert_line --index 3 --regexp "^$A=[0-9]+\$"
	assert_equal "${#lines[@]}" 6
	assert_equal "$(cluster_cli EXISTS "$A")$(cluster_cli EXISTS "$B")$(cluster_cli EXISTS "$C")" 000
}

@test "when the node of one lock hangs COMMAND is dead before its lease ends, and the others are given back" {
	own_cluster --cluster-require-full-coverage no
	name_three
	kill_node "$(replica_of "$OF_A")"
	write_job
	background "$FAIRLOCK" wrap -l 4s --also "$A" --also "$C" "$B" sh job 2>said
	WRAPPER=$!
	wait_until job_runs
	stop_node "$OF_A"
	LEASE_END=$(awk '{ print $1 + 4 }' /proc/uptime)
	dead_in_time
	ends_with 76 "$WRAPPER"
	grep -q "^fairlock: lost lock $A: " said
	run ! grep -qE "lost lock ($B|$C)|giving back" said
	assert_equal "$(node_cli "$OF_B" EXISTS "$B")$(node_cli "$OF_C" EXISTS "$C")" 00
}

#!/usr/bin/env bats
# wrap --also in a cluster: each lock is on another node, and has a connection of its own.

load ../lib/helpers
load ../lib/nodes
load ../lib/jobs

setup_file() { start_cluster; }

# A, B and C are names on three masters, in the order of their bytes; OF_A, OF_B and OF_C are the ports of these.
setup() {
	cd "$BATS_TEST_TMPDIR" || return
	use_cluster
}

use_cluster() {
	printf -v FAIRLOCK_URL '127.0.0.1:%s,' $CLUSTER_PORTS
	export FAIRLOCK_URL=redis://${FAIRLOCK_URL%,} FAIRLOCK_CONNECT_TIMEOUT=2s
	read -r OF_A OF_B OF_C < <(master_nodes | head -n 3 | xargs)
	A=$(name_at "$OF_A" a)
	B=$(name_at "$OF_B" b)
	C=$(name_at "$OF_C" c)
}

teardown() {
	local port

	for port in $CLUSTER_PORTS; do
		continue_node "$port" 2>/dev/null || true
	done
	[ "${OWN_CLUSTER:-}" = yes ] || wait_until cluster_is_ready
}

# own_cluster: a cluster of which this test may kill nodes; the others serve on
own_cluster() {
	OWN_CLUSTER=yes
	start_cluster --cluster-require-full-coverage no
	use_cluster
}

# name_at PORT LETTER: prints a name that begins so, of a lock on this node
name_at() {
	local i

	for ((i = 0; i < 100; i++)); do
		[ "$(owner_of "$(slot_of "$2$i")")" != "$1" ] || break
	done
	echo "$2$i"
}

all_free() { [ "$(cluster_cli EXISTS "$A")$(cluster_cli EXISTS "$B")$(cluster_cli EXISTS "$C")" = 000 ]; }

# token NAME: prints the token of this lock
token() { cluster_cli HGET "fairlock:{$1}" token; }

@test "locks on three nodes are held together, renewed, and given back" {
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap -l 1s -k 100ms --also "$C" --also "$A" "$B" sh -c \
		'sleep 1.5; "$FAIRLOCK" status --raw --noheadings -o NAME; echo "$FAIRLOCK_TOKENS"'
	assert_line --index 0 "$A"
	assert_line --index 1 "$B"
	assert_line --index 2 "$C"
	assert_line --index 3 --regexp "^$A=[0-9]+\$"
	assert_equal "${#lines[@]}" 6
	all_free
}

@test "when the node of one lock hangs COMMAND is dead before its lease ends, and the others are given back" {
	own_cluster
	kill_node "$(replica_of "$OF_A")"
	write_job
	background "$FAIRLOCK" wrap -l 4s --also "$A" --also "$C" "$B" sh job 2>said
	WRAPPER=$!
	wait_until job_runs
	stop_node "$OF_A"
	# shellcheck disable=SC2034 # for dead_in_time
	LEASE_END=$(awk '{ print $1 + 4 }' /proc/uptime)
	dead_in_time
	status_of "$WRAPPER"
	assert_equal "$STATUS" 76
	grep -q "^fairlock: lost lock $A: " said
	run ! grep -qE "lost lock ($B|$C)|giving back" said
	assert_equal "$(node_cli "$OF_B" EXISTS "$B")$(node_cli "$OF_C" EXISTS "$C")" 00
}

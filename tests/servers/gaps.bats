# A cluster of which a part is missing: status, queue, log, metrics and doctor show the rest, and
# say what they cannot see.

setup() {
	load ../lib/helpers
	load ../lib/nodes
	cd "$BATS_TEST_TMPDIR" || return
	export FAIRLOCK_CONNECT_TIMEOUT=1s FAIRLOCK_URL # each test has its own
}

# lone_node [FIRST LAST]: a cluster of one node that has these slots, or none. Sets NODE.
lone_node() {
	new_nodes 1
	NODE=${PORTS[0]}
	export CLUSTER_PORTS=$NODE
	new_cluster_node "$NODE" --cluster-require-full-coverage no
	[ $# = 0 ] || node_does "$NODE" CLUSTER ADDSLOTS $(seq "$1" "$2")
	[ $# = 0 ] || wait_until serves
	FAIRLOCK_URL=redis://127.0.0.1:$NODE
}

serves() { node_cli "$NODE" CLUSTER INFO | grep -q cluster_state:ok; }

# shows_all_but TEXT STATUS ARG...: fairlock ends with STATUS, and says that TEXT is missing
shows_all_but() {
	run --separate-stderr -"$2" timeout 20 "$FAIRLOCK" "${@:3}"
	assert_equal "${#stderr_lines[@]}" 1
	[[ $stderr = "fairlock: cannot see a part of the cluster: $1" ]] || { echo "$stderr"; return 1; }
}

# `job` has slot 5337 on every cluster, `a` has 15495.
@test "status and metrics show the locks of the nodes that are there, and name slots that no node has" {
	lone_node 0 8191
	missing='slots 8192-16383: no node has them'
	owner=$("$FAIRLOCK" acquire job)
	shows_all_but "$missing" 69 status --raw --noheadings -o NAME,STATE
	assert_output --regexp '^job +held$'
	shows_all_but "$missing" 69 status --json
	assert_equal "$(jq -r '.locks[].name' <<<"$output")" job
	shows_all_but "$missing" 69 status --prometheus
	assert_line 'fairlock_locks 1'
	assert_line 'fairlock_held{lock="job"} 1'
	assert_line 'fairlock_unseen_slots 8192'
	# one held lock is enough for status -q to be sure
	run -0 "$FAIRLOCK" status -q
	"$FAIRLOCK" release --owner "$owner" job
	shows_all_but "$missing" 69 status -q
	run -7 "$FAIRLOCK" wrap job sh -c 'exit 7'
}

@test "doctor finds some slots, and all slots, that no node has" {
	lone_node
	run -2 "$FAIRLOCK" doctor --json
	assert_equal "$(jq -r '.findings[] | select(.check == "slots") | .severity + " " + .finding' <<<"$output")" \
		'error slots 0-16383: no node has them'
	shows_all_but 'slots 0-16383: no node has them' 69 status
	[ -z "$output" ]
	shows_all_but 'slots 0-16383: no node has them' 69 status --prometheus
	[ -z "$output" ]
	node_does "$NODE" CLUSTER ADDSLOTS $(seq 1 16383)
	wait_until serves
	for words in '' job; do
		run -2 "$FAIRLOCK" doctor --json $words
		assert_equal "$(jq -r '.findings[] | select(.severity == "error") | .finding' <<<"$output")" \
			'slots 0: no node has them'
	done
	node_does "$NODE" CLUSTER ADDSLOTS 0
	run "$FAIRLOCK" doctor --json
	assert_equal "$(jq -r '.findings[] | select(.check == "slots")' <<<"$output")" ''
	run -0 "$FAIRLOCK" status --prometheus
	assert_line 'fairlock_unseen_slots 0'
}

@test "status, metrics and doctor name a dead master without a replica with its slots, and show the rest" {
	start_cluster --cluster-require-full-coverage no
	FAIRLOCK_URL=redis://127.0.0.1:$(owner_of 5337)
	for name in job a b; do
		"$FAIRLOCK" wrap "$name" true
	done
	dead=$(owner_of 15495)
	kill_node "$(replica_of "$dead")"
	kill_node "$dead"
	missing="slots 10922-16383: cannot reach redis://127.0.0.1:$dead: Connection refused"
	shows_all_but "$missing" 69 status --all --noheadings -o NAME
	assert_output $'b\njob'
	shows_all_but "$missing" 69 status --prometheus
	assert_line 'fairlock_locks 2'
	assert_line 'fairlock_unseen_slots 5462'
	run -2 "$FAIRLOCK" doctor --json
	assert_equal "$(jq -r '.findings[] | select(.severity == "error") | .finding' <<<"$output")" "$missing"
	assert_equal "$(jq '.server.addresses | length' <<<"$output")" 2
	run -2 "$FAIRLOCK" doctor
	assert_output --partial 'slots 10922-16383'
}

#!/usr/bin/env bats
# fairlock log --follow without a name: the events of all locks as they come, on every kind of server.

load ../lib/helpers
load ../lib/one_server

# follow [OPTION...]: starts log --follow, which prints into `followed`; sets FOLLOWER
follow() {
	background env --default-signal=INT,PIPE "$FAIRLOCK" log --follow "$@" >followed 2>complaints
	FOLLOWER=$!
}

# followed COUNT: succeeds if it has printed so many lines
followed() { [ "$(wc -l <followed)" = "$1" ]; }

# looks: succeeds if it has looked for locks
looks() { cli CLIENT LIST | grep -Eq 'cmd=(scan|hget|eval)'; }

# told NAME: prints the events of a lock that were told
told() { jq -r --arg name "$1" 'select(.name == $name).event' followed | paste -sd ' '; }

# all_told: succeeds if each event of all locks was told once
all_told() {
	[ "$(jq -c . followed | LC_ALL=C sort)" = "$("$FAIRLOCK" log --json | jq -c '.log[]' | LC_ALL=C sort)" ]
}

@test "log --follow without a name prints the events of all locks so far, then each new one, and ends with 130 on SIGINT" {
	"$FAIRLOCK" wrap one true
	"$FAIRLOCK" wrap two true
	follow --raw --noheadings -o NAME,EVENT
	wait_until followed 4
	wait_until looks
	SECONDS=0
	"$FAIRLOCK" acquire one
	wait_until followed 5
	"$FAIRLOCK" release --force one
	wait_until followed 6
	[ "$SECONDS" -le 4 ] # it looks every second
	assert_equal "$(paste -sd ' ' followed)" 'one granted one released two granted two released one granted one forced'
	kill -s INT "$FOLLOWER"
	ends_with 130 "$FOLLOWER"
	assert_equal "$(<complaints)" ''
}

@test "log --follow without a name tells locks that appear later, whatever their names" {
	follow --json
	wait_until looks
	for name in job 'a {b} c' '{x}' $'é "quoted"' "$(printf '%0500d' 7)"; do
		"$FAIRLOCK" wrap "$name" true
	done
	wait_until followed 10
	wait_until all_told
	assert_equal "$(told '{x}')" 'granted released'
}

@test "log --follow without a name goes on after a restart of the server, and neither loses nor repeats a line" {
	SERVER_DIR=$PWD start_server --appendonly yes
	"$FAIRLOCK" wrap one true
	follow --json
	wait_until followed 2
	"$FAIRLOCK" wrap two true
	stop_server
	start_server --appendonly yes
	"$FAIRLOCK" wrap one true
	wait_until followed 6
	"$FAIRLOCK" wrap three true
	wait_until followed 8
	all_told
	assert_equal "$(<complaints)" ''
}

@test "log --follow without a name says once that the server is away for long, and goes on when it is back" {
	SERVER_DIR=$PWD start_server --appendonly yes
	FAIRLOCK_CONNECT_TIMEOUT=500ms follow --json
	wait_until looks
	stop_server
	wait_until test -s complaints
	sleep 2.5
	assert_equal "$(wc -l <complaints)" 1
	grep -q '^fairlock: cannot reach ' complaints
	start_server --appendonly yes
	"$FAIRLOCK" wrap one true
	wait_until followed 2
}

# ---- A cluster ----

# names_on_all: sets NAMES to three names of locks, one on each master
names_on_all() {
	local name port

	for port in $(master_nodes); do
		for name in job{1..200}; do
			[ "$(owner_of "$(slot_of "$name")")" != "$port" ] || break
		done
		NAMES+=("$name")
	done
	[ ${#NAMES[@]} = 3 ]
}

@test "log --follow on a cluster tells the events of all nodes, through failovers, a killed node and moving slots" {
	local name slot old new

	load ../lib/nodes
	start_cluster
	FAIRLOCK_URL=redis://127.0.0.1:$(tr ' ' ',' <<<"$CLUSTER_PORTS" | sed 's/,/,127.0.0.1:/g')
	names_on_all
	"$FAIRLOCK" wrap "${NAMES[0]}" true
	follow --json
	wait_until followed 2
	for name in "${NAMES[@]}"; do
		"$FAIRLOCK" wrap "$name" true
	done
	wait_until followed 8
	# a gentle failover
	slot=$(slot_of "${NAMES[0]}")
	old=$(owner_of "$slot")
	fail_over_to "$(replica_of "$old")"
	wait_until has_moved "$slot" "$old"
	"$FAIRLOCK" wrap "${NAMES[0]}" true
	wait_until followed 10
	# the slot moves to another node with all keys
	new=$(owner_of "$(slot_of "${NAMES[1]}")")
	move_slot "$slot" "$new"
	"$FAIRLOCK" wrap "${NAMES[0]}" true
	wait_until followed 12
	# a node dies
	slot=$(slot_of "${NAMES[2]}")
	old=$(owner_of "$slot")
	kill_node "$old"
	wait_until has_moved "$slot" "$old"
	"$FAIRLOCK" wrap "${NAMES[2]}" true
	wait_until followed 14
	wait_until all_told
	kill "$FOLLOWER"
}

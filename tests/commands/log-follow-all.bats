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

@test "log --follow --json without a name prints an object for each event, with the name of the lock" {
	"$FAIRLOCK" wrap old true
	follow --json
	wait_until followed 2
	"$FAIRLOCK" wrap --slots a,b new true
	wait_until followed 4
	assert_equal "$(jq -c '[.name, .event, .slot]' followed | paste -sd ' ')" \
		'["old","granted",null] ["old","released",null] ["new","granted","a"] ["new","released","a"]'
	assert_equal "$(jq -c 'keys_unsorted' followed | sort -u)" "$("$FAIRLOCK" log --json | jq -c '.log[0] | keys_unsorted')"
}

@test "log --follow --since without a name leaves out older events" {
	"$FAIRLOCK" wrap old true
	sleep 1.1
	follow --json --since 1s
	wait_until looks
	"$FAIRLOCK" wrap old true
	"$FAIRLOCK" wrap new true
	wait_until followed 4
	assert_equal "$(told old) $(told new)" 'granted released granted released'
}

@test "log --follow --since without a name counts from its start, also if there is no log yet, and later events are not too old" {
	follow --json --since 1ms
	wait_until looks
	"$FAIRLOCK" wrap one true
	wait_until followed 2
	"$FAIRLOCK" acquire two
	wait_until followed 3
}

@test "log --follow without a name asks the server about each lock once a second" {
	"$FAIRLOCK" wrap job true
	follow
	wait_until followed 3
	sleep 0.5
	asked() { cli INFO commandstats | sed -n 's/^cmdstat_xrevrange:calls=\([0-9]*\),.*/\1/p'; }
	count=$(asked)
	sleep 3
	[ $(($(asked) - count)) -le 4 ]
}

@test "log --follow without a name tells a thousand events of a hundred locks once each, in the order of their times" {
	follow --json
	wait_until looks
	seq 500 | xargs -P 8 -I N sh -c '"$FAIRLOCK" wrap "job$((N % 100))" true'
	wait_until followed 1000
	all_told
	jq -r .name followed | sort | uniq -c | awk '$1 != 10 { exit 1 }'
}

@test "log --follow without a name goes on when logs are deleted and begin anew, and when all keys are" {
	"$FAIRLOCK" wrap one true
	follow --raw --noheadings -o NAME,EVENT
	wait_until followed 2
	cli DEL 'fairlock_log:{one}' >/dev/null
	"$FAIRLOCK" wrap one true
	wait_until followed 4
	cli FLUSHALL >/dev/null
	"$FAIRLOCK" wrap one true
	wait_until followed 6
	cli XADD 'fairlock_log:{one}' '*' event granted owner x >/dev/null
	wait_until followed 7
}

@test "log --follow without a name does not print events again when a log has lost its latest entries" {
	"$FAIRLOCK" wrap job true
	follow --raw --noheadings -o EVENT
	wait_until followed 2
	cli XDEL 'fairlock_log:{job}' "$(cli --raw XREVRANGE 'fairlock_log:{job}' + - COUNT 1 | head -n 1)" >/dev/null
	"$FAIRLOCK" acquire job
	wait_until followed 3
	assert_equal "$(paste -sd ' ' followed)" 'granted released granted'
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

@test "log --follow without a name pauses between its attempts while a server drops it again and again" {
	connections() { cli INFO stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p'; }

	"$FAIRLOCK" wrap job true
	follow --json
	wait_until followed 2
	count=$(connections)
	cli -r 200 -i 0.02 CLIENT KILL TYPE normal >/dev/null # for 4 s, all but its own
	count=$(($(connections) - count))
	if [ "$count" -lt 4 ] || [ "$count" -gt 50 ]; then fail "$count connections"; fi
	"$FAIRLOCK" wrap job true
	wait_until followed 4
	all_told
	assert_equal "$(<complaints)" ''
}

@test "log --follow without a name ends when its reader has ended" {
	"$FAIRLOCK" wrap job true
	mkfifo pipe
	background head -n 1 pipe >/dev/null
	background env --default-signal=PIPE "$FAIRLOCK" log --follow >pipe
	follower=$!
	wait_until ended $follower
	ends_with 141 "$follower"
}

@test "log --follow without a name ends with 71 and a message if standard output is full" {
	"$FAIRLOCK" wrap job true
	run -71 timeout 20 sh -c '"$FAIRLOCK" log --follow >/dev/full'
	assert_output --partial 'fairlock: cannot write to standard output: '
}

@test "log --follow without a name ends with 69 if the server is not there at the start" {
	run -69 timeout 20 "$FAIRLOCK" log --follow --url unix:/nonexistent
}

@test "log --follow tells once of a lock whose keys are something else, and follows the others" {
	"$FAIRLOCK" wrap job true
	cli DEL 'fairlock:{job}' >/dev/null
	cli SET 'fairlock:{job}' x >/dev/null
	follow --json
	wait_until test -s complaints
	cli XADD 'fairlock_log:{job}' '*' event granted owner x >/dev/null
	"$FAIRLOCK" wrap other true
	wait_until followed 2
	assert_equal "$(told other)" 'granted released'
	assert_equal "$(wc -l <complaints)" 1
}

@test "log --follow tells once of a log that is something else, also if that was there before" {
	cli SET 'fairlock_log:{job}' x >/dev/null
	follow --json
	wait_until test -s complaints
	cli SET 'fairlock_log:{job}' y >/dev/null
	"$FAIRLOCK" wrap other true
	wait_until followed 2
	assert_equal "$(told other)" 'granted released'
	assert_equal "$(<complaints)" 'fairlock: cannot use the name job: it is in use by something that is no lock'
}

@test "log --follow through sentinels goes on after a failover" {
	load ../lib/nodes
	start_sentinels
	use_sentinels
	"$FAIRLOCK" wrap one true
	follow --json
	wait_until followed 2
	fail_over
	"$FAIRLOCK" wrap two true
	wait_until followed 4
	"$FAIRLOCK" wrap one true
	wait_until followed 6
	assert_equal "$(told one) $(told two)" 'granted released granted released granted released'
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

@test "log --follow on a cluster follows what it can see while a part has no node, and says so once" {
	local port

	load ../lib/nodes
	start_cluster --cluster-require-full-coverage no
	FAIRLOCK_URL=redis://127.0.0.1:$(tr ' ' ',' <<<"$CLUSTER_PORTS" | sed 's/,/,127.0.0.1:/g')
	names_on_all
	follow --json --connect-timeout 1s
	for port in $(owner_of "$(slot_of "${NAMES[2]}")"); do
		kill_node "$(replica_of "$port")"
		kill_node "$port"
	done
	wait_until test -s complaints
	"$FAIRLOCK" wrap "${NAMES[0]}" true
	"$FAIRLOCK" wrap "${NAMES[1]}" true
	wait_until followed 4
	assert_equal "$(wc -l <complaints)" 1
	grep -q '^fairlock: cannot see a part of the cluster: ' complaints
	start_node "$port"
	wait_until cluster_is_ready
	"$FAIRLOCK" wrap "${NAMES[2]}" true
	wait_until followed 6
	assert_equal "$(told "${NAMES[2]}")" 'granted released'
}

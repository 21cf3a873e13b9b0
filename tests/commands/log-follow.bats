# fairlock log --follow: new events of a lock, or of all locks, as they come, however the server fares meanwhile.

load ../lib/helpers
load ../lib/history
load ../lib/one_server

# follow [WORD...]: starts log --follow, which prints into `followed`; sets FOLLOWER
follow() {
	background env --default-signal=INT,PIPE "$FAIRLOCK" log --follow "$@" >followed 2>>complaints
	FOLLOWER=$!
}

# followed COUNT: succeeds if it has printed so many lines
followed() { [ "$(wc -l <followed)" = "$1" ]; }

# looks: succeeds if it has looked for locks
looks() { cli CLIENT LIST | grep -Eq 'cmd=(scan|hget|eval)'; }

# all_told: succeeds if each event of all locks was told once
all_told() {
	[ "$(jq -c . followed | LC_ALL=C sort)" = "$("$FAIRLOCK" log --json | jq -c '.log[]' | LC_ALL=C sort)" ]
}

@test "log --follow prints the events so far, or the last --lines N, then each new one, and ends with 130 on SIGINT" {
	local name

	for name in job ''; do
		cli FLUSHALL
		"$FAIRLOCK" wrap job sh -c 'exit 3' || true
		follow --raw --noheadings -o NAME,EVENT $name
		background "$FAIRLOCK" log --raw --noheadings -o EVENT,STATUS --follow -n 1 $name >"last.$name"
		wait_until followed 2
		wait_until lines_in "last.$name" 1
		SECONDS=0
		"$FAIRLOCK" acquire job
		wait_until followed 3
		"$FAIRLOCK" release --force job
		wait_until followed 4
		[ "$SECONDS" -le 4 ] # it looks every second
		assert_equal "$(paste -sd ' ' followed)" 'job granted job released job granted job forced'
		wait_until lines_in "last.$name" 3
		assert_equal "$(paste -sd " " "last.$name")" 'released 3 granted - forced -'
		kill -s INT "$FOLLOWER"
		ends_with 130 "$FOLLOWER"
		assert_equal "$(<complaints)" ''
	done
}

@test "log --follow keeps the columns of its table" {
	export TZ=UTC
	at 12 granted 1 ann 0
	follow job
	wait_until followed 2
	at 77 released 1 ann 0 65
	wait_until followed 3
	assert_equal "$(sed 's/ *$//' followed)" "$(cat <<-'END'
		TIME                EVENT   WAITED HELD STATUS CAUSE USER HOST PID COMMAND
		Nov 21 03:00:12.000 granted    0ms                   ann  db1  100 backup.sh
		Nov 21 03:01:17.000 released    0ms 1m5s              ann  db1  100 backup.sh
	END
	)"
}

@test "log --follow without a name tells locks that appear later, whatever their names" {
	follow --json
	wait_until looks
	for name in job 'a {b} c' '{x}' $'é "quoted"' "$(printf '%0500d' 7)"; do
		"$FAIRLOCK" wrap "$name" true
	done
	wait_until followed 10
	wait_until all_told
}

@test "log --follow goes on after a restart of the server, says once that it is away for long, and neither loses nor repeats a line" {
	SERVER_DIR=$PWD start_server --appendonly yes
	"$FAIRLOCK" wrap job true
	export FAIRLOCK_CONNECT_TIMEOUT=500ms
	follow --json
	background "$FAIRLOCK" log --follow --json job >named 2>>complaints
	wait_until all_told
	"$FAIRLOCK" wrap job true
	stop_server
	wait_until lines_in complaints 2
	sleep 2.5
	assert_equal "$(grep -c '^fairlock: cannot reach ' complaints) $(wc -l <complaints)" '2 2'
	start_server --appendonly yes
	"$FAIRLOCK" wrap job true
	wait_until all_told
	wait_until cmp followed named
}

@test "log --follow ends when its reader has ended" {
	"$FAIRLOCK" wrap job true
	mkfifo pipe
	background head -n 1 pipe >/dev/null
	background env --default-signal=PIPE "$FAIRLOCK" log --follow job >pipe
	ends_with 141 $!
}

@test "log --follow on a cluster tells the events of all nodes, through a failover and a killed node" {
	local port name names=()

	load ../lib/nodes
	start_cluster
	FAIRLOCK_URL=redis://127.0.0.1:$(tr ' ' ',' <<<"$CLUSTER_PORTS" | sed 's/,/,127.0.0.1:/g')
	for port in $(master_nodes); do # a lock on each
		for name in job{1..200}; do
			[ "$(owner_of "$(slot_of "$name")")" != "$port" ] || break
		done
		names+=("$name")
	done
	for name in "${names[@]}"; do
		"$FAIRLOCK" wrap "$name" true
	done
	follow --json
	wait_until followed 6
	port=$(owner_of "$(slot_of "${names[0]}")")
	fail_over_to "$(replica_of "$port")"
	wait_until has_moved "$(slot_of "${names[0]}")" "$port"
	"$FAIRLOCK" wrap "${names[0]}" true
	wait_until followed 8
	port=$(owner_of "$(slot_of "${names[2]}")")
	kill_node "$port"
	wait_until has_moved "$(slot_of "${names[2]}")" "$port"
	"$FAIRLOCK" wrap "${names[2]}" true
	wait_until followed 10
	wait_until all_told
	kill "$FOLLOWER"
}

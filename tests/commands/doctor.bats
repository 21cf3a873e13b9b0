#!/usr/bin/env bats
# fairlock doctor: its findings about servers, locks, replicas and clocks.

load ../lib/helpers
load ../lib/doctor

# set_as_told COUNT: does what COUNT findings say to set; the server must accept that
set_as_told() {
	local line told=0

	while IFS= read -r line; do
		told=$((told + 1))
		assert_equal "$(cli <<<"$line")" OK
	done < <(jq -r '.findings[].remedy | values | select(startswith("CONFIG SET")) |
		capture("^(?<set>.*), and the same setting in its configuration file: a restart forgets CONFIG SET$").set' <<<"$output")
	assert_equal "$told" "$1"
}

# ---- Servers and locks ----

@test "doctor finds nothing worse than notes on a good server, and ends with 0" {
	start_well
	doctor 0
	says .server.software "$(basename "$SERVER" -server)"
	says .server.mode standalone
	says .server.role master
	says .server.url "unix:$SERVER_SOCKET"
	says '.server.addresses[0]' "$SERVER_SOCKET"
	says '[.findings[].severity] | unique | join(" ")' 'note ok'
	for check in version memory persistence connections permissions clock locks; do
		finds ok "$check"
	done
	[ -z "$stderr" ]
}

@test "doctor lists ten findings of a kind, and drops none of another" {
	local names

	start_well
	mapfile -t names < <(seq 120)
	doctor 0 "${names[@]}"
	says '[.findings[] | select(.check == "permissions")] | length' 10
	finds ok permissions 'lock 10; and 110 more'
	finds ok clock
	finds ok locks '120 looked at'
}

@test "doctor finds an error if the server may evict keys, under either kind of policy" {
	start_well --maxmemory 100mb --maxmemory-policy allkeys-lru
	doctor 2
	finds error memory allkeys-lru
	cli CONFIG SET maxmemory-policy volatile-ttl
	doctor 2
	finds error memory volatile-ttl
	cli CONFIG SET maxmemory-policy noeviction
	doctor 0
	finds ok memory noeviction
	cli CONFIG SET maxmemory 0 maxmemory-policy allkeys-lru
	doctor 0
}

@test "doctor warns of a server that writes nothing to disk, and notes one that writes snapshots" {
	start_server
	doctor 1
	finds warning persistence 'nothing is written'
	cli CONFIG SET save '3600 1'
	doctor 0
	finds note persistence snapshots
	cli CONFIG SET appendonly yes
	doctor 0
	for when in no everysec always; do
		cli CONFIG SET appendfsync "$when"
		doctor 0
		finds ok persistence 'append-only file'
	done
}

@test "doctor warns of memory and files that are set badly and of few connections, and its remedies are valid" {
	port=$(free_port)
	start_server --port "$port" --bind 127.0.0.1 --maxclients 32 --maxmemory 100mb --maxmemory-policy allkeys-lru
	doctor 2 -u "redis://127.0.0.1:$port"
	set_as_told 2
	for i in {1..28}; do
		background sleep 60 >"/dev/tcp/127.0.0.1/$port"
	done
	crowded() { [ "$(cli INFO clients | sed -n 's/^connected_clients:\([0-9]*\).*/\1/p')" -ge 28 ]; }
	wait_until crowded
	doctor 1 -u "redis://127.0.0.1:$port"
	finds warning connections 'of 32'
}

@test "doctor finds a lock without a time to live and waiters that are gone, and its remedies remove them" {
	start_well
	"$FAIRLOCK" acquire --lease 1m job >"$BATS_TEST_TMPDIR/owner"
	cli PERSIST job
	background "$FAIRLOCK" wrap job true
	ghost=$!
	wait_until in_queue job 1
	kill -s KILL "$ghost"
	nobody_listens() { [ -z "$(cli --raw PUBSUB CHANNELS '*job*')" ]; }
	wait_until nobody_listens
	redisson=00000000-0000-4000-8000-000000000000:1
	cli RPUSH 'redisson_lock_queue:{job}' "$redisson"
	cli ZADD 'redisson_lock_timeout:{job}' 9999999999999 "$redisson"
	doctor 1
	finds warning leases 'lock job has no time to live'
	finds note queues ":$ghost waits for lock job"
	finds warning queues "$redisson, of Redisson"
	doctor 1 job
	finds warning leases 'lock job'
	before=$(cli DEBUG DIGEST 2>/dev/null || cli DUMP 'fairlock:{job}')
	doctor 1
	assert_equal "$(cli DEBUG DIGEST 2>/dev/null || cli DUMP 'fairlock:{job}')" "$before"
	# each remedy is a command line
	remedies=$(jq -r '.findings[] | select(.check == "leases" or .check == "queues") | .remedy' <<<"$output")
	while read -r _ remedy; do
		# shellcheck disable=SC2086
		"$FAIRLOCK" $remedy
	done < <(grep -v force <<<"$remedies"; grep force <<<"$remedies")
	doctor 0
}

# ---- Replicas ----

# start_master: starts a good server on the TCP port that it sets `port` to
start_master() {
	port=$(free_port)
	start_well --port "$port" --bind 127.0.0.1 --repl-diskless-sync-delay 0
}

# start_replica: starts a replica of start_master's server, and waits until it is in sync
start_replica() {
	REPLICA_DIR=$BATS_TEST_TMPDIR/replica
	mkdir -p "$REPLICA_DIR"
	REPLICA_PORT=$(free_port)
	background "$SERVER" --port "$REPLICA_PORT" --bind 127.0.0.1 --dir "$REPLICA_DIR" --save '' \
		--replicaof 127.0.0.1 "$port" --repl-diskless-load swapdb >"$REPLICA_DIR/log" 2>&1
	online() { cli INFO replication | grep -qE 'slave0:.*state=online.*lag=[01]'; }
	wait_until online
}

@test "doctor compares the replicas in sync with --replicas and min-replicas-to-write" {
	start_master
	export FAIRLOCK_URL=redis://127.0.0.1:$port
	doctor 0
	finds note replicas 'there is none'
	doctor 2 --replicas 1
	finds error replicas '--replicas is 1'
	cli CONFIG SET min-replicas-to-write 1
	doctor 2
	finds error replicas 'min-replicas-to-write is 1'
	run -69 "$FAIRLOCK" acquire job # doctor is right
	start_replica
	doctor 0
	finds note replicas '1 in sync, --replicas is 0'
	doctor 0 --replicas 1
	finds ok replicas '1 in sync'
	doctor 2 --replicas 2
	finds error replicas '1 in sync, --replicas is 2'

	doctor 2 -u "redis://127.0.0.1:$REPLICA_PORT"
	says .server.role replica
	finds error role "127.0.0.1:$port"
}

# ---- Clocks ----

# shift_clock SECONDS: has the clocks of servers that are started from now on run so far ahead
shift_clock() {
	printf '%s\n' '#!/bin/sh' "export LD_PRELOAD='$BUILD/programs/clockwork.so' CLOCKWORK_AHEAD_MS=${1}000" \
		"exec '$SERVER' \"\$@\"" >"$BATS_TEST_TMPDIR/ahead"
	chmod +x "$BATS_TEST_TMPDIR/ahead"
	SERVER=$BATS_TEST_TMPDIR/ahead
}

@test "doctor notes a clock that differs from ours" {
	shift_clock 60
	start_well
	doctor 0
	finds note clock '60.0 s ahead of ours'
}

@test "doctor finds a /proc of another PID namespace, and says what wrap cannot do" {
	start_well
	unshare -pf true || skip 'no PID namespace can be made here'
	run -1 unshare -pf "$FAIRLOCK" doctor
	assert_output --partial "warning  processes      /proc is not this PID namespace's"
	assert_output --partial 'wrap cannot see what COMMAND starts'
	run -0 "$FAIRLOCK" doctor
	refute_output --partial 'processes'
}

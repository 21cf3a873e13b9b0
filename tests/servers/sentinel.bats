# Behind sentinels: the master is found, and followed when it is another one.

setup_file() {
	load ../lib/helpers
	load ../lib/sentinel
	start_sentinels
}

setup() {
	load ../lib/helpers
	load ../lib/sentinel
	load ../lib/failover
	cd "$BATS_TEST_TMPDIR" || return
	export FAIRLOCK_URL=redis+sentinel://$SENTINELS/mymaster FAIRLOCK_CONNECT_TIMEOUT=2s
	read -r -a sentinel <<<"$SENTINEL_PORTS"
}

# What a test has stopped goes on, and is what it was.
teardown() {
	local port

	for port in $SERVER_PORTS $SENTINEL_PORTS; do
		continue_node "$port" 2>/dev/null || true
	done
	[ "${BATS_TEST_COMPLETED:-}${OWN_SENTINELS:-}" = 1yes ] || wait_until sentinels_are_ready
}

# Sentinels of this test alone: what is killed here, nobody else misses.
own_sentinels() {
	OWN_SENTINELS=yes
	start_sentinels
	FAIRLOCK_URL=redis+sentinel://$SENTINELS/mymaster
	read -r -a sentinel <<<"$SENTINEL_PORTS"
}

# fails_with STATUS TEXT [OPTION...]: one line that says so, within 10 s
fails_with() {
	local began=$SECONDS

	run --separate-stderr "$FAIRLOCK" wrap -n "${@:3}" job true
	assert_failure "$1"
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr = *"$2"* ]] || { echo "$stderr"; return 1; }
	echo "after $((SECONDS - began)) s: $stderr"
	[ $((SECONDS - began)) -le 10 ]
}

# The lock is held, on the master, by the one who has held it all the time.
still_held() {
	[ "$(master_cli HKEYS job)" = "$HOLD_OWNER" ] && [ "$(master_cli HGET 'fairlock:{job}' token)" = "$HOLD_TOKEN" ]
}

old_is_replica() { [ "$(node_cli "$1" ROLE | head -n 1)" = slave ]; }

# promoted OLD-PORT: there is another master, and the old one is its replica
promoted() { has_new_master "$1" && old_is_replica "$1"; }

# ---- Finding the master

@test "the master is found, also with a DB, and what is taken is there" {
	owner=$("$FAIRLOCK" acquire job)
	[ "$(master_cli HKEYS job)" = "$owner" ]
	"$FAIRLOCK" renew --owner "$owner" job
	run -0 "$FAIRLOCK" status -q job
	"$FAIRLOCK" release --owner "$owner" job
	run -1 "$FAIRLOCK" status -q job
	owner=$("$FAIRLOCK" acquire --url "$FAIRLOCK_URL/3" job)
	[ "$(master_cli -n 3 HKEYS job)" = "$owner" ]
	"$FAIRLOCK" release --url "$FAIRLOCK_URL/3" --owner "$owner" job
}

@test "any sentinel will do: the first hangs, is dead, or knows no such master" {
	stop_node "${sentinel[0]}"
	run -7 "$FAIRLOCK" wrap job sh -c 'exit 7'
	continue_node "${sentinel[0]}"

	run -7 "$FAIRLOCK" wrap --url "redis+sentinel://127.0.0.1:$(free_port),$SENTINELS/mymaster" job sh -c 'exit 7'

	node_cli "${sentinel[0]}" SENTINEL REMOVE mymaster
	run -7 "$FAIRLOCK" wrap job sh -c 'exit 7'
	node_cli "${sentinel[0]}" SENTINEL MONITOR mymaster 127.0.0.1 "$(node_cli "${sentinel[1]}" \
		SENTINEL GET-MASTER-ADDR-BY-NAME mymaster | tail -n 1)" 2
	node_cli "${sentinel[0]}" SENTINEL SET mymaster down-after-milliseconds 1000 failover-timeout 3000
}

@test "no sentinel answers: 69, soon" {
	fails_with 69 'Connection refused' --url "redis+sentinel://127.0.0.1:$(free_port),127.0.0.1:$(free_port)/mymaster"
}

@test "all sentinels hang: 69, soon" {
	for port in "${sentinel[@]}"; do
		stop_node "$port"
	done
	fails_with 69 'no reply in time' --connect-timeout 1s
}

@test "a master that no sentinel knows: 69, saying so" {
	fails_with 69 "cannot find master nobody: sentinel 127.0.0.1:" --url "redis+sentinel://$SENTINELS/nobody"
}

@test "sentinels and servers with the same password" {
	export MASTER_PASSWORD=secret SENTINEL_PASSWORD=secret
	own_sentinels
	FAIRLOCK_PASSWORD=secret run -7 "$FAIRLOCK" wrap job sh -c 'exit 7'
	run -7 "$FAIRLOCK" wrap --url "redis+sentinel://:secret@$SENTINELS/mymaster" job sh -c 'exit 7'
	FAIRLOCK_PASSWORD=wrong fails_with 77 'it refuses this user, or the password from FAIRLOCK_PASSWORD'
	fails_with 77 'it wants a password: --sentinel-password-file'
}

@test "sentinels with a password of their own" {
	export MASTER_PASSWORD=secret SENTINEL_PASSWORD=other
	own_sentinels
	echo other >password
	echo wrong >wrong
	FAIRLOCK_PASSWORD=secret run -7 "$FAIRLOCK" wrap --sentinel-password-file password job sh -c 'exit 7'
	FAIRLOCK_PASSWORD=secret fails_with 77 'or the password from --sentinel-password-file' --sentinel-password-file wrong
	FAIRLOCK_PASSWORD=secret fails_with 77 'sentinel'
	FAIRLOCK_PASSWORD=wrong fails_with 77 'or the password from FAIRLOCK_PASSWORD' --sentinel-password-file password
}

@test "sentinels without a password, servers with one" {
	export MASTER_PASSWORD=secret
	own_sentinels
	FAIRLOCK_PASSWORD=secret run -7 "$FAIRLOCK" wrap job sh -c 'exit 7'
	fails_with 77 'it wants a password: FAIRLOCK_PASSWORD or --password-file'
}

# ---- Never a replica

replica_ports() { tr ' ' '\n' <<<"$SERVER_PORTS" | grep -vx "$(master_port)" | paste -sd ' '; }

# The sentinel that watches a replica under the name `other`, and nothing else, takes it for the master.
start_wrong_sentinel() {
	WRONG=$(free_ports 1)
	printf '%s\n' "dir $NODES_DIR" 'bind 127.0.0.1' "sentinel monitor other 127.0.0.1 $1 9" >"$NODES_DIR/$WRONG.conf"
	launch "$WRONG" "$SERVER" "$NODES_DIR/$WRONG.conf" --sentinel --port "$WRONG"
	wait_until node_answers "$WRONG"
}

@test "a sentinel that names a replica is not believed; if another knows better, that one is" {
	read -r -a replicas < <(replica_ports)
	start_wrong_sentinel "${replicas[0]}"
	fails_with 69 'it is a replica' --url "redis+sentinel://127.0.0.1:$WRONG/other"
	wrong=$WRONG
	start_wrong_sentinel "$(master_port)"
	run -7 "$FAIRLOCK" wrap --url "redis+sentinel://127.0.0.1:$wrong,127.0.0.1:$WRONG/other" job sh -c 'exit 7'
}

@test "a sentinel that slept through a failover: the lock is taken on the new master all the same" {
	old=$(master_port)
	stop_node "${sentinel[0]}"
	wait_until promote
	wait_until promoted "$old"
	new=$(master_port)
	continue_node "${sentinel[0]}"
	owner=$("$FAIRLOCK" acquire --connect-timeout 5s --url "redis+sentinel://127.0.0.1:${sentinel[0]}/mymaster" job)
	[ "$(node_cli "$new" HKEYS job)" = "$owner" ]
	"$FAIRLOCK" release --owner "$owner" job
}

@test "several seeds: a replica is passed over" {
	read -r -a replicas < <(replica_ports)
	url=redis://127.0.0.1:${replicas[0]},127.0.0.1:${replicas[1]}
	fails_with 69 'it is a replica' --url "$url"
	fails_with 69 'it is a replica, which takes no writes' --url "redis://127.0.0.1:${replicas[0]}"
	owner=$("$FAIRLOCK" acquire --url "$url,127.0.0.1:$(master_port)" job)
	[ "$(master_cli HKEYS job)" = "$owner" ]
	"$FAIRLOCK" release --url "$url,127.0.0.1:$(master_port)" --owner "$owner" job
}

# ---- Failover

@test "a gentle failover: the holder goes on under its token, waiters keep their order" {
	hold_job -l 10s
	for who in 1 2 3; do
		queue_up "$who"
	done
	fail_over
	wait_until still_held
	queue_up 4
	held_on
	all_went_well 4
}

@test "the master killed: the holder goes on under its token, waiters keep their order" {
	# a master that has just been one may have what its replica has not
	SENTINEL_DOWN_MS=3000 own_sentinels
	hold_job -l 20s --replicas 2
	for who in 1 2 3; do
		queue_up "$who"
	done
	old=$(master_port)
	kill_node "$old"
	wait_until has_new_master "$old"
	wait_until still_held
	queue_up 4
	held_on
	all_went_well 4
}

@test "the master stopped: the holder goes on under its token, waiters keep their order" {
	hold_job -l 15s --connect-timeout 1s
	for who in 1 2 3; do
		queue_up "$who"
	done
	old=$(master_port)
	stop_node "$old"
	wait_until has_new_master "$old"
	wait_until still_held
	continue_node "$old"
	wait_until promoted "$old"
	held_on
	all_went_well 3
	run -1 "$FAIRLOCK" status -q job
}

@test "who comes during a failover gets the lock within the connect timeout, or 69" {
	own_sentinels
	old=$(master_port)
	kill_node "$old"
	fails_with 69 'Connection refused' --connect-timeout 100ms
	run -7 "$FAIRLOCK" wrap --connect-timeout 15s job sh -c 'exit 7'
	[ "$(master_port)" != "$old" ]
}

@test "a release during a failover is done on the new master" {
	own_sentinels
	hold_job -l 15s --replicas 2 --connect-timeout 10s
	old=$(master_port)
	kill_node "$old"
	held_on
	[ ! -s holder.err ]
	wait_until has_new_master "$old"
	[ "$(master_cli EXISTS job)" = 0 ]
}

kill_master() {
	old=$(master_port)
	kill_node "$old"
	wait_until has_new_master "$old"
}

bring_master_back() {
	start_node "$old"
	wait_until sentinels_are_ready
}

@test "one failover after another, under a queue and --replicas 1: no overlap, no lost place, tokens grow" {
	own_sentinels
	fail_often kill_master bring_master_back
}

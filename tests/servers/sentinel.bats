# Locks behind sentinels: fairlock finds the master, and follows it to another server.
load ../lib/failover

setup_file() { start_sentinels; }

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	use_sentinels
	read -r -a sentinel <<<"$SENTINEL_PORTS"
}

teardown() { restore_sentinels; }

# ---- Finding the master

@test "the master is found, also for another DB, and the lock is taken there" {
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

@test "fairlock asks another sentinel if the first hangs, is dead, or does not know the master" {
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

@test "if no sentinel can be reached, or none knows the master, wrap ends with 69 soon and says so" {
	fails_with 69 'Connection refused' --url "redis+sentinel://127.0.0.1:$(free_port),127.0.0.1:$(free_port)/mymaster"
	fails_with 69 "cannot find master nobody: sentinel 127.0.0.1:" --url "redis+sentinel://$SENTINELS/nobody"
}

@test "a URL that takes a server for a sentinel, or a sentinel for a server, ends with 69 and says so; doctor tells the right one" {
	server=$(master_port)
	sentinels="redis+sentinel://127.0.0.1:$server/mymaster" servers="redis://127.0.0.1:${sentinel[0]}"

	fails_with 69 "cannot ask sentinel 127.0.0.1:$server: it is no sentinel" --url "$sentinels"
	run -69 "$FAIRLOCK" doctor --url "$sentinels"
	assert_output --partial '-> mend host and port in the URL'
	fails_with 69 "cannot reach $servers: it is a sentinel; use redis+sentinel://HOST:PORT/MASTER" --url "$servers"
	run -69 "$FAIRLOCK" status --url "$servers"
	assert_output "fairlock: cannot reach $servers: it is a sentinel; use redis+sentinel://HOST:PORT/MASTER"
	run -69 "$FAIRLOCK" doctor --url "$servers"
	assert_output --partial 'redis-cli -p 26379 SENTINEL MASTERS'
}

@test "one password for sentinels and servers works, and status 77 says that it is missing or wrong" {
	export NODES_PASSWORD=secret SENTINEL_PASSWORD=secret
	own_sentinels
	FAIRLOCK_PASSWORD=secret run -7 "$FAIRLOCK" wrap job sh -c 'exit 7'
	run -7 "$FAIRLOCK" wrap --url "redis+sentinel://:secret@$SENTINELS/mymaster" job sh -c 'exit 7'
	FAIRLOCK_PASSWORD=wrong fails_with 77 'it refuses this user, or the password from FAIRLOCK_PASSWORD'
	fails_with 77 'it wants a password: --sentinel-password-file'
}

@test "sentinels may have a password of their own" {
	export NODES_PASSWORD=secret SENTINEL_PASSWORD=other
	own_sentinels
	echo other >password
	echo wrong >wrong
	FAIRLOCK_PASSWORD=secret run -7 "$FAIRLOCK" wrap --sentinel-password-file password job sh -c 'exit 7'
	FAIRLOCK_PASSWORD=secret fails_with 77 'or the password from --sentinel-password-file' --sentinel-password-file wrong
	FAIRLOCK_SENTINEL_PASSWORD_FILE=wrong FAIRLOCK_PASSWORD=secret fails_with 77 'or the password from FAIRLOCK_SENTINEL_PASSWORD_FILE'
	FAIRLOCK_PASSWORD=secret fails_with 77 'sentinel'
	FAIRLOCK_PASSWORD=wrong fails_with 77 'or the password from FAIRLOCK_PASSWORD' --sentinel-password-file password
}

# ---- Never a replica

replica_ports() { tr ' ' '\n' <<<"$SERVER_PORTS" | grep -vx "$(master_port)" | paste -sd ' '; }

# start_wrong_sentinel PORT: a lone sentinel that takes this server for the master of the name
# `other`. Sets WRONG.
start_wrong_sentinel() {
	WRONG=$(free_port)
	printf '%s\n' "dir $NODES_DIR" 'bind 127.0.0.1' "sentinel monitor other 127.0.0.1 $1 9" >"$NODES_DIR/$WRONG.conf"
	launch "$WRONG" "$SERVER" "$NODES_DIR/$WRONG.conf" --sentinel
}

@test "fairlock does not believe a sentinel that names a replica, and asks the next one" {
	read -r -a replicas < <(replica_ports)
	start_wrong_sentinel "${replicas[0]}"
	fails_with 69 'it is a replica' --url "redis+sentinel://127.0.0.1:$WRONG/other"
	wrong=$WRONG
	start_wrong_sentinel "$(master_port)"
	run -7 "$FAIRLOCK" wrap --url "redis+sentinel://127.0.0.1:$wrong,127.0.0.1:$WRONG/other" job sh -c 'exit 7'
}

@test "a sentinel that slept through a failover leads to the new master in the end" {
	old=$(master_port)
	stop_node "${sentinel[0]}"
	wait_until promote
	wait_until has_new_master "$old"
	wait_until eval 'node_cli "$old" ROLE | grep -qx slave'
	new=$(master_port)
	continue_node "${sentinel[0]}"
	owner=$("$FAIRLOCK" acquire --connect-timeout 5s --url "redis+sentinel://127.0.0.1:${sentinel[0]}/mymaster" job)
	[ "$(node_cli "$new" HKEYS job)" = "$owner" ]
	"$FAIRLOCK" release --owner "$owner" job
}

# ---- Failover

@test "when the master is killed the holder keeps its token and the waiters their order" {
	# A new master may have data that its own replica lacks.
	SENTINEL_DOWN_MS=3000 own_sentinels
	hold_job -l 20s --replicas 2
	queue_up_to 3
	old=$(master_port)
	kill_node "$old"
	wait_until has_new_master "$old"
	wait_until still_held master_cli
	queue_up 4
	held_on
	all_went_well 4
}

@test "a newcomer during a failover gets the lock within the connect timeout, or status 69" {
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
	[ ! -s said ]
	wait_until has_new_master "$old"
	[ "$(master_cli EXISTS job)" = 0 ]
}

# ---- Several holders

@test "shared holds and slots stay held through a failover, and their waiters go on at the new master" {
	cli() { master_cli "$@"; }
	for kind in --shared '--slots 2'; do
		join_two -l 20s $kind job
		second=$HOLDER
		join_queue job touch ran
		fail_over
		wait_until in_queue job 1
		wait_until has_holders 2
		consistent
		let_go "$FIRST"
		still_runs "$second"
		[ ! -e ran ]
		let_go "$second"
		ends_with 0 "$WAITER"
		rm ran
	done
}


# --replicas: a grant and each renewal count only when that many replicas have confirmed them.
load ../lib/failover

setup_file() { start_sentinels; }

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	use_sentinels
	use_master
}

teardown() { restore_sentinels; }

# use_master: sets the ports MASTER, REPLICA and OTHER, and URL, which asks no sentinel
use_master() {
	MASTER=$(master_port)
	read -r REPLICA OTHER < <(tr ' ' '\n' <<<"$SERVER_PORTS" | grep -vx "$MASTER" | paste -sd ' ')
	URL=redis://127.0.0.1:$MASTER
}

# No holder and no waiter is left; only keys that may outlive a lock are there.
nothing_left() { [ -z "$(node_cli "$MASTER" --raw KEYS '*' | grep -v '^fairlock')" ]; }

# waiting_for_replicas COUNT: COUNT clients of the master are in WAIT
waiting_for_replicas() {
	[ "$(node_cli "$MASTER" INFO clients | tr -d '\r' | grep -c "^blocked_clients:$1$")" = 1 ]
}

@test "with all replicas there the lock is taken, renewed and released" {
	for count in 1 2; do
		owner=$("$FAIRLOCK" acquire --replicas "$count" job)
		[ "$(node_cli "$REPLICA" HKEYS job)" = "$owner" ] || [ "$(node_cli "$OTHER" HKEYS job)" = "$owner" ]
		"$FAIRLOCK" release --owner "$owner" job
		# a busy machine has half a second for a renewal
		run -7 "$FAIRLOCK" wrap -l 4s --replicas "$count" job sh -c 'sleep 3; exit 7'
	done
	nothing_left
}

@test "too few for --replicas: 69 says how many have it, also with -q and -E; the grant is undone, and the next waiter gets the lock" {
	stop_node "$REPLICA"
	export FAIRLOCK_CONNECT_TIMEOUT=500ms
	for command in "acquire --replicas 2 job" "acquire --replicas 2 -nqE 0 job" "wrap --replicas 2 -nqE 0 job touch ran" \
		"wrap --replicas 2 -qE 3 job touch ran"; do
		run --separate-stderr -69 "$FAIRLOCK" $command
		[ -z "$output" ]
		assert_equal "$stderr" 'fairlock: cannot get lock job: only 1 of 2 replicas confirmed it'
		nothing_left
	done
	[ ! -e ran ]
	run -7 "$FAIRLOCK" wrap --replicas 1 job sh -c 'exit 7'
	run -69 "$FAIRLOCK" wrap --replicas 3 job true
	[[ $output = *'only 1 of 3 replicas'* ]]
}

@test "a waiter whose grant has too few replicas makes way for the next waiter" {
	hold_job -l 10s
	background "$FAIRLOCK" wrap -v --replicas 2 --connect-timeout 500ms job touch ran 2>first.err
	first=$!
	wait_until grep -q 'waiting for' first.err
	queue_up 1
	stop_node "$REPLICA"
	held_on
	all_went_well 1
	ends_with 69 "$first"
	[ ! -e ran ]
	grep -q 'only 1 of 2 replicas' first.err
}

@test "going in again without the replicas gives back that hold, and not the outer one" {
	hold_job -l 20s
	stop_node "$REPLICA"
	FAIRLOCK_HELD=$HOLD_OWNER run -69 "$FAIRLOCK" wrap --connect-timeout 500ms --replicas 2 job touch ran
	[ ! -e ran ]
	[ "$(node_cli "$MASTER" HGET job "$HOLD_OWNER")" = 1 ]
	continue_node "$REPLICA"
	held_on
}

# The lock's time to live on the master may grow, but the holder must not count on it.
@test "renewals without replicas do not count, so COMMAND is dead before the lease that the replicas know ends" {
	hold_job -l 6s -k 500ms --connect-timeout 1s --replicas 1
	# the lease that the replicas know ends then at the latest
	ends=$(($(date +%s%3N) + $(node_cli "$MASTER" PTTL job)))
	stop_nodes "$REPLICA" "$OTHER"
	command=$(pgrep -f "echo .*FAIRLOCK_TOKEN" -P "$(pgrep -P "$HOLDER")")
	wait_until ended "$command"
	left=$((ends - $(date +%s%3N)))
	echo "dead $left ms before the lease ends that the replicas know"
	[ "$left" -gt 0 ]
	ends_with 76 "$HOLDER"
	grep -qE 'lost lock job: (only 0 of 1|too few) replicas confirmed it' said
}

@test "replicas that hang for less than the lease do not stop COMMAND" {
	hold_job -l 9s -k 500ms --replicas 2 # else a busy machine has too little time between renewal and stop
	for _ in 1 2 3; do
		stop_nodes "$REPLICA" "$OTHER"
		# until the next renewal, which waits for them
		wait_until waiting_for_replicas 1
		sleep 0.5
		continue_node "$REPLICA"
		continue_node "$OTHER"
		wait_until waiting_for_replicas 0
	done
	held_on
	[ ! -s said ]
}

@test "a wrap that waits for another lock keeps what it has while its replicas hang for longer than the lease" {
	background "$FAIRLOCK" wrap b sleep 600
	holder=$!
	wait_until "$FAIRLOCK" status -q b
	background "$FAIRLOCK" wrap -v -l 3s --replicas 2 --also a b true 2>said
	waiter=$!
	wait_until grep -q 'waiting for lock b' said
	stop_node "$REPLICA"
	sleep 4.5
	continue_node "$REPLICA"
	kill -TERM "$holder"
	ends_with 0 "$waiter"
	run cat said
	refute_output --partial 'beginning anew'
}

# A repeated grant still writes something: else servers from 7.2 on would not wait for replicas.
@test "a connection lost between the grant and the replicas' answer makes wrap wait for the replicas again" {
	stop_nodes "$REPLICA" "$OTHER"
	for back in no yes; do
		background "$FAIRLOCK" wrap --replicas 1 --connect-timeout 6s --url "$URL" job touch ran 2>err
		wrapper=$!
		wait_until waiting_for_replicas 1
		node_cli "$MASTER" CLIENT KILL TYPE pubsub
		wait_until waiting_for_replicas 1
		[ "$(node_cli "$MASTER" HLEN job)" = 1 ]
		if [ "$back" = no ]; then
			ends_with 69 "$wrapper"
			grep -q 'only 0 of 1 replicas' err
			[ ! -e ran ]
			nothing_left
		else
			continue_node "$REPLICA"
			ends_with 0 "$wrapper"
			[ -e ran ]
		fi
	done
}

@test "--wait and a signal end the wait for replicas, and the grant is undone" {
	stop_nodes "$REPLICA" "$OTHER"
	run -69 "$FAIRLOCK" wrap -qE 0 -w 500ms --replicas 1 --connect-timeout 10s -l 1m job touch ran
	assert_output 'fairlock: cannot get lock job: too few replicas confirmed it'
	nothing_left
	background "$FAIRLOCK" wrap --replicas 1 --connect-timeout 10s -l 1m job touch ran
	wrapper=$!
	wait_until waiting_for_replicas 1
	kill -TERM "$wrapper"
	ends_with 143 "$wrapper"
	[ ! -e ran ]
	nothing_left
}

# ---- Failovers

# Both replicas hang, cut off, during the grant. So the next master does not know of it.
@test "after a failover a holder takes up a grant that no replica had, under its token and before the waiter gets it" {
	own_sentinels
	use_master
	stop_nodes "$REPLICA" "$OTHER"
	node_cli "$MASTER" CLIENT KILL TYPE replica
	hold_job -l 20s
	queue_up 1
	kill_node "$MASTER"
	continue_node "$REPLICA"
	continue_node "$OTHER"
	wait_until has_new_master "$MASTER"
	wait_until prints "$HOLD_TOKEN" master_cli HGET 'fairlock:{job}' token
	[ ! -e history ]
	[[ $(master_cli HGET 'fairlock:{job}' "h:$HOLD_OWNER") = "held $HOLD_TOKEN - "* ]] # since when is forgotten
	held_on
	all_went_well 1
}

@test "a grant that all replicas have survives the death of the master" {
	own_sentinels
	use_master
	for _ in 1 2 3; do
		owner=$("$FAIRLOCK" acquire --replicas 2 -l 1m job)
		old=$(master_port)
		kill_node "$old"
		wait_until has_new_master "$old"
		[ "$(master_cli HKEYS job)" = "$owner" ]
		run -75 "$FAIRLOCK" wrap -n --connect-timeout 10s job touch overlap
		[ ! -e overlap ]
		"$FAIRLOCK" release --owner "$owner" job
		start_node "$old"
		wait_until sentinels_are_ready
	done
}

@test "slots and shared holds are granted and renewed if the replicas confirm it; else the grant is undone, and no other" {
	cli() { node_cli "$MASTER" "$@"; }
	for kind in '--slots 3' --shared; do
		run -7 "$FAIRLOCK" wrap -l 5s --replicas 2 $kind job sh -c 'sleep 6; exit 7'
		read -r other _ < <("$FAIRLOCK" acquire --replicas 2 $kind job)
		[ -n "$(node_cli "$REPLICA" ZSCORE 'fairlock_holders:{job}' "$other")" ]
		stop_node "$REPLICA"
		run -69 "$FAIRLOCK" acquire --connect-timeout 500ms --replicas 2 $kind job
		assert_output 'fairlock: cannot get lock job: only 1 of 2 replicas confirmed it'
		has_holders 1
		run -0 "$FAIRLOCK" wrap --replicas 1 $kind job true
		continue_node "$REPLICA"
		"$FAIRLOCK" release --owner "$other" job
		nothing_left
	done
}

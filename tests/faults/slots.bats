# Several holders of a lock while one of them dies, is cut off, or the server loses its data.
load ../lib/jobs
load ../lib/proxy
load ../lib/holders

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	start_server
}

# three_hold OPTION...: three holders; PIDS has their wrappers, IDS their owner ids
three_hold() {
	PIDS=() IDS=()
	for _ in 1 2 3; do
		join_holders "$@" job
		PIDS+=("$HOLDER") IDS+=("$(id_of "$HOLDER")")
	done
}

# all_well PID...: these wraps hold on, and have said nothing
all_well() {
	local pid

	for pid; do
		still_runs "$pid"
		[ ! -s "said.$pid" ] || { cat "said.$pid"; return 1; }
		[ -n "$(id_of "$pid")" ]
	done
}

# ---- A holder dies ----

@test "a holder that is killed with all of its processes frees its own slot when its own lease ends, and the log says so" {
	join_holders -l 3s --slots 2 job
	dead=$HOLDER
	join_holders --slots 2 job
	id=$(id_of "$dead")
	join_queue --slots 2 job sh -c 'echo "$FAIRLOCK_SLOT $FAIRLOCK_TOKEN" >slot'
	guard=$(pgrep -P "$dead")
	kill_at_once "$dead" "$guard" $(pgrep -P "$guard") # as when their machine is lost
	end=$(ends_of "$id")
	ends_with 0 "$WAITER"
	assert_equal "$(cut -d ' ' -f 1 slot)" 1
	token=$(cut -d ' ' -f 2 slot) # when it was granted
	[ "$token" -ge "$end" ]
	[ "$token" -lt $((end + 8000)) ]
	all_well "$HOLDER"
	assert_equal "$("$FAIRLOCK" log --json job | jq -r --argjson pid "$dead" '.log[] | select(.event == "expired" and .pid == $pid) | .time' |
		xargs -I {} date -d {} +%s%3N)" "$end"
	consistent
}

# ---- A lease is lost ----

@test "a holder that is cut off stops its own COMMAND before its lease ends; the others go on" {
	three_hold --slots 4
	start_proxy "$SERVER_SOCKET"
	FAIRLOCK_URL=redis://$PROXY_ADDRESS join_holders -l 4s --slots 4 job
	cut=$HOLDER
	assert_equal "$(slot_held_by "$cut")" 4
	command=$(pgrep -P "$(pgrep -P "$cut")")
	watch_deaths cut "$command"
	proxy cut
	end=$(ends_of "$(id_of "$cut")")
	ends_with 76 "$cut"
	wait_until ended "$DEATHS"
	[ "$(cut -d ' ' -f 1 cut.dying)" -lt "$end" ]
	all_well "${PIDS[@]}"
	wait_until "$FAIRLOCK" wrap -n --slots 4 job true
	consistent
}

@test "when somebody deletes the lock's key, all holders stop, and none takes its hold again" {
	for option in '--slots 3' --shared; do
		three_hold -l 6s $option
		cli DEL job >/dev/null
		for i in "${PIDS[@]}"; do
			ends_with 76 "$i"
			grep -q 'lost lock job: ' "said.$i"
		done
		is_free job
	done
}

# ---- The server is restarted ----

@test "three holders of slots survive a restart of the server without its data, each in its own slot" {
	lock=job
	three_hold -l 10s --slots 3
	slots=$(for i in "${PIDS[@]}"; do slot_held_by "$i"; done)
	tokens=$(for i in "${IDS[@]}"; do column "h:$i" token; done)
	restart_server
	wait_until has_holders 3
	assert_equal "$(for i in "${PIDS[@]}"; do slot_held_by "$i"; done)" "$slots"
	assert_equal "$(for i in "${IDS[@]}"; do column "h:$i" token; done)" "$tokens"
	consistent
	until=$(($(now_ms) + 10000)) # a later end is that of a renewal
	for i in "${IDS[@]}"; do wait_until ends_after "$i" "$until"; done
	has_holders 3
	for i in "${PIDS[@]}"; do
		still_runs "$i"
		run ! grep lost "said.$i"
	done
	run -75 "$FAIRLOCK" wrap -n --slots 3 job true
	run -75 "$FAIRLOCK" wrap -n --slots 4 job true
	assert_output --partial 'all others take one of 3 slots'
	let_go "${PIDS[1]}"
	run -0 "$FAIRLOCK" wrap -n --slots 3 job -c 'echo "$FAIRLOCK_SLOT"'
	assert_output 2
}

@test "waiters for slots are there again after a loss of data, in their order, and none of the slots is given twice" {
	wrappers=()
	write_section
	three_hold -l 20s --slots 3
	for i in {1..6}; do
		join_queue --slots 3 job ./section "$i" 0.1 slot
		wrappers+=("$WAITER")
	done
	restart_server
	wait_until has_holders 3
	wait_until in_queue job 6
	consistent
	for i in "${PIDS[@]}"; do let_go "$i"; done
	for i in "${wrappers[@]}"; do ends_with 0 "$i"; done
	nothing_wrong
	in_order
	nothing_left
}

@test "when wrapper or guard is killed the other one stops COMMAND, and frees this slot only" {
	three_hold --slots 4
	for killed in wrapper guard; do
		join_holders --slots 4 job
		guard=$(pgrep -P "$HOLDER")
		command=$(pgrep -P "$guard")
		[ "$killed" = guard ] || guard=$HOLDER
		kill -KILL "$guard"
		wait_until ended "$command"
		wait_until has_holders 3
		all_well "${PIDS[@]}"
		run -0 "$FAIRLOCK" wrap --slots 4 job -c 'echo "$FAIRLOCK_SLOT"'
		assert_output 4
	done
}

# ---- Waiters ----

# is_handed SLOT WORD...: a wrap with these options waits, and is handed the lock with this slot; then it asks no more
is_handed() {
	local holder

	holder=$("$FAIRLOCK" acquire -l 5m job)
	background "$FAIRLOCK" wrap -v "${@:2}" job sh -c 'echo "slot ${FAIRLOCK_SLOT-none}"' >out 2>steps
	WAITER=$!
	wait_until in_queue job 1
	"$FAIRLOCK" release --owner "$holder" job
	ends_with 0 "$WAITER"
	assert_equal "$(cat out)" "slot $1"
	[ "$(grep -c 'asking for lock' steps)" = 1 ]
}

# On a busy machine a message may be too old when it is heard: then the waiter asks.
@test "a waiter that is handed a slot or a shared hold starts COMMAND without asking again" {
	wait_until is_handed 1 --slots 2
	wait_until is_handed db1 --slots db1,db2
	wait_until is_handed none --shared
}

@test "sixty readers start, but for two that hang, which have their place when they wake up" {
	PIDS=()
	owner=$("$FAIRLOCK" acquire -l 5m job)
	for i in {1..60}; do
		join_queue --shared job sh -c "echo $i >>order; exec sleep 600"
		PIDS[i]=$WAITER
	done
	for pid in "${PIDS[20]}" "${PIDS[21]}"; do stop "$pid"; done
	"$FAIRLOCK" release --owner "$owner" job
	WAIT_S=40 wait_until lines_in order 58
	kill -CONT "${PIDS[20]}" "${PIDS[21]}"
	wait_until lines_in order 60
	in_queue job 0
	consistent
}

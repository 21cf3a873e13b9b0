# release --stop under faults: the request stands on the server, so it reaches each holder that comes back; an asked wrap
# ends with 124 once, and the next holder starts when nothing of its COMMAND is left.
load ../lib/jobs
load ../lib/proxy

setup() { start_in_folder; }

# is_asked: somebody has asked the holder of `job`
is_asked() { "$FAIRLOCK" log --json job | grep -q '"asked"'; }

# stop_in_background WORD...: `release --stop WORD... job`. Sets STOPPER; its words come into `out` and `told`.
stop_in_background() {
	background "$FAIRLOCK" release --stop "$@" job >out 2>told
	STOPPER=$!
}

# was_asked: the wrap has said so, once
was_asked() { [ "$(grep -c 'lock job: was asked to stop by fairlock release --stop' said)" = 1 ]; }

# job_has_ended: the asked wrap ends with 124, all of COMMAND is dead, and release --stop knows
job_has_ended() {
	ends_with 124 "$WRAPPER"
	all_dead
	ends_with 0 "$STOPPER"
	is_free job
}

@test "when the guard is killed while it stops COMMAND, the wrapper goes on, and the status is 124" {
	start_job -l 15s -k 3s
	stop_in_background
	wait_until was_asked
	kill -KILL "$GUARD"
	job_has_ended
	grep -q 'lost the guard of lock job: it died' said
	run -0 "$FAIRLOCK" log --json job
	assert_equal "$(jq -r '.log | map(.event + .cause) | join(" ")' <<<"$output")" 'granted asked releasedasked'
}

@test "when the guard hangs while it stops COMMAND, all of it is dead before the lease ends" {
	start_job -l 6s -k 2s
	stop_in_background
	wait_until was_asked
	stop "$GUARD"
	dead_before_lease_ends
	ends_with 124 "$WRAPPER"
	ends_with 0 "$STOPPER"
}

@test "when the wrapper is stopped, its guard stops COMMAND and gives the lock back" {
	start_job -l 15s -k 1s
	stop "$WRAPPER"
	stop_in_background
	ends_with 0 "$STOPPER"
	all_dead
	is_free job
	ends_with 124 "$WRAPPER" # the end of its guard wakes it
}

@test "a holder that was away when it was asked learns it when it is back" {
	start_proxy "$SERVER_SOCKET" "$PWD/far"
	FAIRLOCK_URL=unix://$PWD/far start_job -l 40s -k 500ms
	proxy refuse
	proxy reset
	stop_in_background
	wait_until is_asked
	[ ! -s said ]
	proxy listen
	job_has_ended
	was_asked
}

@test "a wrap that was asked before it heard that it holds the lock learns it when it does" {
	wait_behind_holder -l 10m job sleep 600
	wait_until has_guard "$WAITER"
	stop "$WAITER"
	stop "$GUARD"
	kill "$HOLDER"
	wait_until holds_lock "$WAITER"
	run -75 "$FAIRLOCK" release --stop --wait 0 job
	sleep 1 # the message of the grant is too old then, and it asks
	kill -CONT "$GUARD" "$WAITER"
	ends_with 124 "$WAITER"
}

@test "when the server loses its data between the request and the answer, the hold that was taken up is asked again" {
	start_job -l 40s -k 500ms
	stop "$GUARD"
	stop_in_background
	wait_until is_asked
	restart_server
	wait_until knows_loss # it has looked, and did not take the hold for over
	still_runs "$STOPPER"
	kill -CONT "$GUARD"
	job_has_ended
	was_asked
	assert_equal "$(grep -c 'lock job was held by' out)" 1
}

# knows_loss: somebody has asked for a hold that the server has lost
knows_loss() { cli --raw HKEYS 'fairlock:{job}' | grep -q '^lost$'; }

@test "a hold that is lost while COMMAND is being stopped counts as lost" {
	start_job -l 30s -k 5s
	stop_in_background
	wait_until was_asked
	"$FAIRLOCK" release -q --force job
	ends_with 76 "$WRAPPER"
	all_dead
	ends_with 0 "$STOPPER"
	grep -q 'lost lock job: somebody broke it by force' said
}

@test "release --stop ends with 69 at the end of --wait if the server went away" {
	start_job -l 60s -k 20s
	stop_in_background --wait 3s
	wait_until is_asked
	stop_server
	ends_with 69 "$STOPPER"
	grep -q '^fairlock: cannot reach ' told
}

# A server that goes away under one wrap: the wrap uses another connection, keeps COMMAND's status,
# and leaves nothing behind.
load ../lib/jobs
load ../lib/network
load ../lib/proxy

setup() { start_in_folder; }

@test "a waiter that subscribes to another channel sends a script again that the server did not know" {
	hold job
	join_queue job true
	start_proxy "$SERVER_SOCKET"
	# so that --verbose looks at the queue while the waiter hears that it is first
	proxy delay 3000 up
	FAIRLOCK_URL=redis://$PROXY_ADDRESS join_queue -v job true
	waiter=$WAITER
	cli PUBLISH "redisson_lock__channel:{job}:$(cli ZRANGE 'fairlock_queue:{job}' 1 1)" 'first 20000'
	wait_until grep 'heard: first 20000' said
	refute grep 'place 2 of 2' said
	wait_until grep 'place 2 of 2' said
	proxy pass
	kill "$HOLDER"
	wait "$waiter"
}

@test "a holder with a short lease renews it over another connection when its own is dead without a sign" {
	start_proxy "$SERVER_SOCKET"
	FAIRLOCK_URL=redis://$PROXY_ADDRESS background "$FAIRLOCK" wrap -l 4s -k 100ms job sh -c '
		touch begun; sleep 9; echo "$FAIRLOCK_TOKEN" >ended' 2>said
	waiter=$!
	wait_until test -e begun
	proxy forget
	wait "$waiter"
	assert_equal "$(cat ended)" "$("$FAIRLOCK" log --json job | jq -r '[.log[] | select(.event == "granted")][-1].token')"
}

@test "a waiter whose --wait is over leaves over another connection when its own is dead without a sign" {
	hold job
	start_proxy "$SERVER_SOCKET"
	FAIRLOCK_URL=redis://$PROXY_ADDRESS background "$FAIRLOCK" wrap -w 3 job true 2>said
	waiter=$! result=0
	wait_until in_queue job 1
	proxy forget
	wait "$waiter" || result=$?
	assert_equal "$(cli ZCARD 'fairlock_queue:{job}')" 0
	assert_regex "$(cat said)" '^fairlock: cannot get lock job: timed out after 3s; held by sleep 600 .* for [0-9]+s$'
	assert_equal "$result" 75
}

@test "wrap keeps COMMAND's status, and says that it cannot give the lock back, if the server is gone or hangs" {
	run_until_go -l 6s
	kill -STOP "$SERVER_PID"
	touch go
	ends_with 3 "$WRAPPER"
	[ -s said ]
	kill -CONT "$SERVER_PID"
	run_until_go --connect-timeout 1500ms
	stop_server
	touch go
	ends_with 3 "$WRAPPER"
	grep -q "fairlock: giving back lock job: cannot reach $FAIRLOCK_URL" said
}

# is_connected PID: it has a socket. (The kernel connects it to a server that is frozen, too.)
is_connected() { find "/proc/$1/fd" -lname 'socket:*' | grep -q .; }

@test "a wait that ends before the first reply leaves nothing behind" {
	kill -STOP "$SERVER_PID"
	background "$FAIRLOCK" wrap -w 300ms job true 2>said
	waiter=$!
	wait_until is_connected "$waiter"
	sleep 1
	kill -CONT "$SERVER_PID"
	refute wait "$waiter"
	wait_until is_free job
	[ "$(cli EXISTS redisson_lock_queue:{job})" = 0 ]
	run -0 "$FAIRLOCK" wrap -n job true
}

# swallow: the server is gone, and its host swallows everything from now on
swallow() {
	stop_server
	cut_wire
}

@test "a host that swallows everything does not keep the guard from its work, though the wrapper is stopped" {
	stop_server
	new_network
	start_far_server
	printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$NEAR" "$FAIRLOCK" >fairlock
	chmod +x fairlock
	FAIRLOCK=./fairlock FAIRLOCK_URL=$FAR_URL start_job -l 6s
	kill -STOP "$WRAPPER"
	note_lease_end
	swallow
	dead_in_time
	# The guard has continued the wrapper, so that it can say so.
	ends_with 76 "$WRAPPER"
}

@test "a waiter whose server's host swallows everything ends at once by a signal, and in time by -w" {
	stop_server
	new_network
	start_far_server
	hold job
	FAIRLOCK_URL=$FAR_URL background "$NEAR" "$FAIRLOCK" wrap --connect-timeout 20s job true
	signalled=$!
	wait_until in_queue job 1
	FAIRLOCK_URL=$FAR_URL background "$NEAR" "$FAIRLOCK" wrap -w 6s --connect-timeout 20s job true
	timed=$!
	wait_until in_queue job 2
	swallow
	sleep 0.5
	from=$(ms)
	kill -TERM "$signalled"
	ends_with 143 "$signalled"
	[ $(($(ms) - from)) -lt 10000 ]
	ends_with 69 "$timed"
	[ $(($(ms) - from)) -lt 15000 ]
}

@test "wrap gives its lock back on a server out of memory" {
	run -0 timeout 10 "$FAIRLOCK" wrap job sh -c '"$CLI" -s "$SERVER_SOCKET" CONFIG SET maxmemory 1 >/dev/null'
	refute_output
	[ "$(cli EXISTS job)" = 0 ]
}

# A server that goes away under one wrap: the wrap uses another connection, keeps COMMAND's status,
# and leaves nothing behind.
load ../lib/helpers
load ../lib/jobs
load ../lib/proxy

setup() { cd "$BATS_TEST_TMPDIR" || return; }

@test "a waiter that subscribes to another channel sends a script again that the server did not know" {
	start_server
	hold job
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	start_proxy "$SERVER_SOCKET"
	# so that --verbose looks at the queue while the waiter hears that it is first
	proxy delay 3000 up
	FAIRLOCK_URL=redis://$PROXY_ADDRESS background "$FAIRLOCK" wrap -v job true 2>said
	local waiter=$!
	wait_until in_queue job 2
	cli PUBLISH "redisson_lock__channel:{job}:$(cli ZRANGE 'fairlock_queue:{job}' 1 1)" 'first 20000'
	wait_until grep 'heard: first 20000' said
	refute grep 'place 2 of 2' said
	wait_until grep 'place 2 of 2' said
	proxy pass
	kill "$HOLDER"
	wait "$waiter"
}

@test "a holder with a short lease renews it over another connection when its own is dead without a sign" {
	start_server
	start_proxy "$SERVER_SOCKET"
	# shellcheck disable=SC2016
	FAIRLOCK_URL=redis://$PROXY_ADDRESS background "$FAIRLOCK" wrap -l 4s -k 100ms job sh -c '
		touch begun; sleep 9; echo "$FAIRLOCK_TOKEN" >ended' 2>said
	local waiter=$!
	wait_until test -e begun
	proxy forget
	wait "$waiter"
	assert_equal "$(cat ended)" "$("$FAIRLOCK" log --json job | jq -r '[.log[] | select(.event == "granted")][-1].token')"
}

@test "a waiter whose --wait is over leaves over another connection when its own is dead without a sign" {
	start_server
	hold job
	start_proxy "$SERVER_SOCKET"
	FAIRLOCK_URL=redis://$PROXY_ADDRESS background "$FAIRLOCK" wrap -w 3 job true 2>said
	local waiter=$! result=0
	wait_until in_queue job 1
	proxy forget
	wait "$waiter" || result=$?
	assert_equal "$(cli ZCARD 'fairlock_queue:{job}')" 0
	assert_regex "$(cat said)" '^fairlock: cannot get lock job: timed out after 3s; held by sleep 600 .* for [0-9]+s$'
	assert_equal "$result" 75
}

@test "wrap keeps COMMAND's status and says that it cannot reach the server if it cannot give the lock back" {
	start_server
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap --connect-timeout 1500ms job sh -c 'touch ready; while [ ! -e go ]; do sleep 0.05; done; exit 4' 2>said
	local wrapper=$!
	wait_until test -e ready
	stop_server
	touch go
	status_of "$wrapper"
	[ "$STATUS" = 4 ]
	grep -q "fairlock: giving back lock job: cannot reach $FAIRLOCK_URL" said
}

@test "wrap says that it cannot give the lock back before its lease ends" {
	start_server
	background "$FAIRLOCK" wrap -l 6s job sh -c 'touch there; while ! test -e go; do sleep 0.02; done; exit 5' 2>said
	local wrapper=$!
	wait_until test -e there
	kill -STOP "$SERVER_PID"
	touch go
	status_of "$wrapper"
	[ "$STATUS" = 5 ]
	run -0 cat said
	[ -n "$output" ]
}

# is_connected PID: it has a socket. (The kernel connects it to a server that is frozen, too.)
is_connected() { find "/proc/$1/fd" -lname 'socket:*' | grep -q .; }

@test "a wait that ends before the first reply leaves nothing behind" {
	start_server
	kill -STOP "$SERVER_PID"
	background "$FAIRLOCK" wrap -w 300ms job true 2>said
	local waiter=$!
	wait_until is_connected "$waiter"
	sleep 1
	kill -CONT "$SERVER_PID"
	status_of "$waiter"
	[ "$STATUS" != 0 ]
	wait_until is_free job
	[ "$(cli EXISTS redisson_lock_queue:{job})" = 0 ]
	run -0 "$FAIRLOCK" wrap -n job true
}

@test "a port that drops everything does not keep the guard from its work, though the wrapper is stopped" {
	local port
	port=$(free_port)
	start_server --port "$port" --bind 127.0.0.1
	FAIRLOCK_URL=redis://127.0.0.1:$port start_job -l 6s
	kill -STOP "$WRAPPER"
	note_lease_end
	stop_server
	start_proxy "127.0.0.1:$port" "127.0.0.1:$port"
	proxy cut
	dead_in_time
	# The guard has continued the wrapper, so that it can say so.
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
}

@test "a waiter whose server's port drops everything ends at once by a signal, and in time by -w" {
	local port
	port=$(free_port)
	start_server --port "$port" --bind 127.0.0.1
	hold job
	FAIRLOCK_URL=redis://127.0.0.1:$port background "$FAIRLOCK" wrap --connect-timeout 20s job true
	local signalled=$!
	wait_until in_queue job 1
	FAIRLOCK_URL=redis://127.0.0.1:$port background "$FAIRLOCK" wrap -w 6s --connect-timeout 20s job true
	local timed=$! from
	wait_until in_queue job 2
	stop_server
	start_proxy "127.0.0.1:$port" "127.0.0.1:$port"
	proxy cut
	sleep 0.5
	from=$(ms)
	kill -TERM "$signalled"
	status_of "$signalled"
	[ "$STATUS" = 143 ]
	[ $(($(ms) - from)) -lt 10000 ]
	status_of "$timed"
	[ "$STATUS" = 69 ]
	[ $(($(ms) - from)) -lt 15000 ]
}

@test "wrap gives its lock back on a server out of memory" {
	start_server
	# shellcheck disable=SC2016
	run -0 timeout 10 "$FAIRLOCK" wrap job sh -c '"$CLI" -s "$SERVER_SOCKET" CONFIG SET maxmemory 1 >/dev/null'
	refute_output
	[ "$(cli EXISTS job)" = 0 ]
}

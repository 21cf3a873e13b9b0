# Servers that are away, or cannot serve for a while. Each row of FAULTS in fairlock(7) that can be had on one
# host is here: what the holder does, what the waiters do, and with which status all that ends.
load ../lib/helpers
load ../lib/jobs
load ../lib/outage
load ../lib/proxy

setup() { cd "$BATS_TEST_TMPDIR" || return; }

@test "connection refused: a fault as long as this ends what is due, and nothing else" {
	start_server --appendonly yes
	use_locks
	stop_server
	ends_what_is_due 'Connection refused'
	start_server --appendonly yes
	goes_on
}

@test "server frozen: as if it were away" {
	start_server
	use_locks
	kill -STOP "$SERVER_PID"
	ends_what_is_due 'no reply in time'
	kill -CONT "$SERVER_PID"
	goes_on
}

@test "READONLY: the master became a replica" {
	start_server
	use_locks
	cli REPLICAOF 127.0.0.1 1 >/dev/null
	ends_what_is_due 'it is a replica, which takes no writes; see fairlock doctor'
	cli REPLICAOF NO ONE >/dev/null
	goes_on
}

@test "NOREPLICAS: the server has too few replicas for its own taste" {
	start_server
	use_locks
	cli CONFIG SET min-replicas-to-write 1 >/dev/null
	ends_what_is_due 'it has too few replicas (min-replicas-to-write); see fairlock doctor'
	cli CONFIG SET min-replicas-to-write 0 >/dev/null
	goes_on
}

connections() { cli CLIENT LIST TYPE pubsub | sed -n 's/^id=\([0-9]*\) .*/\1/p' | sort; }

# A server out of memory refuses new data, not new times to live.
@test "OOM: a holder goes on, who waits keeps its place, who comes is refused" {
	start_server
	use_locks
	connections >before
	cli CONFIG SET maxmemory 1 >/dev/null
	tell_all_to_ask
	starts_with_69 'its memory is full (maxmemory); see fairlock doctor'
	timed_out_with_69 'its memory is full (maxmemory); see fairlock doctor'
	still_runs "$SHORT"
	# nobody went away to ask anew: whoever does that is absent when its turn comes
	[ -z "$(connections | comm -13 before -)" ]
	cli CONFIG SET maxmemory 0 >/dev/null
	# shellcheck disable=SC2046
	kill -KILL $(cat short.pids)
	long_goes_on
}


@test "LOADING: the server reads its data" {
	start_server --appendonly yes --rdbcompression no
	cli EVAL 'for i = 1, 40 do redis.call("SET", i, string.rep("x", 3000)) end' 0
	use_locks
	cli BGREWRITEAOF >/dev/null
	wait_until aof_is_rewritten
	stop_server
	server_answers() { cli PING | grep -q LOADING; }
	start_server --appendonly yes --key-load-delay 100000 --loading-process-events-interval-bytes 1024
	ends_what_is_due 'it is still loading its data'
	wait_until server_says PONG
	goes_on
}

aof_is_rewritten() { cli INFO persistence | grep -q 'aof_rewrite_in_progress:0'; }

@test "BUSY: somebody's script runs without end" {
	start_server --lua-time-limit 100
	use_locks
	cli EVAL 'while true do end' 0 >script.said 2>&1 &
	wait_until server_says BUSY
	ends_what_is_due 'it is busy with a long script, which SCRIPT KILL may end'
	cli SCRIPT KILL
	goes_on
}

server_says() { cli PING 2>&1 | grep "^$1"; }

@test "CLIENT PAUSE: the server answers nobody" {
	start_server
	use_locks
	cli CLIENT PAUSE 4500 >/dev/null
	short_is_stopped
	starts_with_69 'no reply in time'
	goes_on
}

@test "CLIENT KILL: whose connection is ended comes back to its place" {
	start_server
	use_locks
	for _ in 1 2 3; do
		cli CLIENT KILL TYPE pubsub SKIPME yes >/dev/null
		cli CLIENT KILL TYPE normal SKIPME yes >/dev/null
	done
	wait_until "$FAIRLOCK" status -q short
	kill -KILL "$TIMED"
	still_runs "$SHORT"
	# shellcheck disable=SC2046
	kill -KILL $(cat short.pids)
	long_goes_on
}

@test "SCRIPT FLUSH: they are sent again" {
	start_server
	use_locks
	for _ in 1 2 3; do
		cli SCRIPT FLUSH >/dev/null
		tell_all_to_ask
		sleep 0.5
	done
	still_runs "$SHORT"
	# shellcheck disable=SC2046
	kill -KILL $(cat short.pids)
	long_goes_on
}

@test "a script that the server does not know, asked for just before another channel is subscribed to" {
	start_server
	hold job
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	start_proxy "$SERVER_SOCKET"
	# so the look at the queue that --verbose takes is under way when the waiter hears that it is first
	proxy delay 3000 up
	FAIRLOCK_URL=redis://$PROXY_ADDRESS background "$FAIRLOCK" wrap -v job true 2>said
	local waiter=$!
	wait_until in_queue job 2
	cli PUBLISH "redisson_lock__channel:{job}:$(cli LINDEX 'redisson_lock_queue:{job}' 1)" 'first 20000'
	wait_until grep 'heard: first 20000' said
	refute grep 'place 2 of 2' said
	wait_until grep 'place 2 of 2' said
	proxy pass
	kill "$HOLDER"
	wait "$waiter"
}

@test "a connection that carries nothing any more, without a word: a short lease is renewed over another" {
	start_server
	start_proxy "$SERVER_SOCKET"
	# shellcheck disable=SC2016
	FAIRLOCK_URL=redis://$PROXY_ADDRESS background "$FAIRLOCK" wrap -l 1800ms -k 100ms job sh -c '
		touch begun; sleep 5; echo "$FAIRLOCK_TOKEN" >ended' 2>said
	local waiter=$!
	wait_until test -e begun
	proxy forget
	wait "$waiter"
	assert_equal "$(cat ended)" "$("$FAIRLOCK" log --json job | jq -r '[.log[] | select(.event == "granted")][-1].token')"
}

@test "a connection that carries nothing any more, without a word: whose --wait is over leaves over another" {
	start_server
	hold job
	start_proxy "$SERVER_SOCKET"
	FAIRLOCK_URL=redis://$PROXY_ADDRESS background "$FAIRLOCK" wrap -w 3 job true 2>said
	local waiter=$! result=0
	wait_until in_queue job 1
	proxy forget
	wait "$waiter" || result=$?
	assert_equal "$(cli LLEN 'redisson_lock_queue:{job}')" 0
	assert_equal "$(cat said)" 'fairlock: cannot get lock job: timed out'
	assert_equal "$result" 75
}

# console COMMAND: over a connection that stays; the first line of its reply
console() {
	local line

	[ -n "${CONSOLE:-}" ] || exec {CONSOLE}<>"/dev/tcp/127.0.0.1/$PORT"
	echo "$1" >&$CONSOLE
	read -r -t 20 -u $CONSOLE line
	echo "$line"
}

@test "max number of clients: who has a connection keeps it, who has lost it comes back when it can" {
	PORT=$(free_port)
	start_server --port "$PORT" --bind 127.0.0.1
	use_locks
	console 'CONFIG SET maxclients 1'
	starts_with_69 'it has as many clients as it takes (maxclients)'
	still_runs "$SHORT"
	console 'CLIENT KILL TYPE pubsub'
	short_is_stopped
	timed_out_with_69 'it has as many clients as it takes (maxclients)'
	console 'CONFIG SET maxclients 1000'
	goes_on
}

@test "HELLO unknown: 69, the server is too old" {
	start_server --rename-command HELLO ''
	starts_with_69 'unknown command'
	run -69 "$FAIRLOCK" status
	assert_output --partial 'unknown command'
}

@test "FLUSHALL: the holder takes the lock up again at its next renewal, who waits comes back to its place" {
	start_server
	use_locks
	kill -KILL "$TIMED"
	cli FLUSHALL >/dev/null
	wait_until is_held_again
	still_runs "$SHORT"
	# shellcheck disable=SC2046
	kill -KILL $(cat short.pids)
	long_goes_on
}

is_held_again() { [ "$(cli --raw HGET 'fairlock:{long}' token)" = "$TOKEN" ]; }

@test "restarted with its data: order and lock stay, tokens grow" {
	start_server --appendonly yes
	restart_under_a_queue --appendonly yes
}

taken() { [ "$(cli EXISTS "$1")" = 1 ]; }

@test "restarted without it: order and lock stay, tokens grow" {
	start_server
	restart_under_a_queue
}

restart_under_a_queue() {
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap job sh -c 'echo "0 $FAIRLOCK_TOKEN" >>trace; while [ ! -e go ]; do sleep 0.05; done; echo end >>trace'
	local holder=$! i
	wait_until test -s trace
	for i in 1 2 3 4 5; do
		# shellcheck disable=SC2016
		background "$FAIRLOCK" wrap job sh -c 'echo "$0 $FAIRLOCK_TOKEN" >>trace' "$i"
		wait_until in_queue job "$i"
	done
	stop_server
	start_server "$@"
	wait_until in_queue job 5
	wait_until taken job
	touch go
	status_of "$holder"
	[ "$STATUS" = 0 ]
	wait_until in_queue job 0
	wait_until lines_in trace 7
	[ "$(cut -d' ' -f1 trace | tr '\n' ' ')" = '0 end 1 2 3 4 5 ' ]
	grep -v end trace | cut -d' ' -f2 | sort -nuc
}

@test "giving the lock back fails: COMMAND's status is kept, and it is told" {
	start_server
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap --connect-timeout 1500ms job sh -c 'touch ready; while [ ! -e go ]; do sleep 0.05; done; exit 4' 2>said
	local wrapper=$!
	wait_until test -e ready
	stop_server
	touch go
	status_of "$wrapper"
	[ "$STATUS" = 4 ]
	grep -q "fairlock: cannot reach $FAIRLOCK_URL" said
}

@test "the server frozen while the lock is given back: COMMAND's status is kept" {
	start_server
	background "$FAIRLOCK" wrap -l 6s --connect-timeout 2s job sh -c 'touch ready; while [ ! -e go ]; do sleep 0.05; done; exit 3' 2>said
	local wrapper=$!
	wait_until test -e ready
	kill -STOP "$SERVER_PID"
	touch go
	status_of "$wrapper"
	kill -CONT "$SERVER_PID"
	[ "$STATUS" = 3 ]
	run -1 grep -q stopping said
}

@test "a lock that cannot be given back before its lease ends is told of" {
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

# It has a socket. (The kernel connects it to a server that is frozen, too.)
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
	wait_until test_gone job
	[ "$(cli EXISTS redisson_lock_queue:{job})" = 0 ]
	run -0 "$FAIRLOCK" wrap -n job true
}

@test "a port that drops everything does not make the guard deaf, though the wrapper is stopped" {
	local port
	port=$(free_port)
	start_server --port "$port" --bind 127.0.0.1
	FAIRLOCK_URL=redis://127.0.0.1:$port start_job -l 6s
	kill -STOP "$WRAPPER"
	note_lease_end
	stop_server
	background python3 "$TESTS_DIR/lib/deaf.py" "$port" "$PWD/deaf"
	wait_until test -e deaf
	dead_in_time
	# the guard has woken it, so that it can tell
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
	background python3 "$TESTS_DIR/lib/deaf.py" "$port" "$PWD/deaf"
	wait_until test -e deaf
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

@test "no Redis at all: an HTTP server has taken the port" {
	local port

	port=$(free_port)
	start_server --port "$port" --bind 127.0.0.1 --appendonly yes
	FAIRLOCK_URL=redis://127.0.0.1:$port
	use_locks
	# It is there as soon as the port is free, however long Python takes to start.
	background python3 -c 'import http.server, sys, time
print("ready", flush=True)
while True:
    try:
        server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler)
        break
    except OSError:
        time.sleep(0.02)
server.serve_forever()' "$port" >http 2>/dev/null
	local other=$!
	wait_until test -s http
	stop_server
	short_is_stopped
	status_of "$TIMED"
	[ "$STATUS" = 70 ]
	run -70 timeout 20 "$FAIRLOCK" wrap long true
	assert_output --partial 'cannot understand'
	kill "$other"
	wait_until ended "$other"
	start_server --port "$port" --bind 127.0.0.1 --appendonly yes
	goes_on
}

# volatile-ttl takes what ends first: the two locks, then something else's keys, and our queue long after those.
@test "key evicted: a holder whose lock was evicted stops at its next renewal, who waits has its place" {
	local used

	start_server
	use_locks
	kill -KILL "$TIMED"
	cli EVAL 'for i = 1, 1000 do redis.call("SET", i, string.rep("x", 2000), "EX", 60) end' 0
	used=$(cli INFO memory | tr -d '\r' | sed -n 's/^used_memory://p')
	cli CONFIG SET maxmemory-policy volatile-ttl maxmemory-samples 64 >/dev/null
	cli CONFIG SET maxmemory $((used - 400000)) >/dev/null
	cli CONFIG SET maxmemory 0 >/dev/null
	[ "$(cli EXISTS short long)" = 0 ]
	wait_until ended "$DEATHS"
	status_of "$SHORT"
	[ "$STATUS" = 76 ]
	grep -q 'lost lock short: its lease ended or its key was deleted' short.said
	status_of "$LONG"
	[ "$STATUS" = 76 ]
	wait_until lines_in trace 3
	[ "$(cut -d' ' -f1 trace | xargs)" = 'holder first second' ]
}

@test "a server out of memory still lets a holder go" {
	start_server
	# shellcheck disable=SC2016
	run -0 timeout 10 "$FAIRLOCK" wrap job sh -c '"$CLI" -s "$SERVER_SOCKET" CONFIG SET maxmemory 1 >/dev/null'
	refute_output
	[ "$(cli EXISTS job)" = 0 ]
}

@test "MISCONF: the disk behind the server is full" {
	start_server_on_small_disk
	use_locks
	fill_disk
	ends_what_is_due 'it cannot save its data, and takes no writes; see fairlock doctor'
	empty_disk
	goes_on
}

# The disk is in a mount namespace that ends with the server.
start_server_on_small_disk() {
	local user=() program=$BATS_TEST_TMPDIR/server

	[ "$(id -u)" = 0 ] || user=(--user --map-root-user)
	unshare "${user[@]}" --mount true 2>/dev/null || skip 'this machine allows no namespaces'
	mkdir disk
	echo '#!/bin/sh' >"$program"
	cat >>"$program" <<END
exec unshare ${user[*]} --mount -- sh -c 'mount -t tmpfs -o size=1m disk disk && exec "\$0" "\$@"' \
	setpriv --pdeathsig KILL "$SERVER" "\$@"
END
	chmod +x "$program"
	SERVER=$program start_server --unixsocket "$PWD/redis.sock" --dir "$PWD/disk" --appendonly yes
}

on_disk() {
	local user=()

	[ "$(id -u)" = 0 ] || user=(--user --preserve-credentials)
	nsenter --target "$SERVER_PID" "${user[@]}" --mount -- "$@" 3>&- 4>&-
}

fill_disk() {
	on_disk dd if=/dev/zero of="$PWD/disk/fill" bs=4k 2>/dev/null || true
	wait_until write_is_refused # the last block of the file was not full
}

write_is_refused() { cli SET filler "$(printf '%5000s' x)" | grep -q MISCONF; }

empty_disk() { on_disk rm "$PWD/disk/fill"; }

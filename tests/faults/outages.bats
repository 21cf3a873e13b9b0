# Servers that are away, or cannot serve for a while. For each row of FAULTS in fairlock(7) that one
# host can show: what the holder does, what the waiters do, and with which status they end.
load ../lib/jobs
load ../lib/network
load ../lib/proxy

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# When a test fails, this prints what its wraps have said.
teardown() { [ -n "$BATS_TEST_COMPLETED" ] || grep -s . trace ./*.said; }

# use_two_locks: two locks in use while a fault comes and goes, on a server that it starts unless the test has. The holder of `short` has
# a lease that ends during the fault, the holder of `long` a longer one. Three waiters queue for `long`: `first`, then one whose --wait
# ends during the fault, then `second`.

# wait_as PLACE WAITER [OPTION...]: WAITER queues for `long` at PLACE, from 1; $! is its process id
wait_as() {
	background "$FAIRLOCK" wrap "${@:3}" long sh -c 'echo "$0 $FAIRLOCK_TOKEN" >>trace' "$2" 2>"$2.said"
	wait_until in_queue long "$1"
}

use_two_locks() {
	[ -n "${SERVER_PID:-}" ] || start_server
	cat >deaf.sh <<'END'
trap '' TERM
echo $$ >>short.pids
setsid sh -c 'trap "" TERM; echo $$ >>short.pids; while :; do sleep 0.05; done' &
while :; do sleep 0.05; done
END
	background "$FAIRLOCK" wrap -l 2500ms -k 200ms short sh deaf.sh 2>short.said
	SHORT=$!
	wait_until lines_in short.pids 2
	watch_deaths short $(cat short.pids)
	background "$FAIRLOCK" wrap -l 12s -k 300ms long sh -c '
		echo "holder $FAIRLOCK_TOKEN" >>trace
		while [ ! -e go ]; do sleep 0.05; done' 2>long.said
	LONG=$!
	wait_until test -s trace
	TOKEN=$(cut -d' ' -f2 trace)
	wait_as 1 first
	wait_as 2 timed -vw 4s
	TIMED=$!
	wait_as 3 second
	QUEUE="$(queued_id long 0) $(queued_id long 2)"
}

# kill_timed: kills the waiter with --wait, which may have ended by itself
kill_timed() { kill -KILL "$TIMED" 2>/dev/null || ended "$TIMED"; }

# starts_with_69 WORD: a newcomer gets status 69, with WORD in its message
starts_with_69() {
	run -69 timeout 20 "$FAIRLOCK" wrap --connect-timeout 500ms long true
	[ "${#lines[@]}" = 1 ]
	assert_output --regexp '^fairlock: cannot .*: .*'
	assert_output --partial "$1"
}

# The holder of `short` has stopped COMMAND. short_died_in_time says whether in time.
short_is_stopped() {
	wait_until ended "$DEATHS"
	ends_with 76 "$SHORT"
	grep -q 'lost lock short: ' short.said
}

# timed_out_with_69 WORD: the waiter whose --wait has ended got status 69, with WORD in its message
timed_out_with_69() {
	ends_with 69 "$TIMED"
	grep -qF "$1" timed.said
}

# The waiters ask at once, as if it were their turn. By themselves they would ask after 10.5 s.
tell_all_to_ask() {
	local id

	for id in $(cli --raw ZRANGE 'fairlock_queue:{long}' 0 -1); do
		cli PUBLISH "redisson_lock__channel:{long}:$id" 0 >/dev/null
	done
}

# When the lease of `short` ended, in ms since the epoch, by the server's clock
lease_end() {
	holder_column short ends | grep . ||
		cli --raw XREVRANGE 'fairlock_log:{short}' + - COUNT 1 | grep -A 3 -x expired | sed -n 3p
}

short_died_in_time() {
	local died until

	died=$(cut -d' ' -f1 short.dying)
	until=$(lease_end)
	echo "dead $((until - died)) ms before the lease ended, at $until; it was held since $(holder_column short since)"
	[ "$died" -lt "$until" ]
}

# lets_both_go_on: the holder of `short` is not stopped, and `long` goes on
lets_both_go_on() {
	still_runs "$SHORT"
	kill -KILL $(cat short.pids)
	long_goes_on
}

# The holder of `long` ends well, and the waiters have their turns in the old order.
long_goes_on() {
	wait_until all_back
	wait_until "$FAIRLOCK" status -q long
	long_ends_well
	wait_until in_queue long 0
	wait_until lines_in trace 3
	[ "$(cut -d' ' -f1 trace | tr '\n' ' ')" = 'holder first second ' ]
	[ "$(cut -d' ' -f2 trace)" = "$(cut -d' ' -f2 trace | sort -nu)" ]
	run -0 timeout 20 "$FAIRLOCK" wrap short echo again
	assert_output again
}

# fault OPTIONS BEGIN END WORDS: on a server with OPTIONS, from the command BEGIN to the command END: `short` is stopped in time, a newcomer
# and the waiter with --wait get 69 and WORDS, and `long` goes on
fault() {
	start_server $1
	use_two_locks
	$2 >/dev/null
	short_is_stopped
	starts_with_69 "$4"
	timed_out_with_69 "$4"
	$3 >/dev/null
	short_died_in_time
	long_goes_on
}

@test "connection refused: a short lease and a timed wait end, and a long lease and its waiters go on" {
	fault '--appendonly yes' stop_server 'start_server --appendonly yes' 'Connection refused'
}

@test "server frozen: a short lease and a timed wait end, and a long lease and its waiters go on" {
	fault '' 'signal_server STOP' 'signal_server CONT' 'no reply in time'
}

@test "READONLY: a short lease and a timed wait end while the master is a replica, and a long lease goes on" {
	fault '' 'cli REPLICAOF 127.0.0.1 1' 'cli REPLICAOF NO ONE' 'it is a replica, which takes no writes; see fairlock doctor'
}

@test "NOREPLICAS: a short lease and a timed wait end while the server has too few replicas, and a long lease goes on" {
	fault '' 'cli CONFIG SET min-replicas-to-write 1' 'cli CONFIG SET min-replicas-to-write 0' \
		'it has too few replicas (min-replicas-to-write); see fairlock doctor'
}

@test "MISCONF: a short lease and a timed wait end while the server cannot save its data, and a long lease goes on" {
	saves() { rmdir x.rdb && cli BGSAVE && wait_until server_says OK SET a b; }
	fault '--save 3600 1 --dbfilename x.rdb' save_nothing saves 'it cannot save its data, and takes no writes; see fairlock doctor'
}

@test "BUSY: a short lease and a timed wait end while a script runs without end, and a long lease goes on" {
	fault '--lua-time-limit 100' run_script 'cli SCRIPT KILL' 'it is busy with a long script; SCRIPT KILL may end it'
}

@test "LOADING: a short lease and a timed wait end while the server reads its data, and a long lease goes on" {
	load_data() {
		start_loading
		run -69 "$FAIRLOCK" status
		assert_output --partial 'it is still loading its data'
		background "$FAIRLOCK" wrap --connect-timeout 1m other touch other.ran 2>other.said
		OTHER=$!
	}
	have_loaded() { cli CONFIG SET key-load-delay 0 && wait_until server_says PONG PING; }
	fault '--appendonly yes --rdbcompression no' load_data have_loaded 'it is still loading its data'
	ends_with 0 "$OTHER"
	[ -e other.ran ]
	[ ! -s other.said ]
}

connections() { cli CLIENT LIST TYPE pubsub | sed -n 's/^id=\([0-9]*\) .*/\1/p' | sort; }

# A server out of memory refuses new data, but not new times to live.
@test "OOM: a holder goes on, a waiter keeps its place, and a newcomer is refused" {
	use_two_locks
	connections >before
	cli CONFIG SET maxmemory 1 >/dev/null
	tell_all_to_ask
	starts_with_69 'its memory is full (maxmemory); see fairlock doctor'
	timed_out_with_69 'its memory is full (maxmemory); see fairlock doctor'
	# No waiter has connected again to ask: it would be absent when its turn comes.
	[ -z "$(connections | comm -13 before -)" ]
	cli CONFIG SET maxmemory 0 >/dev/null
	lets_both_go_on
}

@test "BUSY: a waiter that becomes the first meanwhile keeps its connection, and so its turn" {
	start_server --lua-time-limit 100
	hold L
	for i in 1 2; do
		background "$FAIRLOCK" wrap L true
		wait_until in_queue L "$i"
	done
	connections >before
	# told while the script runs, it wants to subscribe to another channel
	cli EVAL 'redis.call("PUBLISH", KEYS[1], "first 1")
		local from = redis.call("TIME")[1]
		repeat until redis.call("TIME")[1] - from > 1' \
		1 "redisson_lock__channel:{L}:$(cli --raw ZRANGE fairlock_queue:{L} 1 1)" >/dev/null
	wait_until heard_by_both
	assert_equal "$(connections)" "$(cat before)"
	kill "$HOLDER"
}

heard_by_both() { [ "$(cli PUBSUB NUMSUB 'redisson_lock__channel:{L}' | tail -n 1)" = 2 ]; }

@test "CLIENT PAUSE: a short lease ends, a newcomer gets status 69, and the others go on" {
	use_two_locks
	cli CLIENT PAUSE 4500 >/dev/null
	short_is_stopped
	starts_with_69 'no reply in time'
	short_died_in_time
	long_goes_on
}

@test "CLIENT KILL: a holder goes on, and waiters come back to their places" {
	use_two_locks
	for _ in 1 2 3; do
		cli CLIENT KILL TYPE pubsub SKIPME yes >/dev/null
		cli CLIENT KILL TYPE normal SKIPME yes >/dev/null
	done
	wait_until "$FAIRLOCK" status -q short
	kill_timed
	lets_both_go_on
}

@test "SCRIPT FLUSH: holder and waiters send the scripts again" {
	use_two_locks
	for _ in 1 2 3; do
		cli SCRIPT FLUSH >/dev/null
		tell_all_to_ask
		sleep 0.5
	done
	lets_both_go_on
}

@test "max number of clients: a client keeps its connection, and one that has lost it comes back when it can" {
	PORT=$(free_port)
	start_server --port "$PORT" --bind 127.0.0.1
	use_two_locks
	console 'CONFIG SET maxclients 1'
	starts_with_69 'it has too many clients already (maxclients)'
	still_runs "$SHORT"
	console 'CLIENT KILL TYPE pubsub'
	short_is_stopped
	timed_out_with_69 'it has too many clients already (maxclients)'
	console 'CONFIG SET maxclients 1000'
	short_died_in_time
	long_goes_on
}

@test "HELLO unknown: status 69 says that the server is too old" {
	start_server --rename-command HELLO ''
	starts_with_69 'unknown command'
}

@test "FLUSHALL: the holder takes the lock up at its next renewal, and a waiter comes back to its place" {
	use_two_locks
	kill_timed
	cli FLUSHALL >/dev/null
	wait_until prints "$TOKEN" cli HGET 'fairlock:{long}' token
	lets_both_go_on
}

# restart_under_a_queue OPTION...: a server with these is restarted under a holder and five waiters
restart_under_a_queue() {
	local i

	start_server "$@"
	run_until_go
	cut -d ' ' -f 1 begun >tokens
	for i in 1 2 3 4 5; do
		join_queue job sh -c 'echo "$0" >>trace; echo "$FAIRLOCK_TOKEN" >>tokens' "$i"
	done
	restart_server "$@"
	wait_until in_queue job 5
	wait_until prints 1 cli EXISTS job
	[ ! -e trace ]
	touch go
	ends_with 3 "$WRAPPER"
	wait_until in_queue job 0
	wait_until lines_in tokens 6
	assert_equal "$(xargs <trace)" '1 2 3 4 5'
	sort -nuc tokens
}

@test "restarted with its data: the holder keeps the lock, the waiters their order, and tokens grow" {
	restart_under_a_queue --appendonly yes
}

@test "restarted without it: the holder keeps the lock, the waiters their order, and tokens grow" {
	restart_under_a_queue
}

@test "no Redis at all: a waiter and a newcomer get status 70 while an HTTP server has the port" {
	port=$(free_port)
	start_server --port "$port" --bind 127.0.0.1 --appendonly yes
	FAIRLOCK_URL=redis://127.0.0.1:$port
	use_two_locks
	stop_server
	background python3 "$TESTS_DIR/lib/nonsense.py" "$port" http
	other=$!
	short_is_stopped
	ends_with 70 "$TIMED"
	run -70 timeout 20 "$FAIRLOCK" wrap long true
	assert_output --partial 'cannot understand'
	kill "$other"
	wait_until ended "$other"
	start_server --port "$port" --bind 127.0.0.1 --appendonly yes
	short_died_in_time
	long_goes_on
}

# volatile-ttl evicts first what expires first: the two locks, then keys of others. Our queue
# expires long after those.
@test "key evicted: a holder stops at its next renewal, and a waiter keeps its place" {
	use_two_locks
	kill_timed
	cli EVAL 'for i = 1, 1000 do redis.call("SET", i, string.rep("x", 2000), "EX", 60) end' 0
	used=$(cli INFO memory | tr -d '\r' | sed -n 's/^used_memory://p')
	cli CONFIG SET maxmemory-policy volatile-ttl maxmemory-samples 64 >/dev/null
	cli CONFIG SET maxmemory $((used - 400000)) >/dev/null
	cli CONFIG SET maxmemory 0 >/dev/null
	[ "$(cli EXISTS short long)" = 0 ]
	wait_until ended "$DEATHS"
	ends_with 76 "$SHORT"
	grep -q 'lost lock short: its lease ended or its key was deleted' short.said
	ends_with 76 "$LONG"
	wait_until lines_in trace 3
	[ "$(cut -d' ' -f1 trace | xargs)" = 'holder first second' ]
}

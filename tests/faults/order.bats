# The queue seen from the shell: its order, dead, hung and idle waiters.
load ../lib/jobs
load ../lib/proxy

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; cli CONFIG RESETSTAT >/dev/null; cd "$BATS_TEST_TMPDIR" || return; }

# enqueue COUNT WORD...: COUNT waiters queue one after another. Each appends its number, the time
# and its token to `trace`. Their process ids are in WAITERS.
enqueue() {
	local count=$1 before

	shift
	before=$(cli ZCARD fairlock_queue:{L})
	WAITERS=()
	for i in $(seq "$count"); do
		background "$FAIRLOCK" wrap "$@" L -- sh -c 'echo "$0 $(date +%s%N) $FAIRLOCK_TOKEN" >>trace' "$i"
		WAITERS+=($!)
		wait_until in_queue L $((before + i))
	done
}

now_ns() { date +%s%N; }

@test "100 waiters get the lock in the order in which they asked, with growing tokens" {
	hold L
	enqueue 100
	assert_equal "$(cli LRANGE 'redisson_lock_queue:{L}' 0 -1 | sort)" "$(cli ZRANGE 'redisson_lock_timeout:{L}' 0 -1 | sort)"
	kill -TERM "$HOLDER"
	# a sanitized program on a busy machine takes up to 0.3 s each
	for count in 25 50 75 100; do
		wait_until lines_in trace "$count"
	done
	[ "$(cut -d' ' -f1 trace | tr '\n' ' ')" = "$(seq 100 | tr '\n' ' ')" ]
	cut -d' ' -f3 trace | sort -nuc
	wait "${WAITERS[@]}" "${HOLDER:-}" 2>/dev/null || true
	nothing_left
}

listeners() { [ "$(cli --raw PUBSUB CHANNELS 'redisson_lock__channel:{L}:*' | wc -l)" = "$1" ]; }

# starts_within S [LEAST]: HOLDER gives the lock back, and the last of the waiters starts within S seconds, not before LEAST, and
# before all others
starts_within() {
	local released started

	released=$(now_ns)
	kill -TERM "$HOLDER"
	WAIT_S=40 wait_until lines_in trace 1
	started=$(($(cut -d' ' -f2 trace) - released))
	echo "started $((started / 1000000)) ms after the release"
	[ "$started" -lt $(($1 * 1000000000)) ]
	[ "$started" -ge $((${2-0} * 1000000000)) ]
	wait_until ended "${WAITERS[-1]}"
}

# A slow machine may take some time; but waiting for a single dead one would cost 5 s.
@test "50 dead waiters ahead cost nothing if a client listens to all channels" {
	background "$CLI" -s "$SERVER_SOCKET" psubscribe '*' >/dev/null
	wait_until prints 1 cli PUBSUB NUMPAT
	hold L
	enqueue 51
	kill -KILL "${WAITERS[@]:0:50}"
	wait_until listeners 2 # the holder and the living waiter
	starts_within 4
	wait_until nothing_left
}

# hang PID: the waiter and the guard that stands by for it are stopped, and stay connected
hang() {
	local pid

	for pid in "$1" $(pgrep -P "$1"); do
		stop "$pid"
	done
}

# The last waiter comes just before the release: else the machine's speed would decide when it asks by itself, and so how long the
# lock stays idle.
@test "hung waiters in a row cost 5 s each, and have their turns when they go on" {
	for count in 1 3; do
		rm -f trace
		hold L
		enqueue "$count"
		hung=("${WAITERS[@]}")
		wait_until pgrep -P "${hung[0]}" # its guard is ready
		for pid in "${hung[@]}"; do hang "$pid"; done
		enqueue 1
		starts_within $((5 * count + 3)) 4 # a living one is not passed over at once
		for pid in "${hung[@]}"; do kill -CONT "$pid" $(pgrep -P "$pid"); done
		WAIT_S=40 wait_until lines_in trace $((count + 1))
		wait "${hung[@]}"
		wait_until nothing_left
	done
}

@test "a dead holder costs the rest of its lease, and only the first waiter wakes for it" {
	hold -l 5s L
	enqueue 3
	# wrapper and guard at once, so that neither gives the lock back
	kill_at_once "$HOLDER" "$(pgrep -P "$HOLDER")"
	ends=$(($(now_ns) + $(cli PTTL L) * 1000000))
	wait_until lines_in trace 1
	run -0 cut -d' ' -f1 trace
	assert_line --index 0 1
	started=$(head -n 1 trace | cut -d' ' -f2)
	echo "started $(((started - ends) / 1000000)) ms after the end of the lease"
	# Without the end of the lease it would ask after 10.5 s.
	[ $((started - ends)) -lt 4000000000 ]
}

@test "a waiter that becomes first the moment a plain lock is given back asks, though it does not listen for that yet" {
	cli HSET L redisson:1 1 >/dev/null
	cli PEXPIRE L 600000 >/dev/null
	enqueue 2
	first=$(cli ZRANGE 'fairlock_queue:{L}' 0 0)
	stop "${WAITERS[0]}" # this one listens
	cli >/dev/null <<END
ZREM fairlock_queue:{L} $first
PUBLISH redisson_lock__channel:{L}:$(cli ZRANGE 'fairlock_queue:{L}' 1 1) "first 600000"
DEL L
PUBLISH redisson_lock__channel:{L} 0
END
	WAIT_S=8 wait_until lines_in trace 1 # its sign of life would be due after 10.5 s
	kill -CONT "${WAITERS[0]}"
}
requests() { cli INFO commandstats | tr -d '\r' | sed -n 's/^cmdstat_evalsha:calls=\([0-9]*\),.*/\1/p; s/^cmdstat_eval:calls=\([0-9]*\),.*/\1/p' | awk '{ sum += $1 } END { print sum + 0 }'; }

@test "100 idle waiters send at most 100 requests in 10 s and use no tick of CPU" {
	hold -l 10m L # the holder does not renew meanwhile
	enqueue 100
	cpu_times >before
	from=$(now_ns)
	cli CONFIG RESETSTAT >/dev/null
	sleep 10
	calls=$(requests)
	seconds=$((($(now_ns) - from) / 1000000000)) # more than 10 on a slow machine
	cpu_times >after
	echo "$calls requests in $seconds s"
	[ "$calls" -le $((100 * (seconds / 11 + 1))) ]
	run -0 paste -d ' ' before after
	echo "$output"
	# The average: time that others take from a virtual machine counts as some waiter's.
	awk '{ sum += $2 - $1 } END { print sum / NR / 1000 " us each"; exit NR != 100 || sum / NR >= 10000000 }' <<<"$output"
}

# Nanoseconds of CPU that each waiter has used. (`stat` counts ticks and rounds, so that a
# microsecond may be one.)
cpu_times() {
	local pid

	for pid in "${WAITERS[@]}"; do
		cut -d ' ' -f 1 "/proc/$pid/schedstat"
	done
}

@test "a waiter says that a lock has no time to live, and gets the lock when it is deleted" {
	cli HSET L somebody:1 1 >/dev/null
	background "$FAIRLOCK" wrap L touch done 2>said
	wait_until in_queue L 1
	wait_until grep -q 'no time to live' said
	cli DEL L >/dev/null
	wait_until test -e done
	wait "${WAITERS[@]}" "${HOLDER:-}" 2>/dev/null || true
}

@test "the end of COMMAND wakes no stopped process of an orphaned process group" {
	cat >script <<'END'
sleep 600 &
kill -STOP $!
until grep -q 'T (stopped)' /proc/$!/status; do sleep 0.05; done
trap 'echo hup >hup' HUP
"$FAIRLOCK" wrap job true
grep State /proc/$!/status >state
kill -KILL $!
END
	run -0 setsid --fork --wait sh script
	run -0 cat state
	assert_output --partial 'T (stopped)'
	[ ! -e hup ]
}

connections_are() { test "$(proxy count)" "$@"; }

@test "a late request whose sender has had the lock and has ended gets nothing" {
	start_proxy "$SERVER_SOCKET"
	run -0 "$FAIRLOCK" acquire --lease 3s job
	FAIRLOCK_URL=redis://$PROXY_ADDRESS join_queue --connect-timeout 500ms job true
	waiter=$WAITER
	proxy delay 5000 up
	wait_until connections_are -ge 2 # it has asked, and given that connection up
	proxy delay 0 up
	wait "$waiter"
	wait_until connections_are -eq 0
	[ "$(cli EXISTS job)" = 0 ]
	[ "$(cli --raw XRANGE 'fairlock_log:{job}' - + | grep -c granted)" = 2 ]
}

@test "on a server that lost its data the earlier waiters keep their order, whichever comes back first" {
	newcomers=()
	hold L
	enqueue 6
	for pid in "${WAITERS[@]}" "$HOLDER"; do
		hang "$pid"
	done
	restart_server
	for i in 7 8; do
		background "$FAIRLOCK" wrap L -- sh -c 'until [ -e go ]; do sleep 0.02; done
			echo "$0 $(date +%s%N) $FAIRLOCK_TOKEN" >>trace' "$i"
		newcomers+=($!)
		wait_until in_queue L $((i - 7))
		wait_until "$FAIRLOCK" status -q L
	done
	kill -CONT "${WAITERS[5]}"
	wait_until in_queue L 2
	touch go
	wait "${newcomers[0]}"
	for i in 2 0 4 1 3; do
		kill -CONT "${WAITERS[i]}"
	done
	wait_until lines_in trace 8
	[ "$(cut -d' ' -f1 trace | tr '\n' ' ')" = '7 1 2 3 4 5 6 8 ' ]
	kill -CONT "$HOLDER" $(pgrep -P "$HOLDER") || true
	wait "${WAITERS[@]}" "${newcomers[@]}" || true
}

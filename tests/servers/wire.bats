# A network that loses packets: two hosts, and a wire between them that is cut
# (tests/lib/network.bash).
load ../lib/helpers
load ../lib/network
load ../lib/jobs

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	new_network
}

# On the near host a COMMAND that ignores SIGTERM, in two sessions, holds the lock job-LEASE. The far host waits behind it.
# LEASE.dying and LEASE.got say when the one died and the other began, by one clock.
@test "network cut: all of COMMAND is dead before the far host has the lock, with any lease" {
	start_far_server
	cat >job.sh <<'END'
trap '' TERM
echo $$ >>"$1.pids"
setsid sh -c 'trap "" TERM; echo $$ >>"$0.pids"; while :; do sleep 0.1; done' "$1" &
set -m
sh -c 'trap "" TERM; echo $$ >>"$0.pids"; while :; do sleep 0.1; done' "$1" &
while :; do sleep 0.1; done
END
	export FAIRLOCK_URL=$FAR_URL
	for lease in 2s 10s 30s; do
		background "$NEAR" "$FAIRLOCK" wrap -l $lease "job-$lease" sh job.sh $lease 2>$lease.said
		echo $! >$lease.wrapper
		wait_until lines_in $lease.pids 3
		background "$FAR" "$FAIRLOCK" wrap "job-$lease" python3 -c 'import time; print(int(time.monotonic() * 1000))' >$lease.got
		wait_until in_queue "job-$lease" 1
		watch_deaths $lease $(cat $lease.pids)
	done
	cut_wire
	for lease in 2s 10s 30s; do
		WAIT_S=60 wait_until test -s $lease.got
		ends_with 76 "$(cat $lease.wrapper)"
		read -r died monotonic <$lease.dying
		echo "lease $lease: dead $(($(<$lease.got) - monotonic)) ms before the next"
		[ "$monotonic" -lt "$(<$lease.got)" ]
		until=$(cli --raw XREVRANGE "fairlock_log:{job-$lease}" + - | grep -A 3 -x expired | sed -n 3p)
		echo "lease $lease: dead $((until - died)) ms before it ended"
		[ "$died" -lt "$until" ]
		cat $lease.said
		# on a busy machine the guard may be 30 ms late, and the wrapper does its work
		grep -Eq "lost (lock job-$lease: .*; stopping sh|the guard of lock job-$lease: it is frozen or very slow; sh has ended)" $lease.said
	done
}

@test "network cut, for less than the lease: the holder keeps its token and the waiters keep their order" {
	start_far_server
	export FAIRLOCK_URL=$FAR_URL
	background "$NEAR" "$FAIRLOCK" wrap -l 10s -k 300ms long sh -c '
		echo "holder $FAIRLOCK_TOKEN" >>trace; while [ ! -e go ]; do sleep 0.1; done' 2>long.said
	LONG=$!
	wait_until test -s trace
	TOKEN=$(cut -d' ' -f2 trace)
	for i in 1 2 3 4; do
		background "$([ $((i % 2)) = 0 ] && echo "$FAR" || echo "$NEAR")" "$FAIRLOCK" wrap long \
			sh -c 'echo "$0 $FAIRLOCK_TOKEN" >>trace' "$i"
		wait_until in_queue long "$i"
	done
	QUEUE=$(cli --raw ZRANGE 'fairlock_queue:{long}' 0 -1 | xargs)
	wait_until renewed_to 9700
	cut_wire
	sleep 5
	mend_wire
	wait_until renewed_to 9000
	wait_until all_back
	long_ends_well
	wait_until lines_in trace 5
	[ "$(cut -d' ' -f1 trace | xargs)" = 'holder 1 2 3 4' ]
}

renewed_to() { [ "$(cli PTTL long)" -gt "$1" ]; }

# A waiter that was cut off notices it with its next sign of life. The server notices nothing.
@test "a connection to a peer that vanished ends by unacknowledged data, or by keepalive if nothing is sent" {
	start_far_server
	FAIRLOCK_URL=$FAR_URL background "$NEAR" "$FAIRLOCK" wrap --connect-timeout 3s -l 1h job sleep 600
	wait_until has_timer keepalive
	# only the system calls show what is set
	FAIRLOCK_URL=$FAR_URL ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 \
		run -0 "$NEAR" strace -f -e trace=setsockopt "$FAIRLOCK" wrap --connect-timeout 3s other true
	assert_output --partial 'TCP_USER_TIMEOUT, [3000]'
	assert_output --partial 'SO_KEEPALIVE, [1]'
	assert_output --partial 'TCP_KEEPIDLE, [10]'
	assert_output --partial 'TCP_KEEPINTVL, [5]'
	# With a lease of an hour nothing is sent for 20 minutes. The connection ends long before.
	cut_wire
	WAIT_S=40 wait_until has_no_connection
}

has_timer() { "$NEAR" ss -Hnto dst "$FAR_ADDRESS" | grep "timer:($1"; }
has_no_connection() { ! "$NEAR" ss -Hnt state established dst "$FAR_ADDRESS" | grep .; }

@test "no host at the address: wrap ends with 69 when the connect timeout is over" {
	start_far_server
	cut_wire
	from=$(ms)
	FAIRLOCK_URL=$FAR_URL run -69 "$NEAR" "$FAIRLOCK" wrap --connect-timeout 700ms job true
	assert_output --regexp "^fairlock: cannot reach $FAR_URL: $TIMED_OUT\$"
	[ $(($(ms) - from)) -ge 700 ]
	[ $(($(ms) - from)) -lt 5000 ]
}

@test "resolver is silent: wrap ends with 69 when the connect timeout is over" {
	new_names
	cut_wire
	from=$(ms)
	FAIRLOCK_URL=redis://lock.example run -69 "$NEAR" "$NAMED" "$FAIRLOCK" wrap --connect-timeout 700ms job true
	assert_output 'fairlock: cannot reach redis://lock.example: its name was not found in time'
	[ $(($(ms) - from)) -lt 5000 ]
}

# glibc fails at once; musl waits for the resolver, and gives up at about the time at which we do.
@test "name not found: wrap ends with 69 if nothing listens where the resolver should be" {
	new_names
	echo 'nameserver 127.0.0.1' >resolv.conf
	FAIRLOCK_URL=redis://lock.example run -69 timeout 20 "$NEAR" "$NAMED" "$FAIRLOCK" wrap job true
	assert_output --regexp '^fairlock: cannot reach redis://lock.example: (.*name resolution|its name was not found in time)$'
}

# As when a managed service fails over and gives its name to another address.
@test "name moved: holder and waiter find the server at its new address" {
	start_far_server --bind '*'
	new_names
	"$FAR" ip address add 10.77.0.3/24 dev wire
	echo "$FAR_ADDRESS lock.example" >hosts
	FAIRLOCK_URL=redis://lock.example:7000
	background "$NEAR" "$NAMED" "$FAIRLOCK" wrap --connect-timeout 1s long sh -c '
		echo "holder $FAIRLOCK_TOKEN" >>trace; while [ ! -e go ]; do sleep 0.1; done' 2>long.said
	LONG=$!
	wait_until test -s trace
	background "$NEAR" "$NAMED" "$FAIRLOCK" wrap --connect-timeout 1s long sh -c 'echo "first $FAIRLOCK_TOKEN" >>trace'
	wait_until in_queue long 1
	QUEUE=$(queued_id long 0)
	echo "10.77.0.3 lock.example" >hosts
	cut_wire near # to the old address only
	cli CLIENT KILL TYPE pubsub >/dev/null
	wait_until is_connected_to 10.77.0.3 2
	wait_until all_back
	touch go
	ends_with 0 "$LONG"
	wait_until lines_in trace 2
}

# is_connected_to ADDRESS COUNT
is_connected_to() { [ "$("$NEAR" ss -Hnt state established dst "$1" | wc -l)" = "$2" ]; }

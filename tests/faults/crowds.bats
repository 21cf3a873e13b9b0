# Many waiters and many keys: neither is a burden to the server.
#
# CROWD   the number of waiters, 1000 unless told otherwise
load ../lib/jobs

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# stat_of FIELD: this field of INFO
stat_of() { cli INFO everything | sed -n "s/^$1:\(\(calls\|count\)=\)\?\([0-9]*\).*/\3/p"; }

all_present() { [ "$(cli --raw PUBSUB CHANNELS 'redisson_lock__channel:{long}:*' | wc -l)" -gt "$1" ]; }

has_loaded() { cli INFO persistence | grep -q '^loading:0'; }

aof_is_rewritten() { cli INFO persistence | grep -q 'aof_rewrite_in_progress:0'; }

@test "a thousand waiters keep their places over a restart, and do not storm the server that comes back" {
	many=${CROWD:-1000}
	ulimit -n 4096 2>/dev/null || skip 'this user may not have so many files open'
	[ "$(ulimit -u)" = unlimited ] || [ "$(ulimit -u)" -gt 3000 ] || skip 'nor so many processes'
	start_server --appendonly yes --rdbcompression no --maxclients 3000
	# The server takes 3 s to read this data.
	cli EVAL 'for i = 1, 30 do redis.call("SET", i, string.rep("x", 3000)) end' 0
	background "$FAIRLOCK" wrap -l 10m long sh -c 'while [ ! -e go ]; do sleep 0.1; done'
	LONG=$!
	wait_until "$FAIRLOCK" status -q long
	for ((i = 0; i < many; i++)); do
		background "$FAIRLOCK" wrap long sh -c 'echo "$FAIRLOCK_OWNER" >>trace' 2>>waiters.said
	done
	WAIT_S=60 wait_until in_queue long $many
	cli BGREWRITEAOF >/dev/null
	wait_until aof_is_rewritten
	before=$(cli --raw ZRANGE 'fairlock_queue:{long}' 0 -1)
	stop_server
	sleep 2
	server_answers() { cli PING | grep -q LOADING; }
	began=$SECONDS
	start_server --appendonly yes --maxclients 3000 \
		--key-load-delay 100000 --loading-process-events-interval-bytes 1024
	WAIT_S=60 wait_until all_present $many
	# The server accepts subscriptions before that.
	WAIT_S=60 wait_until has_loaded
	sleep 2
	connections=$(stat_of total_connections_received)
	requests=$(($(stat_of cmdstat_evalsha) + $(stat_of cmdstat_hello) + $(stat_of errorstat_LOADING)))
	took=$((SECONDS - began))
	echo "$connections connections, $requests requests in $took s"
	# a slow machine takes longer, and each waiter tries again meanwhile
	[ "$connections" -lt $((many + took * many / 4)) ]
	[ "$requests" -lt $(((4 + took) * many)) ]
	wait_until prints "$before" cli ZRANGE 'fairlock_queue:{long}' 0 -1
	touch go
	ends_with 0 "$LONG"
	WAIT_S=90 wait_until in_queue long 0
	wait_until lines_in trace $many
	[ "$(cat trace)" = "$before" ]
	# They say no more than that the server was away for longer than the connect timeout.
	run ! grep -v '; trying again$' waiters.said
}

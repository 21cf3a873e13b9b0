# The connect timeout bounds all attempts to reach a server together: names, addresses, seeds, sentinels, redirections,
# TLS. The far host swallows what is sent to it, or somebody there listens and says nothing.
load ../lib/helpers
load ../lib/network
load ../lib/jobs
load ../lib/nodes

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# swallow: two hosts, and the far one, with addresses to 10.77.0.9, answers nothing
swallow() {
	new_network
	send_to "$NEAR" "$no_card" 10.77.0.{3..9}
	cut_wire
}

# start_far_cluster: start_far_server as a cluster, which several seeds may name
start_far_cluster() {
	start_far_server --cluster-enabled yes --cluster-port 7001
	become_lone_cluster
}

# takes MS MOST COMMAND...: the command ends with 69, after MS to MOST milliseconds
takes() {
	local from

	from=$(ms)
	run -69 "$NEAR" timeout 60 "${@:3}"
	took=$(($(ms) - from))
	echo "took $took ms" >&2
	[ "$took" -ge "$1" ] && [ "$took" -lt "$2" ]
}

# seeds [TAIL]: five addresses that swallow everything
seeds() { printf '10.77.0.3:1,10.77.0.4:1,10.77.0.5:1,10.77.0.6:1,10.77.0.7:1%s' "${1-}"; }

# On a quiet machine each takes 2 s; attempts that had 2 s each would take 10 s.
@test "five seeds, sentinels or servers with TLS that swallow everything: 69 after the connect timeout" {
	swallow
	for command in 'wrap -n job true' 'wrap job true' 'acquire -w 30s job' status 'release --force job'; do
		takes 1900 7000 "$FAIRLOCK" ${command%% *} --connect-timeout 2s -u "redis://$(seeds)" ${command#* }
		assert_output --partial 'timed out'
	done
	for command in "redis+sentinel://$(seeds /main)" "rediss://$(seeds)"; do
		takes 1900 7000 "$FAIRLOCK" wrap -n --connect-timeout 2s -u "$command" job true
	done
}

@test "the first seed swallows everything and the second serves: half of the connect timeout passes" {
	new_network
	start_far_cluster
	send_to "$NEAR" "$no_card" 10.77.0.3
	from=$(ms)
	run -7 "$NEAR" timeout 60 "$FAIRLOCK" wrap --connect-timeout 8s -u "redis://10.77.0.3:1,${FAR_URL#*://}" job sh -c 'exit 7'
	[ $(($(ms) - from)) -ge 3900 ]
	[ $(($(ms) - from)) -lt 8000 ]
}

# An outage is not told as a busy lock.
@test "a server that swallows everything gives 69 although --wait is shorter than the connect timeout" {
	swallow
	for words in 'wrap -w 500ms job true' 'wrap -q -E 0 -w 500ms job true' 'acquire -q -E 0 -w 500ms job'; do
		run -69 "$NEAR" timeout 60 "$FAIRLOCK" ${words%% *} --connect-timeout 20s -u redis://10.77.0.3:1 ${words#* }
		assert_output --regexp "^fairlock: cannot reach redis://10.77.0.3:1: $TIMED_OUT\$"
	done
}

was_granted_and_left() { [ "$(cli HGET 'fairlock:{job}' n:granted)" = 2 ] && [ "$(cli EXISTS job)" = 0 ]; }

@test "a server that hung beyond the connect timeout gives the lock to no dead process when it goes on" {
	start_server
	owner=$("$FAIRLOCK" acquire job)
	run -75 "$FAIRLOCK" wrap -w 1s job true # so that the server knows the script that leaves
	"$FAIRLOCK" release --owner "$owner" job
	kill -STOP "$SERVER_PID"
	run -69 timeout 60 "$FAIRLOCK" wrap --connect-timeout 300ms job touch started
	kill -CONT "$SERVER_PID"
	wait_until was_granted_and_left
	[ ! -e started ]
}

# The first round gives it half of the connect timeout, 1 s; it needs 1.4 s. The second seed refuses.
@test "a waiter comes back to a first seed that is slow: in every second round it has all of the connect timeout" {
	load ../lib/proxy
	port=$(free_port)
	start_lone_cluster --port "$port" --bind 127.0.0.1
	start_proxy "127.0.0.1:$port"
	owner=$("$FAIRLOCK" acquire -l 10m job)
	join_queue --connect-timeout 2s -u "redis://$PROXY_ADDRESS,127.0.0.1:1" job touch ran
	waiter=$WAITER
	proxy delay 1400 up
	proxy reset
	"$FAIRLOCK" release --owner "$owner" job
	wait_until test -e ran
	ends_with 0 "$waiter"
}

# A process that was stopped finds its time over. The next seed must be able to answer all the same.
@test "an acquire that was stopped for longer than the connect timeout still tries the second seed" {
	new_network
	start_far_cluster
	send_to "$NEAR" "$no_card" 10.77.0.3
	background "$NEAR" "$FAIRLOCK" acquire --connect-timeout 2s -u "redis://10.77.0.3:1,${FAR_URL#*://}" job >owner
	acquire=$!
	wait_until connects_to 10.77.0.3:1
	kill -STOP "$acquire"
	sleep 2.5
	kill -CONT "$acquire"
	ends_with 0 "$acquire"
	[ -s owner ]
}

connects_to() { "$NEAR" ss -Htn state syn-sent | grep -qF "$1"; }

# It was to try the first address for 30 s. It has 2 s to leave.
@test "a waiter that leaves while one address swallows everything leaves over the other one" {
	new_network
	start_far_cluster
	"$FAIRLOCK" acquire -l 10m job
	background "$NEAR" "$FAIRLOCK" wrap --connect-timeout 1m -u "redis://$FAR_ADDRESS:7000,[$FAR_ADDRESS6]:7000" job true
	waiter=$!
	wait_until in_queue job 1
	send_to "$NEAR" "$no_card" "$FAR_ADDRESS"
	cli CLIENT KILL TYPE pubsub >/dev/null
	wait_until connects_to "$FAR_ADDRESS:7000"
	kill -TERM "$waiter"
	ends_with 143 "$waiter"
	in_queue job 0
}

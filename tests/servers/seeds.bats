# Several seeds of a cluster in one URL, of which some are no server for locks: fairlock uses the first that is one. It
# refuses a list of servers that are no cluster, because each of them would have a holder of its own.
load ../lib/nodes

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PORT=$(free_port)
	BAD=$(free_port)
}

# good: a cluster on PORT, the second of two seeds
good() {
	start_lone_cluster --port "$PORT" --bind 127.0.0.1
	export FAIRLOCK_CONNECT_TIMEOUT=2s FAIRLOCK_URL=redis://127.0.0.1:$BAD,127.0.0.1:$PORT
}

@test "the first of two seeds is an HTTP server: the second serves" {
	background python3 "$TESTS_DIR/lib/nonsense.py" "$BAD" http
	wait_until is_taken "$BAD"
	good
	run -7 timeout 20 "$FAIRLOCK" wrap job sh -c 'exit 7'
	assert_output ''
	owner=$(timeout 20 "$FAIRLOCK" acquire job)
	run -75 timeout 20 "$FAIRLOCK" wrap -n job true
	run -0 timeout 20 "$FAIRLOCK" status -q job
	run -0 timeout 20 "$FAIRLOCK" renew --owner "$owner" job
	run -0 timeout 20 "$FAIRLOCK" release --owner "$owner" job
	run timeout 20 "$FAIRLOCK" doctor
	[ "$status" -le 1 ]
	assert_output --partial "127.0.0.1:$PORT"
}

# refused URL COMMAND...: the server of the test, which is no cluster, keeps no trace of it
refused() {
	run -78 timeout 20 "$FAIRLOCK" "${@:2}" -u "$1" job
	assert_output "fairlock: cannot use $1: a list of hosts is for a cluster; for a master with replicas write redis+sentinel://"
	[ "${#output}" -lt 160 ]
}

@test "a list of hosts that are no cluster is refused, whether the first or only the second of them answers" {
	start_server --port "$PORT" --bind 127.0.0.1
	"$FAIRLOCK" wrap other true # the server knows the scripts
	cli FLUSHALL
	for url in "redis://127.0.0.1:$PORT,127.0.0.1:$BAD" "redis://127.0.0.1:$BAD,127.0.0.1:$PORT"; do
		for command in acquire 'acquire --shared' 'renew --owner 00000000-0000-4000-8000-000000000000:1' 'release --owner 00000000-0000-4000-8000-000000000000:1' 'release --force' status queue log; do
			refused "$url" $command
		done
		run -78 timeout 20 "$FAIRLOCK" wrap --skip -u "$url" job touch ran
		run -78 timeout 20 "$FAIRLOCK" doctor --json -u "$url"
		assert_equal "$(jq -r '.findings[] | select(.check == "reach") | .severity, .remedy' <<<"$output" | paste -sd ' ')" \
			'error write the master alone, redis://HOST, or the sentinels that watch it: redis+sentinel://S1,S2,S3/MASTER'
	done
	[ ! -e ran ]
	assert_equal "$(cli DBSIZE)" 0
}

@test "a holder whose cluster is gone writes nothing to the next host of the list, which is no cluster" {
	good
	background "$SERVER" --port "$BAD" --bind 127.0.0.1 --save '' --dir "$PWD" >/dev/null
	wait_until is_taken "$BAD"
	"$FAIRLOCK" wrap -u "redis://127.0.0.1:$BAD" job true # it knows the scripts
	"$CLI" -p "$BAD" FLUSHALL >/dev/null
	export FAIRLOCK_URL=redis://127.0.0.1:$PORT,127.0.0.1:$BAD
	background "$FAIRLOCK" wrap -l 8s job sh -c 'touch runs; sleep 600' 2>said
	wait_until test -e runs
	holder=$!
	stop_server
	ends_with 76 "$holder"
	[ "$("$CLI" -p "$BAD" DBSIZE)" = 0 ]
}

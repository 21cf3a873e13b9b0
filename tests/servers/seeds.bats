#!/usr/bin/env bats
# Several seeds in one URL, of which some are no server for locks: fairlock uses the first that is one.
load ../lib/helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	PORT=$(free_port)
	BAD=$(free_port)
}

is_there() { : </dev/tcp/127.0.0.1/"$BAD"; }

# bad KIND: something listens on BAD that is no Redis
bad() {
	case $1 in
	http) background python3 -m http.server --bind 127.0.0.1 "$BAD" >http 2>&1 ;;
	*) background python3 "$TESTS_DIR/lib/nonsense.py" "$BAD" "$1" ;;
	esac
	wait_until is_there
}

# good: a server on PORT, the second of two seeds
good() {
	start_server --port "$PORT" --bind 127.0.0.1
	export FAIRLOCK_CONNECT_TIMEOUT=2s FAIRLOCK_URL=redis://127.0.0.1:$BAD,127.0.0.1:$PORT
}

# serves: each command uses the second seed
serves() {
	local owner

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

@test "the first of two seeds is an HTTP server: the second serves" {
	bad http
	good
	serves
}

@test "the first of two seeds takes connections and says nothing: the second serves" {
	bad silent
	good
	serves
}

@test "nothing listens at the first of two seeds: the second serves" {
	good
	serves
}

@test "no seed is a Redis: 70 if the last one is something else, as with one seed" {
	bad http
	run -70 timeout 20 "$FAIRLOCK" wrap -u "redis://127.0.0.1:$PORT,127.0.0.1:$BAD" job true
	assert_output --regexp '^fairlock: cannot understand redis://[0-9.:,]+: it is no Redis or Valkey server$'
	run -70 timeout 20 "$FAIRLOCK" wrap -u "redis://127.0.0.1:$BAD,127.0.0.1:$BAD" job true
	assert_output --regexp ': it is no Redis or Valkey server$'
}

@test "a waiter whose seed became an HTTP server comes back over the other one" {
	local owner waiter

	good
	owner=$("$FAIRLOCK" acquire job)
	background "$FAIRLOCK" wrap job touch ran
	waiter=$!
	wait_until in_queue job 1
	bad http
	cli CLIENT KILL TYPE pubsub >/dev/null
	wait_until in_queue job 1
	"$FAIRLOCK" release --owner "$owner" job
	ends_with 0 "$waiter"
	[ -e ran ]
}

# Servers that cannot serve, answer nonsense or refuse: each ends with its own status and message.
# For servers that mean harm see hostile.bats.
load ../lib/helpers

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# nonsense BEHAVIOUR: FAIRLOCK_URL is a listener that behaves so (tests/lib/nonsense.py)
nonsense() {
	background python3 "$TESTS_DIR/lib/nonsense.py" "$PWD/listener" "$1"
	wait_until test -S "$PWD/listener"
	export FAIRLOCK_URL=unix:$PWD/listener
}

# one_line TEXT: the output is one message of fairlock, with TEXT in it
one_line() {
	[ "${#lines[@]}" = 1 ]
	assert_output --regexp '^fairlock: cannot .*: .*'
	assert_output --partial "$1"
}

@test "without a server wrap ends with 69 at once and names the place" {
	FAIRLOCK_URL=unix:$PWD/nowhere run -69 timeout 10 "$FAIRLOCK" wrap job true
	one_line "cannot reach unix:$PWD/nowhere: No such file or directory"
}

@test "a port on which nobody listens gives status 69" {
	FAIRLOCK_URL=redis://127.0.0.1:1 run -69 timeout 10 "$FAIRLOCK" status
	one_line 'cannot reach redis://127.0.0.1:1: Connection refused'
}

@test "a host that is not known gives status 69" {
	FAIRLOCK_URL=redis://no.such.host.invalid run -69 timeout 20 "$FAIRLOCK" status
	one_line 'cannot reach redis://no.such.host.invalid'
}

@test "an HTTP server gives status 70, because its reply makes no sense" {
	nonsense http
	run -70 timeout 10 "$FAIRLOCK" wrap job true
	one_line 'cannot understand'
}

@test "a server that closes every connection gives status 69 after the connect timeout" {
	nonsense close
	run -69 timeout 10 "$FAIRLOCK" wrap --connect-timeout 200ms job true
	one_line 'cannot reach'
}

@test "a server that sends half a reply gives status 69 after the connect timeout" {
	nonsense half
	run -69 timeout 10 "$FAIRLOCK" wrap --connect-timeout 200ms job true
	one_line 'no reply in time'
}

@test "a server that does not reply gives status 69 after the connect timeout" {
	nonsense silent
	run -69 timeout 10 "$FAIRLOCK" acquire --connect-timeout 200ms job
	one_line 'no reply in time'
}

@test "a reply of the wrong type gives status 70" {
	nonsense wrong
	run -70 timeout 10 "$FAIRLOCK" wrap job true
	one_line 'a reply that makes no sense'
}

@test "a server or proxy that refuses HELLO 3 gives status 69 with its reason" {
	nonsense proxy
	run -69 timeout 10 "$FAIRLOCK" wrap job true
	one_line 'NOPROTO'
}

@test "a host with several addresses, all of replicas, gives status 69 with the reason" {
	local port

	port=$(free_port)
	start_server --port "$port" --bind 127.0.0.1 --replicaof 127.0.0.1 1
	run -69 timeout 10 "$FAIRLOCK" acquire -u "redis://localhost:$port,localhost:$port" job
	one_line "cannot reach redis://localhost:$port,localhost:$port: it is a replica"
}

@test "a wrong or missing password gives status 77" {
	start_server
	cli CONFIG SET requirepass secret >/dev/null
	run -77 "$FAIRLOCK" wrap job true
	assert_output --partial NOAUTH
	FAIRLOCK_PASSWORD=guess run -77 "$FAIRLOCK" wrap job true
	one_line WRONGPASS
	refute_output --partial guess
	FAIRLOCK_PASSWORD=secret run -0 "$FAIRLOCK" wrap job true
}

@test "a password in --url is not seen in the arguments of the running wrapper" {
	local port
	port=$(free_port)
	start_server --port "$port" --bind 127.0.0.1
	cli CONFIG SET requirepass sesame >/dev/null
	background "$FAIRLOCK" wrap -u "redis://:sesame@127.0.0.1:$port" job sh -c 'env >environment; sleep 600'
	local wrapper=$!
	wait_until test -s environment
	run -0 ps -ww -o args= -p "$wrapper" --ppid "$wrapper"
	assert_output --partial "127.0.0.1:$port"
	refute_output --partial sesame
	run -1 grep -q sesame environment
}

@test "a user without permission gets status 77 with the command that was denied" {
	start_server
	cli ACL SETUSER eve on '>pw' '~*' '&*' +@all -evalsha -eval >/dev/null
	FAIRLOCK_PASSWORD=pw run -77 "$FAIRLOCK" wrap -u "$FAIRLOCK_URL?user=eve" job true
	assert_output --partial evalsha
	cli ACL SETUSER eve on '>pw' resetkeys '~other' '&*' +@all >/dev/null
	FAIRLOCK_PASSWORD=pw run -77 "$FAIRLOCK" wrap -u "$FAIRLOCK_URL?user=eve" job true
	one_line 'cannot use'
}

@test "a database that does not exist gives status 78" {
	start_server
	run -78 "$FAIRLOCK" wrap -u "$FAIRLOCK_URL?db=99" job true
	assert_output --partial 'DB index is out of range'
}

@test "locks of different databases are different locks" {
	start_server
	run -0 timeout 10 "$FAIRLOCK" wrap job "$FAIRLOCK" wrap -u "$FAIRLOCK_URL?db=1" job echo both
	assert_output both
}

@test "a name whose key belongs to something else gives status 78, and the key stays as it is" {
	local key
	start_server
	for key in job 'redisson_lock_queue:{job}' 'redisson_lock_timeout:{job}' 'fairlock:{job}'; do
		cli FLUSHALL >/dev/null
		cli SET "$key" precious >/dev/null
		run -78 timeout 10 "$FAIRLOCK" wrap job true
		one_line 'in use by something that is no lock'
		[ "$(cli --raw GET "$key")" = precious ]
		[ "$(cli --raw KEYS '*')" = "$key" ]
	done
}

@test "a name that shares keys with another spelling of it gives status 64" {
	start_server
	"$FAIRLOCK" wrap x true
	run -64 "$FAIRLOCK" wrap '{x}' true
	assert_output --partial 'shares keys with x'
}

@test "a user that may not subscribe gets status 77 and leaves no lock" {
	start_server
	cli ACL SETUSER eve on '>pw' '~*' resetchannels +@all >/dev/null
	FAIRLOCK_PASSWORD=pw run -77 timeout 10 "$FAIRLOCK" wrap -u "$FAIRLOCK_URL?user=eve" job true
	assert_output --partial channel
	[ "$(cli EXISTS job)" = 0 ]
}

# What gets refused, and how: servers that cannot serve, answer nonsense or say no. Those that mean harm
# are in hostile.bats.
load ../lib/helpers

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# nonsense BEHAVIOUR: FAIRLOCK_URL is a listener that behaves so
nonsense() {
	background python3 "$TESTS_DIR/lib/nonsense.py" "$PWD/listener" "$1"
	wait_until test -S "$PWD/listener"
	export FAIRLOCK_URL=unix:$PWD/listener
}

# one_line TEXT: the output is one line of ours with this in it
one_line() {
	[ "${#lines[@]}" = 1 ]
	assert_output --regexp '^fairlock: cannot .*: .*'
	assert_output --partial "$1"
}

@test "no server: 69 at once, naming the place" {
	FAIRLOCK_URL=unix:$PWD/nowhere run -69 timeout 10 "$FAIRLOCK" wrap job true
	one_line "cannot reach unix:$PWD/nowhere: No such file or directory"
}

@test "nobody listens on the port: 69" {
	FAIRLOCK_URL=redis://127.0.0.1:1 run -69 timeout 10 "$FAIRLOCK" status
	one_line 'cannot reach redis://127.0.0.1:1: Connection refused'
}

@test "a host that is not known: 69" {
	FAIRLOCK_URL=redis://no.such.host.invalid run -69 timeout 20 "$FAIRLOCK" status
	one_line 'cannot reach redis://no.such.host.invalid'
}

@test "an HTTP server: 70, a reply that makes no sense" {
	nonsense http
	run -70 timeout 10 "$FAIRLOCK" wrap job true
	one_line 'cannot understand'
}

@test "a server that closes at once: 69 after the connect timeout" {
	nonsense close
	run -69 timeout 10 "$FAIRLOCK" wrap --connect-timeout 200ms job true
	one_line 'cannot reach'
}

@test "half a reply: 69 after the connect timeout" {
	nonsense half
	run -69 timeout 10 "$FAIRLOCK" wrap --connect-timeout 200ms job true
	one_line 'no reply in time'
}

@test "no reply: 69 after the connect timeout" {
	nonsense silent
	run -69 timeout 10 "$FAIRLOCK" acquire --connect-timeout 200ms job
	one_line 'no reply in time'
}

@test "a reply of the wrong type: 70" {
	nonsense wrong
	run -70 timeout 10 "$FAIRLOCK" wrap job true
	one_line 'a reply that makes no sense'
}

@test "a server or proxy that refuses HELLO 3: 69 with that reason" {
	nonsense proxy
	run -69 timeout 10 "$FAIRLOCK" wrap job true
	one_line 'NOPROTO'
}

@test "a host of several addresses behind which nobody may serve: 69 with the reason" {
	local port

	port=$(free_port)
	start_server --port "$port" --bind 127.0.0.1 --replicaof 127.0.0.1 1
	run -69 timeout 10 "$FAIRLOCK" acquire -u "redis://localhost:$port,localhost:$port" job
	one_line "cannot reach redis://localhost:$port,localhost:$port: it is a replica"
}

@test "a wrong or missing password: 77" {
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

@test "a user without permission: 77, naming what was denied" {
	start_server
	cli ACL SETUSER eve on '>pw' '~*' '&*' +@all -evalsha -eval >/dev/null
	FAIRLOCK_PASSWORD=pw run -77 "$FAIRLOCK" wrap -u "$FAIRLOCK_URL?user=eve" job true
	assert_output --partial evalsha
	cli ACL SETUSER eve on '>pw' resetkeys '~other' '&*' +@all >/dev/null
	FAIRLOCK_PASSWORD=pw run -77 "$FAIRLOCK" wrap -u "$FAIRLOCK_URL?user=eve" job true
	one_line 'cannot use'
}

@test "a database that is not there: 78" {
	start_server
	run -78 "$FAIRLOCK" wrap -u "$FAIRLOCK_URL?db=99" job true
	assert_output --partial 'DB index is out of range'
}

@test "locks of different databases do not meet" {
	start_server
	run -0 timeout 10 "$FAIRLOCK" wrap job "$FAIRLOCK" wrap -u "$FAIRLOCK_URL?db=1" job echo both
	assert_output both
}

@test "a name in use by something that is no lock: 78, and it is left alone" {
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

@test "a name that another spelling of shares keys with: 64" {
	start_server
	"$FAIRLOCK" wrap x true
	run -64 "$FAIRLOCK" wrap '{x}' true
	assert_output --partial 'shares keys with x'
}

@test "a user who may not subscribe: 77, and the lock is not left held" {
	start_server
	cli ACL SETUSER eve on '>pw' '~*' resetchannels +@all >/dev/null
	FAIRLOCK_PASSWORD=pw run -77 timeout 10 "$FAIRLOCK" wrap -u "$FAIRLOCK_URL?user=eve" job true
	assert_output --partial channel
	[ "$(cli EXISTS job)" = 0 ]
}

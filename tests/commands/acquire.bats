# fairlock acquire, its keeper, renew and release.
load ../lib/helpers
load ../lib/one_server

held() { "$FAIRLOCK" status -q "$1"; }
no_keepers() { [ -z "$(cli --raw PUBSUB CHANNELS "redisson_lock__channel:{$1}:*")" ]; }

# keeper_of OWNED: prints the process id of the keeper that `acquire OWNED` has left behind
keeper_of() { pgrep -f -- "acquire $1"; }

@test "acquire prints the owner id and nothing else, and the lock stays held" {
	run -0 "$FAIRLOCK" acquire -l 2m job
	assert_output --regexp '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:[0-9]+$'
	[ "$(cli HGET job "$output")" = 1 ]
	[ "$(cli PTTL job)" -gt 60000 ]
}

@test "acquire --json prints name, owner, token and lease" {
	run -0 "$FAIRLOCK" acquire --json -l 2m 'a "job"'
	run -0 jq -r '[.name, (.owner | length > 36), (.token > 1700000000000), (.lease_ms > 60000 and .lease_ms <= 120000)] | @csv' <<<"$output"
	assert_output '"a ""job""",true,true,true'
}

@test "release gives the lock back, and a second release ends with 76" {
	local owner
	owner=$("$FAIRLOCK" acquire job)
	run -0 "$FAIRLOCK" release --owner "$owner" job
	refute_output
	run -1 held job
	run -76 "$FAIRLOCK" release --owner "$owner" job
	assert_output 'fairlock: cannot release lock job: this owner does not hold it now; see fairlock status'
	nothing_left
}

@test "release refuses to give back the lock of another owner, which keeps it" {
	local owner
	owner=$("$FAIRLOCK" acquire job)
	run -76 "$FAIRLOCK" release --owner 00000000-0000-4000-8000-000000000000:1 job
	held job
	[ "$(cli HGET job "$owner")" = 1 ]
}

@test "renew extends the lease, by default to that of acquire, and never shortens it" {
	local owner
	owner=$("$FAIRLOCK" acquire -l 2m job)
	cli PEXPIRE job 30000 >/dev/null
	"$FAIRLOCK" renew --owner "$owner" job
	[ "$(cli PTTL job)" -gt 60000 ]
	FAIRLOCK_LEASE=10m "$FAIRLOCK" renew --owner "$owner" --config <(echo 'lease = 20m') job
	[ "$(cli PTTL job)" -le 120000 ]
	"$FAIRLOCK" renew --owner "$owner" -l 1s job
	[ "$(cli PTTL job)" -gt 60000 ]
	"$FAIRLOCK" renew --owner "$owner" -l 5m job
	[ "$(cli PTTL job)" -gt 180000 ]
}

@test "acquire with the holder's owner id adds a hold, and each release takes one away" {
	local owner
	owner=$("$FAIRLOCK" acquire job)
	run -0 "$FAIRLOCK" acquire --owner "$owner" job
	assert_output "$owner"
	[ "$(cli HGET job "$owner")" = 2 ]
	"$FAIRLOCK" release --owner "$owner" job
	held job
	"$FAIRLOCK" release --owner "$owner" job
	is_free job
}

@test "inside wrap, release gives back an inner acquire's hold, and refuses to give back wrap's own" {
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap job sh -c '
		owner=$("$FAIRLOCK" acquire job)
		[ "$owner" = "$FAIRLOCK_OWNER" ] || echo other owner
		"$FAIRLOCK" release job || echo failed
		"$FAIRLOCK" release job; echo $?
		"$FAIRLOCK" status -q job && echo held'
	assert_output $'fairlock: cannot release lock job: wrap holds it until its command ends\n76\nheld'
}

@test "release --force --token N breaks the lock only if its token is N" {
	local token
	token=$("$FAIRLOCK" acquire --json job | jq .token)
	run -76 "$FAIRLOCK" release --force --token $((token - 1)) job
	held job
	run -0 "$FAIRLOCK" release --force --token "$token" job
	is_free job
}

@test "acquire gives the lock back and ends with 71 if standard output is full" {
	# shellcheck disable=SC2016
	run -71 sh -c '"$FAIRLOCK" acquire job >/dev/full'
	assert_output --regexp '^fairlock: cannot write the owner id: [^:]*$'
	is_free job
	nothing_left
}

@test "acquire --while-pid returns at once in a command substitution, and its keeper renews the lease until the process ends" {
	background sleep 600
	local pid=$! owner
	owner=$(timeout 20 "$FAIRLOCK" acquire -l 4s --while-pid "$pid" job)
	[ -n "$owner" ]
	sleep 5
	held job
	kill -KILL "$pid" # bash may lose another signal to a child that has not begun
	wait_until is_free job
	wait_until no_keepers job
	nothing_left
}

# without_null COMMAND...: runs it where there is no /dev/null, as in a bare container; what it leaves ends with it
without_null() {
	local enter=(unshare --mount --pid --fork --kill-child)

	[ "$(id -u)" = 0 ] || enter+=(--user --map-root-user)
	"${enter[@]}" true 2>/dev/null || skip 'this machine allows no namespaces'
	# shellcheck disable=SC2016
	setpriv --pdeathsig KILL "${enter[@]}" sh -c 'mount -t tmpfs tmpfs /dev && exec "$@"' sh "$@" 3>&- 4>&-
}

@test "acquire --while-pid returns in a command substitution also where there is no /dev/null" {
	# shellcheck disable=SC2016
	without_null timeout 60 sh -c '
		owner=$("$FAIRLOCK" acquire --while-pid $$ job) && echo "$owner" && "$FAIRLOCK" status -q job
	' >said
	[ -s said ]
}

@test "the keeper lets go of the descriptors, terminal and working folder that it inherited" {
	background sleep 600
	local pid=$! owner keeper
	exec 9<"$TESTS_DIR/lib/helpers.bash" 200<&9
	owner=$("$FAIRLOCK" acquire --while-pid "$pid" job)
	exec 9<&- 200<&-
	keeper=$(keeper_of "--while-pid $pid job")
	[ "$(readlink "/proc/$keeper/cwd")" = / ]
	[ "$(ps -o sid= -p "$keeper" | tr -d ' ')" = "$keeper" ]
	run -0 readlink "/proc/$keeper/fd/0" "/proc/$keeper/fd/1" "/proc/$keeper/fd/2"
	assert_output $'/dev/null\n/dev/null\n/dev/null'
	run -0 sh -c "readlink /proc/$keeper/fd/* | grep -v -e ^/dev/null -e ^socket: -e ^anon_inode: || echo none"
	assert_output none
	kill -KILL "$pid"
	wait_until ended "$keeper"
}

@test "the keeper ends when the lock is released or broken" {
	background sleep 600
	# The keeper renews after a minute. It can notice earlier only because the server tells it.
	local pid=$! owner keeper
	owner=$("$FAIRLOCK" acquire -l 3m --while-pid "$pid" job)
	keeper=$(keeper_of "-l 3m --while-pid $pid job")
	"$FAIRLOCK" release --owner "$owner" job
	wait_until ended "$keeper"
	owner=$("$FAIRLOCK" acquire -l 3m --while-pid "$pid" job)
	keeper=$(keeper_of "-l 3m --while-pid $pid job")
	"$FAIRLOCK" release -q --force job
	wait_until ended "$keeper"
	is_free job
	kill -KILL "$pid"
}

@test "a keeper that was stopped past its lease ends, also if the server loses its data after that" {
	background sleep 600
	local pid=$! keeper
	"$FAIRLOCK" acquire -l 1s --while-pid "$pid" job >/dev/null
	keeper=$(keeper_of "-l 1s --while-pid $pid job")
	kill -STOP "$keeper"
	wait_until is_free job
	"$FAIRLOCK" wrap job true
	cli FLUSHALL
	kill -CONT "$keeper"
	wait_until ended "$keeper"
	is_free job
	kill -KILL "$pid"
}

@test "a signal to acquire's process group does not end the keeper, even while the keeper is still in that group" {
	local acquire keeper

	background sleep 600
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 background strace -f -qq -o calls -e trace=setsid \
		-e inject=setsid:delay_enter=4000000 "$FAIRLOCK" acquire --while-pid $! job >id
	wait_until has_keeper $!
	kill -HUP "$acquire" "$keeper"
	wait_until test -s id
	wait_until has_left "$keeper"
	sleep 0.5 # a keeper that took the signal would have given the lock back by then
	held job
}

# has_keeper TRACER: succeeds if acquire has its keeper; sets acquire and keeper
has_keeper() { acquire=$(pgrep -P "$1") && keeper=$(pgrep -P "$acquire"); }
has_left() { [ "$(ps -o sid= -p "$1" | tr -d ' ')" = "$1" ]; }

@test "the keeper gives the lock back and ends on SIGHUP and SIGINT" {
	local pid keeper signal

	background sleep 600
	pid=$!
	for signal in HUP INT; do
		# A test that runs in the background has SIGINT ignored, and so had the keeper.
		env --default-signal=INT "$FAIRLOCK" acquire --while-pid "$pid" job >/dev/null
		keeper=$(keeper_of "--while-pid $pid job")
		kill -s "$signal" "$keeper"
		wait_until ended "$keeper"
		is_free job
	done
}

@test "acquire --while-pid shows the process that it is for: its pid and command" {
	local pid

	background sleep 600
	pid=$!
	wait_until grep -qx sleep "/proc/$pid/comm"
	"$FAIRLOCK" acquire --while-pid "$pid" job >/dev/null
	run -0 "$FAIRLOCK" status --json job
	assert_equal "$(jq -r '.locks[0] | "\(.pid) \(.command)"' <<<"$output")" "$pid sleep 600"
	run -0 "$FAIRLOCK" log --json job
	assert_equal "$(jq -r '.log[0] | "\(.pid) \(.command)"' <<<"$output")" "$pid sleep 600"
	background "$FAIRLOCK" acquire --while-pid "$pid" job
	wait_until in_queue job 1
	run -0 "$FAIRLOCK" queue --json job
	assert_equal "$(jq -r '.queue[0] | "\(.pid) \(.command)"' <<<"$output")" "$pid sleep 600"
}

# ---- FAIRLOCK_OWNER ----

@test "with FAIRLOCK_OWNER renew and release act as this owner, and wrap and acquire go into its lock" {
	FAIRLOCK_OWNER=$("$FAIRLOCK" acquire job)
	export FAIRLOCK_OWNER
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap -n job sh -c 'echo "$FAIRLOCK_OWNER"'
	assert_output "$FAIRLOCK_OWNER"
	run -0 "$FAIRLOCK" acquire -n job
	assert_output "$FAIRLOCK_OWNER"
	run -0 "$FAIRLOCK" renew -l 5m job
	[ "$(cli PTTL job)" -gt 60000 ]
	run -0 "$FAIRLOCK" release job
	run -0 "$FAIRLOCK" release job
	is_free job
}

@test "a FAIRLOCK_OWNER that does not hold NAME opens nothing, and a new owner waits for it" {
	FAIRLOCK_OWNER=$("$FAIRLOCK" acquire other)
	export FAIRLOCK_OWNER
	hold job
	run -75 "$FAIRLOCK" wrap -n job true
	run -75 "$FAIRLOCK" acquire -n job
	run -76 "$FAIRLOCK" renew job
	run -76 "$FAIRLOCK" release job
	"$FAIRLOCK" release other
	run -0 "$FAIRLOCK" acquire other
	[ "$output" != "$FAIRLOCK_OWNER" ]
}

@test "FAIRLOCK_OWNER does not limit release --force, and no variable or key stands for --owner or --token" {
	hold job
	FAIRLOCK_OWNER=$("$FAIRLOCK" acquire other) FAIRLOCK_TOKEN=1 run -0 "$FAIRLOCK" release --force job
	assert_output --partial 'lock job was held by sleep 600'
	FAIRLOCK_TOKEN=1 run -0 "$FAIRLOCK" release --force other
	for key in owner token; do
		echo "$key = 1" >conf
		run -78 "$FAIRLOCK" release --config conf --force job
	done
}

@test "acquire --while-pid of a process that does not exist or is a zombie is a usage error" {
	run -64 "$FAIRLOCK" acquire --while-pid 4194304 job
	assert_line --partial 'there is no such process'
	sh -c 'sleep 0 & exec sleep 600' 3>&- 4>&- &
	local parent=$! zombie
	wait_until has_zombie "$parent"
	zombie=$(pgrep -P "$parent")
	run -64 "$FAIRLOCK" acquire --while-pid "$zombie" job
	kill "$parent"
	is_free job
}

has_zombie() { [ "$(ps -o stat= --ppid "$1" | cut -c1)" = Z ]; }

@test "acquire --while-pid leaves the queue and ends with 75 if the process ends while it waits" {
	hold job
	background sleep 600
	local pid=$!
	background "$FAIRLOCK" acquire --while-pid "$pid" job 2>said
	local waiter=$!
	wait_until in_queue job 1
	kill -KILL "$pid"
	ends_with 75 "$waiter"
	grep -q 'the process of --while-pid has ended' said
	in_queue job 0
}

@test "acquire --while-pid ends with 71 if standard output is full, and leaves neither lock nor keeper" {
	background sleep 600
	run -71 sh -c '"$FAIRLOCK" acquire --while-pid "$1" job >/dev/full' - $!
	assert_output --partial 'cannot write the owner id'
	run -1 held job
	run keeper_of "--while-pid $! job"
	assert_output ''
}

@test "a malformed owner id is a usage error of release, renew and acquire" {
	run -64 "$FAIRLOCK" release --owner 'no owner' job
	run -64 "$FAIRLOCK" renew --owner '' job
	run -64 "$FAIRLOCK" acquire --owner 'a b' job
}

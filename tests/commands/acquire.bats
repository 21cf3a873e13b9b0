# fairlock acquire, its keeper, renew and release, and locks by hand.
load ../lib/one_server

held() { "$FAIRLOCK" status -q "$1"; }
no_keepers() { [ -z "$(cli --raw PUBSUB CHANNELS "redisson_lock__channel:{$1}:*")" ]; }
has_holds() { [ "$(cli HGET job "$1")" = "$2" ]; }

DAY=86400000

# ---- acquire, renew, release ----

@test "acquire prints the owner id and nothing else, and the lock stays held; --json has name, owner, token and lease" {
	run -0 "$FAIRLOCK" acquire -l 2m job
	assert_output --regexp '^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}:[0-9]+$'
	has_holds "$output" 1
	[ "$(cli PTTL job)" -gt 60000 ]
	run -0 "$FAIRLOCK" acquire --json -l 2m 'a "job"'
	run -0 jq -r '[.name, (.owner | length > 36), (.token > 1700000000000), (.lease_ms > 60000 and .lease_ms <= 120000)] | @csv' <<<"$output"
	assert_output '"a ""job""",true,true,true'
}

@test "release gives the lock back; one that this owner does not hold ends with 76, and the holder keeps it" {
	local owner

	owner=$("$FAIRLOCK" acquire job)
	run -76 "$FAIRLOCK" release --owner 00000000-0000-4000-8000-000000000000:1 job
	has_holds "$owner" 1
	run -0 "$FAIRLOCK" release --owner "$owner" job
	refute_output
	is_free job
	run -76 "$FAIRLOCK" release --owner "$owner" job
	assert_output 'fairlock: cannot release lock job: this owner does not hold it now; see fairlock status'
	nothing_left
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

@test "a lease by hand is up to 30d, also renewed, and our keys outlive it; with --while-pid and of wrap it is up to 1d" {
	local owner name

	owner=$("$FAIRLOCK" acquire job)
	"$FAIRLOCK" renew -l 30d --owner "$owner" job
	"$FAIRLOCK" acquire -l 30d two
	for name in job two; do
		[ "$(cli PTTL $name)" -gt $((29 * DAY)) ]
		[ "$(cli PTTL "fairlock:{$name}")" -gt $((30 * DAY + DAY / 2)) ]
	done
	owner=$("$FAIRLOCK" acquire -l 20d three)
	cli PEXPIRE three 1000 >/dev/null
	"$FAIRLOCK" renew --owner "$owner" three # with the lease that acquire took
	[ "$(cli PTTL three)" -gt $((19 * DAY)) ]
	run -64 "$FAIRLOCK" acquire -l 25h --while-pid $$ other
	assert_line --index 0 "fairlock: cannot use option '--lease': it is at most 1d with --while-pid"
	"$FAIRLOCK" acquire -l 1d --while-pid $$ other
}

@test "inside wrap, release gives back an inner acquire's hold, and refuses to give back wrap's own" {
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

@test "acquire gives the lock back and ends with 71 if standard output is full, and leaves no keeper" {
	local words

	for words in '' "--while-pid $$"; do
		run -71 sh -c '"$FAIRLOCK" acquire $1 job >/dev/full' - "$words"
		assert_output --regexp '^fairlock: cannot write the owner id: [^:]*$'
		is_free job
		no_keepers job
		nothing_left
	done
}

# ---- The owner: FAIRLOCK_OWNER, or none ----

@test "with FAIRLOCK_OWNER renew and release act as this owner, and wrap and acquire go into its lock" {
	FAIRLOCK_OWNER=$("$FAIRLOCK" acquire job)
	export FAIRLOCK_OWNER
	run -0 "$FAIRLOCK" wrap -n job sh -c 'echo "$FAIRLOCK_OWNER"'
	assert_output "$FAIRLOCK_OWNER"
	run -0 "$FAIRLOCK" acquire -n job
	assert_output "$FAIRLOCK_OWNER"
	run -0 "$FAIRLOCK" renew -l 5m job
	[ "$(cli PTTL job)" -gt 60000 ]
	run -0 env -u FAIRLOCK_OWNER "$FAIRLOCK" acquire -n --owner "$FAIRLOCK_OWNER" job
	assert_output "$FAIRLOCK_OWNER"
	has_holds "$FAIRLOCK_OWNER" 3
	run -0 "$FAIRLOCK" release job
	run -0 "$FAIRLOCK" release job
	run -0 "$FAIRLOCK" release job
	is_free job
}

@test "a FAIRLOCK_OWNER that does not hold NAME opens nothing, a new owner waits for it, and release --force is not limited to it" {
	FAIRLOCK_OWNER=$("$FAIRLOCK" acquire other)
	export FAIRLOCK_OWNER
	hold job
	run -75 "$FAIRLOCK" wrap -n job true
	run -75 "$FAIRLOCK" acquire -n job
	run -76 "$FAIRLOCK" renew job
	run -76 "$FAIRLOCK" release job
	FAIRLOCK_TOKEN=1 run -0 "$FAIRLOCK" release --force job
	assert_output --partial 'lock job was held by sleep 600'
	"$FAIRLOCK" release other
	run -0 "$FAIRLOCK" acquire other
	[ "$output" != "$FAIRLOCK_OWNER" ]
}

@test "in a script, release and renew without an owner change nothing, and the message has the command with the id" {
	local owner name verb

	for name in job "it's" -n "$(printf '%040d' 7)"; do
		owner=$("$FAIRLOCK" acquire -l 10s -- "$name")
		for verb in release renew; do
			run -64 "$FAIRLOCK" "$verb" -- "$name" </dev/null
			[ "${#lines[0]}" -le 160 ] || fail "${#lines[0]}: ${lines[0]}"
			[[ ${lines[0]} = "fairlock: cannot $verb without an owner: fairlock $verb --owner $owner "* ]] || fail "$output"
		done
		[ "$(cli PTTL "$name")" -le 10000 ]
		ln -sf "$FAIRLOCK" fairlock
		PATH=$PWD:$PATH bash -c "${lines[0]#*owner: }"
		"$FAIRLOCK" release --owner "$owner" -- "$name"
		is_free "$name"
	done
}

# ---- The keeper ----

# keep [OPTION...]: starts a process, and a keeper of `job` for it. Sets PID, OWNER and KEEPER, their ids.
keep() {
	background sleep 600
	PID=$!
	wait_until grep -qx sleep "/proc/$PID/comm"
	# A test that runs in the background has SIGINT ignored, and so had the keeper.
	OWNER=$(timeout 20 env --default-signal=INT "$FAIRLOCK" acquire --while-pid "$PID" "$@" job)
	[ -n "$OWNER" ]
	KEEPER=$(pgrep -f -- "acquire --while-pid $PID $*")
}

@test "acquire --while-pid returns at once in a command substitution, and its keeper renews the lease until the process ends" {
	keep -l 3s
	sleep 3.5
	held job
	kill -KILL "$PID" # bash may lose another signal to a child that has not begun
	wait_until is_free job
	wait_until no_keepers job
	nothing_left
}

@test "acquire --while-pid returns in a command substitution also where there is no /dev/null" {
	local enter=(unshare --mount --pid --fork --kill-child)

	[ "$(id -u)" = 0 ] || enter+=(--user --map-root-user)
	"${enter[@]}" true 2>/dev/null || skip 'this machine allows no namespaces'
	setpriv --pdeathsig KILL "${enter[@]}" sh -c 'mount -t tmpfs tmpfs /dev && exec timeout 60 sh -c "$1"' sh '
		owner=$("$FAIRLOCK" acquire --while-pid $$ job) && echo "$owner" && "$FAIRLOCK" status -q job' >said 3>&- 4>&-
	[ -s said ]
}

@test "the keeper lets go of the descriptors, terminal and working folder that it inherited" {
	exec 9<"$TESTS_DIR/lib/helpers.bash" 200<&9
	keep
	exec 9<&- 200<&-
	[ "$(readlink "/proc/$KEEPER/cwd")" = / ]
	[ "$(ps -o sid= -p "$KEEPER" | tr -d ' ')" = "$KEEPER" ]
	run -0 readlink "/proc/$KEEPER/fd/0" "/proc/$KEEPER/fd/1" "/proc/$KEEPER/fd/2"
	assert_output $'/dev/null\n/dev/null\n/dev/null'
	run -0 sh -c "readlink /proc/$KEEPER/fd/* | grep -v -e ^/dev/null -e ^socket: -e ^anon_inode: || echo none"
	assert_output none
}

@test "the keeper ends when the lock is released or broken, and gives it back on SIGHUP and SIGINT" {
	local end

	for end in 'release --owner' 'release -q --force --owner' 'kill -HUP' 'kill -INT'; do
		# The keeper renews after a minute. It can notice earlier only because the server tells it.
		keep -l 3m
		case $end in
		kill*) $end "$KEEPER" ;;
		*) "$FAIRLOCK" $end "$OWNER" job ;;
		esac
		wait_until ended "$KEEPER"
		is_free job
	done
}

@test "a keeper that was stopped past its lease ends, also if the server loses its data after that" {
	keep -l 1s
	kill -STOP "$KEEPER"
	wait_until is_free job
	"$FAIRLOCK" wrap job true
	cli FLUSHALL
	kill -CONT "$KEEPER"
	wait_until ended "$KEEPER"
	is_free job
}

# has_keeper TRACER: succeeds if acquire has its keeper; sets acquire and keeper
has_keeper() { acquire=$(pgrep -P "$1") && keeper=$(pgrep -P "$acquire"); }
has_left() { [ "$(ps -o sid= -p "$1" | tr -d ' ')" = "$1" ]; }

# slow_keeper [OPTION...]: acquire, by TRACER, whose keeper stays in its process group for 3 s
slow_keeper() {
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 background strace -f -qq -o calls -e trace=setsid \
		-e inject=setsid:delay_enter=3000000 "$FAIRLOCK" acquire "$@" --while-pid $$ job >id
	TRACER=$!
	wait_until has_keeper $TRACER
}

@test "while the keeper is still in acquire's process group, a signal does not end it; one to acquire ends both, as does the end of the lease" {
	local acquire keeper

	slow_keeper
	kill -HUP "$acquire"
	wait_until ended $TRACER
	ends_with 129 $TRACER
	is_free job
	slow_keeper -l 1s
	wait_until ended $TRACER
	ends_with 76 $TRACER
	is_free job
	slow_keeper
	kill -HUP "$keeper"
	wait_until test -s id
	wait_until has_left "$keeper"
	sleep 0.5 # a keeper that took the signal would have given the lock back by then
	held job
}

@test "acquire --while-pid shows the process that it is for: its pid and command" {
	keep
	background "$FAIRLOCK" acquire --while-pid "$PID" job
	wait_until in_queue job 1
	for command in status log queue; do
		run -0 "$FAIRLOCK" $command --json job
		assert_equal "$(jq -r '.[][0] | "\(.pid) \(.command)"' <<<"$output")" "$PID sleep 600"
	done
}

has_zombie() { [ "$(ps -o stat= --ppid "$1" | cut -c1)" = Z ]; }

@test "acquire --while-pid of a process that does not exist or is a zombie is a usage error" {
	run -64 "$FAIRLOCK" acquire --while-pid 4194304 job
	assert_line --partial 'there is no such process'
	sh -c 'sleep 0 & exec sleep 600' 3>&- 4>&- &
	wait_until has_zombie $!
	run -64 "$FAIRLOCK" acquire --while-pid "$(pgrep -P $!)" job
	kill $!
	is_free job
}

@test "acquire --while-pid leaves the queue and ends with 75 if the process ends while it waits" {
	local pid waiter

	hold job
	background sleep 600
	pid=$!
	background "$FAIRLOCK" acquire --while-pid "$pid" job 2>said
	waiter=$!
	wait_until in_queue job 1
	kill -KILL "$pid"
	ends_with 75 "$waiter"
	grep -q 'the process of --while-pid has ended' said
	in_queue job 0
}

# ---- --max-hold ----

# cause OWNER: prints how the log says that this owner's hold ended
cause() { "$FAIRLOCK" log --json job | jq -c --arg owner "$1" '.log[] | select(.owner == $owner and .event == "released") | [.status, .cause]'; }

@test "the keeper renews until --max-hold is over, then gives the lock back to the next waiter, and the process lives on" {
	keep --max-hold 3s -l 1s
	join_queue job touch ran
	ends_with 0 "$WAITER"
	test -e ran
	assert_equal "$(cause "$OWNER")" '[null,"max-hold"]'
	[ "$("$FAIRLOCK" log --json job | jq '[.log[] | select(.event == "released").held_ms][0]')" -ge 2900 ]
	kill -0 "$PID"
	nothing_left
}

@test "--max-hold gives back the hold of its own process only" {
	local owner

	owner=$("$FAIRLOCK" acquire -l 10m job)
	keep --max-hold 1s -l 1m --owner "$owner"
	has_holds "$owner" 2
	wait_until has_holds "$owner" 1
	"$FAIRLOCK" release --owner "$owner" job
	is_free job
	nothing_left
}

@test "acquire does not heed a default for --max-hold without --while-pid" {
	FAIRLOCK_MAX_HOLD=1ms run -0 "$FAIRLOCK" acquire job
	held job
}

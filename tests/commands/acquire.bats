# fairlock acquire, its keeper, renew and release.
load ../lib/helpers

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; cd "$BATS_TEST_TMPDIR" || return; }

held() { "$FAIRLOCK" status -q "$1"; }
is_free() { ! held "$1"; }
no_keepers() { [ -z "$(cli --raw PUBSUB CHANNELS "redisson_lock__channel:{$1}:*")" ]; }

@test "acquire prints the owner id, and nothing else, and leaves the lock held" {
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

@test "release gives the lock back, once" {
	local owner
	owner=$("$FAIRLOCK" acquire job)
	run -0 "$FAIRLOCK" release --owner "$owner" job
	refute_output
	run -1 held job
	run -76 "$FAIRLOCK" release --owner "$owner" job
	assert_output 'fairlock: cannot release lock job: not held by this owner (any more)'
	nothing_left
}

@test "release without an owner is a usage error" {
	run -64 "$FAIRLOCK" release job
	assert_line 'fairlock: cannot release lock job: say who you are: --owner ID, as acquire printed it'
}

@test "release of what somebody else holds is refused, and leaves it alone" {
	local owner
	owner=$("$FAIRLOCK" acquire job)
	run -76 "$FAIRLOCK" release --owner 00000000-0000-4000-8000-000000000000:1 job
	held job
	[ "$(cli HGET job "$owner")" = 1 ]
}

@test "an owner id that is none is a usage error" {
	run -64 "$FAIRLOCK" release --owner 'no owner' job
	run -64 "$FAIRLOCK" renew --owner '' job
	run -64 "$FAIRLOCK" acquire --owner 'a b' job
}

@test "renew gives a fresh lease, never a shorter one, by default the one it was taken with" {
	local owner
	owner=$("$FAIRLOCK" acquire -l 2m job)
	cli PEXPIRE job 30000 >/dev/null
	"$FAIRLOCK" renew --owner "$owner" job
	[ "$(cli PTTL job)" -gt 60000 ]
	"$FAIRLOCK" renew --owner "$owner" -l 1s job
	[ "$(cli PTTL job)" -gt 60000 ]
	"$FAIRLOCK" renew --owner "$owner" -l 5m job
	[ "$(cli PTTL job)" -gt 180000 ]
}

@test "renew of what one does not hold ends with 76" {
	run -76 "$FAIRLOCK" renew --owner 00000000-0000-4000-8000-000000000000:1 job
	[ "$(cli EXISTS job)" = 0 ]
}

@test "acquire as the owner who holds goes in again; each release takes one back" {
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

@test "inside wrap, release gives back what acquire took, never wrap's own hold" {
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap job sh -c '
		owner=$("$FAIRLOCK" acquire job)
		[ "$owner" = "$FAIRLOCK_OWNER" ] || echo other owner
		"$FAIRLOCK" release job || echo failed
		"$FAIRLOCK" release job; echo $?
		"$FAIRLOCK" status -q job && echo held'
	assert_output $'fairlock: cannot release lock job: wrap holds it until its command ends\n76\nheld'
}

@test "release --force --token breaks only the hold with this token" {
	local token
	token=$("$FAIRLOCK" acquire --json job | jq .token)
	run -76 "$FAIRLOCK" release --force --token $((token - 1)) job
	held job
	run -0 "$FAIRLOCK" release --force --token "$token" job
	is_free job
}

@test "a full standard output ends with 71, and the lock is given back" {
	# shellcheck disable=SC2016
	run -71 sh -c '"$FAIRLOCK" acquire job >/dev/full'
	assert_output --regexp '^fairlock: cannot write the owner id: [^:]*$'
	is_free job
	nothing_left
}

@test "--while-pid returns at once in a command substitution, and keeps the lock renewed" {
	sleep 600 3>&- 4>&- &
	local pid=$! owner
	owner=$(timeout 20 "$FAIRLOCK" acquire -l 4s --while-pid "$pid" job)
	[ -n "$owner" ]
	sleep 5
	held job
	kill "$pid"
	wait_until is_free job
	wait_until no_keepers job
	nothing_left
}

@test "the keeper holds no descriptor, terminal or folder that it inherited" {
	sleep 600 3>&- 4>&- &
	local pid=$! owner keeper
	exec 9<"$TESTS_DIR/lib/helpers.bash"
	owner=$("$FAIRLOCK" acquire --while-pid "$pid" job)
	exec 9<&-
	keeper=$(pgrep -f -- "acquire --while-pid $pid job")
	[ "$(readlink "/proc/$keeper/cwd")" = / ]
	[ "$(ps -o sid= -p "$keeper" | tr -d ' ')" = "$keeper" ]
	run -0 readlink "/proc/$keeper/fd/0" "/proc/$keeper/fd/1" "/proc/$keeper/fd/2"
	assert_output $'/dev/null\n/dev/null\n/dev/null'
	run -0 sh -c "readlink /proc/$keeper/fd/* | grep -v -e ^/dev/null -e ^socket: -e ^anon_inode: || echo none"
	assert_output none
	kill "$pid"
	wait_until ended "$keeper"
}

@test "the keeper ends when the lock is released, and when it is broken" {
	sleep 600 3>&- 4>&- &
	local pid=$! owner keeper # which renews after a minute: until then it must be told
	owner=$("$FAIRLOCK" acquire -l 3m --while-pid "$pid" job)
	keeper=$(pgrep -f -- "acquire -l 3m --while-pid $pid job")
	"$FAIRLOCK" release --owner "$owner" job
	wait_until ended "$keeper"
	owner=$("$FAIRLOCK" acquire -l 3m --while-pid "$pid" job)
	keeper=$(pgrep -f -- "acquire -l 3m --while-pid $pid job")
	"$FAIRLOCK" release -q --force job
	wait_until ended "$keeper"
	is_free job
	kill "$pid"
}

@test "a keeper that gets a signal gives the lock back" {
	sleep 600 3>&- 4>&- &
	local pid=$! keeper
	"$FAIRLOCK" acquire --while-pid "$pid" job >/dev/null
	keeper=$(pgrep -f -- "acquire --while-pid $pid job")
	kill -TERM "$keeper"
	wait_until ended "$keeper"
	is_free job
	kill "$pid"
}

@test "--while-pid: what is sent to the caller's process group when acquire has returned does not reach the keeper" {
	local pid

	background sleep 600
	pid=$!
	for i in $(seq 200); do
		# shellcheck disable=SC2016
		setsid --wait sh -c '"$FAIRLOCK" acquire --while-pid "$1" "job$2" >id; trap "" HUP; kill -HUP 0' - "$pid" "$i"
	done
	# each would have given its lock back by then
	sleep 0.5
	[ "$(cli --raw KEYS 'job*' | wc -l)" = 200 ]
	kill "$pid"
	wait_until no_locks
}

@test "--while-pid: what is sent to acquire's process group while the keeper is still in it is not for the keeper" {
	local acquire keeper

	background sleep 600
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 background strace -f -qq -o calls -e trace=setsid \
		-e inject=setsid:delay_enter=1000000 "$FAIRLOCK" acquire --while-pid $! job >id
	wait_until has_keeper $!
	kill -HUP "$acquire" "$keeper"
	wait_until test -s id
	wait_until has_left "$keeper"
	sleep 0.5 # it would have given the lock back by then
	held job
}

# has_keeper TRACER: acquire, and its keeper
has_keeper() { acquire=$(pgrep -P "$1") && keeper=$(pgrep -P "$acquire"); }
has_left() { [ "$(ps -o sid= -p "$1" | tr -d ' ')" = "$1" ]; }

no_locks() { [ -z "$(cli --raw KEYS 'job*')" ]; }

@test "--while-pid: stdout takes nothing: 71, and neither lock nor keeper stays" {
	background sleep 600
	run -71 sh -c '"$FAIRLOCK" acquire --while-pid "$1" job >/dev/full' - $!
	assert_output --partial 'cannot write the owner id'
	run -1 held job
	run pgrep -f -- "acquire --while-pid $! job"
	assert_output ''
}

@test "--while-pid: SIGTERM to the keeper itself has it give the lock back" {
	background sleep 600
	"$FAIRLOCK" acquire --while-pid $! job >/dev/null
	kill "$(pgrep -f -- "acquire --while-pid $! job")"
	wait_until is_free job
}

@test "--while-pid of a process that is not there, or has ended, is a usage error" {
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

@test "--while-pid: when the process ends while acquire waits, it ends with 75" {
	hold job
	sleep 600 3>&- 4>&- &
	local pid=$!
	background "$FAIRLOCK" acquire --while-pid "$pid" job 2>said
	local waiter=$! status=0
	wait_until in_queue job 1
	kill "$pid"
	wait "$waiter" || status=$?
	[ "$status" = 75 ]
	grep -q 'the process that it was for has ended' said
	in_queue job 0
}

@test "one-shot acquire may be busy: -n and -E as in wrap" {
	hold job
	run -75 "$FAIRLOCK" acquire -n job
	run -3 "$FAIRLOCK" acquire -q -n -E 3 job
	refute_output
}

@test "a shell function around acquire and release excludes others" {
	cat >script <<'END'
owner=$("$FAIRLOCK" acquire --while-pid $$ job) || exit
n=$(cat n); sleep 0.05; echo $((n + 1)) >n
"$FAIRLOCK" release --owner "$owner" job
END
	echo 0 >n
	local scripts=()
	for _ in 1 2 3 4 5 6 7 8; do
		background sh script
		scripts+=($!)
	done
	wait "${scripts[@]}"
	[ "$(cat n)" = 8 ]
	nothing_left
}

#!/usr/bin/env bats
# A wrap or acquire inside a wrap of the same lock whose owner was not passed on: by env -i, sudo, su.
load ../lib/helpers
load ../lib/one_server

# stranger: prints a COMMAND that passes nothing on but the server
stranger() { printf 'env -i FAIRLOCK_URL=%s %s' "$FAIRLOCK_URL" "$FAIRLOCK"; }

ENDLESS='fairlock: cannot get lock job: the wait would never end: the wrap above \(pid [0-9]+\) has it; pass FAIRLOCK_OWNER on \(sudo -E\)'

@test "a wrap or acquire whose owner was not passed on does not wait for the wrap above it, and is out of the queue" {
	local command

	for command in 'wrap job true' 'wrap -w 1h job true' 'wrap --shared -q job true' 'acquire job' 'wrap --also other job true'; do
		# shellcheck disable=SC2016
		run -64 timeout -k 1 20 "$FAIRLOCK" wrap job sh -c "$(stranger) $command; status=\$?; echo \"\$($CLI -s $SERVER_SOCKET ZCARD fairlock_queue:{job}) waiters\"; exit \$status"
		assert_line --index 0 --regexp "^$ENDLESS\$"
		assert_line "Try 'fairlock ${command%% *} --help'."
		assert_line '0 waiters'
	done
	nothing_left
}

@test "the wrap above may be farther up, and hold several locks" {
	# shellcheck disable=SC2016
	run -64 timeout -k 1 20 "$FAIRLOCK" wrap --also other job sh -c '(setsid --wait "$FAIRLOCK" wrap third sh -c "$1 wrap job true"; exit $?)' - "$(stranger)"
	assert_line --regexp "^$ENDLESS\$"
}

@test "a user who may not read the environment of the wrap above is told, too" {
	local user=(setpriv --reuid 65534 --regid 65534 --clear-groups) port

	[ "$(id -u)" = 0 ] || skip 'only root may become another user'
	"${user[@]}" "$FAIRLOCK" --version >/dev/null || skip 'another user cannot run the program'
	port=$(free_port)
	background "$SERVER" --port "$port" --bind 127.0.0.1 --requirepass secret --save '' --dir "$PWD" >/dev/null
	local url=redis://:secret@127.0.0.1:$port
	wait_until "$FAIRLOCK" status --url "$url"
	run -64 timeout -k 1 20 "$FAIRLOCK" wrap --url "$url" job "${user[@]}" env -i "FAIRLOCK_URL=$url" "$FAIRLOCK" wrap job true
	assert_line --regexp "^$ENDLESS\$"
}

@test "with -n and --skip the lock of the wrap above is busy" {
	run -75 timeout -k 1 20 "$FAIRLOCK" wrap job sh -c "$(stranger) wrap -n job true"
	assert_output --partial 'cannot get lock job: held by sh -c'
	run -0 timeout -k 1 20 "$FAIRLOCK" wrap job sh -c "$(stranger) wrap --skip job echo ran"
	assert_output ''
}

@test "inside a slot, it ends with 64 if no slot can become free for it" {
	local slots

	for slots in '1 1' '3 4' 'db1 db1'; do
		run -64 timeout -k 1 20 "$FAIRLOCK" wrap --slots "${slots% *}" job sh -c "$(stranger) wrap --slots ${slots#* } job true"
		assert_line --regexp "^$ENDLESS\$"
	done
	run -64 timeout -k 1 20 "$FAIRLOCK" wrap --shared job sh -c "$(stranger) wrap job true"
	run -0 timeout -k 1 20 "$FAIRLOCK" wrap --slots 2 job sh -c "$(stranger) wrap --slots 2 job echo in"
	assert_output in
	run -0 timeout -k 1 20 "$FAIRLOCK" wrap --shared job sh -c "$(stranger) wrap --shared job echo in"
	assert_output in
}

has_holder() { [ "$(cli EXISTS "$1")" = 1 ]; }

# in_namespace NAME COMMAND...: a wrap of NAME is process 1 of a PID namespace of its own
in_namespace() {
	background unshare --fork --pid --kill-child --mount-proc "$FAIRLOCK" wrap "$@"
}

@test "a wrap in another PID namespace of this host that has the number of the wrap above is waited for" {
	unshare --fork --pid --mount-proc true || skip 'this user makes no PID namespaces'
	in_namespace job sh -c 'until [ -e go ]; do sleep 0.1; done'
	wait_until has_holder job
	[[ "$(holder_column job by)" = *$'\t1\t'* ]]
	# its process 1 is a wrap, too, above the one that waits
	# shellcheck disable=SC2046
	in_namespace other $(stranger) wrap job touch "$PWD/ran" 2>said
	local waiter=$!
	wait_until in_queue job 1
	sleep 2.5
	in_queue job 1
	touch go
	ends_with 0 "$waiter"
	[ -e ran ]
	[ ! -s said ]
}

# A wrap or acquire inside a wrap of the same lock whose owner was not passed on: by env -i, sudo, su.
load ../lib/one_server

# stranger: prints a COMMAND that passes nothing on but the server
stranger() { printf 'env -i FAIRLOCK_URL=%s %s' "$FAIRLOCK_URL" "$FAIRLOCK"; }

ENDLESS='fairlock: cannot get lock job: the wait would never end: the wrap above \(pid [0-9]+\) has it; pass FAIRLOCK_OWNER on \(sudo -E\)'

@test "a wrap or acquire whose owner was not passed on does not wait for the wrap above it, and is out of the queue" {
	local command

	for command in 'wrap job true' 'wrap -w 1h --shared -q job true' 'acquire job' 'wrap --also other job true'; do
		run -64 timeout -k 1 20 "$FAIRLOCK" wrap job sh -c "$(stranger) $command; status=\$?; echo \"\$($CLI -s $SERVER_SOCKET ZCARD fairlock_queue:{job}) waiters\"; exit \$status"
		assert_line --index 0 --regexp "^$ENDLESS\$"
		assert_line "Try 'fairlock ${command%% *} --help'."
		assert_line '0 waiters'
	done
	nothing_left
	# farther up, and with several locks
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

@test "the lock above is busy with -n and --skip, and in a slot the wait ends with 64 if no slot can become free" {
	local status outer inner shown

	while IFS='|' read -r status outer inner shown; do
		run "-$status" timeout -k 1 20 "$FAIRLOCK" wrap $outer job sh -c "$(stranger) wrap $inner"
		assert_line --index 0 --regexp "$shown"
	done <<-END
		75||-n job true|cannot get lock job: held by sh -c
		0||--skip job true; echo skipped|^skipped$
		64|--slots 1|--slots 1 job true|^$ENDLESS$
		64|--slots 3|--slots 4 job true|^$ENDLESS$
		64|--slots db1|--slots db1 job true|^$ENDLESS$
		64|--shared|job true|^$ENDLESS$
		0|--slots 2|--slots 2 job echo in|^in$
		0|--shared|--shared job echo in|^in$
	END
}

has_holder() { [ "$(cli EXISTS "$1")" = 1 ]; }

# in_namespace NAME COMMAND...: a wrap of NAME is process 1 of a PID namespace of its own
in_namespace() { background unshare --fork --pid --kill-child --mount-proc "$FAIRLOCK" wrap "$@"; }

@test "a wrap in another PID namespace of this host that has the number of the wrap above is waited for" {
	unshare --fork --pid --mount-proc true || skip 'this user makes no PID namespaces'
	in_namespace job sh -c 'until [ -e go ]; do sleep 0.1; done'
	wait_until has_holder job
	[[ "$(holder_column job by)" = *$'\t1\t'* ]]
	# its process 1 is a wrap, too, above the one that waits
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

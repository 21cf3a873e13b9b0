# A lock that is lost: its key is gone, somebody broke it, or its lease could not be renewed. wrap
# stops COMMAND in time, or tells the loss.
load ../lib/jobs
load ../lib/proxy

setup() { start_in_folder; }

@test "a holder whose lock somebody deletes stops COMMAND, also one that is stopped, and does not take the lock again" {
	for is_stopped in no yes; do
		start_job -l 6s
		[ "$is_stopped" = no ] || kill -STOP $(cat pids)
		cli DEL job >/dev/null
		ends_with 76 "$WRAPPER"
		all_dead
		is_free job
	done
}

@test "release --force tells the holder at once, which stops COMMAND and does not take the lock again" {
	start_job
	from=$(ms)
	run -0 "$FAIRLOCK" release --force job
	assert_output --regexp 'lock job was held by sh job \(pid [0-9]+, .*\) as [0-9a-f-]+:[0-9]+'
	wait_until all_dead
	# By itself the holder would ask after 10 s, and its grace is 10 s.
	[ $(($(ms) - from)) -lt 8000 ]
	ends_with 76 "$WRAPPER"
	grep -q 'somebody broke it by force' said
	[ "$(cli EXISTS job)" = 0 ]
	run -0 "$FAIRLOCK" release --force job
	assert_output 'lock job was free'
}

@test "COMMAND gets the signal that -s names, and time until SIGKILL" {
	cat >job <<'END'
trap 'echo usr1 >>trace; exit 0' USR1
trap 'echo term >>trace' TERM
echo ready >>trace
while :; do sleep 0.05; done
END
	background "$FAIRLOCK" wrap -s USR1 -k 1s job sh job
	wrapper=$!
	wait_until grep -q ready trace
	"$FAIRLOCK" release --force -q job
	ends_with 76 "$wrapper"
	[ "$(tr '\n' ' ' <trace)" = 'ready usr1 ' ]
}

@test "a private server that COMMAND started is not stopped with it, nor a child of that, which saves" {
	new_home
	run -76 at_home env FAIRLOCK_URL="unix:$SERVER_SOCKET" "$FAIRLOCK" wrap -q -k 100ms outer sh -c '
		trap "" TERM
		FAIRLOCK_URL=local: "$FAIRLOCK" wrap inner true
		cd "$1"/.local/state/fairlock/*
		"$2" -s socket CONFIG SET rdb-key-save-delay 20000000
		"$2" -s socket BGSAVE
		"$FAIRLOCK" release --force -q outer
		while :; do sleep 1; done' sh "$HOME_DIR" "$CLI"
	[ "$(at_home ps -e -o stat=,comm= | grep -cE '^[^Z].*(redis|valkey)')" = 2 ]
	run -0 at_home "$FAIRLOCK" wrap -u local: inner echo alive
	assert_output alive
	[ "$(grep -c 'Server initialized' "$HOME_DIR"/.local/state/fairlock/*/server.log)" = 1 ]
}

@test "a COMMAND that was not executed before the lease ended is not executed at all" {
	"$FAIRLOCK" wrap job true # so that the server knows the scripts
	start_proxy "$SERVER_SOCKET" "$PWD/far"
	proxy delay 20
	# COMMAND's process looks for its parent a second time before exec. No SIGKILL reaches it.
	FAIRLOCK_URL=unix://$PWD/far ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 background strace -f -qq -e trace=getppid,kill \
		-e inject=getppid:delay_enter=10000000:when=2 -e inject=kill:retval=0:when=2+ -o /dev/null \
		"$FAIRLOCK" wrap -l 8s -k 1s -s CONT job touch executed 2>said
	tracer=$!
	wait_until "$FAIRLOCK" status -q job
	kill -STOP "$SERVER_PID"
	WAIT_S=60 wait_until ended "$tracer"
	ends_with 76 "$tracer"
	[ ! -e executed ]
}

# A pipe that is full and that nobody reads.
full_pipe() {
	mkfifo full
	exec 8<>full
	dd if=/dev/zero of=full bs=4096 oflag=nonblock 2>/dev/null || true
}

@test "with a standard error that is full all of COMMAND is dead when the lease ends" {
	full_pipe
	SAID=full start_job -l 4s -k 200ms
	note_lease_end
	kill -STOP "$SERVER_PID"
	dead_in_time
	ends_with 76 "$WRAPPER"
}

@test "with a standard error that is full --verbose costs no waiter its turn" {
	full_pipe
	background "$FAIRLOCK" wrap -v job sh -c 'until test -e go; do sleep 0.05; done' 2>full
	wait_until "$FAIRLOCK" status -q job
	background "$FAIRLOCK" wrap -v job touch ran 2>full
	wait_until in_queue job 1
	touch go
	wait_until test -e ran
}

@test "a holder that is cut off, with a slower clock than its server, stops COMMAND before the next holder starts" {
	stop_server
	LD_PRELOAD=$BUILD/programs/clockwork.so CLOCKWORK_RATE=1.083 start_server
	start_proxy "$SERVER_SOCKET" "$PWD/far"
	FAIRLOCK_URL=unix://$PWD/far start_job -l 20s -k 500ms
	background sh -c 'until "$FAIRLOCK" wrap -nq job sh -c "read -r up rest </proc/uptime; echo \"\$up\" >next"; do sleep 0.05; done'
	proxy cut
	WAIT_S=40 wait_until test -s next
	LEASE_END=$(cat next)
	dead_in_time
	ends_with 76 "$WRAPPER"
}

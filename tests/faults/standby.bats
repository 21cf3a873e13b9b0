# The first waiter has its guard ready, so that little is left to do when its turn comes. COMMAND must not notice it, and neither may
# others.
load ../lib/jobs
load ../lib/proxy

setup() { start_in_folder; }

# first_waits WORD...: the lock is held, and `wrap WORD...` waits for it in $WAITER, with its guard $GUARD
first_waits() {
	wait_behind_holder "$@"
	stands_by
}

# The only waiter, $WAITER, is in the queue, and has its guard $GUARD.
stands_by() {
	wait_until in_queue job 1
	wait_until has_guard "$WAITER"
}

@test 'COMMAND of a waiter has the same signals, descriptors and variables as any COMMAND' {
	show='grep -E "^(Sig(Blk|Ign|Cgt)|PPid|NSsid)" /proc/self/status | sed "s/PPid.*/PPid/"; ls /proc/self/fd | wc -l
		echo "$FAIRLOCK_NAME $FAIRLOCK_HELD" | sed "s/$FAIRLOCK_OWNER/OWNER/"; cat -'

	# in the background, where shells ignore SIGINT
	"$FAIRLOCK" wrap job sh -c "$show" >want <<<input 3>&- 4>&- &
	wait $!
	hold job
	setpriv --pdeathsig KILL "$FAIRLOCK" wrap job sh -c "$show; echo \"\$FAIRLOCK_OWNER \$FAIRLOCK_TOKEN\" >who; \"\$FAIRLOCK\" status --json >status" \
		>got <<<input 3>&- 4>&- &
	WAITER=$!
	stands_by
	kill "$HOLDER"
	wait "$WAITER"
	run -0 diff want got
	assert_equal "$(cat who)" "$(jq -r '.locks[0] | "\(.owner) \(.token)"' status)"
	wait_until nothing_left
}

@test 'only the first waiter has a guard that stands by, and the next when it becomes first' {
	first_waits job sleep 600
	join_queue job true
	next=$WAITER
	wait_until refute pgrep -P "$next" # it had one while it took itself for the first
	kill "$HOLDER"
	wait_until pgrep -P "$next"
}

@test 'a first waiter that gives up leaves no guard behind' {
	hold job
	run -75 "$FAIRLOCK" wrap -w 0.5 job touch ran
	background "$FAIRLOCK" wrap job touch ran
	WAITER=$!
	stands_by
	kill "$WAITER"
	ends_with 143 "$WAITER"
	[ ! -e "/proc/$GUARD" ]
	[ ! -e ran ]
}

@test 'the guard of a first waiter that is killed ends although it is stopped, and leaves the queue' {
	first_waits job touch ran
	stop "$GUARD"
	kill -KILL "$WAITER"
	wait_until ended "$GUARD"
	wait_until nobody_present job
	[ ! -e ran ]
}

@test 'a first waiter whose guard is killed gets its turn' {
	first_waits job touch ran
	kill -KILL "$GUARD"
	wait_until ended "$GUARD"
	waiter_is_next
	[ -e ran ]
}

@test 'a first waiter ends its guard when the server is away, since that would keep its connection open' {
	first_waits job true
	stop_server
	wait_until ended "$GUARD"
}

@test 'COMMAND does not start when wrapper and guard are both stopped in the moment of the grant, and the guard goes on after the lease' {
	hold job
	# the wrapper is stopped when it continues the guard, which does not happen
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 background strace -qq -f -e trace=kill -e inject=kill:error=EPERM:signal=SIGSTOP:when=1 \
		-o calls "$FAIRLOCK" wrap -l 2s job touch ran 2>said
	tracer=$!
	wait_until in_queue job 1
	WAITER=$(pgrep -P $tracer)
	wait_until has_guard "$WAITER"
	kill -STOP "$GUARD"
	wait_until grep -q "^$GUARD .* stopped by SIGSTOP" calls
	kill "$HOLDER"
	wait_until grep -q "^$WAITER .* stopped by SIGSTOP" calls
	wait_until is_free job
	kill -CONT "$GUARD"
	sleep 0.5 # so long it could start COMMAND
	kill -CONT "$WAITER"
	ends_with 76 "$tracer"
	ended "$GUARD"
	[ ! -e ran ]
}

@test 'a waiter that Ctrl-Z has stopped does not keep the lock from the next one, and takes its turn after fg' {
	hold job
	background python3 -c 'import os, sys; os.setpgrp(); os.execv(sys.argv[1], sys.argv[1:])' "$FAIRLOCK" wrap -l 2s job touch ran
	WAITER=$!
	stands_by
	kill -TSTP "-$WAITER"
	wait_until is_stopped "$WAITER"
	kill "$HOLDER"
	run -0 "$FAIRLOCK" wrap --wait 20s job test ! -e ran
	kill -CONT "-$WAITER"
	ends_with 0 "$WAITER"
	[ -e ran ]
}

@test 'a grant counts that came while the wrapper was stopped for longer than an answer may take' {
	start_proxy "$SERVER_SOCKET" "$PWD/far"
	proxy delay 600
	# In the first round the server does not know the script, and its greeting has come by then.
	for answer in later first; do
		FAIRLOCK_URL=unix://$PWD/far background "$FAIRLOCK" wrap --connect-timeout 4 "$answer" touch "$answer.ran"
		WAITER=$!
		wait_until has_guard "$WAITER"
		[ "$answer" = first ] || wait_until holds_lock "$WAITER" "$answer"
		wait_until grep -q '^State:.S' "/proc/$WAITER/status" # it has sent its request
		stop "$WAITER"
		wait_until holds_lock "$WAITER" "$answer"
		sleep 5 # more than the connect timeout
		[ ! -e "$answer.ran" ]
		kill -CONT "$WAITER"
		ends_with 0 "$WAITER"
		[ -e "$answer.ran" ]
	done
}

@test 'COMMAND has the lock or does not run if --wait ends before the wrapper goes on after its fork' {
	"$FAIRLOCK" wrap job true # so that the server knows the scripts
	start_proxy "$SERVER_SOCKET" "$PWD/far"
	proxy delay 20
	# The wrapper sleeps 0.5 s after its first fork.
	FAIRLOCK_URL=unix://$PWD/far ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 run strace -qq -e trace=fork,clone \
		-e inject=fork,clone:delay_exit=500000:when=1 -o /dev/null "$FAIRLOCK" wrap -w 0.2 job sh -c \
		'"$FAIRLOCK" status -q job && echo holds >>ran; sleep 0.7; "$FAIRLOCK" status -q job && echo holds >>ran'
	assert_success
	assert_equal "$(cat ran)" $'holds\nholds'
	nothing_left
}

@test 'COMMAND is not started if the wrapper is killed before the guard has heard of the grant' {
	first_waits -l 2 job touch ran
	stop "$WAITER"
	stop "$GUARD"
	kill "$HOLDER"
	wait_until holds_lock "$WAITER"
	kill -KILL "$WAITER"
	wait_until ended "$GUARD"
	wait_until nothing_left
	[ ! -e ran ]
}

@test 'a wrap that is refused the lock leaves no process behind, not even a zombie' {
	hold job
	unshare -r --pid --fork --mount-proc true || skip 'nobody may make a process namespace here'
	# The first process of the namespace reaps no children but its own.
	run unshare -r --pid --fork --mount-proc sh -c '
		for i in 1 2 3 4 5; do "$FAIRLOCK" wrap -nq job true; done
		ps -e -o stat,comm | grep "^Z"'
	assert_output ''
}

refusals() { cli INFO errorstats | sed -n 's/^errorstat_NOREPLICAS:count=\([0-9]*\).*/\1/p'; }

is_refused() { [ "$(refusals)" -gt "${1:-0}" ]; }

@test 'a first waiter whose request the server refused for a while hands its guard a connection that can be refused, too' {
	! is_static || FAIRLOCK=$BUILD/dynamic/fairlock # its memory is checked when it is freed
	first_waits -l 6s job sh -c 'until [ -e end ]; do sleep 0.05; done'
	cli CONFIG SET min-replicas-to-write 1
	cli PUBLISH "redisson_lock__channel:{job}:$(cli ZRANGE 'fairlock_queue:{job}' 0 0)" 0
	wait_until is_refused
	cli CONFIG SET min-replicas-to-write 0
	kill "$HOLDER"
	wait_until holds_lock "$WAITER"
	before=$(refusals)
	cli CONFIG SET min-replicas-to-write 1
	wait_until is_refused "$before"
	cli CONFIG SET min-replicas-to-write 0
	touch end
	ends_with 0 "$WAITER"
	run ! grep lost said
}

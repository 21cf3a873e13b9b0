# Whatever dies, hangs or goes away: nobody overlaps, nothing outlives its lease.
load helpers

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# COMMAND with a grandchild in a session of its own; their process ids in `pids`.
write_job() {
	cat >job <<'END'
trap '' TERM
setsid sh -c 'trap "" TERM; echo $$ >>pids; while :; do sleep 0.1; done' &
echo $$ >>pids
sh -c '(trap "" TERM; echo $(exec sh -c "echo \$PPID") >>pids; while :; do sleep 0.1; done) &'
while :; do sleep 0.1; done
END
}

job_runs() { [ "$(wc -l <pids)" = 3 ]; }

all_dead() {
	local pid

	for pid in $(cat pids); do
		ended "$pid" || return 1
	done
}

# start_job OPTION...: runs it under the lock `job`; WRAPPER and GUARD are set
start_job() {
	write_job
	background "$FAIRLOCK" wrap "$@" job sh job 2>said
	WRAPPER=$!
	wait_until job_runs
	GUARD=$(ps -o ppid= -p "$(sed -n 2p pids)" | tr -d ' ')
	[ "$(ps -o ppid= -p "$GUARD" | tr -d ' ')" = "$WRAPPER" ] || GUARD=$(pgrep -P "$WRAPPER")
}

ms() { echo $(($(date +%s%N) / 1000000)); }

# Everything of COMMAND must be gone before the server would let somebody else in.
dead_before_lease_ends() {
	local until

	until=$(($(ms) + $(cli PTTL job)))
	wait_until all_dead
	echo "dead $((until - $(ms))) ms before the lease ended"
	[ "$(ms)" -lt "$until" ]
}

status_of() {
	STATUS=0
	wait "$1" || STATUS=$?
}

@test "the wrapper killed: all that COMMAND started is dead before the lease ends, and the lock is given back" {
	start_server
	start_job -l 3s
	kill -KILL "$WRAPPER"
	dead_before_lease_ends
	wait_until ended "$GUARD"
	[ "$(cli EXISTS job)" = 0 ]
}

@test "the guard killed: all that COMMAND started is dead before the lease ends, and the status is 76" {
	start_server
	start_job -l 3s
	kill -KILL "$GUARD"
	dead_before_lease_ends
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
	[ "$(cli EXISTS job)" = 0 ]
	# at once, not only when the deadline comes near
	grep -q 'lost the guard of lock job: it died' said
}

@test "the guard stopped past the lease: nothing of COMMAND is alive at the deadline, and the status is 76" {
	start_server
	start_job -l 2s
	kill -STOP "$GUARD"
	dead_before_lease_ends
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
}

@test "a guard that hangs with signals unread, and is killed: COMMAND is stopped all the same" {
	start_server
	start_job -l 5s
	kill -STOP "$GUARD"
	kill -USR1 "$WRAPPER"
	wait_until signal_taken
	kill -KILL "$GUARD"
	dead_before_lease_ends
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
}

# The wrapper has nothing pending: it has passed it on.
signal_taken() { grep -q '^ShdPnd:.*0000000000000000$' "/proc/$WRAPPER/status"; }

@test "the wrapper stopped far past its lease: the lock stays held and COMMAND runs" {
	start_server
	start_job -l 1s
	kill -STOP "$WRAPPER"
	sleep 2.5
	[ "$(cli PTTL job)" -gt 0 ]
	run all_dead
	assert_failure
	grep -c '' pids
	kill -CONT "$WRAPPER"
	# shellcheck disable=SC2046
	kill -KILL $(cat pids)
	status_of "$WRAPPER"
}

@test "the process group of the wrapper killed: the guard gives the lock back" {
	start_server
	background setsid "$FAIRLOCK" wrap -l 30s job sh -c 'touch ready; exec sleep 600'
	wait_until test -e ready
	[ "$(ps -o pgid= -p $! | tr -d ' ')" = $! ]
	kill -KILL -- "-$!"
	wait_until test_gone job
}

test_gone() { [ "$(cli EXISTS "$1")" = 0 ]; }

@test "the server frozen past the lease: COMMAND is dead before the lease ends, status 76" {
	start_server
	start_job -l 2s --connect-timeout 500ms
	local until=$(($(ms) + $(cli PTTL job)))
	kill -STOP "$SERVER_PID"
	wait_until all_dead
	[ "$(ms)" -lt "$until" ]
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
	grep -q 'lost lock job' said
	kill -CONT "$SERVER_PID"
}

@test "the server away for less than the lease: nothing is stopped, the token stays" {
	start_server --appendonly yes
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap -l 5s job sh -c 'echo "$FAIRLOCK_TOKEN" >token; while [ ! -e go ]; do sleep 0.05; done'
	local wrapper=$!
	wait_until test -s token
	stop_server
	start_server --appendonly yes
	wait_until listened job
	[ "$(cli --raw HGET fairlock:{job} token)" = "$(cat token)" ]
	touch go
	status_of "$wrapper"
	[ "$STATUS" = 0 ]
	[ "$(cli EXISTS job)" = 0 ]
}

# listened NAME: its holder is connected
listened() { [ -n "$(cli --raw PUBSUB CHANNELS "redisson_lock__channel:{$1}:*")" ]; }

@test "the server killed and restarted with its data: order and lock stay, tokens grow" {
	start_server --appendonly yes
	restart_under_a_queue --appendonly yes
}

@test "the server killed and restarted without its data: order and lock stay, tokens grow" {
	start_server
	restart_under_a_queue
}

restart_under_a_queue() {
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap job sh -c 'echo "0 $FAIRLOCK_TOKEN" >>trace; while [ ! -e go ]; do sleep 0.05; done; echo end >>trace'
	local holder=$! i
	wait_until test -s trace
	for i in 1 2 3 4 5; do
		# shellcheck disable=SC2016
		background "$FAIRLOCK" wrap job sh -c 'echo "$0 $FAIRLOCK_TOKEN" >>trace' "$i"
		wait_until in_queue job "$i"
	done
	stop_server
	start_server "$@"
	wait_until in_queue job 5
	wait_until test "$(cli EXISTS job)" = 1
	touch go
	status_of "$holder"
	[ "$STATUS" = 0 ]
	wait_until in_queue job 0
	wait_until lines_in_trace 7
	[ "$(cut -d' ' -f1 trace | tr '\n' ' ')" = '0 end 1 2 3 4 5 ' ]
	grep -v end trace | cut -d' ' -f2 | sort -nuc
}

lines_in_trace() { [ "$(wc -l <trace)" = "$1" ]; }

@test "the holder takes the lock up again after a loss of data, under the same token" {
	start_server
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap -l 3s job sh -c 'echo "$FAIRLOCK_TOKEN" >token; while [ ! -e go ]; do sleep 0.05; done'
	local holder=$!
	wait_until test -s token
	cli FLUSHALL >/dev/null
	wait_until "$FAIRLOCK" status -q job
	[ "$(cli --raw HGET fairlock:{job} token)" = "$(cat token)" ]
	touch go
	status_of "$holder"
	[ "$STATUS" = 0 ]
}

@test "DEL under a holder: lost, not resurrected" {
	start_server
	start_job -l 3s
	cli DEL job >/dev/null
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
	all_dead
	[ "$(cli EXISTS job)" = 0 ]
}

@test "release --force under a holder: told at once, stopped within a second, not resurrected" {
	start_server
	start_job
	local from
	from=$(ms)
	run -0 "$FAIRLOCK" release --force job
	assert_output --regexp 'lock job was held by sh job \(pid [0-9]+, .*\) as [0-9a-f-]+:[0-9]+'
	wait_until all_dead
	[ $(($(ms) - from)) -lt 2000 ]
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
	grep -q 'somebody broke it by force' said
	[ "$(cli EXISTS job)" = 0 ]
	run -0 "$FAIRLOCK" release --force job
	assert_output 'lock job was free'
}

@test "--on-lost warn: COMMAND goes on, and the status is 76 all the same" {
	start_server
	background "$FAIRLOCK" wrap --on-lost warn job sh -c 'touch ready; while [ ! -e go ]; do sleep 0.05; done; touch done' 2>said
	local wrapper=$!
	wait_until test -e ready
	"$FAIRLOCK" release --force -q job
	wait_until grep -q 'lost lock job' said
	touch go
	status_of "$wrapper"
	[ "$STATUS" = 76 ]
	[ -e done ]
}

@test "COMMAND gets the signal that -s names, and time until SIGKILL" {
	start_server
	cat >job <<'END'
trap 'echo usr1 >>trace; exit 0' USR1
trap 'echo term >>trace' TERM
echo ready >>trace
while :; do sleep 0.05; done
END
	background "$FAIRLOCK" wrap -s USR1 -k 1s job sh job
	local wrapper=$!
	wait_until grep -q ready trace
	"$FAIRLOCK" release --force -q job
	status_of "$wrapper"
	[ "$STATUS" = 76 ]
	[ "$(tr '\n' ' ' <trace)" = 'ready usr1 ' ]
}

@test "a stopped COMMAND is stopped for good when the lock is lost" {
	start_server
	start_job
	# shellcheck disable=SC2046
	kill -STOP $(cat pids)
	"$FAIRLOCK" release --force -q job
	wait_until all_dead
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
}

@test "a private server that COMMAND started is no victim" {
	new_home
	# shellcheck disable=SC2016
	start_server
	# shellcheck disable=SC2016
	at_home env FAIRLOCK_URL="$FAIRLOCK_URL" "$FAIRLOCK" wrap outer sh -c '
		FAIRLOCK_URL=local: "$FAIRLOCK" wrap inner true
		"$FAIRLOCK" release --force -q outer
		sleep 60' || true
	run -0 at_home "$FAIRLOCK" wrap -u local: inner echo alive
	assert_output alive
	[ "$(grep -c 'Server initialized' "$HOME_DIR"/.local/state/fairlock/*/server.log)" = 1 ]
}

@test "giving the lock back fails: COMMAND's status is kept, and it is told" {
	start_server
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap --connect-timeout 300ms job sh -c 'touch ready; while [ ! -e go ]; do sleep 0.05; done; exit 4' 2>said
	local wrapper=$!
	wait_until test -e ready
	stop_server
	touch go
	status_of "$wrapper"
	[ "$STATUS" = 4 ]
	grep -q "fairlock: cannot reach $FAIRLOCK_URL" said
}

@test "a waiter whose server goes away ends with 69 at the end of -w, not 75" {
	start_server
	hold job
	background "$FAIRLOCK" wrap -w 1500ms --connect-timeout 300ms job true 2>said
	local waiter=$!
	wait_until in_queue job 1
	stop_server
	status_of "$waiter"
	[ "$STATUS" = 69 ]
	grep -q "cannot reach $FAIRLOCK_URL" said
}

@test "the server frozen while the lock is given back: COMMAND's status is kept" {
	start_server
	background "$FAIRLOCK" wrap -l 2s --connect-timeout 1s job sh -c 'touch ready; while [ ! -e go ]; do sleep 0.05; done; exit 3' 2>said
	local wrapper=$!
	wait_until test -e ready
	kill -STOP "$SERVER_PID"
	touch go
	status_of "$wrapper"
	kill -CONT "$SERVER_PID"
	[ "$STATUS" = 3 ]
	run -1 grep -q stopping said
}

@test "the wrapper killed, then the lock broken: SIGKILL comes within a second of that" {
	start_server
	start_job -l 30s
	kill -KILL "$WRAPPER"
	"$FAIRLOCK" release -q --force job
	local from
	from=$(ms)
	wait_until all_dead
	[ $(($(ms) - from)) -lt 2500 ]
}

@test "a wait that ends before the first reply leaves nothing behind" {
	start_server
	kill -STOP "$SERVER_PID"
	background "$FAIRLOCK" wrap -w 300ms job true 2>said
	local waiter=$!
	sleep 0.8
	kill -CONT "$SERVER_PID"
	status_of "$waiter"
	[ "$STATUS" != 0 ]
	wait_until test_gone job
	[ "$(cli EXISTS redisson_lock_queue:{job})" = 0 ]
	run -0 "$FAIRLOCK" wrap -n job true
}

@test "COMMAND stopped, then killed: the wrapper does not stay stopped" {
	start_server
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap job sh -c 'echo $$ >pid; exec sleep 600'
	local wrapper=$!
	wait_until test -s pid
	kill -STOP "$(cat pid)"
	wait_until grep -q '^State:.*T' "/proc/$wrapper/status"
	kill -KILL "$(cat pid)"
	status_of "$wrapper"
	[ "$STATUS" = 137 ]
}

@test "a port that drops everything does not make the guard deaf, though the wrapper is stopped" {
	local port
	port=$(free_port)
	start_server --port "$port" --bind 127.0.0.1
	FAIRLOCK_URL=redis://127.0.0.1:$port start_job -l 3s
	kill -STOP "$WRAPPER"
	local until=$(($(ms) + $(cli PTTL job)))
	stop_server
	background python3 "$TESTS_DIR/deaf.py" "$port" "$PWD/deaf"
	wait_until test -e deaf
	wait_until all_dead
	echo "dead $((until - $(ms))) ms before the lease could end"
	[ "$(ms)" -lt "$until" ]
	# the guard has woken it, so that it can tell
	status_of "$WRAPPER"
	[ "$STATUS" = 76 ]
}

@test "a waiter whose server's port drops everything ends at once by a signal, and in time by -w" {
	local port
	port=$(free_port)
	start_server --port "$port" --bind 127.0.0.1
	hold job
	FAIRLOCK_URL=redis://127.0.0.1:$port background "$FAIRLOCK" wrap job true
	local signalled=$!
	wait_until in_queue job 1
	FAIRLOCK_URL=redis://127.0.0.1:$port background "$FAIRLOCK" wrap -w 2s job true
	local timed=$! from
	wait_until in_queue job 2
	stop_server
	background python3 "$TESTS_DIR/deaf.py" "$port" "$PWD/deaf"
	wait_until test -e deaf
	sleep 0.5
	from=$(ms)
	kill -TERM "$signalled"
	status_of "$signalled"
	[ "$STATUS" = 143 ]
	[ $(($(ms) - from)) -lt 4000 ]
	status_of "$timed"
	[ "$STATUS" = 69 ]
	[ $(($(ms) - from)) -lt 6000 ]
}

@test "a wrapper that was stopped when COMMAND ended lets the daemons be that COMMAND left" {
	start_server
	cat >daemon <<'END'
trap 'touch signalled; exit' TERM CONT
echo $$ >there
while :; do sleep 0.1; done
END
	background "$FAIRLOCK" wrap -l 2s job sh -c 'setsid sh daemon & while ! test -e go; do sleep 0.02; done; exit 5' 2>said
	local wrapper=$! until
	wait_until test -s there
	kill -STOP "$wrapper"
	touch go
	wait_until test_free job
	until=$(($(ms) + 2500)) # the lease would have ended
	wait_until later_than "$until"
	kill -CONT "$wrapper"
	status_of "$wrapper"
	[ "$STATUS" = 5 ]
	run -0 cat said
	assert_output ''
	[ ! -e signalled ]
	kill -KILL "$(cat there)"
}

test_free() { [ "$(cli EXISTS "$1")" = 0 ]; }
later_than() { [ "$(ms)" -gt "$1" ]; }

@test "a lock that cannot be given back before its lease ends is told of" {
	start_server
	background "$FAIRLOCK" wrap -l 2s job sh -c 'touch there; while ! test -e go; do sleep 0.02; done; exit 5' 2>said
	local wrapper=$!
	wait_until test -e there
	kill -STOP "$SERVER_PID"
	touch go
	status_of "$wrapper"
	[ "$STATUS" = 5 ]
	run -0 cat said
	[ -n "$output" ]
}

@test "the lock is renewed though COMMAND has not been executed yet" {
	start_server
	# every execve takes 3 s, and the one of COMMAND is under the lock; no leak can be looked for beside strace
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 run -0 strace -f -qq -e trace=execve -e inject=execve:delay_enter=3000000 -o /dev/null \
		"$FAIRLOCK" wrap -l 2s job "$(command -v echo)" done
	assert_output done
}

@test "what forks and ends faster than it can be listed is stopped all the same" {
	start_server
	background "$FAIRLOCK" wrap -l 6s job "$BUILD/programs/fleeting" generations 30
	local wrapper=$! size
	wait_until test -s generations
	cli DEL job >/dev/null
	status_of "$wrapper"
	[ "$STATUS" = 76 ]
	size=$(stat -c %s generations)
	sleep 0.5
	[ "$(stat -c %s generations)" = "$size" ]
}

@test "--on-lost warn: COMMAND that was not executed before the lease ended is not executed at all" {
	start_server
	# three prctl(2) stand between the grant and COMMAND, the last in its own process; each takes 3 s
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 background strace -f -qq -e trace=prctl \
		-e inject=prctl:delay_enter=3000000 -o /dev/null \
		"$FAIRLOCK" wrap --on-lost warn -l 8s -k 1s job touch executed 2>said
	local tracer=$!
	wait_until "$FAIRLOCK" status -q job
	kill -STOP "$SERVER_PID"
	wait_until ended "$tracer"
	status_of "$tracer"
	[ "$STATUS" = 76 ]
	[ ! -e executed ]
}

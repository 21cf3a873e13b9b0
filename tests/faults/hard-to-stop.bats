# Processes that are hard to find, to stop or to tell apart: without a first thread, forking without end, there before wrap or
# left to it by others; and a wrapper or guard that is stopped.
load ../lib/jobs
load ../lib/ground

setup() { start_in_folder; }

# Ends the test's own processes, which fairlock leaves alone.
teardown() {
	local pid

	for pid in $(cat sidecar sidecar.child 2>/dev/null); do
		[ ! "/proc/$pid/cwd" -ef "$BATS_TEST_TMPDIR" ] || kill -KILL "$pid"
	done
}

# ---- No first thread ----

# What runs `firstless` as COMMAND itself, and as its child.
itself='echo $$ >pid; exec "$0" signals beats.command'
child='sh -c '\''echo $$ >pid; exec "$0" signals beats.command'\'' "$0" & wait'

# start_firstless SCRIPT OPTION...: sets WRAPPER, GUARD, and FIRSTLESS, the process whose first thread has ended
start_firstless() {
	rm -f pid signals beats.*
	touch pids beats.session beats.orphan # which the functions of jobs.bash look at
	background "$FAIRLOCK" wrap "${@:2}" job sh -c "$1" "$BUILD/programs/firstless" 2>said
	WRAPPER=$!
	wait_until test -s beats.command
	FIRSTLESS=$(cat pid)
	wait_until grep -q '^State:.Z' "/proc/$FIRSTLESS/status"
	GUARD=$(pgrep -P "$WRAPPER")
}

# no_thread PID: none of its threads lives. The zombie of the first one stays until the process is reaped.
no_thread() { [ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 2>/dev/null | grep -cv "/$1\$")" = 0 ]; }

# firstless_ended STATUS: it has got TERM, and was dead when wrap ended
firstless_ended() {
	wait_until ended "$WRAPPER"
	no_thread "$FIRSTLESS"
	ends_with "$1" "$WRAPPER"
	grep -q TERM signals
	is_free job
}

@test "a process whose first thread has ended gets --signal and SIGKILL in time when the lock is released by force, or the guard is killed" {
	for script in "$itself" "$child"; do
		start_firstless "$script" -l 30s -k 500ms
		run -0 "$FAIRLOCK" release -q --force job
		firstless_ended 76
		start_firstless "$script" -l 5s
		kill -KILL "$GUARD"
		note_lease_end
		firstless_ended 76
		dead_in_time
	done
}

# ---- Not COMMAND's ----

@test "a child that wrap had before its guard lives on when the guard is killed, and wrap does not wait for it" {
	write_job
	background sh -c 'sh -c "sleep 100 & echo \$! >sidecar.child; wait" & echo $! >sidecar; exec "$@" 2>said' \
		sh "$FAIRLOCK" wrap -l 60s -k 500ms job sh job
	WRAPPER=$!
	wait_until job_runs
	wait_until test -s sidecar.child
	GUARD=$(pgrep -P "$WRAPPER" -x fairlock)
	kill -KILL "$GUARD"
	wait_until ended "$WRAPPER" # long before the lease ends, and the sidecar
	ends_with 76 "$WRAPPER"
	all_dead
	still_runs "$(cat sidecar)"
	still_runs "$(cat sidecar.child)"
	is_free job
}

@test "a process of COMMAND that has the number of a child that wrap had before is killed when the guard is" {
	needs_namespaces
	mkfifo alive
	background cat alive
	ALIVE=$!
	cat >reuse <<'END'
trap '' TERM
exec 9>alive
old=$(cat old)
while [ -e "/proc/$old" ]; do sleep 0.05; done
orphan=0
while [ "$orphan" != "$old" ]; do
	(echo $((old - 1)) >/proc/sys/kernel/ns_last_pid; sh -c 'trap "" TERM; exec sleep 100' & echo $! >orphan)
	read -r orphan <orphan
done
exec 9>&-
touch reused
sleep 100
END
	on_ground own sh -c 'sleep 0.5 & echo $! >old; exec "$@"' sh "$FAIRLOCK" wrap -l 60s -k 300ms job bash reuse
	wait_until test -e reused
	kill -KILL "$(pgrep -P "$(pgrep -P "$GROUND_PID" -x fairlock)" -x fairlock)"
	wait_until test -e status
	assert_equal "$(cat status)" 76
	wait_until ended "$ALIVE"
	is_free job
}

no_zombie() { ! ps --ppid "$1" -o stat= | grep -q '^Z'; }

@test "wrap as the first process of a namespace reaps every orphan while COMMAND runs" {
	needs_namespaces
	background unshare --pid --fork --kill-child --mount-proc "$FAIRLOCK" wrap job sh -c "$until_go" 2>said
	namespace=$!
	wait_until test -s begun
	WRAPPER=$(pgrep -P "$namespace" -x fairlock)
	# They lose their parent at once, and end three seconds later.
	nsenter --target "$WRAPPER" --pid --mount sh -c 'for i in $(seq 20); do sleep 3 & done'
	wait_until prints 20 pgrep -c -P "$WRAPPER" -x sleep
	wait_until refute pgrep --runstates S -P "$WRAPPER" -x sleep
	wait_until no_zombie "$WRAPPER"
	touch go
	ends_with 3 "$namespace"
	is_free job
}

@test "wrap reaps a child that it had before, and that one's orphans, while it waits for the lock" {
	hold job
	cat >side <<'END'
while [ ! -e make ]; do sleep 0.05; done
for i in $(seq 20); do (sleep 0.3 &); done
sleep 1
END
	background sh -c 'sh side & echo $! >sidecar; exec "$@" 2>said' sh "$FAIRLOCK" wrap job sh -c "$until_go"
	WRAPPER=$!
	wait_until in_queue job 1
	touch make
	wait_until test ! -e "/proc/$(cat sidecar)"
	wait_until no_zombie "$WRAPPER"
	[ ! -e begun ]
	kill "$HOLDER"
	wait_until test -s begun
	touch go
	ends_with 3 "$WRAPPER"
}

# ---- Forking without end ----

# mtimes FILE...: when they were written last, in milliseconds, the latest last
mtimes() { stat -c %.3Y "$@" | tr -d ., | sort -n; }

# chains N WORD...: N processes fork and end at once, under `WORD... wrap`, whose lock is broken. Nothing of them writes a second
# after SIGKILL was due; by themselves they would end much later.
chains() {
	local late due few=(prlimit --nproc=3000) # so that the other tests can fork, too
	local folder

	[ "$(id -u)" != 0 ] || few+=(setpriv --reuid 65534 --regid 65534 --clear-groups) # root has no limit
	folder=$(mktemp -d chains.XXXX)
	chmod 777 "$folder"
	cp "$BUILD/programs/fleeting" "$folder"
	cd "$folder" || return
	background "${@:2}" "$FAIRLOCK" wrap -l 60s -k 100ms job \
		"${few[@]}" sh -c 'for i in $(seq "$0"); do ./fleeting "chain.$i" 10 & done; wait' "$1" 2>said
	WRAPPER=$!
	wait_until test -s "chain.$1"
	run -0 "$FAIRLOCK" release -q --force job
	wait_until grep -q 'lost lock job' said
	due=$(($(mtimes said) + 100))
	wait_until ended "$WRAPPER"
	late=$(($(mtimes chain.* | tail -n 1) - due))
	echo "$*: the last write was $late ms after SIGKILL was due"
	[ "$late" -lt 1000 ]
	ends_with 76 "$WRAPPER"
	assert_equal "$(grep -c 'lost lock job' said)" 1
	cd ..
}

@test "of 16 chains of processes that fork and end at once nothing lives a second after SIGKILL was due" {
	chains 16
	chains 16
	chains 8 taskset -c 0
}

@test "of 4 chains of processes that fork and end at once nothing lives a second after SIGKILL was due if wrap may have no priority" {
	[ "$(id -u)" = 0 ] || skip 'only root has what wrap is to lack'
	chains 4 setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice
}

@test "wrap stops COMMAND in a service whose filter of system calls ends who asks for priority" {
	cat >filtered.py <<'END'
import ctypes, os, platform, struct, sys
number = {"x86_64": 144, "aarch64": 119}[platform.machine()]  # sched_setscheduler
lines = (0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x80000000), (0x06, 0, 0, 0x7FFF0000)
filters = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))

class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filters", ctypes.c_void_p)]

prctl = ctypes.CDLL(None).prctl
if prctl(38, 1, 0, 0, 0) or prctl(22, 2, ctypes.byref(Program(len(lines), ctypes.addressof(filters)))):
    sys.exit("there are no filters of system calls here")
os.execvp(sys.argv[1], sys.argv[1:])
END
	run -159 python3 filtered.py chrt -r 1 true # SIGSYS
	run -124 python3 filtered.py "$FAIRLOCK" wrap -k 200ms --max-hold 300ms job sh -c 'trap "" TERM; for i in $(seq 200); do sleep 0.1; done'
	assert_output 'fairlock: lock job was held for 300ms, as long as --max-hold allows; stopping sh'
	is_free job
}

# ---- Stopped processes ----

# A look at so many processes takes longer than a millisecond.
@test "when the guard is stopped or killed, and the wrapper is stopped again and again, all of COMMAND is dead before the lease ends" {
	for i in $(seq 300); do background sleep 100; done
	for fault in STOP KILL; do
		start_job -l 6s
		kill -STOP "$WRAPPER"
		kill "-$fault" "$GUARD"
		note_lease_end
		# each time that it has run for a millisecond, by its own clock
		background python3 -c 'import os, signal, sys, time
clock = ~int(sys.argv[1]) << 3 | 2
while True:
    until = time.clock_gettime(clock) + 0.001
    while time.clock_gettime(clock) < until:
        time.sleep(0.0001)
    os.kill(int(sys.argv[1]), signal.SIGSTOP)' "$WRAPPER" 2>/dev/null
		stopper=$!
		dead_in_time
		kill "$stopper" || true
		kill -CONT "$WRAPPER" || true
		ends_with 76 "$WRAPPER"
		wait_until is_free job
	done
}

@test "all of COMMAND is stopped before the first of it is killed: nothing of it can start that anew" {
	[ "$(id -u)" = 0 ] || skip 'only root may let COMMAND run before wrap'
	cat >watchers <<'END'
trap '' TERM
mkfifo first last
bash -c 'exec 8>first 9<last; read -r <&9; touch anew' &
bash -c 'exec 9<first 8>last; touch ready; read -r <&9; touch anew' &
wait
END
	# on the one processor that wrap has, each of them runs before it
	background taskset -c 0 "$FAIRLOCK" wrap -l 60s -k 100ms job chrt -f 50 bash watchers 2>said
	WRAPPER=$!
	wait_until test -e ready
	run -0 "$FAIRLOCK" release -q --force job
	ends_with 76 "$WRAPPER"
	[ ! -e anew ]
}

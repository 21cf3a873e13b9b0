# Holders, waiters and their COMMANDs, and faults of the server.

source "${BASH_SOURCE[0]%/*}/helpers.bash"

# ---- A COMMAND that is hard to stop, and the proof that it has ended

# write_job: writes COMMAND into `job`. It has a grandchild in a session of its own and an orphan;
# their process ids come into `pids`. Each writes into a file `beats.*`, time and again, that it
# lives, in seconds since the machine was started.
write_job() {
	rm -f pids beats.*
	cat >live <<'END'
while :; do
	read -r up rest </proc/uptime
	echo "$up" >>"beats.$1"
	sleep 0.1
done
END
	cat >job <<'END'
trap '' TERM
setsid sh -c 'trap "" TERM; echo $$ >>pids; set -- session; . ./live' &
echo $$ >>pids
sh -c '(trap "" TERM; echo $(exec sh -c "echo \$PPID") >>pids; set -- orphan; . ./live) &'
set -- command
. ./live
END
}

job_runs() { [ "$(wc -l <pids)" = 3 ]; }

all_dead() {
	local pid

	for pid in $(cat pids); do
		ended "$pid" || return 1
	done
}

# start_job OPTION...: runs it under the lock `job`. Sets WRAPPER and GUARD; their messages come
# into `said` ($SAID).
start_job() {
	write_job
	background "$FAIRLOCK" wrap "$@" job sh job 2>"${SAID:-said}"
	WRAPPER=$!
	wait_until job_runs || {
		cat "${SAID:-said}"
		return 1
	}
	GUARD=$(ps -o ppid= -p "$(sed -n 2p pids)" | tr -d ' ')
	[ "$(ps -o ppid= -p "$GUARD" | tr -d ' ')" = "$WRAPPER" ] || GUARD=$(pgrep -P "$WRAPPER")
}

# A COMMAND that writes TOKEN OWNER into `begun`, and ends with 3 when there is a file `go`
until_go='echo "$FAIRLOCK_TOKEN $FAIRLOCK_OWNER" >begun; while [ ! -e go ]; do sleep 0.05; done; exit 3'

# run_until_go [OPTION...]: `wrap OPTION... job` runs this in the background. Sets WRAPPER and GUARD; messages come into `said`.
run_until_go() {
	rm -f go begun
	background "$FAIRLOCK" wrap "$@" job sh -c "$until_go" 2>said
	WRAPPER=$!
	wait_until test -s begun
	GUARD=$(pgrep -P "$WRAPPER")
}

# note_lease_end: sets LEASE_END, in the time of the beats
note_lease_end() {
	local ttl up rest

	ttl=$(cli PTTL job)
	read -r up rest </proc/uptime
	LEASE_END=$(awk -v ttl="$ttl" -v up="$up" 'BEGIN { print up + ttl / 1000 }')
}

# dead_in_time: fails if a process of COMMAND lived when the server would have granted the lock to
# the next owner. Its own beats prove that, because the test on a slow machine may be late to see
# its death. A single beat after the end does not count if the one before it was long ago: then the
# whole machine stood still.
dead_in_time() {
	wait_until all_dead
	awk -v end="$LEASE_END" '
		FNR == 1 { before = 0 }
		{ if ($1 > end && before + 0.15 > end) late = FILENAME; if ($1 > last) last = $1; before = $1 }
		END {
			printf "the last beat was %d ms before the lease ended\n", (end - last) * 1000
			if (late) print late " went on after that"
			exit late != ""
		}' beats.session beats.orphan beats.command
}

dead_before_lease_ends() {
	note_lease_end
	dead_in_time
}

still_runs() { ! ended "$1"; }

# ---- Waiters for the lock `job`, and their processes

# start_in_folder [OPTION...]: the test runs in its folder, with a server of its own
start_in_folder() {
	cd "$BATS_TEST_TMPDIR" || return
	start_server "$@"
}

# wait_behind_holder WORD...: HOLDER holds `job`, and `wrap WORD...` is the first waiter
wait_behind_holder() {
	hold job
	join_queue "$@"
}

# has_guard WAITER: it has its guard, GUARD
has_guard() { GUARD=$(pgrep -P "$1"); }

# holds_lock PID [NAME]: the wrapper with this process id holds the lock
holds_lock() { [[ $(cli HKEYS "${2-job}") == *:"$1" ]]; }

# ---- A wrap that takes several locks

# waits_under WORD...: `wrap WORD...` has lock a, and waits for b, which HOLDER holds. Sets WAITER; its messages are in `said`.
waits_under() {
	hold b
	background "$FAIRLOCK" wrap -v "$@" 2>said
	WAITER=$!
	wait_until in_queue b 1
	run -0 "$FAIRLOCK" status -q a
}

# ---- A COMMAND that writes down which signals reach it, in wraps inside each other

# write_catcher: writes COMMAND into catcher.py. It adds a line to `got` for each signal, its number. It waits for signals, and has
# no handlers: so each one counts.
write_catcher() {
	cat >catcher.py <<'END_OF_PYTHON'
import os, signal, sys, time
taken = signal.valid_signals() - {signal.SIGCHLD}
signal.pthread_sigmask(signal.SIG_BLOCK, taken)
with open("pid", "w") as pid:
    print(os.getpid(), file=pid)
exec(sys.argv[1] if len(sys.argv) > 1 else "")
with open("got", "a", buffering=1) as got:
    while not os.path.exists("go"):
        info = signal.sigtimedwait(taken, 0.02)
        if info:
            print(info.si_signo, file=got)
END_OF_PYTHON
}

# in_wraps N WORD...: sets WORDS to a command that runs this in N wraps of different locks
in_wraps() {
	local n

	WORDS=("${@:2}")
	for ((n = $1; n > 0; n--)); do
		WORDS=("$FAIRLOCK" wrap "job$n" -- "${WORDS[@]}")
	done
}

# start_catcher N [PYTHON]: in N wraps, COMMAND runs PYTHON and waits for signals. Its process group is its own. Sets WRAPPER, the outermost one.
start_catcher() {
	in_wraps "$1" python3 catcher.py "${2-}"
	background setsid "$BUILD/programs/defaults" "${WORDS[@]}" 2>said
	WRAPPER=$!
	wait_until test -s pid
}

# got_only SIGNAL...: COMMAND has got these signals, each as often as it is named here. A last one, which WRAPPER passes on behind
# all that has come to it, shows that no more are under way; then COMMAND ends.
got_only() {
	local signo want=()

	kill -s 64 "$WRAPPER"
	wait_until grep -qx 64 got
	touch go
	ends_with 0 "$WRAPPER"
	for signo; do
		[[ $signo = [0-9]* ]] || signo=$(kill -l "$signo")
		want+=("$signo")
	done
	assert_equal "$(grep -vx 64 got | sort | paste -sd ' ')" "$(printf '%s\n' "${want[@]}" | sort | paste -sd ' ')"
}

# ---- Another clock for some processes of the program

# set_clock [MS]: makes the file `clock`; the clocks of the processes that use it show from now on what ms() printed as MS
# shellcheck disable=SC2120
set_clock() { python3 "$BATS_TEST_DIRNAME/../torture/clockwork.py" clock "$@"; }

# need_clock: makes the file `clock`, and sets CLOCKED, the environment in which a program shows this clock, and DYNAMIC, the program
# that does: the static one loads no libraries.
need_clock() {
	set_clock
	CLOCKED=(CLOCKWORK_FILE="$PWD/clock" LD_PRELOAD="$BUILD/programs/clockwork.so"
		ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0")
	DYNAMIC=$FAIRLOCK
	! is_static || DYNAMIC=$BUILD/dynamic/fairlock
}

# ---- Faults of the server

# server_says ANSWER COMMAND...: its answer begins so
server_says() { cli "${@:2}" 2>&1 | grep "^$1"; }

signal_server() { kill -s "$1" "$SERVER_PID"; }

# run_script: a script runs without end, on a server with --lua-time-limit 100
run_script() {
	cli EVAL 'while true do end' 0 >script.said 2>&1 &
	wait_until server_says BUSY PING
}

# save_nothing: a server with --save 3600 1 --dbfilename x.rdb can write no snapshot
save_nothing() {
	mkdir x.rdb
	cli SET a b
	cli BGSAVE
	wait_until server_says MISCONF SET a b
}

# start_loading: the server, with --appendonly yes --rdbcompression no, is restarted, and reads its data for some seconds
start_loading() {
	cli EVAL 'for i = 1, 150 do redis.call("SET", i, string.rep("x", 3000)) end' 0
	cli BGREWRITEAOF
	wait_until eval "cli INFO persistence | grep aof_rewrite_in_progress:0"
	stop_server
	server_answers() { server_says LOADING PING; }
	start_server --appendonly yes --key-load-delay 100000 --loading-process-events-interval-bytes 1024 "$@"
}

# ---- Locks in use while a fault comes and goes

# watch_deaths NAME PID...: when the last of these processes has died, the file NAME.dying says when, in ms since the epoch and of
# CLOCK_MONOTONIC
watch_deaths() {
	background python3 -c '
import os, select, sys, time
try: # a busy machine must not delay us: the time is to be that of the death
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
except PermissionError:
    pass
alive = [os.pidfd_open(int(pid)) for pid in sys.argv[2:]]
open(sys.argv[1], "w").close()
for pidfd in alive:
    select.select([pidfd], [], [])
print(int(time.time() * 1000), int(time.monotonic() * 1000))' "$1.watched" "${@:2}" >"$1.dying"
	DEATHS=$!
	wait_until test -e "$1.watched"
}

# queued_id NAME PLACE: the id at this place of the queue, from 0
queued_id() { cli --raw ZRANGE "fairlock_queue:{$1}" "$2" "$2"; }

# all_back: the waiters for `long` that are connected are those of QUEUE, in this order
all_back() {
	[ "$(FAIRLOCK_URL=unix:$SERVER_SOCKET "$FAIRLOCK" queue --json long | jq -r '.queue[] | select(.present) | .owner' | xargs)" = "$QUEUE" ]
}

# The holder of `long` has its first grant, ends with 0, and has only said that an outage begins and ends.
long_ends_well() {
	local away='does not (answer|renew it); sh is stopped at .* unless it does$' back='the server answers again; sh goes on$'

	still_runs "$LONG"
	[ "$(cli --raw HGET 'fairlock:{long}' token)" = "$TOKEN" ]
	touch go
	ends_with 0 "$LONG"
	run -1 grep -vE "^fairlock: lock long: ([^ ]+ $away|$back)" long.said
	[ "$(grep -cE "$back" long.said)" -le "$(grep -cE "$away" long.said)" ]
}

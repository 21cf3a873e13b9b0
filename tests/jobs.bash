# A COMMAND that is hard to stop, and its end: `load helpers`, then `load jobs`.

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

# status_of PID: its exit status is in STATUS
status_of() {
	STATUS=0
	wait "$1" || STATUS=$?
}

still_runs() { ! ended "$1"; }

# test_gone NAME: nobody holds it
test_gone() { [ "$(cli EXISTS "$1")" = 0 ]; }

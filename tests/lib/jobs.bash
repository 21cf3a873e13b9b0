# A COMMAND that is hard to stop, and its end: `load helpers`, then `load jobs`.

# COMMAND with a grandchild in a session of its own; their process ids in `pids`. Each says in `beats.WHO`
# that it lives, in seconds since the machine was started.
write_job() {
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

# start_job OPTION...: runs it under the lock `job`; WRAPPER and GUARD are set; what they say is in `said` ($SAID)
start_job() {
	write_job
	background "$FAIRLOCK" wrap "$@" job sh job 2>"${SAID:-said}"
	WRAPPER=$!
	wait_until job_runs
	GUARD=$(ps -o ppid= -p "$(sed -n 2p pids)" | tr -d ' ')
	[ "$(ps -o ppid= -p "$GUARD" | tr -d ' ')" = "$WRAPPER" ] || GUARD=$(pgrep -P "$WRAPPER")
}

ms() { echo $(($(date +%s%N) / 1000000)); }

# The end of the lease, in the time of the beats.
note_lease_end() {
	local ttl up rest

	ttl=$(cli PTTL job)
	read -r up rest </proc/uptime
	LEASE_END=$(awk -v ttl="$ttl" -v up="$up" 'BEGIN { print up + ttl / 1000 }')
}

# Everything of COMMAND must be gone before the server would let somebody else in. It is by its own word that
# it lived too long, since a slow machine may be late to see that it is dead; and a single beat after the end
# does not count when the one before was long ago: then the whole machine stood still.
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

# status_of PID: its exit status is in STATUS
status_of() {
	STATUS=0
	wait "$1" || STATUS=$?
}

still_runs() { ! ended "$1"; }

# test_gone NAME: nobody holds it
test_gone() { [ "$(cli EXISTS "$1")" = 0 ]; }

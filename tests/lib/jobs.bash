# A COMMAND that is hard to stop, and the proof that it has ended: `load helpers`, then `load jobs`.

# write_job: writes COMMAND into `job`. It has a grandchild in a session of its own and an orphan;
# their process ids come into `pids`. Each writes into a file `beats.*`, time and again, that it
# lives, in seconds since the machine was started.
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

# status_of PID: waits for its end, and sets STATUS to its exit status
status_of() {
	STATUS=0
	wait "$1" || STATUS=$?
}

still_runs() { ! ended "$1"; }

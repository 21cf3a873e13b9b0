# Holders, waiters and their history in a failover: `load failover`.
#
#   hold_job -l 10s                  # holds `job` until `touch go`, and exits with 3
#   queue_up_to 2                    # waiters 1 and 2 queue in this order
#   held_on; all_went_well 2         # all had their turns in order
#
# All files are in the folder that the test runs in.
#
# history   one line for each begin and end of a critical section, in the order in which they
#           happened: WHAT WAITER TOKEN SECONDS-SINCE-BOOT

source "${BASH_SOURCE[0]%/*}/nodes.bash"
source "${BASH_SOURCE[0]%/*}/jobs.bash"
source "${BASH_SOURCE[0]%/*}/holders.bash"

# hold_job [OPTION...]: wrap holds `job`. Sets HOLDER, HOLD_TOKEN and HOLD_OWNER. Its messages are in `said`.
hold_job() {
	run_until_go "$@"
	HOLDER=$WRAPPER
	read -r HOLD_TOKEN HOLD_OWNER <begun
}

# The holder's COMMAND runs to its end under its first grant.
held_on() {
	touch go
	ends_with 3 "$HOLDER" || { cat said; return 1; }
}

# queue_up WAITER [OPTION...]: returns when this waiter is in the queue, or has got the lock
queue_up() {
	background "$FAIRLOCK" wrap -v -l 10s "${@:2}" job sh -c '
		note() {
			read -r up rest </proc/uptime
			echo "$1 $2 $FAIRLOCK_TOKEN $up" >>history
		}
		note begin "$1"
		sleep 0.1
		note end "$1"' sh "$1" 2>"waiter.$1"
	echo $! >"waiter.$1.pid"
	wait_until grep -qE 'waiting for lock|got lock' "waiter.$1"
}

# queue_up_to COUNT: waiters 1 to COUNT queue in this order
queue_up_to() {
	local waiter

	for ((waiter = 1; waiter <= $1; waiter++)); do
		queue_up "$waiter"
	done
}

# still_held CLI: by the word of this client, `job` has the owner and the token of hold_job
still_held() {
	[ "$("$1" HKEYS job)" = "$HOLD_OWNER" ] && [ "$("$1" HGET 'fairlock:{job}' token)" = "$HOLD_TOKEN" ]
}

# fails_with STATUS TEXT [OPTION...]: wrap ends with STATUS within 10 s, and its message has TEXT
fails_with() {
	local began=$SECONDS

	run --separate-stderr "$FAIRLOCK" wrap -n "${@:3}" job true
	assert_failure "$1"
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr = *"$2"* ]] || { echo "$stderr"; return 1; }
	echo "after $((SECONDS - began)) s: $stderr"
	[ $((SECONDS - began)) -le 10 ]
}

# all_went_well COUNT: waiters 1 to COUNT had their turns in order, without overlap, and ended well
all_went_well() {
	local who

	for ((who = 1; who <= $1; who++)); do
		# Its process id may belong to another process by now.
		WAIT_S=${WAIT_S:-60} wait_until gave_back "$who" || { cat "waiter.$who"; return 1; }
	done
	awk -v count="$1" '
		function wrong(what) { print FILENAME ":" NR ": " what; bad = 1 }
		$1 == "begin" {
			if (inside != "") wrong($2 " overlaps " inside)
			if ($2 != ++turns) wrong($2 " has the turn of " turns)
			if ($3 + 0 <= token + 0) wrong("token " $3 " after " token)
			if ($4 + 0 < time + 0) wrong("begins before the one before has ended")
			inside = $2; token = $3
		}
		$1 == "end" {
			if ($2 != inside || $3 != token) wrong("ends, but had not begun")
			inside = ""; time = $4
		}
		END {
			if (inside != "") wrong(inside " does not end")
			if (turns != count) wrong(turns " turns, not " count)
			exit bad
		}' history || { cat history; return 1; }
}

gave_back() { tail -n 1 "waiter.$1" | grep -q 'gave lock job back in '; }

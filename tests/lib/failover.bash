# What the tests of failovers share: a holder, waiters, and what they did: `load helpers`, then this.
#
#   hold_job -l 10s                  # holds `job` until `touch go`, and then exits 7
#   queue_up 1; queue_up 2           # each is queued before the next; runs when it is its turn
#   touch go; all_went_well 2        # and in order
#
# All is in the folder that the test runs in.
#
# history   a line for each begin and end of a critical section: WHAT WHO TOKEN SECONDS-SINCE-BOOT. Who
#           appends does so behind all who did before: the order of lines is that of what happened.

# hold_job [OPTION...]: HOLDER, HOLD_TOKEN and HOLD_OWNER are set
hold_job() {
	rm -f go held
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap "$@" job sh -c 'echo "$FAIRLOCK_TOKEN $FAIRLOCK_OWNER" >held
		while [ ! -e go ]; do sleep 0.05; done
		exit 7' 2>holder.err
	HOLDER=$!
	wait_until test -s held
	read -r HOLD_TOKEN HOLD_OWNER <held
}

# Its command ran to its end, and under the same grant.
held_on() {
	local status=0

	touch go
	wait "$HOLDER" || status=$?
	[ "$status" = 7 ] || { echo "the holder: $status"; cat holder.err; return 1; }
}

# queue_up WHO [OPTION...]: returns when it waits, or has got the lock
queue_up() {
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap -v -l 10s "${@:2}" job sh -c '
		note() {
			read -r up rest </proc/uptime
			echo "$1 $2 $FAIRLOCK_TOKEN $up" >>history
		}
		note begin "$1"
		sleep "${SECTION_S:-0.1}"
		note end "$1"' sh "$1" 2>"waiter.$1"
	echo $! >"waiter.$1.pid"
	wait_until grep -qE 'waiting for lock|got lock' "waiter.$1"
}

# all_went_well COUNT: so many waited, had their turn in order, one after another, and ended well.
all_went_well() {
	local who

	for ((who = 1; who <= $1; who++)); do
		# its process id may long be another's
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

# fail_often KILL PREPARE: kills the master FAILOVERS times (5, unless told otherwise) under a queue of five;
# every second time before anybody got the lock since the last. KILL ends the master and returns when there
# is another one, PREPARE brings the old one back.
fail_often() {
	local times=${FAILOVERS:-5} waiters=0 round before

	export SECTION_S=0.4
	for ((round = 1; round <= times; round++)); do
		while [ $((waiters - $(turns))) -lt 5 ]; do
			queue_up $((++waiters)) --replicas 1 --connect-timeout 15s # a release in a failover, too
		done
		before=$(turns)
		[ $((round % 2)) = 0 ] || wait_until has_turned "$before"
		"$1"
		echo "failover $round: $(turns) of $waiters had their turn"
		"$2"
	done
	all_went_well "$waiters"
	echo "$times failovers, $waiters turns, $SECONDS s"
}

has_turned() { [ "$(turns)" -gt "$1" ]; }

turns() { [ -e history ] && grep -c '^begin' history || echo 0; }

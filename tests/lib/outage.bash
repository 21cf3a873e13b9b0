# Two locks in use while a fault comes and goes: `load helpers`, `load jobs`, then `load outage`.
#
#   use_two_locks
#   ...                       # the fault begins
#   check_during_fault WORD
#   ...                       # the fault ends
#   check_after_fault
#
# The holder of `short` has a lease that ends during the fault, the holder of `long` a longer one.
# Three waiters queue for `long`: `first`, then one whose --wait ends during the fault, then
# `second`.

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
queued_id() {
	cli --raw ZRANGE "fairlock_queue:{$1}" "$2" "$2"
}

# wait_as PLACE WAITER [OPTION...]: WAITER queues for `long` at PLACE, from 1; $! is its process id
wait_as() {
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap "${@:3}" long sh -c 'echo "$0 $FAIRLOCK_TOKEN" >>trace' "$2" 2>"$2.said"
	wait_until in_queue long "$1"
}

use_two_locks() {
	cat >deaf.sh <<'END'
trap '' TERM
echo $$ >>short.pids
setsid sh -c 'trap "" TERM; echo $$ >>short.pids; while :; do sleep 0.05; done' &
while :; do sleep 0.05; done
END
	background "$FAIRLOCK" wrap -l 2500ms -k 200ms short sh deaf.sh 2>short.said
	SHORT=$!
	wait_until both_run
	# shellcheck disable=SC2046
	watch_deaths short $(cat short.pids)
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap -l 12s -k 300ms long sh -c '
		echo "holder $FAIRLOCK_TOKEN" >>trace
		while [ ! -e go ]; do sleep 0.05; done' 2>long.said
	LONG=$!
	wait_until test -s trace
	TOKEN=$(cut -d' ' -f2 trace)
	wait_as 1 first
	wait_as 2 timed -vw 4s
	TIMED=$!
	wait_as 3 second
	QUEUE="$(queued_id long 0) $(queued_id long 2)"
}

both_run() { [ "$(wc -l <short.pids)" = 2 ]; }

# kill_timed: kills the waiter with --wait, which may have ended by itself
kill_timed() { kill -KILL "$TIMED" 2>/dev/null || ended "$TIMED"; }

# starts_with_69 WORD: a newcomer gets status 69, with WORD in its message
starts_with_69() {
	run -69 timeout 20 "$FAIRLOCK" wrap --connect-timeout 500ms long true
	[ "${#lines[@]}" = 1 ]
	assert_output --regexp '^fairlock: cannot .*: .*'
	assert_output --partial "$1"
}

# The holder of `short` has stopped COMMAND. short_died_in_time says whether in time.
short_is_stopped() {
	wait_until ended "$DEATHS"
	status_of "$SHORT"
	[ "$STATUS" = 76 ]
	grep -q 'lost lock short: ' short.said
}

# timed_out_with_69 WORD: the waiter whose --wait has ended got status 69, with WORD in its message
timed_out_with_69() {
	status_of "$TIMED"
	[ "$STATUS" = 69 ] || { cat timed.said; return 1; }
	grep -qF "$1" timed.said
}

# The waiters ask at once, as if it were their turn. By themselves they would ask after 10.5 s.
tell_all_to_ask() {
	local id

	for id in $(cli --raw ZRANGE 'fairlock_queue:{long}' 0 -1); do
		cli PUBLISH "redisson_lock__channel:{long}:$id" 0 >/dev/null
	done
}

# check_during_fault WORD: `short` is stopped, and a newcomer and the timed waiter get 69
check_during_fault() {
	short_is_stopped
	starts_with_69 "$1"
	timed_out_with_69 "$1"
}

# The ids of the waiters for `long` that are connected, in order
present_ids() {
	FAIRLOCK_URL=unix:$SERVER_SOCKET "$FAIRLOCK" queue --json long | jq -r '.queue[] | select(.present) | .owner' | xargs
}

all_back() { [ "$(present_ids)" = "$QUEUE" ]; }

# When the lease of `short` ended, in ms since the epoch, by the server's clock
lease_end() {
	holder_column short ends | grep . ||
		cli --raw XREVRANGE 'fairlock_log:{short}' + - COUNT 1 | grep -A 3 -x expired | sed -n 3p
}

short_died_in_time() {
	local died until

	died=$(cut -d' ' -f1 short.dying)
	until=$(lease_end)
	echo "dead $((until - died)) ms before the lease ended, at $until; it was held since $(holder_column short since)"
	[ "$died" -lt "$until" ]
}

# After the fault `short` is seen to have died in time, and `long` goes on.
check_after_fault() {
	short_died_in_time
	long_goes_on
}

# says_only_outages FILE: it says that an outage begins and ends, and nothing else
says_only_outages() {
	local away='does not (answer|renew it); sh is stopped at .* unless it does$' back='answers again; sh goes on$'

	run -1 grep -vE "^fairlock: lock long: [^ ]+ ($away|$back)" "$1"
	[ "$(grep -cE "$back" "$1")" -le "$(grep -cE "$away" "$1")" ]
}

# The holder of `long` has its first grant, ends with 0 and has said nothing but that.
long_ends_well() {
	still_runs "$LONG"
	[ "$(cli --raw HGET 'fairlock:{long}' token)" = "$TOKEN" ]
	touch go
	status_of "$LONG"
	[ "$STATUS" = 0 ]
	says_only_outages long.said
}

# The holder of `long` ends well, and the waiters have their turns in the old order.
long_goes_on() {
	wait_until all_back
	wait_until "$FAIRLOCK" status -q long
	long_ends_well
	wait_until in_queue long 0
	wait_until lines_in trace 3
	[ "$(cut -d' ' -f1 trace | tr '\n' ' ')" = 'holder first second ' ]
	[ "$(cut -d' ' -f2 trace)" = "$(cut -d' ' -f2 trace | sort -nu)" ]
	run -0 timeout 20 "$FAIRLOCK" wrap short echo again
	assert_output again
}

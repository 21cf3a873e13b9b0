# wrap where /proc is missing or another namespace's, and where it may open few files or have no timer: nothing of COMMAND runs
# beside the next holder, every end comes, and wrap says what it cannot do.
load ../lib/jobs
load ../lib/proxy
load ../lib/ground

setup() { start_in_folder; }

# ---- /proc ----

# group_ended STATUS: wrap ends with this status, and COMMAND and its child are dead
group_ended() {
	wait_until ended "$ALIVE"
	wait_until test -e status
	cat said
	assert_equal "$(cat status)" "$1"
}

# silent_after US: nothing of COMMAND lived then. A single beat after it does not count if the one before was long ago: then
# the whole machine stood still.
silent_after() {
	awk -v end="$1" '
		$2 > end && before[$1] + 150000 > end { late = $1 }
		{ before[$1] = $2; if ($2 > last) last = $2 }
		END {
			printf "the last beat was %d ms before its time was over\n", (end - last) / 1000
			if (late) print late " went on after that"
			exit late != ""
		}' beats
}

# warned: wrap has said once, in one line, what it cannot stop
warned() {
	cat said
	[ "$(grep -c 'cannot see what .*process group' said)" = 1 ]
	[ "$(grep -c 'cannot see' said)" = 1 ]
}

@test "without a /proc of its own wrap says in one line that it stops only COMMAND and its process group, and runs COMMAND" {
	needs_namespaces
	for ground in $GROUNDS own; do
		mkdir "$ground"
		cd "$ground"
		on_ground "$ground" "$FAIRLOCK" wrap job sh -c 'touch ran; exit 3'
		wait_until test -e status
		[ "$(cat status)" = 3 ]
		[ -e ran ]
		if [ "$ground" = own ]; then
			assert_equal "$(cat said)" ''
		else
			warned
			assert_equal "$(grep -c '' said)" 1
			grep -q 'cannot see what sh starts: .*/proc' said
		fi
		is_free job
		cd ..
	done
}

# group_dies GROUND HOW STATUS OPTION...: `wrap OPTION...` has COMMAND there under a lock with the name of GROUND, and HOW ends it. wrap ends with STATUS, and nothing of COMMAND lives when a
# second is over for a broken lock, or else when the lease is.
group_dies() {
	local until stopper

	mkdir "$1"
	cd "$1" || return
	write_group
	on_ground "$1" "$FAIRLOCK" wrap "${@:4}" "$1" bash group
	wait_until group_runs || { cat said; return 1; }
	until=$(($(us) + $(cli PTTL "$1") * 1000))
	case $2 in
	force)
		"$FAIRLOCK" release -q --force "$1"
		until=$(($(us) + 1000000))
		;;
	stop)
		background "$FAIRLOCK" release --stop "$1"
		stopper=$!
		;;
	max-hold) ;;
	cut) proxy cut ;;
	wrapper) kill -KILL "$(pgrep -P "$GROUND_PID" -x fairlock)" ;;
	guard) kill -KILL "$(pgrep -P "$(pgrep -P "$GROUND_PID" -x fairlock)")" ;;
	esac
	wait_until ended "$ALIVE"
	silent_after "$until"
	[ "$2" != cut ] || proxy pass
	group_ended "$3"
	[ -z "${stopper-}" ] || ends_with 0 "$stopper"
	wait_until is_free "$1"
	warned
	cd ..
	rm -r "$1"
}

@test "without a /proc of its own release --force and --stop, --max-hold, and the death of guard or wrapper end COMMAND and its child in time" {
	needs_namespaces
	for ground in $GROUNDS; do
		group_dies "$ground" force 76 -l 30s -k 200ms
	done
	group_dies inner stop 124 -k 200ms
	group_dies hidden max-hold 124 --max-hold 1s -k 200ms
	for ground in outer inner hidden; do
		group_dies "$ground" guard 76 -l 5s
		group_dies "$ground" wrapper 137 -l 5s
	done
}

@test "without a /proc of its own and with a server that is away all of COMMAND's group is dead before the lease ends" {
	needs_namespaces
	start_proxy "$SERVER_SOCKET" "$PWD/far"
	export FAIRLOCK_URL=unix://$BATS_TEST_TMPDIR/far
	for ground in $GROUNDS; do
		group_dies "$ground" cut 76 -l 4s -k 200ms
	done
}

@test "no stranger gets a signal because its number is that of a descendant in the /proc of another namespace" {
	needs_namespaces
	python=$(python3 -c 'import sys; print(sys.executable)') # a shim would need numbers of its own
	write_group
	background "$python" "$TESTS_DIR/faults/strangers.py" witness outside
	background setsid unshare --mount --pid --fork --kill-child --mount-proc "$python" "$TESTS_DIR/faults/strangers.py" around \
		signalled sh -c 'exec "$@" 2>said' sh "$FAIRLOCK" wrap -k 200ms job bash group
	wait_until test -e strangers
	assert_equal "$(cat chain)" '19 59'
	run -0 "$FAIRLOCK" release -q --force job
	wait_until test -e result || cat signalled
	wait_until ended "$ALIVE"
	assert_equal "$(cat result)" '76 0' # all witnesses live
	assert_equal "$(cat signalled outside)" ''
}

# ---- Descriptors ----

# COMMAND for few descriptors. A shell cannot redirect what it runs itself then, but the processes that it forks.
# shellcheck disable=SC2089
few='trap "" TERM
(exec SETSID sh -c "while :; do echo child; sleep 0.05; done") >alive &
(while :; do echo command; sleep 0.05; done) >alive'

runs_or_failed() { [ -e "$1/status" ] || (cd "$1" && group_runs); }

# A wrap for each number of open files, in a folder of that name, and with a lock of that name. It fails before COMMAND, and gives the
# lock back; or it stops COMMAND and its child, which is in a session of its own from 13 on: from there all is as with many.
@test "with 7 to 20 descriptors release --force ends COMMAND and its child, or COMMAND does not start, and wrap says why" {
	readers=()
	needs_namespaces
	for n in {7..20}; do
		mkdir "$n"
		cd "$n" || return
		open_alive
		readers[n]=$ALIVE
		on_ground own bash -c 'for ((fd = 3; fd < 40; fd++)); do eval "exec $fd>&-"; done; ulimit -n "$1"; exec "${@:2}"' \
			bash "$n" "$FAIRLOCK" wrap -l 30s -k 200ms "$n" sh -c "${few/SETSID/$([ "$n" -lt 13 ] || echo setsid)}"
		cd ..
	done
	for n in {7..20}; do
		wait_until runs_or_failed "$n" || { echo "ulimit -n $n"; cat "$n/said"; return 1; }
		"$FAIRLOCK" release -q --force "$n" || [ -e "$n/status" ]
	done
	for n in {7..20}; do
		echo "ulimit -n $n"
		cd "$n" || return
		wait_until test -e status
		ALIVE=${readers[n]}
		if [ -s beats ]; then
			group_ended 76
		else
			cat said
			assert_equal "$(cat status)" 71
			assert_equal "$(grep -c '^fairlock: ' said) $(grep -c '' said)" '1 1'
		fi
		is_free "$n"
		[ "$(grep -c 'cannot see' said)" -le 1 ]
		if [ "$n" -ge 13 ]; then
			[ -s beats ]
			refute grep -q 'cannot see' said
		fi
		cd ..
	done
}

# ---- The timer ----

# without_timer WORD...: `wrap WORD...`, whose processes can have no timer. Sets WRAPPER.
without_timer() {
	prlimit --sigpending=0 python3 -c 'import ctypes, sys
sys.exit(ctypes.CDLL(None).timer_create(7, None, ctypes.create_string_buffer(8)) == 0)' ||
		skip 'this system gives a timer all the same'
	background prlimit --sigpending=0 "$FAIRLOCK" wrap "$@" 2>said
	WRAPPER=$!
}

# start_job_without_timer OPTION...: as start_job
start_job_without_timer() {
	write_job
	without_timer "$@" job sh job
	wait_until job_runs || { cat said; return 1; }
	GUARD=$(pgrep -P "$WRAPPER")
	grep -q '^fairlock: .*timer' said
}

@test "wrap that can have no timer says so in one line, and runs COMMAND" {
	without_timer job sh -c 'exit 3'
	ends_with 3 "$WRAPPER"
	cat said
	assert_equal "$(grep -c '' said)" 1
	grep -q '^fairlock: .*timer' said
	is_free job
}

@test "without a timer --max-hold, release --stop and release --force stop all of COMMAND all the same" {
	for words in '124 true' '124 release --stop job' '76 release -q --force job'; do
		read -r ends words <<<"$words"
		start_job_without_timer -k 200ms $([ "$words" != true ] || echo --max-hold 1s)
		[ "$words" = true ] || run -0 "$FAIRLOCK" $words
		ends_with "$ends" "$WRAPPER"
		all_dead
	done
}

@test "without a timer all of COMMAND is dead before the lease ends all the same when guard or wrapper is killed" {
	while read -r killed status; do
		start_job_without_timer -l 6s
		kill -KILL "${!killed}"
		dead_before_lease_ends
		ends_with "$status" "$WRAPPER"
		wait_until is_free job
	done <<<$'GUARD 76\nWRAPPER 137'
}

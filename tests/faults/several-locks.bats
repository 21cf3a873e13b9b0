# wrap --also under faults: locks that are lost, processes that are killed, servers that are restarted; and crowds that take the
# same locks in all orders.
#
# ALSO_JOBS: how many jobs there are in the crowd; ALSO_SECONDS: and for how long new ones come. 200 and 60 for a thorough run
load ../lib/jobs
load ../lib/proxy

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	start_server
}

# start_several OPTION...: as start_job, under the locks a, job and z
start_several() { start_job --also a --also z "$@"; }

# all_free: none of these locks is held
all_free() { is_free a && is_free job && is_free z; }

# ---- Lost locks

@test "when one of the locks is broken by force COMMAND is stopped, the others are given back, and the status is 76" {
	for lock in a job z; do
		start_several
		"$FAIRLOCK" release --force -q "$lock"
		ends_with 76 "$WRAPPER"
		all_dead
		all_free
		# The job's shell says "Killed" there, too, when its `sleep` dies before it does.
		assert_equal "$(grep '^fairlock: ' said)" "fairlock: lost lock $lock: somebody broke it by force; stopping sh"
		assert_equal "$("$FAIRLOCK" log --json | jq -r '.log[] | select(.event == "released") | .cause' | sort -u)" lost
	done
}

@test "when a lock that it has is broken while it waits for the next, it leaves, gives all back, and begins anew" {
	waits_under --also a b "$FAIRLOCK" status --raw --noheadings -o NAME a b >out
	id=$(cli --raw ZRANGE 'fairlock_queue:{b}' 0 0)
	"$FAIRLOCK" release --force -q a
	wait_until grep -q 'lost lock a while waiting for lock b: somebody broke it by force$' said
	wait_until grep -q 'beginning anew' said
	wait_until in_queue b 1
	refute [ "$(cli --raw ZRANGE 'fairlock_queue:{b}' 0 0)" = "$id" ]
	run -0 "$FAIRLOCK" status -q a
	waiter_is_next
	assert_equal "$(<out)" $'a\nb'
	nothing_left
}

@test "a lock that was broken while it waits, and is taken by somebody else, is waited for, too, within --wait" {
	waits_under -l 1s -w 5s --also a b true
	first=$HOLDER
	cli DEL a >/dev/null
	hold a
	wait_until in_queue a 1
	wait_until in_queue b 0
	kill -TERM "$first"
	ends_with 75 "$WAITER"
	grep -q 'fairlock: cannot get lock a: timed out after 5s' said
	is_free b
}

@test "a lock that is broken again and again is asked for ten times a second at most" {
	waits_under --also a -l 1s b true
	background sh -c 'while :; do "$FAIRLOCK" release --force -q a; done'
	sleep 3
	kill "$!"
	wait "$!" || true
	asked=$(grep -c 'beginning anew' said)
	[ "$asked" -ge 1 ] && [ "$asked" -le 45 ] || fail "$asked times"
	waiter_is_next
}

# ---- Processes

@test "when guard or wrapper is killed all of COMMAND is dead before the first lease ends, and all locks are given back" {
	while read -r killed status; do
		start_several -l 6s
		note_lease_end
		kill -KILL "${!killed}"
		dead_in_time
		ends_with "$status" "$WRAPPER"
		wait_until all_free
		grep -q "lost the ${killed,,} of lock job" said
	done <<<$'GUARD 76\nWRAPPER 137'
}

@test "a lease that passes while it is stopped is lost, also if the server loses its data after that" {
	waits_under --also a -l 1s b sh -c 'echo "$FAIRLOCK_TOKENS"' >tokens
	stop "$WAITER"
	wait_until is_free a
	"$FAIRLOCK" wrap a sh -c 'echo "$FAIRLOCK_TOKEN"' >later
	cli FLUSHALL # HOLDER takes b up again, or the wrap gets it before that
	kill -CONT "$WAITER"
	wait_until grep -q 'lost lock a while waiting for lock b: its lease could not be renewed in time' said
	waiter_is_next
	[ "$(sed -n 's/^a=//p' tokens)" -gt "$(<later)" ]
}

@test "a lease that has passed by the wrap's clock, and not by the server's, keeps nobody waiting" {
	waits_under --also a -l 1s b true
	stop "$WAITER"
	cli PEXPIRE a 600000 # the server's clock is slow
	sleep 1
	kill -CONT "$WAITER"
	wait_until grep -q 'lost lock a while waiting for lock b: its lease could not be renewed in time' said
	wait_until in_queue b 1
	waiter_is_next
}

# has_left NAME MS: by the server, more than MS are left of the lease of the lock
has_left() { [ "$(cli PTTL "$1")" -gt "$2" ]; }

@test "a renewal that the server carried out in time counts, though the wrap is stopped past the lease before" {
	far=$PWD/far
	start_proxy "$SERVER_SOCKET" "$far"
	hold b
	FAIRLOCK_URL=unix:$far background "$FAIRLOCK" wrap -v -l 9s --also a b true 2>said
	WAITER=$!
	wait_until in_queue b 1
	proxy delay 1000 down # the answer to the renewal comes when the wrap is stopped
	WAIT_S=8 wait_until run ! has_left a 6500
	WAIT_S=8 wait_until has_left a 8000
	stop "$WAITER"
	sleep 6.2 # the first lease is over, the second one is not
	has_left a 1
	kill -CONT "$WAITER"
	wait_until grep -q 'renewed lock a' said
	waiter_is_next
	run ! grep -q 'beginning anew' said
}

# ---- Servers

@test "when the server is restarted without its data while it waits, it keeps the lock, under a new token, and its place" {
	waits_under -v --also a -l 20s b sh -c 'echo "$FAIRLOCK_TOKENS" >tokens'
	before=$(holder_column a token)
	restart_server
	wait_until in_queue b 1
	wait_until "$FAIRLOCK" status -q a
	after=$(holder_column a token)
	[ "$after" -gt "$before" ]
	waiter_is_next
	grep -qx "a=$after" tokens
	grep -q "took lock a up again after a loss of data, token $after" said
	run ! grep -q 'beginning anew' said
	nothing_left
}

@test "when locks cannot be given back COMMAND's status counts, and each of them is told" {
	FAIRLOCK_CONNECT_TIMEOUT=1s run -7 "$FAIRLOCK" wrap --also a --also z job sh -c 'kill -KILL $SERVER_PID; exit 7'
	assert_equal "$(sort <<<"$output" | sed 's/: cannot reach .*//')" \
		$'fairlock: giving back lock a\nfairlock: giving back lock job\nfairlock: giving back lock z'
}

# ---- Locks that are lost or asked for while others are held

@test "a wrap that is asked to stop while it waits for its next lock leaves that queue, and gives back what it has" {
	waits_under --also a b touch ran
	run -0 "$FAIRLOCK" release --stop a
	ends_with 124 "$WAITER"
	grep -q 'cannot keep lock a: was asked to stop by fairlock release --stop' said
	in_queue b 0
	is_free a
	[ ! -e ran ]
	"$FAIRLOCK" log --raw --noheadings -o EVENT b | grep -qx left
}

@test "a wrap that is asked to stop in the moment in which it gets its next lock holds none afterwards" {
	for round in {1..10}; do
		waits_under --also a b sleep 30
		background "$FAIRLOCK" release --stop a >out
		kill -TERM "$HOLDER"
		ends_with 124 "$WAITER"
		wait_until ended "$HOLDER" # it may give b back later than the waiter ends
		is_free a
		is_free b
	done
}

# heartbeat: a COMMAND that takes no notice of TERM, and writes the time into `beat`
heartbeat='trap "" TERM; while :; do date +%s%N >beat.new; mv beat.new beat; sleep 0.02; done'

@test "if the guard dies after the loss of one of several locks, the others give COMMAND no more time than that one had" {
	background "$FAIRLOCK" wrap -l 6s -k 2s --also b a -c "$heartbeat" 2>said
	WAITER=$!
	wait_until test -e beat
	ends=$(($(date +%s%N) / 1000000 + $(cli PTTL a)))
	# the lock's end cannot be seen by the holder, who is not told: a key of another type
	cli RENAME a elsewhere >/dev/null
	cli SET a x >/dev/null
	wait_until grep -q 'stopping' said
	sleep 1.5 # most of --kill-after: another one would end after the lease
	kill -KILL "$(pgrep -P "$WAITER")"
	ends_with 76 "$WAITER"
	last=$(($(cat beat) / 1000000))
	[ "$last" -lt "$ends" ] || fail "COMMAND ran $((last - ends)) ms after the lease"
}

@test "when a wait is over just as the next lock is asked for, it says that it timed out" {
	background "$FAIRLOCK" acquire -l 20s a >owner
	wait_until test -s owner
	background "$FAIRLOCK" wrap -w 1s --also b a true 2>said
	WAITER=$!
	wait_until in_queue a 1
	kill -STOP "$WAITER"
	"$FAIRLOCK" release --owner "$(cat owner)" a
	sleep 1.2
	kill -CONT "$WAITER"
	wait "$WAITER" && status=0 || status=$?
	[ "$status" = 0 ] || [ "$status" = 75 ] || fail "$status: $(cat said)"
}

# ---- Crowds

@test "jobs that take four locks in all 24 orders never wait for each other for ever, and never overlap" {
	count=${ALSO_JOBS:-24} seconds=${ALSO_SECONDS:-0} orders=() jobs=() number=0
	for i in {1..4}{1..4}{1..4}{1..4}; do
		[ "$(fold -w 1 <<<"$i" | sort -u | wc -l)" != 4 ] || orders+=("$i")
	done
	assert_equal "${#orders[@]}" 24
	# It must be alone in each of these locks.
	mkdir in
	cat >pair <<'END'
number=$1
shift
for lock; do
	mkdir "in/$lock" 2>>wrong || echo "$number meets another in $lock" >>wrong
done
[ "$(echo "$FAIRLOCK_TOKENS" | sed 's/=.*//' | sort | xargs)" = "$(printf '%s\n' "$@" | sort | xargs)" ] || echo "$number: $FAIRLOCK_TOKENS" >>wrong
sleep 0.01
for lock; do rmdir "in/$lock"; done
echo "$number" >>ran
END
	until=$((SECONDS + seconds))
	while ((number < count || SECONDS < until)); do
		((number < count)) || wait -n -p one "${jobs[@]}"
		one=${orders[number % 24]}
		background "$FAIRLOCK" wrap -w 5m --also "l${one:1:1}" --also "l${one:2:1}" --also "l${one:3:1}" "l${one:0:1}" \
			sh pair "$number" "l${one:0:1}" "l${one:1:1}" "l${one:2:1}" "l${one:3:1}"
		jobs[number % count]=$!
		((++number))
	done
	wait "${jobs[@]}"
	[ ! -s wrong ] || fail "$(<wrong)"
	assert_equal "$(sort -u ran | wc -l)" "$number"
	echo "# $number jobs" >&3
	nothing_left
}

#!/usr/bin/env bats
# wrap --also under faults: locks that are lost, processes that are killed, servers that are restarted; and crowds that take the
# same locks in all orders.
#
# ALSO_JOBS: how many jobs there are in the crowd; ALSO_SECONDS: and for how long new ones come. 200 and 60 for a thorough run

load ../lib/helpers
load ../lib/jobs
load ../lib/proxy

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	start_server
}

# start_several OPTION...: as start_job, under the locks a, job and z
start_several() {
	start_job --also a --also z "$@"
}

# all_free: none of these locks is held
all_free() {
	is_free a && is_free job && is_free z
}

# ---- Lost locks

@test "when one of the locks is broken by force COMMAND is stopped, the others are given back, and the status is 76" {
	local lock

	for lock in a job z; do
		rm -f pids beats.*
		start_several
		"$FAIRLOCK" release --force -q "$lock"
		status_of "$WRAPPER"
		assert_equal "$STATUS" 76
		all_dead
		all_free
		# The job's shell says "Killed" there, too, when its `sleep` dies before it does.
		assert_equal "$(grep '^fairlock: ' said)" "fairlock: lost lock $lock: somebody broke it by force; stopping sh"
		assert_equal "$("$FAIRLOCK" log --json | jq -r '.log[] | select(.event == "released") | .cause' | sort -u)" lost
	done
}

@test "when a lock that it has is broken while it waits for the next, it leaves, gives all back, and begins anew" {
	local id

	waits_under --also a b "$FAIRLOCK" status --raw --noheadings -o NAME a b >out
	id=$(cli --raw ZRANGE 'fairlock_queue:{b}' 0 0)
	"$FAIRLOCK" release --force -q a
	wait_until grep -q 'lost lock a while waiting for lock b: somebody broke it by force$' said
	wait_until grep -q 'beginning anew' said
	wait_until in_queue b 1
	refute [ "$(cli --raw ZRANGE 'fairlock_queue:{b}' 0 0)" = "$id" ]
	run -0 "$FAIRLOCK" status -q a
	kill -TERM "$HOLDER"
	ends_with 0 "$WAITER"
	assert_equal "$(<out)" $'a\nb'
	nothing_left
}

@test "a lock that was broken while it waits, and is taken by somebody else, is waited for, too, within --wait" {
	local first

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
	local asked

	waits_under --also a -l 1s b true
	# shellcheck disable=SC2016
	background sh -c 'while :; do "$FAIRLOCK" release --force -q a; done'
	sleep 3
	kill "$!"
	wait "$!" || true
	asked=$(grep -c 'beginning anew' said)
	[ "$asked" -ge 1 ] && [ "$asked" -le 45 ] || fail "$asked times"
	kill -TERM "$HOLDER"
	ends_with 0 "$WAITER"
}

# ---- Processes

@test "when the guard is killed all of COMMAND is dead before the first lease ends, and all locks are given back" {
	start_several -l 6s
	kill -KILL "$GUARD"
	note_lease_end
	status_of "$WRAPPER"
	assert_equal "$STATUS" 76
	dead_in_time
	all_free
	grep -q 'lost the guard of lock job: it died' said
}

@test "a wrap that is stopped while it waits begins anew when it goes on after its lease" {
	waits_under --also a -l 1s b true
	stop "$WAITER"
	wait_until is_free a
	background "$FAIRLOCK" wrap a true
	ends_with 0 $!
	kill -CONT "$WAITER"
	wait_until grep -q 'lost lock a while waiting for lock b' said
	kill -TERM "$HOLDER"
	ends_with 0 "$WAITER"
}

@test "a lease that passes while it is stopped is lost, also if the server loses its data after that" {
	# shellcheck disable=SC2016
	waits_under --also a -l 1s b sh -c 'echo "$FAIRLOCK_TOKENS"' >tokens
	stop "$WAITER"
	wait_until is_free a
	# shellcheck disable=SC2016
	"$FAIRLOCK" wrap a sh -c 'echo "$FAIRLOCK_TOKEN"' >later
	cli FLUSHALL # HOLDER takes b up again, or the wrap gets it before that
	kill -CONT "$WAITER"
	wait_until grep -q 'lost lock a while waiting for lock b: its lease could not be renewed in time' said
	kill -TERM "$HOLDER"
	ends_with 0 "$WAITER"
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
	kill -TERM "$HOLDER"
	ends_with 0 "$WAITER"
}

# has_left NAME MS: by the server, more than MS are left of the lease of the lock
has_left() { [ "$(cli PTTL "$1")" -gt "$2" ]; }

@test "a renewal that the server carried out in time counts, though the wrap is stopped past the lease before" {
	local far=$PWD/far

	start_proxy "$SERVER_SOCKET" "$far"
	hold b
	FAIRLOCK_URL=unix:$far background "$FAIRLOCK" wrap -v -l 9s --also a b true 2>said
	WAITER=$!
	wait_until in_queue b 1
	proxy delay 1000 down # the answer to the renewal comes when the wrap is stopped
	WAIT_S=8 wait_until run ! has_left a 6500
	WAIT_S=8 wait_until has_left a 8000
	stop "$WAITER"
	sleep 6.8 # the first lease is over, the second one is not
	has_left a 1
	kill -CONT "$WAITER"
	wait_until grep -q 'renewed lock a' said
	kill -TERM "$HOLDER"
	ends_with 0 "$WAITER"
	run ! grep -q 'beginning anew' said
}

# ---- Servers

@test "when the server is restarted without its data while it waits, it keeps the lock, under a new token, and its place" {
	# shellcheck disable=SC2016
	waits_under -v --also a -l 20s b sh -c 'echo "$FAIRLOCK_TOKENS" >tokens'
	before=$(holder_column a token)
	stop_server
	start_server
	wait_until in_queue b 1
	wait_until "$FAIRLOCK" status -q a
	after=$(holder_column a token)
	[ "$after" -gt "$before" ]
	kill -TERM "$HOLDER"
	ends_with 0 "$WAITER"
	grep -qx "a=$after" tokens
	grep -q "took lock a up again after a loss of data, token $after" said
	run ! grep -q 'beginning anew' said
	nothing_left
}

@test "when locks cannot be given back COMMAND's status counts, and each of them is told" {
	# shellcheck disable=SC2016
	FAIRLOCK_CONNECT_TIMEOUT=1s run -7 "$FAIRLOCK" wrap --also a --also z job sh -c 'kill -KILL $SERVER_PID; exit 7'
	assert_equal "$(sort <<<"$output" | sed 's/: cannot reach .*//')" \
		$'fairlock: giving back lock a\nfairlock: giving back lock job\nfairlock: giving back lock z'
}

# ---- Crowds

# write_pair: writes the COMMAND `pair NUMBER A B C...`, which must be alone in each of these locks
write_pair() {
	mkdir -p in
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
}

@test "jobs that take four locks in all 24 orders never wait for each other for ever, and never overlap" {
	local count=${ALSO_JOBS:-24} seconds=${ALSO_SECONDS:-0} orders=() jobs=() one i number=0 until

	for i in {1..4}{1..4}{1..4}{1..4}; do
		[ "$(fold -w 1 <<<"$i" | sort -u | wc -l)" != 4 ] || orders+=("$i")
	done
	assert_equal "${#orders[@]}" 24
	write_pair
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

@test "when the wrapper is killed all locks are given back" {
	start_several -l 6s
	note_lease_end
	kill -KILL "$WRAPPER"
	dead_in_time
	wait_until all_free
}

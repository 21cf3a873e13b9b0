#!/usr/bin/env bats
# --verbose: the steps that each command tells, with the seconds since its start.

load ../lib/helpers
load ../lib/one_server

step='fairlock: \[ *[0-9]+\.[0-9]{3}\] '
id='[0-9a-f-]{36}:[0-9]+'
took='([0-9]+ms|[0-9]+s)'

# told FILE PATTERN...: fails unless the file has exactly these steps in this order, with times that
# do not go back
told() {
	local n=0 pattern

	mapfile -t lines <"$1"
	for pattern in "${@:2}"; do
		[[ ${lines[n]-} =~ ^$step$pattern$ ]] || fail "step $n is '${lines[n]-}', not '$pattern'"
		n=$((n + 1))
	done
	assert_equal "${#lines[@]}" "$n"
	sed -nE 's/^fairlock: \[ *([0-9.]+)\] .*/\1/p' "$1" | sort -nc
}

# The first step of every command.
start="fairlock [0-9.]+, pid [0-9]+, [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} [+-][0-9]{4}"
setup_steps() {
	begin=("$start" "the server is unix:$SERVER_SOCKET \(FAIRLOCK_URL\)")
	connected="connected to unix:$SERVER_SOCKET after $took"
}

@test "wrap -v tells server, connection, grant, COMMAND's start and end, and release" {
	setup_steps
	run -3 --separate-stderr "$FAIRLOCK" wrap -v job sh -c 'echo $$ >pid; exit 3'
	refute_output
	echo "$stderr" >said
	told said "${begin[@]}" "asking for lock job as $id" "$connected" \
		"got lock job after $took, token [0-9]+" "starting sh, pid $(<pid)" \
		"sh under lock job ended with status 3 after $took" "gave lock job back in $took, held for $took"
}

@test "a waiter with -v tells its place, the holder, each message, and that it leaves the queue" {
	setup_steps
	hold job
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	run -75 "$FAIRLOCK" wrap -v -w 200ms job true
	echo "$output" >said
	told <(head -n -1 said) "${begin[@]}" "asking for lock job as $id" "$connected" 'waiting for lock job' \
		"place 2 of 2, waited 0s, held by sleep 600 \(pid $HOLDER, .*\) for [0-9]+m?s" 'leaving the queue'
	assert_regex "$(tail -n 1 said)" "^fairlock: cannot get lock job: timed out after 200ms; held by sleep 600 \(pid $HOLDER, .*\) for $took$"
	background "$FAIRLOCK" wrap -v job true 2>said
	local waiter=$!
	wait_until in_queue job 2
	kill "$HOLDER"
	wait "$waiter"
	grep -qE "^${step}heard: granted [0-9]+ 5000 [0-9]+ [0-9a-f]{16}$" said
	grep -qE "^${step}got lock job after $took, token [0-9]+$" said
}

@test "a waiter with -v tells its place again when that has changed" {
	local first

	hold job
	background "$FAIRLOCK" wrap job true
	first=$!
	wait_until in_queue job 1
	background "$FAIRLOCK" wrap -v job true 2>said
	wait_until grep -qE "^${step}place 2 of 2, waited 0s, held by sleep 600 " said
	kill "$first"
	wait_until in_queue job 1
	wait_until grep -qE "^${step}place 1 of 1, waited [0-9]+s, held by sleep 600 " said
}

@test "wrap -v tells each renewal, and the rest of the lease at that time" {
	run -0 "$FAIRLOCK" wrap -v -l 1s -k 100ms job sleep 1.5 # so a busy machine has more of the lease to renew it in
	assert_line --regexp "^${step}renewed lock job in [0-9]+ms, with [56][0-9]{2}ms of its lease left$"
	[ "$(grep -c 'renewed lock job' <<<"$output")" -ge 3 ]
}

@test "each command tells with -v where it has the URL from" {
	run -69 "$FAIRLOCK" wrap -v -u unix:/nowhere job true
	assert_line --regexp "^${step}the server is unix:/nowhere \(--url\)$"
	echo "url = unix:/nowhere" >conf
	run -69 env -u FAIRLOCK_URL "$FAIRLOCK" wrap -v --config conf job true
	assert_line --regexp "^${step}the server is unix:/nowhere \(conf:1\)$"
	for command in acquire renew release status queue log doctor; do
		run "$FAIRLOCK" "$command" -v -u unix:/nowhere --owner x job
		run "$FAIRLOCK" "$command" -v -u unix:/nowhere job
		assert_line --regexp "^${step}the server is unix:/nowhere \(--url\)$"
	done
}

@test "wrap -v tells that it starts a private server, and that it has connected to that" {
	new_home
	run -0 at_home "$FAIRLOCK" wrap -v job true
	assert_line --regexp "^${step}the server is local: \(the default\)$"
	assert_line --regexp "^${step}no private server runs; starting one$"
	assert_line --regexp "^${step}connected to the private server after $took$"
	REDISCLI_AUTH=of-another run -0 at_home "$FAIRLOCK" wrap -v job true
	refute_line --partial 'starting one'
}

@test "wrap -v tells to which of several nodes it has connected" {
	load ../lib/nodes
	SERVER_DIR=$BATS_TEST_TMPDIR
	port=$(free_port)
	start_lone_cluster --port "$port"
	run -0 "$FAIRLOCK" wrap -v -u "redis://127.0.0.1:1,127.0.0.1:$port" job true
	assert_line --regexp "^${step}connected to 127\.0\.0\.1:$port after $took$"
	refute_line --partial 'cannot reach'
}

@test "holder and waiter with -v tell once that the server is away, and then that it is back" {
	unset SERVER_DIR
	start_server --appendonly yes # of this test alone
	background "$FAIRLOCK" wrap -v job sh -c 'until test -e go; do sleep 0.05; done' 2>holder
	local holder=$!
	wait_until "$FAIRLOCK" status -q job
	background "$FAIRLOCK" wrap -v job true 2>waiter
	local waiter=$!
	wait_until in_queue job 1
	stop_server
	for who in holder waiter; do
		wait_until grep -qE "^${step}cannot reach .*: Connection refused$" "$who"
	done
	sleep 1
	start_server --appendonly yes
	for who in holder waiter; do
		wait_until eval "[ \"\$(grep -cE '^${step}connected to ' $who)\" = 2 ]"
		[ "$(grep -c 'Connection refused' "$who")" = 1 ]
	done
	touch go
	wait "$holder" "$waiter"
}

@test "wrap -v tells the signals that it passes on, and those with which it stops COMMAND" {
	background "$FAIRLOCK" wrap -v -k 200ms job sh -c 'trap "" TERM; trap : USR1; : >ready
		while :; do sleep 0.05; done' 2>said
	local wrapper=$!
	wait_until test -e ready
	kill -USR1 "$wrapper"
	wait_until grep -qE "^${step}passed signal USR1 on to sh$" said
	"$FAIRLOCK" release -q --force job
	wait "$wrapper" || true
	grep -qE "^${step}sent signal TERM to sh and what it started$" said
	grep -qE "^${step}sent signal KILL to all that is left of it$" said
	grep -qE "^${step}sh under lock job was killed by signal KILL after $took$" said
	grep -qxF 'fairlock: lost lock job: somebody broke it by force; stopping sh' said
}

@test "wrap -v tells that it went into a lock again, and that the server keeps the lock for --min-hold" {
	run -0 "$FAIRLOCK" wrap job "$FAIRLOCK" wrap -v job true
	assert_line --regexp "^${step}went into lock job, which $id holds, after $took, token [0-9]+$"
	run -0 "$FAIRLOCK" wrap -v --min-hold 1m job true
	assert_line --regexp "^${step}gave lock job back in $took, held for $took; the server keeps it for the rest of --min-hold$"
}

@test "wrap -v cuts the owner of the enclosing wrap, so that the event has less than 150 characters" {
	local name owner

	name=$(printf '%050d' 0)
	owner=$(printf '%079d' 0)
	run -0 "$FAIRLOCK" acquire -q --owner "$owner" "$name"
	FAIRLOCK_OWNER=$owner run -0 "$FAIRLOCK" wrap -v "$name" true
	assert_line --regexp "^${step}went into lock 0{37}\\.\\.\\., which 0+\\.\\.\\. holds, after $took, token [0-9]+$"
	[[ $output =~ went\ into.*token\ [0-9]+ ]]
	[ "${#BASH_REMATCH[0]}" -lt 150 ] || fail "${BASH_REMATCH[0]}"
}

@test "acquire, renew and release tell their steps with -v" {
	setup_steps
	owner=$("$FAIRLOCK" acquire -v job 2>said)
	told said "${begin[@]}" "asking for lock job as $owner" "$connected" \
		"got lock job after $took, token [0-9]+"
	"$FAIRLOCK" renew -v -l 1m --owner "$owner" job 2>said
	told said "${begin[@]}" "renewing lock job as $owner" "$connected" \
		"renewed lock job in $took, its lease ends in (1m|59s)"
	"$FAIRLOCK" release -v --owner "$owner" job 2>said
	told said "${begin[@]}" "giving lock job back as $owner" "$connected" \
		"the server has answered after $took"
	background sleep 600
	"$FAIRLOCK" acquire -v --while-pid $! job 2>said
	tail -n 1 said | grep -qE "^${step}process [0-9]+ renews lock job until process $! ends$"
}

@test "status, queue and log of a lock tell with -v what they ask, and how long the server took" {
	setup_steps
	local answered="the server has answered after $took"

	"$FAIRLOCK" wrap job true
	"$FAIRLOCK" status -v job 2>said
	told said "${begin[@]}" 'asking who holds lock job' "$connected" "$answered" \
		'asking whether the server grants locks' "$answered"
	"$FAIRLOCK" queue -v job 2>said
	told said "${begin[@]}" 'asking who waits for lock job' "$connected" "$answered"
	run -76 --separate-stderr "$FAIRLOCK" queue -v --remove 00000000-0000-0000-0000-000000000000:1 job
	echo "$stderr" | head -n -1 >said
	told said "${begin[@]}" 'asking to take the waiter out of the queue of lock job' "$connected" "$answered"
	for form in '' --stats --plot; do
		# shellcheck disable=SC2086
		"$FAIRLOCK" log -v $form job 2>said
		told said "${begin[@]}" 'asking for the log of lock job' "$connected" "$answered"
	done
}

@test "status, queue, log and doctor tell with -v that they look for locks, and how many they found" {
	setup_steps
	local answered="the server has answered after $took" name

	"$FAIRLOCK" wrap a true
	"$FAIRLOCK" status -v 2>said
	told said "${begin[@]}" "$connected" 'asking which locks there are' "found 1 lock after $took" \
		'asking who holds lock a' "$answered" 'asking whether the server grants locks' "$answered"
	"$FAIRLOCK" wrap b true
	"$FAIRLOCK" queue -v 2>said
	told said "${begin[@]}" "$connected" 'asking which locks there are' "found 2 locks after $took" \
		'asking who waits for lock a' "$answered" 'asking who waits for lock b' "$answered"
	"$FAIRLOCK" log -v 2>said
	told said "${begin[@]}" "$connected" 'asking which locks have a log' "found 2 locks after $took" \
		'asking for the log of lock a' "$answered" 'asking for the log of lock b' "$answered"
	run --separate-stderr "$FAIRLOCK" doctor -v
	echo "$stderr" >said
	told said "${begin[@]}" "$connected" "asked $SERVER_SOCKET: .*" 'checked the server and its user' \
		'asking which locks there are' "found 2 locks after $took"
}

@test "status, queue, log, doctor, renew and release tell with -v the server's own words of an error" {
	local words='NOPERM .*evalsha.*' cause="cannot use .*: this user may not run 'evalsha'; see fairlock doctor"

	setup_steps
	cli ACL SETUSER clerk on nopass '~*' '&*' +@all -evalsha >/dev/null
	FAIRLOCK_URL="$FAIRLOCK_URL?user=clerk"
	export FAIRLOCK_PASSWORD=x
	for command in status queue log; do
		run -77 "$FAIRLOCK" $command -v job
		assert_line --index 3 --regexp "^${step}connected to .* after $took$"
		assert_line --index 4 --regexp "^$step$cause$"
		assert_line --index 5 --regexp "^${step}the server says: $words$"
		assert_line --index 6 --regexp "^fairlock: $cause$"
		assert_equal "${#lines[@]}" 7
	done
	for command in renew release; do
		run -77 "$FAIRLOCK" $command -v --owner 00000000-0000-0000-0000-000000000000:1 job
		assert_line --regexp "^${step}the server says: $words$"
	done
	run "$FAIRLOCK" doctor -v job
	assert_line --regexp "^${step}the server says: $words$"
	run -77 "$FAIRLOCK" status job
	refute_output --partial 'the server says'
}

@test "log --follow -v tells that the server is away, and that it is back" {
	unset SERVER_DIR
	start_server --appendonly yes # of this test alone
	background "$FAIRLOCK" log -v --follow job 2>said
	wait_until grep -qE "^${step}connected to " said
	stop_server
	wait_until grep -qE "^${step}cannot reach .*: Connection refused$" said
	start_server --appendonly yes
	wait_until eval "[ \"\$(grep -cE '^${step}connected to ' said)\" = 2 ]"
}

#!/usr/bin/env bats
# --verbose: each step, with seconds since the start.

load ../lib/helpers

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; cd "$BATS_TEST_TMPDIR" || return; }

step='fairlock: \[ *[0-9]+\.[0-9]{3}\] '
id='[0-9a-f-]{36}:[0-9]+'
took='([0-9]+ms|[0-9]+s)'

# told FILE PATTERN...: these steps are in the file, all and in this order, and their times do not go back
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

# What every run begins with.
start="fairlock [0-9.]+, pid [0-9]+, [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} [+-][0-9]{4}"
setup_steps() {
	begin=("$start" "the server is unix:$SERVER_SOCKET \(FAIRLOCK_URL\)")
	connected="connected to unix:$SERVER_SOCKET after $took"
}

@test "wrap: server, connection, grant, COMMAND, release" {
	setup_steps
	run -3 --separate-stderr "$FAIRLOCK" wrap -v job sh -c 'echo $$ >pid; exit 3'
	refute_output
	echo "$stderr" >said
	told said "${begin[@]}" "asking for lock job as $id" "$connected" \
		"got lock job after $took, token [0-9]+" "starting sh, pid $(<pid)" \
		"sh under lock job ended with status 3 after $took" "gave lock job back in $took, held for $took"
}

@test "a waiter: its place and the holder, what it hears, and that it leaves" {
	setup_steps
	hold job
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	run -75 "$FAIRLOCK" wrap -v -w 200ms job true
	echo "$output" >said
	told <(head -n -1 said) "${begin[@]}" "asking for lock job as $id" "$connected" 'waiting for lock job' \
		"place 2 of 2, held by sleep 600 \(pid $HOLDER, .*\)" 'leaving the queue'
	assert_equal "$(tail -n 1 said)" 'fairlock: cannot get lock job: timed out'
	background "$FAIRLOCK" wrap -v job true 2>said
	local waiter=$!
	wait_until in_queue job 2
	kill "$HOLDER"
	wait "$waiter"
	grep -qE "^${step}heard: granted [0-9]+ 5000 [0-9]+ [0-9a-f]{16}$" said
	grep -qE "^${step}got lock job after $took, token [0-9]+$" said
}

@test "the place in the queue is told again when it has changed, with a sign of life" {
	local first

	hold job
	background "$FAIRLOCK" wrap job true
	first=$!
	wait_until in_queue job 1
	background "$FAIRLOCK" wrap -v job true 2>said
	wait_until grep -qE "^${step}place 2 of 2, held by sleep 600 " said
	kill "$first"
	wait_until in_queue job 1
	wait_until grep -qE "^${step}place 1 of 1, held by sleep 600 " said
}

@test "each renewal, with what was left of the lease" {
	run -0 "$FAIRLOCK" wrap -v -l 1s job sleep 1.5
	assert_line --regexp "^${step}renewed lock job in [0-9]+ms, with [56][0-9]{2}ms of its lease left$"
	[ "$(grep -c 'renewed lock job' <<<"$output")" -ge 3 ]
}

@test "where the URL is from" {
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

@test "the private server and its start" {
	new_home
	run -0 at_home "$FAIRLOCK" wrap -v job true
	assert_line --regexp "^${step}the server is local: \(the default\)$"
	assert_line --regexp "^${step}no private server runs; starting one$"
	assert_line --regexp "^${step}connected to the private server after $took$"
	run -0 at_home "$FAIRLOCK" wrap -v job true
	refute_line --partial 'starting one'
}

@test "of several servers, which one" {
	port=$(free_port)
	cli CONFIG SET port "$port" >/dev/null
	run -0 "$FAIRLOCK" wrap -v -u "redis://127.0.0.1:1,127.0.0.1:$port" job true
	assert_line --regexp "^${step}connected to 127\.0\.0\.1:$port after $took$"
	refute_line --partial 'cannot reach'
}

@test "a server that goes away and comes back, to who holds and who waits; the same trouble is told once" {
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

@test "what is done to a COMMAND that must stop, and which signals are passed on" {
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

@test "going in again, and what the server keeps for --min-hold" {
	run -0 "$FAIRLOCK" wrap job "$FAIRLOCK" wrap -v job true
	assert_line --regexp "^${step}went into lock job, which $id holds, after $took, token [0-9]+$"
	run -0 "$FAIRLOCK" wrap -v --min-hold 1m job true
	assert_line --regexp "^${step}gave lock job back in $took, held for $took; the server keeps it for the rest of --min-hold$"
}

@test "acquire, renew and release" {
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

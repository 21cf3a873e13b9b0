# --verbose: the steps that each command tells, with the seconds since its start.

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
	join_queue job true
	run -75 "$FAIRLOCK" wrap -v -w 200ms job true
	echo "$output" >said
	told <(head -n -1 said) "${begin[@]}" "asking for lock job as $id" "$connected" 'waiting for lock job' \
		"place 2 of 2, waited 0s, held by sleep 600 \(pid $HOLDER, .*\) for [0-9]+m?s" 'leaving the queue'
	assert_regex "$(tail -n 1 said)" "^fairlock: cannot get lock job: timed out after 200ms; held by sleep 600 \(pid $HOLDER, .*\) for $took$"
	join_queue -v job true
	waiter_is_next
	grep -qE "^${step}heard: granted [0-9]+ 5000 [0-9]+ [0-9a-f]{16}$" said
	grep -qE "^${step}got lock job after $took, token [0-9]+$" said
}

@test "each command tells with -v where it has the URL from" {
	export FAIRLOCK_CONNECT_TIMEOUT=100ms
	for command in acquire renew release status queue log doctor; do
		run "$FAIRLOCK" "$command" -v -u unix:/nowhere $([[ $command != re* ]] || echo --owner 00000000-0000-4000-8000-000000000000:1) job
		assert_line --regexp "^${step}the server is unix:/nowhere \(--url\)$"
	done
	echo "url = unix:/nowhere" >conf
	run -69 env -u FAIRLOCK_URL "$FAIRLOCK" wrap -v --config conf job true
	assert_line --regexp "^${step}the server is unix:/nowhere \(conf:1\)$"
}

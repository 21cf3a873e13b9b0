#!/usr/bin/env bats
# --syslog: the messages that fairlock sends to /dev/log. Each test has a /dev of its own, whose log
# is the socket `log` in its folder, so that the machine's own syslog gets nothing.

load ../lib/helpers
load ../lib/one_server

setup() {
	begin
	[ "$(id -u)" = 0 ] || user=(--user --map-root-user)
	unshare "${user[@]}" --mount true 2>/dev/null || skip 'this machine allows no namespaces'
	mkdir dev
	background unshare "${user[@]}" --mount bash "$TESTS_DIR/commands/dev.bash" "$PWD/dev" "$PWD/log" >dev.said 2>&1
	DEV_PID=$!
	wait_until test -e dev.ready || { cat dev.said; return 1; }
	inside=(nsenter --target "$DEV_PID" --mount --wdns="$PWD" --)
	[ "$(id -u)" = 0 ] || inside=(nsenter --target "$DEV_PID" --user --preserve-credentials --mount --wdns="$PWD" --)
}

# with_log COMMAND...: runs it with that /dev; in the background: "${inside[@]}" COMMAND...
with_log() { "${inside[@]}" "$@" 3>&- 4>&-; }

# listen: receives messages, and writes each into `heard` as it comes
listen() {
	background python3 "$TESTS_DIR/commands/receiver.py" log heard
	wait_until test -S log
}

# texts: prints the texts of the messages
texts() { sed -E 's/^<[0-9]+>.{15} fairlock\[[0-9]+\]: //' heard; }

# heard_all PATTERN...: waits for so many messages; they must match the patterns in this order
heard_all() {
	local n=0 line

	wait_until heard_lines $#
	mapfile -t lines < <(texts)
	assert_equal "${#lines[@]}" $#
	for line; do
		[[ ${lines[n]} =~ ^$line$ ]] || fail "line $n is '${lines[n]}', not '$line'"
		n=$((n + 1))
	done
}

heard_lines() { [ "$(wc -l <heard)" -ge "$1" ]; }

# Facility user with these priorities, as numbers of syslog(3).
error='<11>'
notice='<13>'
info='<14>'

# ---- The form ----

@test "wrap --syslog sends datagrams like those of syslog(3): priority, local time, the wrapper's process id, text" {
	listen
	before=$(LC_ALL=C date '+%b %e %H:%M')
	with_log env LC_ALL=de_DE.UTF-8 sh -c 'echo $$ >pid; exec "$FAIRLOCK" wrap --syslog job true' 2>said
	after=$(LC_ALL=C date '+%b %e %H:%M')
	heard_all 'got lock job after .*' 'true under lock job ended with .*' 'gave lock job back .*'
	run cat heard
	for line in "${lines[@]}"; do
		assert_regex "$line" "^<14>($before|$after):[0-9]{2} fairlock\[$(<pid)\]: [^ ]"
	done
	[ ! -s said ]
}

@test "--syslog tells no password and no arguments of COMMAND" {
	listen
	run -69 with_log "$FAIRLOCK" wrap --syslog -u redis://user:SECRET@127.0.0.1:1 job true
	with_log env FAIRLOCK_PASSWORD=SECRET "$FAIRLOCK" wrap --syslog job sh -c ': SECRET'
	heard_all 'cannot reach redis://user:@127.0.0.1:1: .*' 'got .*' 'sh under lock job ended .*' 'gave .*'
	run -1 grep SECRET heard
}

# ---- The messages ----

@test "wrap --syslog tells COMMAND's status or signal, as a notice if the status is not 0" {
	listen
	run -3 with_log "$FAIRLOCK" wrap --syslog job sh -c 'exit 3'
	run with_log "$FAIRLOCK" wrap --syslog job sh -c 'kill -KILL $$'
	[ "$status" = 137 ]
	heard_all 'got .*' 'sh under lock job ended with status 3 after .*' 'gave .*' \
		'got .*' 'sh under lock job was killed by signal KILL after .*' 'gave .*'
	assert_equal "$(cut -c 1-4 heard | paste -sd ' ')" "$info $notice $info $info $notice $info"
}

@test "--syslog tells as a notice why the lock was not obtained, even with --quiet and -E" {
	hold job
	listen
	run -0 with_log "$FAIRLOCK" wrap --syslog -nqE 0 job true
	refute_output
	run -75 with_log "$FAIRLOCK" acquire --syslog -w 50ms job
	assert_output --regexp '^fairlock: cannot get lock job: timed out after [0-9]+m?s; held by sleep 600 .* for [0-9]+m?s$'
	heard_all 'cannot get lock job: held by sleep 600 .*' 'cannot get lock job: timed out after .*'
	assert_equal "$(cut -c 1-4 heard | paste -sd ' ')" "$notice $notice"
}

@test "wrap --syslog tells a lost lock as an error when it stops COMMAND" {
	listen
	background "${inside[@]}" "$FAIRLOCK" wrap --syslog job sleep 600 2>said
	wait_until "$FAIRLOCK" status -q job
	"$FAIRLOCK" release -q --force job
	wait_until test -s said
	heard_all 'got .*' 'lost lock job: somebody broke it by force; stopping sleep' \
		'sleep under lock job was killed by signal TERM after .*'
	assert_equal "$(cut -c 1-4 heard | paste -sd ' ')" "$info $error $notice"
	[ "$(<said)" = 'fairlock: lost lock job: somebody broke it by force; stopping sleep' ]
}

@test "syslog gets nothing without --syslog, nor from commands that take no lock" {
	listen
	export FAIRLOCK_SYSLOG=1
	FAIRLOCK_SYSLOG=0 with_log "$FAIRLOCK" wrap job true
	with_log "$FAIRLOCK" status
	run with_log "$FAIRLOCK" doctor -u unix:/nowhere
	with_log "$FAIRLOCK" wrap job true
	heard_all 'got .*' 'true .*' 'gave .*'
}

# ---- A syslog that does not work ----

@test "wrap --syslog works without /dev/log, and --verbose says once that it is missing" {
	run -0 with_log "$FAIRLOCK" wrap --syslog job echo done
	assert_output done
	run -0 with_log "$FAIRLOCK" wrap --syslog -v job true
	assert_line --partial 'cannot tell syslog: /dev/log: No such file or directory'
	[ "$(grep -c 'cannot tell syslog' <<<"$output")" = 1 ]
}

@test "a syslog that hangs delays neither the grant, nor the renewals, nor the end of wrap" {
	background python3 "$TESTS_DIR/commands/receiver.py" log
	wait_until test -e log.full
	run timeout 1 python3 -c 'import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.connect("log"); s.send(b"x")'
	[ "$status" = 124 ] # a client that waits for this syslog waits for ever
	run -0 timeout -s KILL 60 "${inside[@]}" "$FAIRLOCK" wrap --syslog -l 1s -k 100ms job sh -c 'sleep 3; echo done'
	assert_output done
	run -75 with_log timeout -s KILL 60 "$FAIRLOCK" wrap --syslog --once-per 1h job true
}

@test "wrap --syslog tells that the server is away while its command runs, and that it is back" {
	listen
	"${inside[@]}" "$FAIRLOCK" wrap --syslog -l 9s -k 100ms job sh -c '
		kill -STOP "$1"; sleep 5; kill -CONT "$1"; sleep 1' sh "$SERVER_PID" 2>said
	heard_all 'got lock job .*' 'lock job: .* does not answer; sh is stopped at .* unless it does' \
		'lock job: .* answers again; sh goes on' 'sh under lock job ended .*' 'gave lock job back .*'
	grep -q 'does not answer' said
}

@test "COMMAND inherits no descriptor of syslog's socket" {
	listen
	count='ls /proc/self/fd | wc -l'
	run -0 with_log "$FAIRLOCK" wrap --syslog job sh -c "$count"
	assert_output "$(with_log sh -c "$count")"
}

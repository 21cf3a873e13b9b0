# --syslog: the messages that fairlock sends to /dev/log. Each test has a /dev of its own, whose log
# is the socket `log` in its folder, so that the machine's own syslog gets nothing.

load ../lib/one_server

setup() {
	begin
	inside=(unshare --user --map-root-user --mount)
	[ "$(id -u)" != 0 ] || inside=(unshare --mount)
	"${inside[@]}" true 2>/dev/null || skip 'this machine allows no namespaces'
	mkdir dev
	inside+=(sh -euc 'mount -t tmpfs none dev
		for node in null zero full random urandom tty; do : >"dev/$node"; mount --bind "/dev/$node" "dev/$node"; done
		ln -s /proc/self/fd dev/fd
		ln -s "$PWD/log" dev/log
		mount --bind dev /dev
		exec "$@"' sh)
}

# with_log COMMAND...: runs it with that /dev; in the background: "${inside[@]}" COMMAND...
with_log() { "${inside[@]}" "$@" 3>&- 4>&-; }

# listen [HUNG]: receives messages, and writes each into `heard` as it comes; or receives none, and makes `full` when no more fit in
listen() {
	background python3 -c '
import os, socket, sys, time
receiver, sender = (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in "12")
receiver.bind("log")
with open("heard", "ab", buffering=0) as out:
    while len(sys.argv) < 2:
        out.write(receiver.recv(65536) + b"\n")
sender.connect("log")
sender.setblocking(False)
try:
    while True:
        sender.send(b"x")
except BlockingIOError:
    open("full", "w").close()
time.sleep(600)' "$@"
	wait_until test -S log
}

# heard PATTERN...: waits for so many messages; they must match the patterns in this order
heard() {
	local n=0 line

	wait_until lines_in heard $#
	mapfile -t lines < <(sed -E 's/^<[0-9]+>.{15} fairlock\[[0-9]+\]: //' heard)
	assert_equal "${#lines[@]}" $#
	for line; do
		[[ ${lines[n]} =~ ^$line$ ]] || fail "line $n is '${lines[n]}', not '$line'"
		n=$((n + 1))
	done
}

# priorities: prints those of the messages: facility user with 11 for an error, 13 for a notice, 14 for what just happens
priorities() { sed 's/^<\([0-9]*\)>.*/\1/' heard | paste -sd ' '; }

# ---- The messages ----

@test "wrap --syslog sends datagrams like those of syslog(3), without arguments of COMMAND: priority, local time, process id, text" {
	listen
	before=$(LC_ALL=C date '+%b %e %H:%M')
	with_log env LC_ALL=de_DE.UTF-8 sh -c 'echo $$ >pid; exec "$FAIRLOCK" wrap --syslog job sh -c ": SECRET"' 2>said
	after=$(LC_ALL=C date '+%b %e %H:%M')
	heard 'got lock job after .*' 'sh under lock job ended with .*' 'gave lock job back .*'
	run cat heard
	for line in "${lines[@]}"; do
		assert_regex "$line" "^<14>($before|$after):[0-9]{2} fairlock\[$(<pid)\]: [^ ]"
	done
	[ ! -s said ]
}

@test "wrap --syslog tells COMMAND's status or signal, as a notice if the status is not 0, and no password" {
	listen
	run -3 with_log env FAIRLOCK_PASSWORD=SECRET "$FAIRLOCK" wrap --syslog job sh -c 'exit 3'
	run -137 with_log "$FAIRLOCK" wrap --syslog job sh -c 'kill -KILL $$'
	run -69 with_log "$FAIRLOCK" wrap --syslog --connect-timeout 100ms -u redis://user:SECRET@127.0.0.1:1 job true
	heard 'got .*' 'sh under lock job ended with status 3 after .*' 'gave .*' \
		'got .*' 'sh under lock job was killed by signal KILL after .*' 'gave .*' 'cannot reach redis://user:@127.0.0.1:1: .*'
	assert_equal "$(priorities)" '14 13 14 14 13 14 11'
	run -1 grep SECRET heard
}

@test "--syslog tells as a notice why the lock was not obtained, even with --quiet and -E" {
	hold job
	listen
	run -0 with_log "$FAIRLOCK" wrap --syslog -nqE 0 job true
	refute_output
	run -75 with_log "$FAIRLOCK" acquire --syslog -w 50ms job
	heard 'cannot get lock job: held by sleep 600 .*' 'cannot get lock job: timed out after .*'
	assert_equal "$(priorities)" '13 13'
}

@test "wrap --syslog tells a lost lock as an error when it stops COMMAND" {
	listen
	background "${inside[@]}" "$FAIRLOCK" wrap --syslog job sleep 600 2>said
	wait_until "$FAIRLOCK" status -q job
	"$FAIRLOCK" release -q --force job
	heard 'got .*' 'lost lock job: somebody broke it by force; stopping sleep' 'sleep under lock job was killed by signal TERM after .*'
	assert_equal "$(priorities)" '14 11 13'
	wait_until grep -qx 'fairlock: lost lock job: somebody broke it by force; stopping sleep' said
}

@test "wrap --syslog tells that the server is away while its command runs, and that it is back" {
	listen
	with_log "$FAIRLOCK" wrap --syslog -l 9s -k 100ms job sh -c '
		kill -STOP "$1"; sleep 5; kill -CONT "$1"; sleep 1' sh "$SERVER_PID" 2>said
	heard 'got lock job .*' 'lock job: .* does not answer; sh is stopped at .* unless it does' \
		'lock job: .* answers again; sh goes on' 'sh under lock job ended .*' 'gave lock job back .*'
	grep -q 'does not answer' said
}

@test "syslog gets nothing without --syslog, nor from commands that take no lock, and COMMAND inherits no socket" {
	listen
	export FAIRLOCK_SYSLOG=1
	FAIRLOCK_SYSLOG=0 with_log "$FAIRLOCK" wrap job true
	with_log "$FAIRLOCK" status
	run with_log "$FAIRLOCK" doctor -u unix:/nowhere
	run -0 with_log "$FAIRLOCK" wrap job sh -c 'ls /proc/self/fd | wc -l'
	assert_output "$(with_log sh -c 'ls /proc/self/fd | wc -l')"
	heard 'got .*' 'sh .*' 'gave .*'
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
	listen hung
	wait_until test -e full
	run -124 timeout 1 python3 -c 'import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.connect("log"); s.send(b"x")' # who waits for it waits for ever
	run -0 timeout -s KILL 60 "${inside[@]}" "$FAIRLOCK" wrap --syslog -l 1s -k 100ms job sh -c 'sleep 3; echo done'
	assert_output done
	run -75 with_log timeout -s KILL 60 "$FAIRLOCK" wrap --syslog --once-per 1h job true
}

# The private server of a user (`local:`): starting, finding and losing it.
load ../lib/helpers

setup() {
	local_program=$BUILD/programs/local
	new_home
	cd "$BATS_TEST_TMPDIR" || return
}

folder() { echo "$HOME_DIR"/.local/state/fairlock/*; }

local_cli() { at_home sh -c 'cd "$1" && shift && exec "$@"' sh "$(folder)" "$CLI" -s socket "$@"; }

@test "the server's folder and those above it belong to the user alone, whatever the umask" {
	for mask in 000 077 777; do
		rm -rf "$HOME_DIR/.local"
		run -0 at_home sh -c "umask $mask; exec $local_program open"
		assert_equal "$output" "$(folder)"
		assert_equal "$(stat -c %a "$HOME_DIR/.local" "$HOME_DIR/.local/state" \
			"$HOME_DIR/.local/state/fairlock" "$(folder)" | sort -u)" 700
	done
	assert_equal "$(basename "$(folder)")" "$(cat /etc/machine-id || cat /var/lib/dbus/machine-id || uname -n)"
}

@test "twenty first users at once start one server, and later ones find it" {
	at_home sh -c 'for i in $(seq 20); do "$0" start & done; wait' "$local_program" >pids
	at_home "$local_program" start >>pids
	at_home "$local_program" pid >>pids
	assert_equal "$(wc -l <pids)" 22
	assert_equal "$(sort -u pids | wc -l)" 1
	[ "$(head -n 1 pids)" -gt 0 ]
	assert_equal "$(at_home pgrep -xc 'redis-server|valkey-server')" 1
}

@test "the server is detached from the process that started it" {
	# Descriptor 9 is open here; the caller's limits, signals, mask and folder are odd.
	pid=$(at_home sh -c 'cd /tmp; exec 9>/dev/null; trap "" QUIT USR2 CHLD; ulimit -S -n 64
		ulimit -S -f 100; SECRET=1 exec setsid "$0" start-ignoring-child' "$local_program")
	# The server blocks signals while it makes a thread.
	wait_until at_home sh -c 'grep -q "^SigBlk:[[:blank:]]*0*$" "/proc/$1/status"' sh "$pid"
	look='readlink /proc/$1/fd/*; echo; cat /proc/$1/status; cat /proc/$1/stat; cat /proc/$1/limits'
	state=$(at_home sh -c "$look" sh "$pid")

	[ "$(grep -c '^/dev/null$' <<<"$state")" = 1 ]
	[ "$(grep -c '/server.log$' <<<"$state")" = 2 ]
	[ "$(grep -c '/lock$' <<<"$state")" = 1 ]
	refute grep -q home.log <<<"$state"
	grep -q '^PPid:[[:blank:]]*[01]$' <<<"$state"
	# The server decides which signals it ignores; QUIT, USR2 and CHLD are not among them.
	ignored=$(sed -n 's/^SigIgn:[[:blank:]]*//p' <<<"$state")
	assert_equal "$((0x$ignored & (1 << 2 | 1 << 11 | 1 << 16)))" 0
	grep -Eq '^Max file size +unlimited' <<<"$state"
	hard=$(at_home sh -c 'ulimit -H -n')
	grep -Eq "^Max open files +$hard " <<<"$state"
	[ "$(at_home ps -o sid= -p "$pid")" -ne "$(at_home ps -o sid= -p 1)" ]
	assert_equal "$(at_home ps -o tty= -p "$pid" | tr -d ' ')" '?'
	refute at_home grep -q SECRET "/proc/$pid/environ"
}

# scheduling PID: prints processors, nice value, I/O class, policy and OOM score of a process in the new home
scheduling() {
	at_home sh -c 'grep Cpus_allowed: /proc/$1/status; ps -o ni= -o cls= -p "$1"; ionice -p "$1"; cat /proc/$1/oom_score_adj' sh "$1" | tr -s ' '
}

@test "the server has neither the processors nor the priorities of its first caller" {
	[ "$(id -u)" = 0 ] || skip 'only root may undo all of that'
	at_home taskset -c 0 ionice -c 3 nice -n 7 chrt -i 0 \
		sh -c 'echo 500 >/proc/self/oom_score_adj; exec "$FAIRLOCK" wrap -u local: first true'
	assert_equal "$(scheduling "$(at_home "$local_program" pid)")" "$(scheduling 1 | sed '2s/.*/ 0 TS/; 4s/.*/0/')"
}

@test "a job that finds all connections of the private server in use learns whose limit that is, and doctor what to do" {
	[ "$(id -u)" = 0 ] || skip 'only root can take rights away from itself'
	# the first caller has not the right to raise its limit
	at_home setpriv --bounding-set=-sys_resource sh -c 'ulimit -n 40; exec "$FAIRLOCK" wrap -u local: first true'
	run at_home "$FAIRLOCK" doctor -u local: --json
	assert_failure 1
	assert_equal "$(jq -r '.findings[] | select(.check == "connections") | .severity, .remedy' <<<"$output" | paste -sd ' ')" \
		'warning end it, as shown above; the next fairlock starts it again, with the limit of open files (ulimit -n) that it has itself'
	wait_until all_in_use
	run -69 at_home "$FAIRLOCK" wrap -u local: --connect-timeout 1s job true
	assert_output 'fairlock: cannot use the private server: it has too many clients already (its ulimit -n is its first caller'"'"'s: see fairlock doctor)'
}

# all_in_use: one more job takes a place; then succeeds if there is none
all_in_use() {
	at_home "$FAIRLOCK" wrap -u local: "$RANDOM" sleep 600 3>&- 4>&- &
	at_home "$FAIRLOCK" status -u local: --connect-timeout 1s x 2>&1 | grep -q 'too many clients'
}

@test "a folder that another host has locked: the message says who may hold it" {
	at_home "$local_program" open
	echo 4000000 >"$(folder)/lock"
	background flock "$(folder)/lock" sleep 600
	run -69 at_home "$FAIRLOCK" wrap -u local: --connect-timeout 300ms job true
	assert_output 'fairlock: cannot start a private server: process 4000000, perhaps of another host with this home and machine-id, has locked its folder; set FAIRLOCK_URL'
	[ "${#output}" -lt 160 ]
	run -69 at_home "$FAIRLOCK" doctor -u local: --connect-timeout 300ms
	assert_output --partial '-> give each host a machine-id of its own'
}

# Until the server is gone it may still accept connections, and `start` finds it.
kill_server() {
	at_home kill -9 "$1"
	wait_until server_is_gone
}

server_is_gone() { [ "$(at_home "$local_program" pid)" = 0 ]; }

@test "the server starts from an empty environment and from closed descriptors" {
	pid=$(at_home env -i "$local_program" start)
	[ "$pid" -gt 0 ]
	kill_server "$pid"
	at_home sh -c '"$0" start <&- >&- 2>&-' "$local_program"
	again=$(at_home "$local_program" pid)
	[ "$again" -gt 0 ]
	[ "$again" -ne "$pid" ]
	assert_equal "$(local_cli PING)" PONG
}

@test "the server's home is that of the password database, whatever the environment says" {
	run -0 at_home env HOME=/tmp XDG_STATE_HOME=/tmp XDG_RUNTIME_DIR=/tmp TMPDIR=/tmp "$local_program" open
	assert_equal "$output" "$(folder)"
}

@test "the server works in a path with odd characters that is longer than the 108 bytes of a socket" {
	long=$BATS_TEST_TMPDIR/$(printf 'x%.0s' {1..200})
	mkdir -p "$long/a \"b' \\ % # é"$'\xff'
	rm "$BATS_TEST_TMPDIR/home.ready"
	new_home "$long/a \"b' \\ % # é"$'\xff'
	pid=$(at_home "$local_program" start)
	[ "$pid" -gt 0 ]
	assert_equal "$(local_cli SET a b)" OK
	assert_equal "$(local_cli CONFIG GET appendfsync | tail -n 1)" no
}

@test "the server's data survives its death" {
	first=$(at_home "$local_program" start)
	for i in $(seq 100); do echo "SET key$i $i"; done | local_cli >/dev/null
	kill_server "$first"
	second=$(at_home "$local_program" start)
	[ "$first" -ne "$second" ]
	wait_until eval '[ "$(local_cli DBSIZE)" = 100 ]'
}

@test "the message of a server that cannot live is passed on, and it is not started as fast as clients ask" {
	at_home "$local_program" open
	mkdir "$BATS_TEST_TMPDIR/bin"
	printf '#!/bin/sh\necho run >>"%s/runs"\necho "1:M 01 Jan 2026 00:00:00.000 # Bad day"\nexit 1\n' \
		"$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/bin/redis-server"
	chmod +x "$BATS_TEST_TMPDIR/bin/redis-server"
	run -69 at_home env PATH="$BATS_TEST_TMPDIR/bin:$PATH" "$local_program" start
	assert_output --partial '69: cannot start a private server: Bad day'
	[ "$(wc -l <"$BATS_TEST_TMPDIR/runs")" -le 18 ]
}

# hide_servers PROGRAM...: in the new home these programs are not installed
hide_servers() {
	local folder name server

	for folder in ${PATH//:/ } /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin /opt/redis/bin \
		/opt/valkey/bin /opt/redis-stack/bin; do
		for name; do
			if [ -e "$folder/$name" ]; then
				readlink -f "$folder/$name"
			fi
		done
	done | sort -u >"$BATS_TEST_TMPDIR/servers"
	while read -r server; do
		at_home mount --bind /dev/null "$server"
	done <"$BATS_TEST_TMPDIR/servers"
}

@test "without a server installed the message names the package" {
	mkdir "$BATS_TEST_TMPDIR/empty"
	hide_servers redis-server valkey-server
	run -69 at_home "$local_program" start
	assert_output --partial 'cannot start a private server: neither redis-server nor valkey-server is installed; install one, or set FAIRLOCK_URL'
	assert_output --partial FAIRLOCK_URL
	run -69 at_home timeout 20 "$FAIRLOCK" wrap --connect-timeout 10m job true
	run -69 at_home "$FAIRLOCK" doctor
	assert_equal "$(grep -c '^  error ' <<<"$output")" 1
	assert_output --regexp '-> install the package redis-server or'
}

@test "a folder of another mode or owner, a link or a file is refused" {
	at_home "$local_program" open
	path=$(folder)

	chmod 755 "$path"
	run -78 at_home "$local_program" open
	assert_output --partial 'its folder has mode 755, not 700; mend that, or set FAIRLOCK_URL'

	rmdir "$path"
	mkdir -m 700 "$BATS_TEST_TMPDIR/elsewhere"
	ln -s "$BATS_TEST_TMPDIR/elsewhere" "$path"
	run -78 at_home "$local_program" open
	assert_output --partial 'a file or link is there instead of a folder; mend that, or set FAIRLOCK_URL'

	rm "$path"
	: >"$path"
	run -78 at_home "$local_program" open

	rm "$path"
	if [ "$(id -u)" = 0 ]; then
		mkdir -m 700 "$path"
		chown 65534 "$path"
		run -78 at_home "$local_program" open
		assert_output --partial 'belongs to another user'
	fi
}

@test "a home that is empty, relative, missing or unusable is refused with a message that names FAIRLOCK_URL" {
	for home in '' relative /nonexistent /proc; do
		rm "$BATS_TEST_TMPDIR/home.ready"
		new_home "$home"
		run -78 at_home "$local_program" open
		assert_output --partial FAIRLOCK_URL
	done
}

@test "the private server is Valkey where there is no Redis" {
	use_server valkey
	hide_servers redis-server
	pid=$(at_home env PATH="${SERVER%/*}:$PATH" "$local_program" start)
	[ "$pid" -gt 0 ]
	assert_equal "$(at_home cat "/proc/$pid/comm")" valkey-server
	assert_equal "$(at_home "$local_program" pid)" "$pid"
	assert_equal "$(at_home "$local_program" is-server "$pid")" yes
	local_cli INFO server | grep -q '^valkey_version:'
}

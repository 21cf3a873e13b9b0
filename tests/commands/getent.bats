#!/usr/bin/env bats
# Users and hosts that the C library does not know: fairlock asks getent(1). Most tests put another getent first in PATH.

load ../lib/helpers
load ../lib/network

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	unset FAIRLOCK_URL
	unshare -rm true 2>/dev/null || skip 'this machine allows no namespaces'
	getent passwd 4242 && skip 'somebody is user 4242'
	new_names
	printf '%s\n' 'nameserver 127.0.0.1' 'options timeout:0 attempts:1' >resolv.conf
	mkdir -m 700 bin home
	PATH=$PWD/bin:$PATH
}

# getent_does LINE...: a getent that is this shell script, and notes its process id (first), and when it began (behind 20 others)
getent_does() {
	printf '%s\n' '#!/bin/sh' "read -r stat </proc/\$\$/stat; echo \"\$stat\" >>'$PWD/pids'" "$@" >bin/getent
	chmod +x bin/getent
}

# hide FILE COMMAND...: runs COMMAND where this program cannot be executed
hide() {
	# shellcheck disable=SC2016
	unshare -rm sh -c 'mount --bind /dev/null "$1" && shift && exec "$@"' sh "$@"
}

# stranger COMMAND...: runs it as user 4242; what it leaves behind ends with it
stranger() {
	unshare --user --map-user 4242 --map-group 4242 --pid --fork --kill-child --mount-proc \
		env -u LOGNAME -u USER "$@" 3>&- 4>&-
}

# homeless COMMAND...: that user's private server has no place
homeless() {
	run -78 "$@" timeout 30 "$FAIRLOCK" wrap -u local: job true
	assert_output --partial 'user 4242 has no home directory; name a server with FAIRLOCK_URL'
}

# lost COMMAND...: no look-up finds lock.invalid
lost() {
	run -69 "$@" "$NAMED" timeout 30 "$FAIRLOCK" wrap -u "redis://lock.invalid:${PORT-1}" job true
	assert_output --regexp '^fairlock: cannot reach redis://lock.invalid:[0-9]*: (Name .*|.* name resolution)$'
}

# serve: a server on PORT, beside its unix socket
serve() {
	PORT=$(free_port)
	start_server --port "$PORT" --bind 127.0.0.1
}

all_ended() {
	local noted stat

	while read -ra noted; do
		ended "${noted[0]}" && continue
		read -ra stat <"/proc/${noted[0]}/stat" || continue
		[ "${stat[21]}" != "${noted[21]}" ] || return 1 # else another process has its number by now
	done <pids
}

# Each of these prints nothing of use, some of them for ever.
useless=(
	'exit 2'
	'echo rubbish'
	"printf 'lock STREAM\n:\n\n:::::::\nSTREAM\n127.0.0.1\n'"
	"printf 'somebody:x:4242:4242::/home'"
	'echo somebody:x:4242'
	'echo somebody:x:4243:4242::/:/bin/sh; echo 127.0.0.1 DGRAM lock.invalid'
	'echo somebody:x:4242:4242::home:/bin/sh'
	"printf '127.0.0.1 STREAM'"
	'exec yes rubbish'
	'exec head -c 20000000 /dev/urandom'
	'exec cat /dev/zero'
)

@test "local: is in the home folder that getent knows" {
	getent_does "[ \"\$*\" = 'passwd 4242' ] && echo 'somebody:x:4242:4242:Some Body,,,:$PWD/home:'"
	run -7 stranger env -i PATH="$PATH" HOME=/ "$FAIRLOCK" wrap -u local: job sh -c 'exit 7'
	refute_output
	run -0 find home -type s
	assert_output --regexp "^home/.local/state/fairlock/[^/]*/socket\$"
	assert_equal "$(wc -l <pids)" 1
}

@test "fairlock finds the user's file in the home folder that getent knows, unless HOME is set" {
	mkdir home/.config other
	echo "url = unix:$PWD/none" >home/.config/fairlock.conf
	getent_does "echo 'somebody:x:4242:4242::$PWD/home:/bin/sh'"
	run -69 stranger env -u HOME "$FAIRLOCK" status x
	assert_output --partial "unix:$PWD/none"
	rm pids
	run -69 stranger env HOME="$PWD/other" "$FAIRLOCK" status -u "unix:$PWD/flag" x
	[ ! -e pids ]
}

@test "the real getent knows users and hosts that the C library of a static program does not know" {
	local user='somebody:x:4242:4242::' # and no shell

	cp /etc/passwd .
	echo "$user$PWD/home" >>passwd
	# shellcheck disable=SC2016
	run -0 unshare -rm sh -c 'mount --bind passwd /etc/passwd && exec "$@"' sh \
		unshare --user --map-user 4242 --pid --fork --kill-child --mount-proc \
		"$FAIRLOCK" wrap -u local: job echo "It is done"
	assert_output "It is done"
	serve
	echo '127.0.0.1 lock.invalid' >hosts
	run -7 "$NAMED" "$FAIRLOCK" wrap -u "redis://Lock.Invalid:$PORT" job sh -c 'exit 7'
	refute_output
}

@test "a host that only getent knows is reached, at any of its addresses" {
	serve
	getent_does "[ \"\$*\" = 'ahosts lock.invalid' ] || exit 2" 'echo "::1  STREAM lock.invalid"' \
		'echo "::1  DGRAM"' 'echo "127.0.0.1  STREAM"' 'echo "127.0.0.1  RAW"'
	run -7 "$NAMED" "$FAIRLOCK" wrap -u "redis://lock.invalid:$PORT" job sh -c 'exit 7'
	refute_output
	run -7 "$NAMED" env --ignore-signal=CHLD "$FAIRLOCK" wrap -u "redis://lock.invalid:$PORT" job sh -c 'exit 7'
	refute_output
}

@test "a holder whose connection breaks asks getent again, and COMMAND goes on" {
	serve
	getent_does 'echo "127.0.0.1 STREAM lock.invalid"'
	background "$NAMED" "$FAIRLOCK" wrap -u "redis://lock.invalid:$PORT" -l 3s job \
		sh -c 'until [ -e end ]; do sleep 0.1; done; exit 7'
	wait_until "$FAIRLOCK" status -q job
	rm pids
	cli CLIENT KILL TYPE pubsub
	wait_until lines_in pids 1
	sleep 3.5 # without a connection the lease would be over
	touch end
	ends_with 7 $!
}

@test "getent inherits neither variables nor descriptors" {
	getent_does "env >'$PWD/env'" "ls -l /proc/self/fd >'$PWD/descriptors'" 'exit 2'
	SECRET=sesame homeless stranger 9<hosts
	run -0 grep -v -e '^PWD=' -e '^OLDPWD=' -e '^SHLVL=' -e '^_=' env
	assert_output --regexp '^PATH=[^[:space:]]*$'
	run -0 grep -c '/' descriptors
	refute grep hosts descriptors
	grep ' 0 -> /dev/null' descriptors
}

@test "a user whom getent does not know, or without a getent, has no private server" {
	local line

	homeless hide /usr/bin/getent unshare --user --map-user 4242
	for line in "${useless[@]}"; do
		getent_does "$line"
		homeless stranger
	done
}

@test "a host that getent does not know, or without a getent, is told in the words of the resolver" {
	local line

	lost hide /usr/bin/getent
	for line in "${useless[@]}"; do
		getent_does "$line"
		lost
	done
	wait_until all_ended
}

@test "what getent prints without end is cut, and its first lines count" {
	serve
	getent_does 'echo "127.0.0.1 STREAM lock.invalid"; exec yes 127.0.0.1 DGRAM'
	run -0 "$NAMED" "$FAIRLOCK" wrap -u "redis://lock.invalid:$PORT" job true
	wait_until all_ended
	getent_does "echo 'somebody:x:4242:4242::$PWD/home:/bin/sh'; exec yes rubbish"
	run -0 stranger "$FAIRLOCK" wrap -u local: job true
}

@test "a getent that hangs costs some seconds, and is gone then" {
	local began

	getent_does "sleep 600 & read -r stat </proc/\$!/stat; echo \"\$stat\" >>'$PWD/pids'; wait"
	began=$(ms)
	# shellcheck disable=SC2016
	run -0 stranger sh -c '"$0" wrap -u local: job true; echo "$?"; timeout 5 sh -c "while pgrep -x \"slee[p]|getent\"; do :; done"' "$FAIRLOCK"
	assert_line --index 0 --partial 'user 4242 has no home directory'
	assert_line --index 1 78
	[ $(($(ms) - began)) -lt 15000 ]
}

@test "a getent that hangs is bounded by the connect timeout, and is gone then" {
	local began

	getent_does 'exec sleep 600'
	began=$(ms)
	run -69 "$NAMED" "$FAIRLOCK" wrap --connect-timeout 1s -u redis://lock.invalid:1 job true
	assert_output 'fairlock: cannot reach redis://lock.invalid:1: its name was not found in time'
	[ $(($(ms) - began)) -lt 10000 ]
	wait_until all_ended
}

@test "getent dies with a fairlock that is killed" {
	local job

	getent_does 'exec sleep 600'
	background "$NAMED" "$FAIRLOCK" wrap --connect-timeout 1m -u redis://lock.invalid:1 job true
	job=$!
	wait_until lines_in pids 1
	kill -9 "$job"
	wait_until all_ended
}

@test "a waiter whose server is away leaves no getent behind while it tries again" {
	local waiter

	serve
	getent_does 'echo "127.0.0.1 STREAM lock.invalid"'
	hold job
	background "$NAMED" "$FAIRLOCK" wrap --connect-timeout 1s -u "redis://lock.invalid:$PORT" job true
	waiter=$!
	wait_until in_queue job 1
	getent_does "sleep 600 & read -r stat </proc/\$!/stat; echo \"\$stat\" >>'$PWD/pids'; wait"
	rm pids
	cli CLIENT KILL TYPE pubsub
	cli CLIENT KILL TYPE normal
	wait_until lines_in pids 4 # two that hung
	getent_does 'echo "127.0.0.1 STREAM lock.invalid"'
	kill "$HOLDER"
	ends_with 0 "$waiter"
	wait_until all_ended
}

# shown_as USER VARIABLE=VALUE...: a job of user 4242 is shown with USER
shown_as() {
	run -0 stranger env FAIRLOCK_URL="$FAIRLOCK_URL" "${@:2}" "$FAIRLOCK" wrap job \
		"$FAIRLOCK" status --raw --noheadings -o USER job
	assert_output "$1"
}

@test "the user of a process that no database knows is LOGNAME, else USER, else the number" {
	start_server
	shown_as ann LOGNAME=ann USER=bob
	shown_as bob USER=bob
	shown_as 4242 LOGNAME= USER=
	shown_as 'a?b?[' LOGNAME=$'a\tb\x1b['
}

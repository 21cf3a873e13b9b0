# fairlock wrap: how it waits, how it starts COMMAND, what COMMAND gets, and how both end.
load ../lib/helpers
load ../lib/one_server

@test "wrap holds the lock while COMMAND runs, and frees it afterwards" {
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap job -- sh -c '"$FAIRLOCK" status -q job && echo held'
	assert_output held
	run -1 "$FAIRLOCK" status -q job
	nothing_left
}

@test "wrap renews the lease long before it would have to stop COMMAND" {
	run -0 "$FAIRLOCK" wrap -l 6s job sleep 6
	refute_output
}

@test "wrap ends with COMMAND's exit status, up to 255" {
	run -3 "$FAIRLOCK" wrap job sh -c 'exit 3'
	run -255 "$FAIRLOCK" wrap job sh -c 'exit 255'
	run -75 "$FAIRLOCK" wrap job sh -c 'exit 75'
	refute_output
}

@test "wrap ends with 127 and gives the lock back if COMMAND is not found" {
	run -127 "$FAIRLOCK" wrap job no-such-command
	assert_output 'fairlock: cannot execute no-such-command: No such file or directory'
	nothing_left
	run -1 "$FAIRLOCK" status -q job
}

@test "wrap runs a COMMAND without a first line #! with sh, and leaves its words untouched" {
	# shellcheck disable=SC2016
	echo 'printf "<%s>\n" "$@"; exit 4' >script
	chmod +x script
	run -4 "$FAIRLOCK" wrap job ./script 'a  b' '' '*'
	assert_output "$(printf '<%s>\n' 'a  b' '' '*')"
	PATH=$PWD:$PATH run -4 "$FAIRLOCK" wrap job script
	assert_output '<>'
}

@test "wrap ends with 126 and gives the lock back if it may not execute COMMAND" {
	touch plain
	run -126 "$FAIRLOCK" wrap job ./plain
	assert_output 'fairlock: cannot execute ./plain: Permission denied'
	run -1 "$FAIRLOCK" status -q job
}

# executable FILE: writes the standard input into it
executable() {
	cat >"$1"
	chmod +x "$1"
}

# cannot_execute STATUS CAUSE WORD...: wrap does not start `WORD...`, gives the lock back, and says so in one line
cannot_execute() {
	run "-$1" "$FAIRLOCK" wrap job "${@:3}"
	assert_output "fairlock: cannot execute ${3:-''}: $2"
	[ "${#output}" -lt 160 ]
	is_free job
}

@test "wrap names the interpreter of a script that does not exist" {
	local interpreter

	executable crlf <<<$'#!/bin/sh\r\necho a\r'
	executable missing <<<'#! /no/such -x'
	executable data <<<'#!/etc/passwd'
	executable harmful <<<$'#!/a\e[2J\xff'
	cannot_execute 127 "its interpreter '/bin/sh\\r' does not exist; its lines end with CR LF" ./crlf
	PATH=/none:$PWD:$PATH cannot_execute 127 "its interpreter '/bin/sh\\r' does not exist; its lines end with CR LF" crlf
	cannot_execute 127 "its interpreter '/no/such' does not exist" ./missing
	cannot_execute 126 "its interpreter '/etc/passwd' cannot be executed" ./data
	cannot_execute 127 "its interpreter '/a?[2J?' does not exist" ./harmful
	interpreter=/$(printf 'i%.0s' {1..200})
	executable long <<<"#!$interpreter"$'\r'
	run -127 "$FAIRLOCK" wrap job "$PWD/$(printf './%.0s' {1..50})long"
	assert_output --regexp "cannot execute .{37}\.\.\.: its interpreter '/i+\.\.\.i+\\\\r' does not .*\.\.\.$"
	[ "${#output}" -lt 160 ]
}

@test "wrap proposes -c if COMMAND is for a shell" {
	local word cause="there is no such program; for a shell command, use"

	for word in 'echo a; ls' 'echo /; ls' 'ls -l' 'ls>out' 'ls|wc' "\$HOME" A_1=b '{' '!' set export eval; do
		cannot_execute 127 "$cause -c '...'" "$word"
	done
	cannot_execute 127 "$cause -c '...'" A=b ls
	cannot_execute 126 "$cause -c '...'" . ./file
	cannot_execute 127 "$cause -c '...'" source ./file
	cannot_execute 127 "$cause -c '...'" '[[' a = a ']]'
	run -126 "$FAIRLOCK" wrap job "echo $(printf '%0300d' 0)"
	assert_output --regexp "^fairlock: cannot execute echo 0{32}\.\.\.: $cause -c '\.\.\.'$"
}

@test "wrap ends with 71 or 69, says why and leaves the lock free if it may open too few descriptors" {
	local limit told=

	for limit in {4..40}; do
		# shellcheck disable=SC2016
		ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 run \
			sh -c 'ulimit -n "$1"; exec "$FAIRLOCK" wrap job true' - "$limit" 3>&- 4>&-
		[ "$status" -ne 0 ] || break
		[ "$status" -ne 127 ] || continue # too few to load the program
		[ "$status" -eq 71 ] || [ "$status" -eq 69 ]
		[[ $output =~ No\ file\ descriptors\ available|Too\ many\ open\ files ]]
		told+=$output
		run -1 "$FAIRLOCK" status -q job
	done
	assert_success
	[[ $told = *'cannot make a process to run true in'* ]]
}

@test "the wrapper dies of the signal that killed COMMAND, without a core" {
	ulimit -c unlimited
	# shellcheck disable=SC2016
	run -0 sh -c '"$FAIRLOCK" wrap job sh -c "ulimit -c 0; kill -SEGV \$\$"; echo $?'
	assert_line 139
	# a parent can tell death by a signal from an exit status
	run -0 python3 -c 'import os, subprocess, sys
print(subprocess.run([os.environ["FAIRLOCK"], "wrap", "job", "sh", "-c", "kill -TERM $$"]).returncode)'
	assert_output -- -15
	run -0 find . -name 'core*'
	refute_output
}

@test "wrap passes arguments to COMMAND byte for byte" {
	local odd=$'a b\t\'"$x`\\ \n50%done \xff*'

	"$FAIRLOCK" wrap job -- printf '%s\0' "$odd" '' -x --wait -- '*' >got
	printf '%s\0' "$odd" '' -x --wait -- '*' >want
	cmp got want
}

@test "wrap reads options before and behind NAME, and the words behind COMMAND are COMMAND's" {
	local words output_of

	while IFS='|' read -r words output_of; do
		# shellcheck disable=SC2086
		run -0 "$FAIRLOCK" wrap $words
		assert_output "$output_of"
	done <<-'END'
		N echo a|a
		N -- echo a|a
		-n N echo a -n|a -n
		N -qw5 echo a --lease 3 -- x|a --lease 3 -- x
		N -n -- echo -- x|-- x
		-- N echo a|a
		-- -N echo -- a|-- a
		-- N -- echo a|a
		-c echo N|
		N -cecho --|
	END
}

@test "COMMAND has the standard input, output and error of wrap" {
	printf 'in put\n' | "$FAIRLOCK" wrap job sh -c 'cat; echo err >&2' >out 2>err
	[ "$(cat out)" = 'in put' ]
	[ "$(cat err)" = err ]
}

@test "COMMAND inherits no descriptor that fairlock has opened" {
	"$FAIRLOCK" wrap job ls -l /proc/self/fd </dev/null >got 2>&1 3>&- 4>&-
	ls -l /proc/self/fd </dev/null >want 2>&1 3>&- 4>&-
	[ "$(wc -l <got)" = "$(wc -l <want)" ] || { cat got; false; }
}

@test "wrap passes its signal mask and dispositions to COMMAND unchanged" {
	python3 - >want <<'END'
import os, signal, subprocess, sys
def odd():
    signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGUSR2})
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
show = ["grep", "-E", "^Sig(Blk|Ign|Cgt):", "/proc/self/status"]
want = subprocess.run(show, stdout=subprocess.PIPE, preexec_fn=odd).stdout
got = subprocess.run([os.environ["FAIRLOCK"], "wrap", "job"] + show, stdout=subprocess.PIPE, preexec_fn=odd)
print(want == got.stdout, got.returncode, want, got.stdout)
END
	run -0 cat want
	assert_output --regexp '^True 0 '
}

@test "COMMAND finds name, owner, token and enclosing holds in variables" {
	# shellcheck disable=SC2016
	"$FAIRLOCK" wrap job sh -c 'echo "$FAIRLOCK_NAME"; echo "$FAIRLOCK_OWNER"; echo "$FAIRLOCK_TOKEN"
		echo "$FAIRLOCK_HELD"; "$FAIRLOCK" status --json job' >got
	[ "$(sed -n 1p got)" = job ]
	[ "$(sed -n 2p got)" = "$(sed -n '5,$p' got | jq -r '.locks[0].owner')" ]
	[ "$(sed -n 3p got)" = "$(sed -n '5,$p' got | jq -r '.locks[0].token')" ]
	[ "$(sed -n 4p got)" = "$(sed -n 2p got)" ]
}

@test "wrap --url passes the URL to inner calls, without a password" {
	local url=$FAIRLOCK_URL

	cli CONFIG SET requirepass secret >/dev/null
	unset FAIRLOCK_URL
	# shellcheck disable=SC2016
	FAIRLOCK_PASSWORD=secret run -0 "$FAIRLOCK" wrap -u "$url" --password-file <(echo secret) job sh -c 'echo "$FAIRLOCK_URL"; "$FAIRLOCK" wrap job echo inner'
	cli -a secret --no-auth-warning CONFIG SET requirepass '' >/dev/null
	assert_line "$url"
	assert_line inner
}

@test "a wrap inside a wrap of the same lock enters at once, with the same token" {
	# shellcheck disable=SC2016
	run -0 timeout 60 "$FAIRLOCK" wrap job sh -c 'echo "$FAIRLOCK_TOKEN"
		"$FAIRLOCK" wrap job sh -c '\''echo "$FAIRLOCK_TOKEN"; "$FAIRLOCK" status --json job | jq ".locks[0].holds"'\''
		"$FAIRLOCK" status --json job | jq ".locks[0].holds"'
	[ "${lines[0]}" = "${lines[1]}" ]
	[ "${lines[2]}" = 2 ]
	[ "${lines[3]}" = 1 ]
	nothing_left
}

@test "a wrap of A inside one of B inside one of A enters at once, and each COMMAND sees its innermost lock" {
	# shellcheck disable=SC2016
	run -0 timeout 60 "$FAIRLOCK" wrap A sh -c '"$FAIRLOCK" wrap B sh -c '\''echo "$FAIRLOCK_NAME"
		"$FAIRLOCK" wrap A sh -c "echo \$FAIRLOCK_NAME; set -- \$FAIRLOCK_HELD; echo \$#"'\'''
	assert_output $'B\nA\n2'
	nothing_left
}

@test "two jobs side by side inside one wrap exclude each other on another lock" {
	# shellcheck disable=SC2016
	cat >step <<'END'
echo in >>trace; sleep 0.2; echo out >>trace
END
	# shellcheck disable=SC2016
	timeout 60 "$FAIRLOCK" wrap A sh -c '"$FAIRLOCK" wrap B sh step & "$FAIRLOCK" wrap B sh step & wait'
	[ "$(tr '\n' ' ' <trace)" = 'in out in out ' ]
}

@test "wrap does not enter a lock on the strength of a hold that is over" {
	local env

	# shellcheck disable=SC2016
	env=$("$FAIRLOCK" wrap job sh -c 'echo "$FAIRLOCK_HELD"')
	hold job
	FAIRLOCK_HELD=$env run -75 "$FAIRLOCK" wrap -n job true
}

@test "an inner hold never shortens the outer lease" {
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap -l 20s job sh -c '"$FAIRLOCK" wrap -l 1s job sh -c "$FAIRLOCK status --json job" | jq ".locks[0].lease_ms"
		"$FAIRLOCK" status --json job | jq ".locks[0].lease_ms"'
	[ "${lines[0]}" -gt 5000 ]
	[ "${lines[1]}" -gt 5000 ]
}

@test "wrap leaves an inner acquire's hold to its lease when it ends" {
	# shellcheck disable=SC2016
	"$FAIRLOCK" wrap job sh -c '"$FAIRLOCK" acquire -l 5s job >/dev/null'
	run -0 "$FAIRLOCK" status -q job
	[ "$(cli PTTL job)" -gt 0 ]
}

@test "wrap -n ends with 75 at once if the lock is busy, names the holder, and leaves no trace" {
	hold job
	cli DEL fairlock_log:{job} >/dev/null
	run -75 "$FAIRLOCK" wrap -n job true
	assert_output --partial 'cannot get lock job: held by sleep 600'
	run -0 cli EXISTS redisson_lock_queue:{job} redisson_lock_timeout:{job} fairlock_log:{job}
	assert_output 0
}

@test "wrap -q prints nothing about a busy lock, and -E changes the status" {
	hold job
	run -0 "$FAIRLOCK" wrap -n -q -E 0 job true
	refute_output
	run -9 "$FAIRLOCK" wrap -w 50ms -E 9 job true
	assert_output --regexp '^fairlock: cannot get lock job: timed out after 50ms; held by sleep 600 .* for [0-9]+m?s$'
}

@test "a waiter leaves the queue when its --wait is over" {
	hold job
	run -75 "$FAIRLOCK" wrap -w 100ms job true
	run -0 cli EXISTS redisson_lock_queue:{job} redisson_lock_timeout:{job}
	assert_output 0
}

@test "wrap --max-queue counts only waiters that are present" {
	hold job
	run -75 "$FAIRLOCK" wrap --max-queue 0 job true
	assert_output --partial 'the queue is full'
	background "$FAIRLOCK" wrap --max-queue 1 job true
	local waiter=$!
	wait_until in_queue job 1
	run -75 "$FAIRLOCK" wrap --max-queue 1 job true
	kill -KILL "$waiter"
	wait_until nobody_present job
	background "$FAIRLOCK" wrap --max-queue 1 job true
	wait_until stands_first job $! # before that, the dead waiter does
}

# stands_first NAME PID: succeeds if this process is the first waiter in the queue
stands_first() {
	[ "$(cli --raw ZRANGE "fairlock_queue:{$1}" 0 0 | sed 's/.*://')" = "$2" ]
}

@test "a signal takes a waiter out of the queue and ends it" {
	hold job
	for signal in HUP INT QUIT TERM USR1; do
		background env --default-signal "$FAIRLOCK" wrap job true
		local waiter=$!
		wait_until in_queue job 1
		kill -s "$signal" "$waiter"
		ends_with $((128 + $(kill -l "$signal"))) "$waiter"
		[ "$(cli ZCARD fairlock_queue:{job})" = 0 ]
	done
}

@test "the wrapper ignores a signal that was ignored when it started" {
	# shellcheck disable=SC2016
	run -0 sh -c 'trap "" TERM; "$FAIRLOCK" wrap job sh -c "kill -TERM $$; kill -TERM \$PPID; sleep 0.2; echo alive"'
	assert_output alive
}

@test "the wrapper passes a signal on to COMMAND once, and holds the lock until COMMAND has ended" {
	cat >job <<'END'
trap 'echo term >>trace; sleep 0.3; "$FAIRLOCK" status -q job && echo held >>trace; exit 7' TERM
echo ready >>trace
while :; do sleep 0.05; done
END
	background "$FAIRLOCK" wrap job sh job
	local wrapper=$!
	wait_until grep -q ready trace
	kill -TERM "$wrapper"
	ends_with 7 "$wrapper"
	[ "$(tr '\n' ' ' <trace)" = 'ready term held ' ]
	run -1 "$FAIRLOCK" status -q job
}

@test "wrap leaves a daemon alone that COMMAND has left behind" {
	# shellcheck disable=SC2016
	"$FAIRLOCK" wrap job sh -c 'setsid sleep 77 >/dev/null 2>&1 & echo $! >pid'
	run -1 "$FAIRLOCK" status -q job
	kill -0 "$(cat pid)"
	kill "$(cat pid)"
}

@test "FAIRLOCK_WAITED_MS is how long wrap waited, whatever was inherited" {
	FAIRLOCK_WAITED_MS=old run -0 "$FAIRLOCK" wrap job -c 'echo "$FAIRLOCK_WAITED_MS"'
	[[ $output =~ ^[0-9]+$ ]]
	hold job
	background "$FAIRLOCK" wrap --also a job -c 'echo "$FAIRLOCK_WAITED_MS"' >waited
	waiter=$!
	wait_until in_queue job 1
	sleep 0.3
	kill -TERM "$HOLDER"
	ends_with 0 "$waiter"
	[ "$(cat waited)" -ge 300 ]
}

@test "wrap leaves a closed standard input closed for COMMAND" {
	# shellcheck disable=SC2016
	run -0 sh -c 'exec "$FAIRLOCK" wrap job sh -c "[ -e /proc/\$\$/fd/0 ] || echo closed" <&-'
	assert_output closed
}

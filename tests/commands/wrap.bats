# fairlock wrap: how it waits, how it starts COMMAND, what COMMAND gets, and how both end.
load ../lib/one_server

# ---- Hold and end ----

@test "wrap holds the lock while COMMAND runs, renews it long before it would have to stop COMMAND, and frees it afterwards" {
	run -0 "$FAIRLOCK" wrap -l 4s job -- sh -c 'sleep 4; "$FAIRLOCK" status -q job && echo held'
	assert_output held
	run -1 "$FAIRLOCK" status -q job
	nothing_left
}

@test "wrap ends with COMMAND's exit status, up to 255" {
	for code in 3 75 255; do
		run "-$code" "$FAIRLOCK" wrap job sh -c "exit $code"
		refute_output
	done
}

@test "the wrapper dies of the signal that killed COMMAND, without a core" {
	ulimit -c unlimited
	run -0 sh -c '"$FAIRLOCK" wrap job sh -c "ulimit -c 0; kill -SEGV \$\$"; echo $?'
	assert_line 139
	# a parent can tell death by a signal from an exit status
	run -0 python3 -c 'import os, subprocess, sys
print(subprocess.run([os.environ["FAIRLOCK"], "wrap", "job", "sh", "-c", "kill -TERM $$"]).returncode)'
	assert_output -- -15
	run -0 find . -name 'core*'
	refute_output
}

# ---- COMMAND that cannot be executed ----

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

@test "wrap ends with 127 if COMMAND is not found, with 126 if it may not execute it, and names a missing interpreter" {
	local interpreter

	cannot_execute 127 'No such file or directory' no-such-command
	touch plain
	cannot_execute 126 'Permission denied' ./plain
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
	nothing_left
}

@test "wrap runs a COMMAND without a first line #! with sh, and leaves its words untouched" {
	executable script <<<'printf "<%s>\n" "$@"; exit 4'
	run -4 "$FAIRLOCK" wrap job ./script 'a  b' '' '*'
	assert_output "$(printf '<%s>\n' 'a  b' '' '*')"
	PATH=$PWD:$PATH run -4 "$FAIRLOCK" wrap job script
	assert_output '<>'
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

# ---- What COMMAND gets ----

@test "wrap reads options before and behind NAME, and the words behind COMMAND are COMMAND's, byte for byte" {
	local words output_of odd=$'a b\t\'"$x`\\ \n50%done \xff*'

	while IFS='|' read -r words output_of; do
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
	"$FAIRLOCK" wrap job -- printf '%s\0' "$odd" '' -x --wait -- '*' >got
	printf '%s\0' "$odd" '' -x --wait -- '*' >want
	cmp got want
}

@test "COMMAND has the standard input, output and error of wrap, also if closed, and no descriptor that fairlock has opened" {
	printf 'in put\n' | "$FAIRLOCK" wrap job sh -c 'cat; echo err >&2' >out 2>err
	assert_equal "$(cat out err)" $'in put\nerr'
	run -0 sh -c 'exec "$FAIRLOCK" wrap job sh -c "[ -e /proc/\$\$/fd/0 ] || echo closed" <&-'
	assert_output closed
	for words in job '--also a --also b job'; do
		"$FAIRLOCK" wrap $words ls -l /proc/self/fd </dev/null >got 2>&1 3>&- 4>&-
		ls -l /proc/self/fd </dev/null >want 2>&1 3>&- 4>&-
		[ "$(wc -l <got)" = "$(wc -l <want)" ] || { cat got; false; }
	done
}

@test "wrap passes its signal mask and dispositions to COMMAND unchanged" {
	run -0 python3 - <<'END'
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
	assert_output --regexp '^True 0 '
}

@test "FAIRLOCK_WAITED_MS is how long wrap waited, whatever was inherited" {
	FAIRLOCK_WAITED_MS=old run -0 "$FAIRLOCK" wrap job -c 'echo "$FAIRLOCK_WAITED_MS"'
	[[ $output =~ ^[0-9]+$ ]]
	hold job
	join_queue --also a job -c 'echo "$FAIRLOCK_WAITED_MS"'
	sleep 0.3
	waiter_is_next
	[ "$(<out)" -ge 300 ]
}

@test "no variable stands for an option that says what a lock is for or who holds it" {
	FAIRLOCK_SLOTS=3 FAIRLOCK_SHARED=yes FAIRLOCK_ALSO=b FAIRLOCK_SUPERSEDE=yes FAIRLOCK_SKIP=yes FAIRLOCK_ONCE_OK=1h FAIRLOCK_SLOT=1 \
		FAIRLOCK_OWNER=x FAIRLOCK_TOKEN=1 FAIRLOCK_STOP=yes FAIRLOCK_NO_WAIT=yes FAIRLOCK_FORCE=yes \
		run -0 "$FAIRLOCK" wrap -v job sh -c "$CLI -s $SERVER_SOCKET --raw HVALS job; $CLI -s $SERVER_SOCKET --raw KEYS fairlock:*"
	assert_line 1
	assert_line 'fairlock:{job}'
	refute_line --partial '{b}'
	FAIRLOCK_ONCE_OK=1h FAIRLOCK_SUPERSEDE=yes run -0 "$FAIRLOCK" wrap --shared job echo ran
	assert_output ran
}

# ---- Locks inside locks ----

@test "a wrap inside a wrap of the same lock enters at once, with the same token, and never shortens the lease" {
	local token

	echo 'echo "$FAIRLOCK_TOKEN $("$FAIRLOCK" status --json job | jq -c ".locks[0] | [.holds, .lease_ms > 5000]")"' >show
	run -0 timeout 60 "$FAIRLOCK" wrap -l 20s job sh -c '"$FAIRLOCK" wrap -l 1s job sh show; sh show'
	token=$(cli HGET fairlock:{job} token)
	assert_output "$token [2,true]"$'\n'"$token [1,true]"
	nothing_left
}

@test "a wrap of A inside one of B inside one of A enters at once, and each COMMAND sees its innermost lock" {
	run -0 timeout 60 "$FAIRLOCK" wrap A sh -c '"$FAIRLOCK" wrap B sh -c '\''echo "$FAIRLOCK_NAME"
		"$FAIRLOCK" wrap A sh -c "echo \$FAIRLOCK_NAME; set -- \$FAIRLOCK_HELD; echo \$#"'\'''
	assert_output $'B\nA\n2'
	nothing_left
}

@test "two jobs side by side inside one wrap exclude each other on another lock" {
	echo 'echo in >>trace; sleep 0.2; echo out >>trace' >step
	timeout 60 "$FAIRLOCK" wrap A sh -c '"$FAIRLOCK" wrap B sh step & "$FAIRLOCK" wrap B sh step & wait'
	[ "$(tr '\n' ' ' <trace)" = 'in out in out ' ]
}

@test "wrap does not enter a lock on the strength of a hold that is over" {
	local held

	held=$("$FAIRLOCK" wrap job sh -c 'echo "$FAIRLOCK_HELD"')
	hold job
	FAIRLOCK_HELD=$held run -75 "$FAIRLOCK" wrap -n job true
}

@test "wrap leaves an inner acquire's hold to its lease when it ends" {
	"$FAIRLOCK" wrap job sh -c '"$FAIRLOCK" acquire -l 5s job >/dev/null'
	run -0 "$FAIRLOCK" status -q job
	[ "$(cli PTTL job)" -gt 0 ]
}

# ---- Signals ----

@test "a signal takes a waiter out of the queue and ends it" {
	local signal waiter

	hold job
	for signal in HUP INT QUIT TERM USR1; do
		background env --default-signal "$FAIRLOCK" wrap job true
		waiter=$!
		wait_until in_queue job 1
		kill -s "$signal" "$waiter"
		ends_with $((128 + $(kill -l "$signal"))) "$waiter"
		in_queue job 0
	done
}

@test "the wrapper ignores a signal that was ignored when it started" {
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
	wait_until grep -q ready trace
	kill -TERM $!
	ends_with 7 $!
	assert_equal "$(paste -sd ' ' trace)" 'ready term held'
	is_free job
}

# The moment in which COMMAND starts: signals that come just then, and processes that are stopped just then. strace makes it long. A
# sanitizer cannot look for leaks under strace.
load ../lib/jobs

setup() {
	start_in_folder
	"$FAIRLOCK" wrap job true # so that the server knows the scripts
}

# traced TAMPERING WORD...: `wrap WORD...`, by TRACER. Its first system call of this kind is tampered with. Sets WAITER, the wrapper.
traced() {
	ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0 background strace -qq -f -e inject="$1" -o calls "$FAIRLOCK" wrap "${@:2}" 2>said
	TRACER=$!
	wait_until lines_in calls 1
	read -r WAITER _ <calls
}

# gets_winch_once WORD...: the wrapper gets SIGWINCH when it lets COMMAND go, and SIGURG when COMMAND runs, which waits for a line in `go`.
# Does COMMAND get each of them once?
gets_winch_once() {
	local command

	[ -p go ] || mkfifo go
	rm -f calls
	traced kill:delay_enter=1000000:when=1 job "$@"
	wait_until grep -q "^$WAITER .*kill(.* SIGCONT" calls
	kill -WINCH "$WAITER"
	wait_until grep -q '"go".*O_RDONLY' calls
	kill -URG "$WAITER"
	command=$(awk '/execve\(/ { pid = $1 } END { print pid }' calls)
	wait_until grep -q "^$command .*--- SIGURG" calls
	echo >go
	ends_with 0 "$TRACER"
	assert_equal "$(grep -c "^$command .*--- SIG\(WINCH\|URG\)" calls)" 2
}

@test "COMMAND gets a signal once that came to wrap just before COMMAND was there, also if the guard does not wait for its exec" {
	gets_winch_once sh -c 'read -r _ <go'
	printf '#!/bin/sh\nread -r _ <go\n' >script
	chmod +x script
	gets_winch_once ./script
}

@test "COMMAND is not killed by the SIGPIPE of a wrap whose connection was cut" {
	traced sendto:error=EPIPE:signal=SIGPIPE:when=1 job touch ran
	ends_with 0 "$TRACER"
	[ -e ran ]
}

@test "COMMAND is dead before the lease ends when its guard is stopped as soon as it has started it, and the wrapper, too" {
	cat >live <<-'END'
		while :; do
			read -r up rest </proc/uptime
			echo "$up" >>beats.command
			sleep 0.1
		done
	END
	traced setsid:signal=SIGSTOP:when=1 -l 4s job sh -c 'echo $$ >>pids; trap "" TERM; . ./live'
	wait_until grep -q 'stopped by SIGSTOP' calls
	kill -STOP "$WAITER"
	note_lease_end
	wait_until test -s beats.command
	touch beats.session beats.orphan
	dead_in_time
	ends_with 76 "$TRACER"
}

@test "a COMMAND whose path is too long ends with 126, and says so" {
	run -126 "$FAIRLOCK" wrap job "./$(printf 'a%.0s' {1..5000})"
	assert_output --partial 'name too long'
}

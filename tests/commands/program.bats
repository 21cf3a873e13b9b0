#!/usr/bin/env bats
# One program: what it executes and opens.

load ../lib/helpers

setup_file() { start_server --port "$(free_port)" --bind 127.0.0.1; }

setup() {
	export FAIRLOCK_CONNECT_TIMEOUT=300ms
	cd "$BATS_TEST_TMPDIR" || return
	cli FLUSHALL >/dev/null
	export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" # which does not work under strace
}

@test "fairlock executes nothing but COMMAND, and opens no library and no settings of OpenSSL, whatever the command and the server are" {
	local url command

	for url in "unix:$SERVER_SOCKET" "redis://localhost:$(cli CONFIG GET port | tail -n 1)" rediss://localhost:1; do
		for command in "wrap job $FAIRLOCK version" 'acquire other' 'status job' 'queue job' 'log job' doctor '--complete status j' help; do
			FAIRLOCK_URL=$url run strace -f -e trace=execve,open,openat -o trace "$FAIRLOCK" $command
			run -1 grep openssl.cnf trace
			! is_static || run -1 grep '\.so' trace
			run grep -c 'execve(' trace
			[[ $command = wrap* && $url != rediss:* ]] && assert_output 2 || assert_output 1
		done
	done
}

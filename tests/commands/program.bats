# One program: what it executes and opens.

load ../lib/helpers

@test "fairlock executes nothing but COMMAND, and opens no library and no settings of OpenSSL, whatever the command and the server are" {
	local url command port

	port=$(free_port)
	start_server --port "$port" --bind 127.0.0.1
	cd "$BATS_TEST_TMPDIR"
	export FAIRLOCK_CONNECT_TIMEOUT=300ms
	export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" # which does not work under strace
	for url in "unix:$SERVER_SOCKET" "redis://localhost:$port" rediss://localhost:1; do
		cli FLUSHALL >/dev/null
		for command in "wrap job $FAIRLOCK version" 'acquire other' 'status job' 'queue job' 'log job' doctor '--complete status j' help; do
			FAIRLOCK_URL=$url run strace -f -e trace=execve,open,openat -o trace "$FAIRLOCK" $command
			run -1 grep openssl.cnf trace
			! is_static || run -1 grep '\.so' trace
			run grep -c 'execve(' trace
			[[ $command = wrap* && $url != rediss:* ]] && assert_output 2 || assert_output 1
		done
	done
}

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

@test "the process list shows no password, also while a host name is looked up" {
	local waiter port

	unshare -rm true 2>/dev/null || skip 'this machine allows no namespaces'
	port=$(cli CONFIG GET port | tail -n 1)
	cli CONFIG SET requirepass sesame >/dev/null
	printf '127.0.0.1 lock.example.com\n' >hosts
	cat >job <<'END'
mount --bind hosts /etc/hosts &&
exec "$FAIRLOCK" wrap -l 20s --url="redis://:sesame@lock.example.com:$1" -v -- job sh -c 'printf "%s\n" "$@" >words; sleep 600' sh -v 'a b' -- ''
END
	background unshare -rm sh job "$port"
	waiter=$!
	wait_until test -s words
	run -0 cat words
	assert_output "$(printf '%s\n' -v 'a b' -- '')"
	run -0 ps -ww -o args= -p "$waiter" --ppid "$waiter"
	assert_output --partial lock.example.com
	refute_output --partial sesame
	cli -a sesame --no-auth-warning CONFIG SET requirepass '' >/dev/null
}

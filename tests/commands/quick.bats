#!/usr/bin/env bats
# The quick program, fairlock, and the cases in which it executes fairlock-full.

load ../lib/helpers

setup_file() {
	PORT=$(free_port)
	export PORT
	start_server --port "$PORT" --bind 127.0.0.1
}

setup() {
	[ -e "$FAIRLOCK-full" ] || skip 'built as one program'
	cd "$BATS_TEST_TMPDIR" || return
	cli FLUSHALL >/dev/null
	export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" # which does not work under strace
}

# install_both: puts both programs in folders like those of an installation
install_both() {
	mkdir -p bin libexec
	cp "$FAIRLOCK" bin/fairlock
	cp "$FAIRLOCK-full" libexec/fairlock-full
}

@test "acquire opens no shared library and executes no other program" {
	[ ! -e "$BUILD/tests/ends.o" ] || skip 'built to measure coverage, with shared libraries'
	run -0 strace -f -e trace=open,openat,execve -o trace "$FAIRLOCK" acquire job
	run -1 grep -e '\.so' -e fairlock-full trace
	run -0 grep -c execve trace
	assert_output 1
	run -0 strace -f -e trace=open,openat,execve -o trace "$FAIRLOCK" -q --connect-timeout 5s acquire other
	run -1 grep -e '\.so' -e fairlock-full trace
}

@test "fairlock executes fairlock-full for other commands, from its own folder or from libexec" {
	run -0 "$FAIRLOCK" --version
	assert_output --regexp '^fairlock [0-9]'
	install_both
	run -0 bin/fairlock --version
	assert_output --regexp '^fairlock [0-9]'
	run -0 bin/fairlock --help
	assert_line --partial 'queue '
	run -0 bin/fairlock wrap --help
	assert_output --partial 'fairlock wrap'
	bin/fairlock acquire job
	run -0 bin/fairlock status --raw --noheadings -o STATE job
	assert_output --partial held
	PATH=$PWD/bin:$PATH run -0 fairlock status --raw --noheadings -o STATE job
	assert_output --partial held
	run -64 bin/fairlock nonsense
	assert_line "Try 'fairlock --help'."
	run -0 bin/fairlock help wrap
	assert_line --index 0 --partial 'Usage: fairlock wrap'
	run -0 bin/fairlock -h
	assert_line --partial 'queue '
	run -0 bin/fairlock --url "unix:$SERVER_SOCKET" status --raw --noheadings -o STATE job
	assert_output --partial held
	run -64 bin/fairlock
	assert_line "Try 'fairlock --help'."
	run -64 bin/fairlock wrap
	assert_line "Try 'fairlock wrap --help'."
}

@test "without fairlock-full, wrap works, and status ends with 71 and says that fairlock-full is missing" {
	install_both
	rm libexec/fairlock-full
	run -0 bin/fairlock wrap job echo done
	assert_output done
	run -71 bin/fairlock status
	assert_output --regexp '^fairlock: cannot run fairlock-full, .*: No such file or directory$'
}

@test "wrap executes fairlock-full with the same words to look up a host name, and the process list shows no password" {
	local waiter
	unshare -rm true 2>/dev/null || skip 'this machine allows no namespaces'
	cli CONFIG SET requirepass sesame >/dev/null
	printf '127.0.0.1 lock.example.com\n' >hosts
	cat >job <<'END'
mount --bind hosts /etc/hosts &&
exec "$FAIRLOCK" wrap -l 20s --url="redis://:sesame@lock.example.com:$1" -v -- job sh -c 'printf "%s\n" "$@" >words; readlink /proc/$PPID/exe >program; sleep 600' sh -v 'a b' -- ''
END
	background unshare -rm sh job "$PORT"
	waiter=$!
	wait_until test -s program
	run -0 cat program
	assert_output --partial fairlock-full
	run -0 cat words
	assert_output "$(printf '%s\n' -v 'a b' -- '')"
	run -0 ps -ww -o args= -p "$waiter" --ppid "$waiter"
	assert_output --partial lock.example.com
	refute_output --partial sesame
	cli -a sesame --no-auth-warning CONFIG SET requirepass '' >/dev/null
}

@test "wrap executes no fairlock-full for addresses and for localhost" {
	local url
	for url in "redis://127.0.0.1:$PORT" "redis://localhost:$PORT/1" "redis://127.0.0.1:1,localhost:$PORT"; do
		run -0 strace -f -e trace=execve -o trace "$FAIRLOCK" wrap -u "$url" job true
		run -1 grep fairlock-full trace
	done
}

@test "wrap executes fairlock-full if it needs the home folder of a user that /etc/passwd does not have" {
	[ "$(id -u)" = 0 ] || skip 'only root can become somebody else'
	getent passwd 4242 && skip 'somebody is user 4242'
	local other=(setpriv --reuid 4242 --regid 4242 --clear-groups strace -f -e trace=execve)
	chmod 755 "$BATS_RUN_TMPDIR"
	cp "$FAIRLOCK" "$FAIRLOCK-full" "$BATS_TEST_TMPDIR" # that user may not enter the project's folder
	FAIRLOCK=$BATS_TEST_TMPDIR/fairlock
	HOME=/ run "${other[@]}" "$FAIRLOCK" wrap job true
	refute_output --partial fairlock-full
	run env -u HOME "${other[@]}" "$FAIRLOCK" wrap job true
	assert_output --partial fairlock-full
	HOME='' run "${other[@]}" "$FAIRLOCK" wrap job true
	assert_output --partial fairlock-full
	HOME=/ run -78 "${other[@]}" "$FAIRLOCK" wrap -u local: job true
	assert_output --partial fairlock-full
	assert_output --partial 'user 4242 has no home directory'
}

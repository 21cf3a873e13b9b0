#!/usr/bin/env bats
# The two programs: what starts quickly, and what it leaves to the full one.

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
	export ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" # cannot be looked for beside strace
}

# The two as they are installed
installed() {
	mkdir -p bin libexec
	cp "$FAIRLOCK" bin/fairlock
	cp "$FAIRLOCK-full" libexec/fairlock-full
}

@test "what takes a lock opens no library and becomes no other program" {
	[ ! -e "$BUILD/tests/ends.o" ] || skip 'built to measure coverage, with shared libraries'
	run -0 strace -f -e trace=open,openat,execve -o trace "$FAIRLOCK" acquire job
	run -1 grep -e '\.so' -e fairlock-full trace
	run -0 grep -c execve trace
	assert_output 1
	run -0 strace -f -e trace=open,openat,execve -o trace "$FAIRLOCK" -q --connect-timeout 5s acquire other
	run -1 grep -e '\.so' -e fairlock-full trace
}

@test "other commands are those of the full program, beside it or in libexec" {
	run -0 "$FAIRLOCK" --version
	assert_output --regexp '^fairlock [0-9]'
	installed
	run -0 bin/fairlock --version
	assert_output --regexp '^fairlock [0-9]'
	run -0 bin/fairlock --help
	assert_line --partial 'queue '
	run -0 bin/fairlock wrap --help
	assert_output --partial 'fairlock wrap'
	bin/fairlock acquire job
	run -0 bin/fairlock status --noheadings -o STATE job
	assert_output --partial held
	PATH=$PWD/bin:$PATH run -0 fairlock status --noheadings -o STATE job
	assert_output --partial held
	run -64 bin/fairlock nonsense
	assert_line "Try 'fairlock --help'."
	run -0 bin/fairlock help wrap
	assert_line --index 0 --partial 'Usage: fairlock wrap'
	run -0 bin/fairlock -h
	assert_line --partial 'queue '
	run -0 bin/fairlock --url "unix:$SERVER_SOCKET" status --noheadings -o STATE job
	assert_output --partial held
	run -64 bin/fairlock
	assert_line "Try 'fairlock --help'."
	run -64 bin/fairlock wrap
	assert_line "Try 'fairlock wrap --help'."
}

@test "without the full program locks work, and the rest says what is missing" {
	installed
	rm libexec/fairlock-full
	run -0 bin/fairlock wrap job echo done
	assert_output done
	run -71 bin/fairlock status
	assert_output --regexp '^fairlock: cannot run fairlock-full, .*: No such file or directory$'
}

@test "a host that has to be looked up is for the full program, which gets the same words" {
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

@test "addresses and localhost need no look-up" {
	local url
	for url in "redis://127.0.0.1:$PORT" "redis://localhost:$PORT/1" "redis://127.0.0.1:1,localhost:$PORT"; do
		run -0 strace -f -e trace=execve -o trace "$FAIRLOCK" wrap -u "$url" job true
		run -1 grep fairlock-full trace
	done
}

@test "a user whom /etc/passwd does not know is for the full program" {
	[ "$(id -u)" = 0 ] || skip 'only root can become somebody else'
	getent passwd 4242 && skip 'somebody is user 4242'
	local other=(setpriv --reuid 4242 --regid 4242 --clear-groups strace -f -e trace=execve)
	chmod 755 "$BATS_RUN_TMPDIR"
	cp "$FAIRLOCK" "$FAIRLOCK-full" "$BATS_TEST_TMPDIR" # where the project is, that user may not go
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

#!/usr/bin/env bats
# The one file in an empty root: no library, no shell, no password database, no names, no time zones.
load ../lib/helpers
load root

setup_file() {
	find_tarball
	start_server --appendonly yes # as doctor wants it
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	new_root
	cli FLUSHALL >/dev/null
}

@test "wrap runs a command under the lock, and status shows it" {
	run -0 in_root fairlock wrap job -- fairlock status --noheadings --raw -o NAME,STATE,PID job
	assert_output 'job held 1'
	run -1 in_root fairlock status -q job
}

@test "a table shows UTF-8 if the locale is one of UTF-8" {
	run -0 in_root LANG=C.UTF-8 fairlock wrap 'Aufträge 注文' -- fairlock status
	assert_output --partial 'Aufträge 注文'
}

@test "help and completion work without a server" {
	run -0 in_root FAIRLOCK_URL=unix:/nowhere fairlock help
	assert_line --partial 'queue '
	run -0 in_root FAIRLOCK_URL=unix:/nowhere fairlock wrap --help
	assert_output --partial --once-per
	run -0 in_root FAIRLOCK_URL=unix:/nowhere fairlock --complete st
	assert_output --regexp '^status'
	in_root fairlock wrap job -- fairlock version
	offering job run -0 in_root fairlock --complete log j
	assert_output job
}

@test "a host name is looked up in /etc/hosts" {
	local port

	port=$(free_port)
	cli CONFIG SET bind 127.0.0.1 port "$port"
	put_in_root etc/hosts <<<'127.0.0.1 lock.example.com'
	run -0 in_root FAIRLOCK_URL="redis://lock.example.com:$port" fairlock wrap job -- fairlock version
	assert_output --regexp '^fairlock [0-9]'
	run -69 in_root FAIRLOCK_URL="redis://other.example.invalid:$port" fairlock wrap job -- fairlock version
	cli CONFIG SET port 0
}

@test "a user without a home directory is told to name a server" {
	run -78 in_root FAIRLOCK_URL=local: fairlock wrap job -- fairlock version
	assert_output --partial 'user 0 has no home directory; name a server with FAIRLOCK_URL'
}

#!/usr/bin/env bats
# A script refuses a user who may not run all of its commands before it changes anything.

load ../lib/helpers
load ../lib/scripts

setup() {
	knows_sharded || skip 'this server cannot be asked what a user may do: it is older than Redis 7'
}

# lacking COMMAND SCRIPT ARG...: calls the script as a user who may do everything except COMMAND
lacking() {
	cli ACL SETUSER limited reset on '>SECRET' '~*' '&*' +@all -flushall "-$1" >/dev/null
	cli() {
		"$CLI" -s "$SERVER_SOCKET" --user limited --pass SECRET --no-auth-warning "$@" 3>&- 4>&-
	}
	script "${@:2}"
}

# refused COMMAND SCRIPT ARG...: the script refuses that user, names COMMAND, and changes nothing
refused() {
	local before

	before=$(digest)
	run -1 lacking "$@"
	assert_output --regexp "NOPERM this user has no permissions to run '${1^^}[ ']"
	assert_equal "$(digest)" "$before"
}

@test "acquire, renew, release and leave refuse a user who may not write the log" {
	acquire anna
	queue_up ben
	refused xadd acquire cleo cleo w 30000 wait '' 0 '' ''
	refused xadd renew anna anna w 30000 "${token[anna]}" 'by anna' ''
	refused xadd release anna anna own '' 0 ''
	refused xadd leave ben ''
}

@test "the reading scripts refuse a user who may not ask how long a lock lasts" {
	acquire anna
	for name in status queue log view; do
		refused pttl "$name" '' ''
	done
}

@test "acquire refuses a user who may run every command, but may not listen to the channels of the lock" {
	local before

	before=$(digest)
	cli ACL SETUSER limited reset on '>SECRET' '~*' resetchannels +@all >/dev/null
	cli() {
		"$CLI" -s "$SERVER_SOCKET" --user limited --pass SECRET --no-auth-warning "$@" 3>&- 4>&-
	}
	run -1 acquire anna
	assert_output --partial "NOPERM this user has no permissions to run 'SUBSCRIBE $(channel)'"
	assert_equal "$(digest)" "$before"
}

@test "acquire serves a user who may run its commands but not every command" {
	run -0 lacking flushdb acquire anna anna w 30000 wait '' 0 '' ''
	assert_equal "$(owner)" anna
}

# as_exclusive_user CALL...: calls as a user who may do everything, but has no right to the holders' sorted set
as_exclusive_user() {
	cli ACL SETUSER limited reset on '>SECRET' "~$lock" '~redisson_lock_*' '~fairlock:*' '~fairlock_log:*' '~fairlock_queue:*' '~fairlock_done:*' '&*' +@all >/dev/null
	cli() {
		"$CLI" -s "$SERVER_SOCKET" --user limited --pass SECRET --no-auth-warning "$@" 3>&- 4>&-
	}
	"$@"
}

@test "the server refuses a user without the right to the holders' sorted set who wants to share" {
	local want

	acquire anna
	before=$(digest)
	for want in s '#2' '=a'; do
		run -1 as_exclusive_user acquire ben want="$want"
		assert_output --partial NOPERM
		assert_equal "$(digest)" "$before"
	done
}

@test "a user without the right to the holders' sorted set locks alone, also behind others who do" {
	run -0 as_exclusive_user acquire anna
	run -0 as_exclusive_user release anna
	assert_equal "$(owner)" ''
	acquire ben
	run -0 as_exclusive_user acquire anna
	release ben
	run -0 as_exclusive_user acquire anna again=1
	assert_equal "$(owner)" anna
}

@test "a release by a user without the right to the holders' sorted set tells a reader its turn" {
	acquire anna
	present ben
	acquire ben want=s handed=1
	run -0 as_exclusive_user release anna
	told ben 0
	assert_equal "$(cli EXISTS "$(key_holders)")" 0
	ask ben want=s is='granted ben'
}

@test "while several hold, every script refuses a user without the right to their sorted set, and names it" {
	local call

	acquire anna want=s
	before=$(digest)
	for call in 'acquire ben' 'acquire ben mode=try' 'release zoe mode=force' 'leave ben' 'script status' 'script view ben'; do
		# shellcheck disable=SC2086
		run -1 as_exclusive_user $call
		assert_output --partial NOPERM
		assert_output --partial "$(key_holders)"
		assert_equal "$(digest)" "$before"
	done
	run -1 as_exclusive_user script log '' '' 1
	assert_output --partial "$(key_holders)"
}

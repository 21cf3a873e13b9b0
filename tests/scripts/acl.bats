#!/usr/bin/env bats
# Who may not do all that a script does is refused before anything is changed.

load ../lib/helpers
load ../lib/scripts

setup() {
	knows_sharded || skip 'this server cannot be asked what a user may do: it is older than Redis 7'
}

# lacking COMMAND SCRIPT ARG...: a user who may not run this one calls the script
lacking() {
	cli ACL SETUSER limited reset on '>SECRET' '~*' '&*' +@all -flushall "-$1" >/dev/null
	cli() {
		"$CLI" -s "$SERVER_SOCKET" --user limited --pass SECRET --no-auth-warning "$@" 3>&- 4>&-
	}
	script "${@:2}"
}

# refused COMMAND SCRIPT ARG...: it is, is told why, and nothing has changed
refused() {
	local before

	before=$(digest)
	run -1 lacking "$@"
	assert_output --regexp "NOPERM this user has no permissions to run '${1^^} "
	assert_equal "$(digest)" "$before"
}

@test "who may not write into the log takes no lock, renews, releases and removes none" {
	acquire anna
	queue_up ben
	refused xadd acquire cleo cleo w 30000 wait '' 0 '' ''
	refused xadd renew anna anna w 30000 "${token[anna]}" 'by anna' ''
	refused xadd release anna anna own '' 0 ''
	refused xadd leave ben ''
}

@test "who may not see how long a lock lasts is told nothing of it" {
	acquire anna
	for name in status queue log view; do
		refused pttl "$name" '' ''
	done
}

@test "who may not read the log is not told what is in it" {
	acquire anna
	refused xrevrange log '' '' 0
	refused xrevrange view ben ''
}

@test "who may do all that a script does, and not everything, is refused nothing" {
	run -0 lacking flushdb acquire anna anna w 30000 wait '' 0 '' ''
	assert_equal "$(owner)" anna
}

#!/usr/bin/env bats
# tests/programs/ask.c, which other tests use in place of redis-cli: it prints the same, and ends with the same status.

load ../lib/helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	start_server
	[ -n "$ASK" ]
	: >input
}

# both [WORD...]: asks with both programs, which must print the same bytes and end with the same status. Their standard input is the
# file `input`. Sets $output.
both() {
	local of_cli=0 of_ask=0

	"$CLI" -s "$SERVER_SOCKET" "$@" <input >cli || of_cli=$?
	"$ASK" "$SERVER_SOCKET" "$@" <input >ask || of_ask=$?
	assert_equal "$of_ask $(od -c ask)" "$of_cli $(od -c cli)"
	output=$(<ask)
}

@test "ask prints each kind of reply as redis-cli does" {
	both SET key $'two\nlines'
	assert_output OK
	both GET key
	assert_output $'two\nlines'
	both STRLEN key
	assert_output 9
	both GET none
	assert_output ''
	both KEYS '*none*'
	both SET '' ''
	both EVAL 'return {1, {2, "a", false}, {}, {{}, "b"}}' 0
	both --raw LRANGE none 0 -1
}

@test "ask prints an error as redis-cli does, and ends with the same status" {
	both NONSENSE
	assert_output --partial 'unknown command'
	both HGET
	both EVAL 'return redis.error_reply("MINE words")' 0
}

@test "ask sends its standard input as the last word, as redis-cli does" {
	both -x SET key
	assert_output OK
	run -0 "$ASK" "$SERVER_SOCKET" -x SET key < <(printf 'a\n\nb\n')
	run -0 "$CLI" -s "$SERVER_SOCKET" STRLEN key
	assert_output 5
}

@test "ask sends each line of its standard input as a command, as redis-cli does" {
	printf 'SET key value\n\nGET key\nNONSENSE\nEVAL return{1,{2,3}} 0\n' >input
	both
	assert_output --partial $'OK\nvalue\n'
	assert_output --partial 'unknown command'
}

@test "ask reaches a port, with a password" {
	local port

	port=$(free_port)
	export REDISCLI_AUTH=SECRET
	mkdir "$SERVER_DIR/other"
	SERVER_DIR=$SERVER_DIR/other start_server --port "$port" --bind 127.0.0.1 --requirepass SECRET
	run -0 "$ASK" "$port" PING
	assert_output PONG
	REDISCLI_AUTH='' run -0 "$ASK" "$port" PING
	assert_output --partial NOAUTH
}

@test "ask fails when it cannot reach the server, or the server closes the connection" {
	run -1 "$ASK" "$SERVER_SOCKET.none" PING
	run -1 "$ASK" "$SERVER_SOCKET" SHUTDOWN NOSAVE
}

@test "ask refuses options that it does not know" {
	run -2 "$ASK" "$SERVER_SOCKET" --json PING
	run -2 "$ASK"
	run -2 "$ASK" "$SERVER_SOCKET" < <(echo 'GET "key"')
	assert_output --partial quotes
}

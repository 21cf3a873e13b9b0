#!/usr/bin/env bats
# Every message that the program can print on standard error has one form and is short. No server is
# needed: the sources are read (tests/lib/messages.py).

load ../lib/helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

messages() {
	"${PYTHON:-python3}" "$TESTS_DIR/lib/messages.py" "$@"
}

# with_message CALL: copies the sources, and adds a function with this call
with_message() {
	cp -r "$TESTS_DIR/../src" src
	printf '#include "base/error.h"\n\nint broken(struct error *err, const char *name, int number)\n{\n\treturn %s;\n}\n' "$1" >src/broken.c
}

# refuses CALL FAULT: the message of the call has this fault, and no other message has one
refuses() {
	with_message "$1"
	run -1 messages src
	assert_line --index 0 --partial "src/broken.c:5: $2"
	assert_line --index 1 --regexp '^[0-9]+ messages, 1 faults$'
	assert_equal "${#lines[@]}" 2
	rm -r src
}

@test "every message is one line under 160 characters, of the form 'cannot VERB OBJECT: CAUSE'" {
	run messages "$TESTS_DIR/../src"
	assert_equal "$status" 0
	assert_output --regexp '^[0-9]{3,4} messages, 0 faults$'
}

@test "the test collects causes from tables, callers, conditions and the functions that make them" {
	run messages --list "$TESTS_DIR/../src"
	assert_output --partial ': it is a replica, which takes no writes; see fairlock doctor'
	assert_output --partial ': it has no database ~~'
	assert_output --partial ': this user may not run a command, or use a channel; see fairlock doctor'
	assert_output --partial ': there is no such command, did you mean wrap?'
	assert_output --partial ': to give a lock back, use '"'fairlock release NAME'"
	assert_output --partial ": give either COMMAND or --command, not both"
	assert_output --partial ': the queue is full (~~'
	assert_output --partial ': its certificate is not trusted: ^'
	assert_output --partial ': the path is too long for a socket'
	assert_output --partial 'only its holder or release --force can free it'
	assert_output --partial 'lost the guard of lock ~~'
}

@test "the test refuses a message of another form" {
	refuses 'fail(err, STATUS_OS, "cannot work: %d", number)' "it is not 'cannot VERB OBJECT: CAUSE'"
	refuses 'fail(err, STATUS_OS, "the disk is full")' "it is not 'cannot VERB OBJECT: CAUSE'"
	refuses 'fail(err, STATUS_OS, "cannot write the file")' "it is not 'cannot VERB OBJECT: CAUSE'"
}

@test "the test refuses a newline, a period at the end, and a capital letter at the start" {
	refuses 'fail(err, STATUS_OS, "cannot write a file: one\n%d", number)' 'it has a newline'
	refuses 'fail(err, STATUS_OS, "cannot write a file: it is full.")' 'it ends with a period'
	refuses 'message_step(err, "Wrote a file")' 'it does not begin with a small letter'
}

@test "the test refuses a message that may have 160 characters" {
	local long

	long=$(printf '%0118d' 0)
	with_message "fail(err, STATUS_OS, \"cannot write the file: $long%s\", number ? \"\" : \"01234567\")"
	run -0 messages src
	rm -r src
	refuses "fail(err, STATUS_OS, \"cannot write the file: $long%s\", number ? \"\" : \"012345678\")" 'it may have 160 characters'
}

@test "the test refuses a message whose argument has no bound" {
	refuses 'fail(err, STATUS_OS, "cannot write the file: %s", getenv(name))' 'there is no bound for getenv()'
}

@test "the test refuses a message that does not name the actor" {
	refuses 'fail(err, STATUS_OS, "cannot write the file: nobody may write it")' "'nobody' does not name the actor"
	refuses 'message_step(err, "whoever holds the lock has it")' "'whoever' does not name the actor"
}

@test "the test refuses a function that prints messages and is not collected" {
	with_message 'dprintf(STDERR_FILENO, "it works") > number'
	run -1 messages src
	assert_line --index 0 'src/broken.c:1: it writes to standard error 1 times, not 0'
}

#!/usr/bin/env bats
# wrap with a COMMAND that uses the whole terminal, and what a person does with it. Afterwards the
# terminal is as before, the lock is free, and its queue is empty.

load ../lib/helpers
load ../lib/one_server
load ../lib/screens

setup() {
	begin
	terminal
	type_line 'stty -a >was; clear'
	wait_until test -s was
}

# restored STATUS: the command has ended with STATUS, and terminal, lock and queue are as before
restored() {
	type_line "status=\$?; stty -a >is; clear; echo ended \$status"
	wait_until shows "^ended $1\$"
	cmp was is
	[ "$(on_terminal display-message -p '#{alternate_on} #{cursor_flag} #{wrap_flag}')" = '0 1 1' ]
	wait_until is_free job
	in_queue job 0
}

# edit_file TEXT: types it in the vi on the screen, and saves
edit_file() {
	wait_until shows '^~$'
	on_terminal send-keys -l "i$1"
	press Escape
	type_line ':wq'
	wait_until grep -qx "$1" file
}

@test "vi edits a file under wrap" {
	type_line '"$FAIRLOCK" wrap job -- vi file'
	edit_file 'one line'
	restored 0
}

@test "wrap ends and frees the lock or leaves the queue when its terminal is closed" {
	type_line '"$FAIRLOCK" wrap job -- vi file'
	wait_until shows '^~$'
	background "$FAIRLOCK" wrap next sleep 60
	wait_until "$FAIRLOCK" status -q next
	on_terminal kill-server
	wait_until is_free job
	BATS_TEST_TMPDIR=$BATS_TEST_TMPDIR/again
	mkdir again
	terminal
	type_line '"$FAIRLOCK" wrap next -- vi file'
	wait_until in_queue next 1
	on_terminal kill-server
	wait_until in_queue next 0
}

@test "wrap works in a pipeline, a substitution, and under timeout, nohup and script, if the lock is free or busy" {
	local round

	for round in free busy; do
		[ $round = free ] || hold job
		[ $round = free ] || set -- -w 200ms
		type_line "\"\$FAIRLOCK\" wrap $* job yes | head -n 1; echo piped \${PIPESTATUS[*]}"
		wait_until shows "^piped $([ $round = free ] && echo 141 || echo 75) 0\$"
		type_line "clear; x=\$(\"\$FAIRLOCK\" wrap $* job echo output); echo got \$? \$x"
		wait_until shows "^got $([ $round = free ] && echo 0 output || echo 75)"
		type_line "clear; nohup \"\$FAIRLOCK\" wrap $* job true >out 2>&1; echo hung up not \$?"
		wait_until shows "^hung up not $([ $round = free ] && echo 0 || echo 75)\$"
		type_line "clear; script -qec \"'\$FAIRLOCK' wrap $* job true\" /dev/null; echo recorded \$?"
		wait_until shows "^recorded $([ $round = free ] && echo 0 || echo 75)\$"
		type_line "clear; \"\$FAIRLOCK\" wrap $* job cat </dev/null; echo read \$?"
		wait_until shows "^read $([ $round = free ] && echo 0 || echo 75)\$"
		type_line "clear; timeout 1 \"\$FAIRLOCK\" wrap job sleep 60; echo timed \$?"
		wait_until shows '^timed 124$'
		wait_until in_queue job 0
	done
	kill "$HOLDER"
	type_line 'clear; (exit 3)'
	restored 3
}

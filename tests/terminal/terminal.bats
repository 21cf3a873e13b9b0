# wrap on a real terminal: COMMAND behaves as if the shell had started it directly. Afterwards the terminal is as before.

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

@test "Ctrl-C reaches COMMAND once, and ends the shell loop around wrap" {
	cat >job <<'END'
trap 'echo int >>trace; trap - INT; kill -INT $$' INT
echo ready
while :; do sleep 0.05; done
END
	type_line 'for i in 1 2 3; do echo loop $i; "$FAIRLOCK" wrap job sh job; done'
	wait_until shows '^ready$'
	press C-c
	restored 130
	[ "$(cat trace)" = int ]
}

@test "COMMAND can read the terminal" {
	type_line '"$FAIRLOCK" wrap job sh -c '\''printf "name? "; read name; echo "hello $name"'\'
	wait_until shows '^name\? *$'
	type_line Ada
	wait_until shows '^hello Ada$'
	restored 0
}

@test "Ctrl-Z stops the job and fg continues it, and the lock stays held and renewed meanwhile" {
	cat >job <<'END'
echo ready
while [ ! -e go ]; do sleep 0.05; done
echo finished
END
	type_line '"$FAIRLOCK" wrap -l 4s -k 100ms job sh job'
	wait_until shows '^ready$'
	press C-z
	wait_until shows 'Stopped'
	sleep 6
	"$FAIRLOCK" status -q job
	touch go
	type_line 'fg'
	wait_until shows '^finished$'
	restored 0
}

@test "a COMMAND that stops itself stops the job, and fg continues both" {
	type_line '"$FAIRLOCK" wrap job sh -c '\''kill -STOP $$; echo went on'\'
	wait_until shows 'Stopped'
	type_line 'fg'
	wait_until shows '^went on$'
	restored 0
}

@test "an interactive shell under wrap has working job control" {
	type_line 'clear; PS1="inner> " "$FAIRLOCK" wrap job bash --norc --noprofile -i'
	wait_until shows '^inner>'
	shows_not 'no job control|cannot set terminal process group'
	type_line "sh -c 'echo started; exec sleep 100'"
	wait_until shows '^started$'
	press C-z
	wait_until shows 'Stopped'
	type_line 'kill -9 %1; while kill -0 %1 2>/dev/null; do :; done; exit 3'
	restored 3
}

@test "COMMAND ends and the lock is free, or the queue, when the terminal hangs up" {
	type_line '"$FAIRLOCK" wrap job sh -c '\''echo $$ >pid; while :; do sleep 0.05; done'\'
	wait_until test -s pid
	hold next
	BATS_TEST_TMPDIR=$(mktemp -d -p .) terminal
	type_line '"$FAIRLOCK" wrap next true'
	wait_until in_queue next 1
	on_terminal kill-server
	wait_until in_queue next 0
	TERMINAL=$BATS_TEST_TMPDIR/tmux on_terminal kill-server
	wait_until ended "$(cat pid)"
	wait_until is_free job
}

@test "a waiter without a line that Ctrl-Z has stopped starts COMMAND only after fg" {
	local waiter

	hold job
	type_line '"$FAIRLOCK" wrap -q job sh -c "echo runs >>ran"'
	wait_until in_queue job 1
	waiter=$(pane_child)
	wait_until pgrep -P "$waiter"
	press C-z
	wait_until shows 'Stopped'
	kill "$HOLDER"
	wait_until is_free job
	[ ! -e ran ]
	type_line 'fg'
	restored 0
	assert_equal "$(cat ran)" runs
}

@test "wrap behind a short hold runs COMMAND once and to its end on a terminal" {
	cat >rounds <<'END'
for i in 1 2 3 4 5 6 7 8; do
	rm -f held over
	"$FAIRLOCK" wrap job sh -c 'touch held; exec sleep 0.5' 2>errors &
	until [ -e held ]; do sleep 0.02; done
	{ "$FAIRLOCK" wrap job sleep 0.01 2>errors; touch over; } &
	until [ "$("$FAIRLOCK" queue job | wc -l)" -gt 1 ] || [ -e over ]; do sleep 0.02; done
	"$FAIRLOCK" wrap job sh -c 'echo begins >>trace; sleep 0.2; echo ends >>trace' || echo "status $?" >>trace
	wait
done
END
	type_line 'sh rounds; echo done'
	WAIT_S=60 wait_until shows '^done$'
	assert_equal "$(uniq -c trace | sort | uniq -c | xargs)" '8 1 begins 8 1 ends'
}

@test "vi edits a file under wrap" {
	command -v vi >/dev/null || skip 'there is no vi here'
	type_line '"$FAIRLOCK" wrap job -- vi file'
	wait_until shows '^~$'
	on_terminal send-keys -l 'ione line'
	press Escape
	type_line ':wq'
	wait_until grep -qx 'one line' file
	restored 0
}

@test "wrap works in a pipeline, a substitution, and under timeout, nohup and script, if the lock is free or busy" {
	local free busy line wait

	for wait in '' '-w 200ms'; do
		[ -z "$wait" ] || hold job
		# the status if the lock is free, and if it is busy; then a line that prints it
		while IFS='|' read -r free busy line; do
			type_line "clear; ${line//WRAP/\"\$FAIRLOCK\" wrap $wait job}; echo"
			wait_until shows "^ended $([ -z "$wait" ] && echo "$free" || echo "$busy")\$"
		done <<-'END'
			141 0|75 0|WRAP yes | head -n 1; echo ended ${PIPESTATUS[*]}
			0 output|75|x=$(WRAP echo output); echo ended $? $x
			0|75|nohup WRAP true >out 2>&1; echo ended $?
			0|75|script -qec "env WRAP true" /dev/null; echo ended $?
			0|75|WRAP cat </dev/null; echo ended $?
			124|124|timeout 1 "$FAIRLOCK" wrap job sleep 60; echo ended $?
		END
		wait_until in_queue job 0
	done
	kill "$HOLDER"
	type_line 'clear; (exit 3)'
	restored 3
}

# new_event_shows: takes the lock once more. The log may not have been read yet when that is over.
new_event_shows() {
	"$FAIRLOCK" wrap -q job sh -c 'exit 3' || true
	shows '^released *3'
}

@test "log --follow --lines 0 on a terminal prints only what comes: nothing is said of events that it left out" {
	"$FAIRLOCK" wrap -q job true
	type_line 'clear; "$FAIRLOCK" log --follow -n 0 -o EVENT,STATUS job'
	sleep 1 # it has most likely read the log by now
	wait_until new_event_shows
	shows_not 'no events'
	press C-c
}

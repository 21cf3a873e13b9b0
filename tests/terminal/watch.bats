# status --watch and queue --watch: what they draw on the whole screen, and how they end.

load ../lib/one_server
load ../lib/screens

# quits: Ctrl-C ends it, and the terminal is as before
quits() {
	local watcher

	watcher=$(pane_child)
	press C-c
	wait_until ended "$watcher"
	type_line 'echo "ended $?"'
	wait_until shows '^ended 130$'
	[ "$(on_terminal display-message -p '#{alternate_on} #{cursor_flag} #{wrap_flag}')" = '0 1 1' ]
}

# coloured CODE LINE TEXT: succeeds if TEXT has this colour behind LINE
coloured() { on_terminal capture-pane -p -e | grep -q "$2.*$(printf '\033')\[$1m$3"; }

# leaves_out COUNT: the last row of the screen says that so many more do not fit
leaves_out() { [ "$(screen | tail -n 1)" = "... $1 more" ]; }

# drawn: succeeds if a title with the time stands on the first line
drawn() { screen | sed -n 1p | grep -Eq '^fairlock (status|queue).* [0-9]{2}:[0-9]{2}:[0-9]{2}$'; }

# watch_it WORD...: starts fairlock with these words, and waits until it draws; what an earlier one drew is gone first
watch_it() {
	type_line clear
	wait_until shows_not '^fairlock '
	type_line "\"\$FAIRLOCK\" $*"
	wait_until drawn
}

@test "status and queue --watch refuse a terminal that cannot be redrawn, and send it no escape codes" {
	local term words

	terminal 100
	hold job
	for term in dumb ''; do
		for words in status 'queue job'; do
			type_line "clear; TERM=$term \"\$FAIRLOCK\" $words --watch; echo $words with '$term' ended \$?"
			wait_until shows "^$words with $term ended 64\$"
			shows "cannot use option '--watch': TERM says that this terminal cannot be redrawn"
		done
	done
}

@test "status --watch redraws a held lock, its number of waiters, and that it is free" {
	hold job
	terminal 100
	watch_it status --watch=200ms job other
	wait_until shows '^NAME +STATE +USER'
	shows '^job +held .* 0$'
	shows '^other +free .* 0$'
	wait_until coloured 35 'job ' held
	wait_until coloured 32 'other ' free
	background "$FAIRLOCK" wrap job true
	wait_until shows '^job +held .* 1$'
	kill "$HOLDER"
	wait_until shows '^job +free .* 0$'
	quits
}

@test "queue --watch shows an empty queue, a queue longer than the screen, and a lost waiter in red" {
	hold job
	terminal 100
	watch_it queue --watch=200ms -o POSITION,OWNER,PRESENT job
	shows_not 'PRESENT$'
	background "$FAIRLOCK" wrap job true
	lost=$!
	wait_until shows '^ +1 [0-9a-f-]+:'
	cli --raw EVAL 'for i = 1, 500 do redis.call("RPUSH", KEYS[1], "a:" .. i) redis.call("ZADD", KEYS[2], 9e15, "a:" .. i) end' \
		2 'redisson_lock_queue:{job}' 'redisson_lock_timeout:{job}'
	wait_until leaves_out 481
	wait_until coloured 31 '       2 a:1 ' no
	[ "$(screen | wc -l)" -eq 24 ]
	kill -9 "$lost"
	quits
}

@test "Ctrl-C, SIGTERM and SIGHUP end status --watch, which has changed nothing of the terminal" {
	local signo

	hold job
	terminal 100
	watch_it status --watch job
	quits
	type_line 'stty -a | grep -o " icanon\| echo " | tr -d "\n"; echo " is set"'
	wait_until shows '^ icanon echo  is set$'
	for signo in TERM HUP; do
		watch_it status --watch job
		kill -"$signo" "$(pane_child)"
		type_line 'echo "ended $?"'
		wait_until shows "^ended $((128 + $(kill -l $signo)))\$"
	done
}

@test "status and queue --watch say that the server hangs or is away, go on when it is back, and Ctrl-C and Ctrl-Z still work" {
	hold job
	terminal 100
	watch_it status --watch=100ms --connect-timeout 1s job
	kill -STOP "$SERVER_PID"
	wait_until shows '^cannot '
	shows '^job +held '
	press C-z
	wait_until shows Stopped
	type_line 'clear; fg'
	wait_until shows '^cannot '
	kill -CONT "$SERVER_PID"
	wait_until shows_not '^cannot '
	quits
	watch_it queue --watch=100ms --connect-timeout 1h job
	mv "$SERVER_SOCKET" "$SERVER_SOCKET.away"
	"$CLI" -s "$SERVER_SOCKET.away" CLIENT KILL TYPE normal >/dev/null 2>&1 || true
	wait_until shows '^cannot '
	mv "$SERVER_SOCKET.away" "$SERVER_SOCKET"
	wait_until shows_not '^cannot '
	kill -STOP "$SERVER_PID"
	sleep 0.5
	WAIT_S=3 quits
	kill -CONT "$SERVER_PID"
}

@test "--watch without a terminal, or with a bad time, is a usage error" {
	run -64 setsid "$FAIRLOCK" status --watch
	assert_output --partial 'standard output is not a terminal'
	run -64 "$FAIRLOCK" status --watch=junk
	run -64 "$FAIRLOCK" status --watch=1ms
}

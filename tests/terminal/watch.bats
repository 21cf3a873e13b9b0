#!/usr/bin/env bats
# status --watch and queue --watch: what they draw on the whole screen, and how they end.

load ../lib/helpers
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
coloured() {
	on_terminal capture-pane -p -e | grep -q "$2.*$(printf '\033')\[$1m$3"
}

# many_locks COUNT: makes free locks free1, free2 ... as old uses leave them
many_locks() {
	local i

	for ((i = 1; i <= $1; i++)); do
		echo "HSET fairlock:{free$i} name free$i v 1"
	done | cli >/dev/null
}

# leaves_out COUNT: the last row of the screen says that so many more do not fit
leaves_out() {
	[ "$(screen | tail -n 1)" = "... $1 more" ]
}

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

@test "status and queue --watch -v tell no steps that would spoil the screen" {
	terminal 100
	hold job
	for words in 'status job' status 'queue job' queue; do
		watch_it "$words -v --watch=100ms 2>said"
		quits
		assert_regex "$(<said)" "$(printf '^[^\n]*, pid [^\n]*\n[^\n]*the server is [^\n]*$')"
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

@test "status --watch shows a held lock above free ones, without names and with them, and says how many do not fit" {
	many_locks 60
	hold zebra
	terminal 100
	watch_it status --all --watch=200ms
	wait_until leaves_out 41
	[ "$(screen | sed -n 3p | cut -c 1-5)" = 'NAME ' ]
	screen | sed -n 4p | grep -q '^zebra .* held '
	screen | sed -n 5p | grep -q '^free1 .* free '
	[ "$(screen | grep -c '^free')" = 19 ]
	kill "$HOLDER"
	wait_until shows_not '^zebra '
	quits
	hold zebra
	watch_it status --watch=200ms free{1..40} zebra
	wait_until leaves_out 21
	screen | sed -n 4p | grep -q '^zebra .* held '
	quits
}

@test "status --watch fills a window that grows, and leaves out nothing that fits" {
	many_locks 60
	terminal 100
	watch_it status --all --watch=100ms
	wait_until leaves_out 40
	on_terminal resize-window -y 40
	wait_until leaves_out 24
	screen | sed -n 39p | grep -q '^free36 '
	on_terminal resize-window -y 63
	wait_until eval 'screen | sed -n 63p | grep -q "^free60 "'
	on_terminal resize-window -y 62
	wait_until leaves_out 2
	quits
}

@test "queue --watch without a name shows the waiters of all locks" {
	hold job
	background "$FAIRLOCK" wrap job true waiter
	wait_until in_queue job 1
	terminal 100
	watch_it queue --watch=200ms
	wait_until shows '^NAME +POSITION +USER '
	shows '^job +1 .* true waiter .* yes$'
	quits
}

@test "status --watch shows until when a lock is kept, and has no colours with --color=never" {
	"$FAIRLOCK" wrap --min-hold 1h job true
	terminal 100
	watch_it status --watch=200ms
	wait_until shows '^job +kept until '
	wait_until coloured '[0-9;]*33' 'job ' kept
	quits
	watch_it status --watch=200ms --color=never
	wait_until shows '^job +kept until '
	run ! coloured '[0-9;]*' 'job ' kept
	quits
}

@test "status --watch redraws for another width, and no line wraps" {
	hold job
	terminal 120
	watch_it status --watch=100ms job other
	resize 60
	wait_until shows '^NAME .*WAITERS$'
	wait_until eval '[ "$(screen | grep -c .)" -eq 4 ]'
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

@test "queue --watch stops on Ctrl-Z, and goes on after fg" {
	hold job
	terminal 100
	watch_it queue --watch=100ms job
	press C-z
	wait_until shows Stopped
	type_line 'clear; fg'
	wait_until drawn
	quits
}

@test "queue --watch says that the server is away, and goes on when it is back" {
	hold job
	terminal 100
	watch_it queue --watch=200ms job
	mv "$SERVER_SOCKET" "$SERVER_SOCKET.away"
	"$CLI" -s "$SERVER_SOCKET.away" CLIENT KILL TYPE normal >/dev/null 2>&1 || true
	wait_until shows '^cannot '
	mv "$SERVER_SOCKET.away" "$SERVER_SOCKET"
	wait_until shows_not '^cannot '
	quits
}

@test "status and queue --watch say that the server hangs, and Ctrl-C and Ctrl-Z still work" {
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
	quits
	kill -CONT "$SERVER_PID"
	watch_it queue --watch=100ms --connect-timeout 1h job
	kill -STOP "$SERVER_PID"
	sleep 0.5
	WAIT_S=3 quits
	kill -CONT "$SERVER_PID"
	watch_it status --watch=100ms --connect-timeout 1s job
	kill -STOP "$SERVER_PID"
	wait_until shows '^cannot '
	kill -CONT "$SERVER_PID"
	wait_until shows_not '^cannot '
}

@test "queue --watch says that there are no waiters, and status --watch that there are no locks" {
	terminal 60
	watch_it queue --watch=100ms job
	wait_until shows '^nobody waits for job$'
	quits
	watch_it queue --watch=100ms
	wait_until shows '^nobody waits for any lock$'
	quits
	watch_it status --watch=100ms
	wait_until shows '^no locks$'
}

@test "status --watch shows name, state and number of waiters on 60 columns" {
	"$FAIRLOCK" acquire "$(printf '%.0slong-' {1..30})" -l 1h >/dev/null
	background "$FAIRLOCK" wrap job sleep 60
	wait_until "$FAIRLOCK" status -q job
	terminal 60
	watch_it status --watch=100ms
	wait_until shows '^NAME .* WAITERS$'
	shows '^long-.*… by hand until .* 0$'
	shows '^job +held .* 0$'
}

@test "status --watch bears the smallest terminals, and many sizes in a row" {
	terminal 100
	watch_it status --watch=100ms job
	for size in '1 1' '200 50' '3 2' '40 1' '7 60' '80 2' '1 24' '100 24'; do
		on_terminal resize-window -x "${size% *}" -y "${size#* }"
	done
	wait_until shows '^job +free .* 0$'
	quits
}

@test "--watch without a terminal, with options that exclude it, or with a bad time is a usage error" {
	run -64 setsid "$FAIRLOCK" status --watch
	assert_output --partial 'standard output is not a terminal'
	for option in --json --raw '--remove a:1'; do
		# shellcheck disable=SC2086
		run -64 "$FAIRLOCK" queue --watch $option job
		assert_line "fairlock: cannot use option '${option%% *}': it does not go with --watch"
	done
	run -64 "$FAIRLOCK" status --watch=junk
	run -64 "$FAIRLOCK" status --watch=1ms
	run -64 "$FAIRLOCK" log --watch job
}

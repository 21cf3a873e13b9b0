#!/usr/bin/env bats
# The line that somebody who waits on a terminal sees. What it says grows older by itself, so each test waits until
# it says so.

load ../lib/helpers
load ../lib/screens

setup_file() { start_server; }

setup() {
	cli FLUSHALL >/dev/null
	cd "$BATS_TEST_TMPDIR" || return
	VIEW=$(sed -n '/script_view = {/,/}/s/.*sha1 = "\(.*\)".*/\1/p' "$BUILD/scripts.c")
	[ -n "$VIEW" ]
}

# wait_on_terminal: somebody queues there for `job`, and says so when it has it
wait_on_terminal() {
	type_line 'clear; "$FAIRLOCK" wrap job echo got it'
}

# Who holds `job` in what follows, to the server: held_by BY [MS]
held_by() {
	cli HSET 'fairlock:{job}' by "$1" since "$(($(now_ms) - ${2-0}))" >/dev/null
}

now_ms() {
	cli --raw EVAL 'local t = redis.call("TIME") return t[1] * 1000 + math.floor(t[2] / 1000)' 0
}

# been_held BY MS COUNT: the log says so
been_held() {
	cli --raw EVAL 'for i = 1, ARGV[3] do redis.call("XADD", KEYS[1], "*", "event", "released", "time", 1, "owner",
		"o", "token", 1, "by", ARGV[1], "waited", 0, "held", ARGV[2]) end' \
		1 'fairlock_log:{job}' "$1" "$2" "$3" >/dev/null
}

backup=$'web1\t4711\tada\tbackup.sh --all'

# The one line of the screen that has the line on it.
the_line() {
	screen | grep 'waited'
}

# So many lines of the screen have part of it.
pieces() {
	[ "$(screen | grep -cE 'waited|held|backup')" = "$1" ]
}

# ---- What it says ----

@test "place and of how many, who holds and since when, and the time waited, which grows" {
	hold job
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	held_by "$backup" 250000
	terminal 120
	wait_on_terminal
	wait_until shows '^fairlock: job: 2nd of 2, waited [0-9]s; held 4m1[0-9]s by ada@web1, pid 4711: backup\.sh --all$'
	wait_until shows 'waited [2-9]s; held 4m1[1-9]s'
	background "$FAIRLOCK" wrap job true
	wait_until shows '2nd of 3'
	pieces 1
}

@test "when the turn comes, going by what was usual for this command" {
	hold job
	held_by "$backup" 100000
	been_held "$backup" 600000 5
	been_held $'web1\t4711\tada\tother' 1 20
	terminal 120
	wait_on_terminal
	wait_until shows 'waited [0-9]s, turn in about 8m; held 1m[45][0-9]s \(usually 10m\) by ada@web1'
}

@test "for whoever is not the first, the holds between count as long as all do usually" {
	hold job
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	held_by "$backup"
	been_held $'web1\t4711\tada\tother' 3600000 12
	been_held "$backup" 600000 5
	terminal 120
	wait_on_terminal
	wait_until shows '2nd of 2, waited [0-9]s, turn in about 1h10m; held'
}

@test "longer than usual is said, in colour" {
	hold job
	held_by "$backup" 700000
	been_held "$backup" 600000 5
	terminal 120
	wait_on_terminal
	wait_until shows 'waited [0-9]s; held 11m4[0-9]s \(usually 10m\) by ada@web1'
	on_terminal capture-pane -p -e | grep -q $'\033\\[35mfairlock: job'
}

@test "four holds say nothing about the next" {
	hold job
	held_by "$backup"
	been_held "$backup" 600000 4
	terminal 100
	wait_on_terminal
	wait_until shows 'waited [1-9]s; held [0-9]+s by ada@web1'
}

@test "a holder of Redisson's, and none" {
	cli HSET job redisson:1 1 >/dev/null
	terminal 100
	wait_on_terminal
	wait_until shows 'waited [0-9]+s; held by redisson:1$'
	press C-c
	wait_until in_queue job 0
}

# ---- How it looks ----

@test "it is cut to one line of 60, 80 and 120 columns, and drawn anew when the size changes" {
	local columns

	hold job
	held_by $'web1.eu-west.example.com\t4711\tpostgres\tbackup.sh '"$(printf 'host%d ' {1..40})"
	terminal 60
	wait_on_terminal
	wait_until shows '^job: 1st of 1, waited .*postgres@.*…$'
	for columns in 80 120 60 100 40; do
		resize "$columns"
		fits() { [ "$(the_line | wc -m)" = "$columns" ] && [[ $(the_line) = *… ]]; }
		wait_until fits
		wait_until pieces 1
	done
}

@test "wide characters are cut where they end, and what is no character moves nothing" {
	hold job
	held_by $'web1\t1\tada\t備份資料庫備份資料庫備份資料庫備份資料庫備份資料庫\033[2J\r備份資料庫備份資料庫備份資料庫'
	terminal 80
	wait_on_terminal
	wait_until shows '備…$'
	[ "$(the_line | tr -d '\n' | wc -L)" -le 79 ]
	resize 81
	wait_until shows '備 ?…$'
	[ "$(the_line | tr -d '\n' | wc -L)" -le 80 ]
	resize 140
	wait_until shows '資料庫\?\[2J\?備份'
	pieces 1
}

@test "plain: NO_COLOR has no colours, a dumb terminal gets carriage returns only" {
	hold job
	terminal 80 NO_COLOR=1
	keep_bytes "$PWD/bytes"
	wait_on_terminal
	wait_until grep -q 'waited 1s' bytes
	run ! grep -qE $'\033\\[[0-9;]*[0-9]m.?fairlock: job' bytes
	press C-c
	wait_until in_queue job 0
	type_line 'clear; export TERM=dumb; unset NO_COLOR'
	wait_until shows_not 'waited'
	keep_bytes "$PWD/dumb"
	type_line '"$FAIRLOCK" wrap job echo got it'
	wait_until grep -q 'waited 2s' dumb
	run ! grep -q $'waited[^\r]*\033' dumb
	kill "$HOLDER"
	wait_until shows '^got it$'
	pieces 0
}

@test "without a locale that has them, no other characters than ASCII" {
	hold job
	held_by $'web1\t1\tada\t備份資料庫 '"$(printf '%200s' x)"
	terminal 80 LC_ALL=C
	keep_bytes "$PWD/bytes"
	wait_on_terminal
	wait_until grep -q 'waited 1s' bytes
	LC_ALL=C run ! grep -q $'[\x80-\xff]' bytes
	shows '~$'
}

# ---- When it is there ----

@test "it is gone before COMMAND begins" {
	hold job
	terminal
	wait_on_terminal
	wait_until shows 'waited'
	kill "$HOLDER"
	wait_until shows '^got it$'
	pieces 0
}

@test "it is gone before a message, and acquire has it too" {
	hold job
	terminal
	type_line 'clear; "$FAIRLOCK" acquire --wait 3s job'
	wait_until shows '^fairlock: job: 1st of 1, waited'
	wait_until shows '^fairlock: cannot get lock job: timed out$'
	pieces 0
}

@test "Ctrl-C clears it, and leaves the queue" {
	hold job
	terminal
	wait_on_terminal
	wait_until shows 'waited'
	press C-c
	wait_until in_queue job 0
	wait_until shows '^> $|^>$'
	pieces 0
}

@test "Ctrl-Z and fg: it is drawn where the cursor is then; in the background it is not, and nobody is asked" {
	hold job
	terminal
	type_line 'stty tostop'
	wait_on_terminal
	wait_until shows 'waited'
	press C-z
	wait_until shows 'Stopped'
	pieces 0
	type_line 'clear; bg; echo now'
	wait_until shows '^now$'
	background "$CLI" -s "$SERVER_SOCKET" MONITOR >monitor
	wait_until grep -q OK monitor
	sleep 2.5 # nothing is to happen
	pieces 0
	run ! grep -q "$VIEW" monitor
	type_line 'jobs; echo listed'
	wait_until shows '^listed$'
	shows 'Running'
	type_line 'fg'
	wait_until shows '^fairlock: job: 1st of 1, waited'
	wait_until grep -q "$VIEW" monitor
	kill "$HOLDER"
	wait_until shows '^got it$'
}

@test "where room is short, the host goes without its domain, and the command without its folder" {
	hold job
	held_by $'db1.example.com\t4711\tpostgres\t/usr/local/bin/pg_dump --format=custom '"$(printf '%200s' x)"
	terminal 80
	wait_on_terminal
	wait_until shows '^job: 1st of 1, waited [0-9]s; held [0-9]+s by postgres@db1, pid 4711: pg_dump --f.*…$'
}

@test "in the background with tostop a message does not stop the job" {
	hold job
	terminal
	type_line 'clear; stty tostop; "$FAIRLOCK" wrap --wait 1s job true & wait $!; echo ended $?; stty -tostop'
	wait_until shows '^ended 75$'
	shows '^fairlock: cannot get lock job: timed out$'
}

@test "a terminal that is held up by Ctrl-S does not cost the turn" {
	hold job
	terminal
	type_line 'clear; "$FAIRLOCK" wrap job touch done'
	wait_until shows 'waited'
	press C-s
	sleep 2.5 # so many drawings are not taken
	kill "$HOLDER"
	wait_until test -e done
	# what was not taken then is not made up for: the line may stand there
	press C-q
	wait_until shows '^>'
}

@test "a terminal that is held up by Ctrl-S does not keep COMMAND alive when the lock is lost" {
	terminal
	type_line 'clear; "$FAIRLOCK" wrap -k 200ms job sh -c "echo \$\$ >pid; exec sleep 600"'
	wait_until test -s pid
	press C-s
	"$FAIRLOCK" release --force job
	wait_until ended "$(<pid)"
	press C-q
	wait_until shows '^>'
}

@test "no line and no request for it: standard error is no terminal, --quiet, or the wait is short" {
	hold job
	background "$CLI" -s "$SERVER_SOCKET" MONITOR >monitor
	wait_until grep -q OK monitor
	terminal
	type_line 'clear; "$FAIRLOCK" wrap -w 2s job true 2>errors; echo ended $?'
	wait_until shows '^ended 75$'
	[ "$(cat errors)" = 'fairlock: cannot get lock job: timed out' ]
	type_line 'clear; "$FAIRLOCK" wrap -q -w 2s job true; echo ended $?'
	wait_until shows '^ended 75$'
	type_line 'clear; "$FAIRLOCK" wrap -n job true; "$FAIRLOCK" wrap -w 100ms job true; echo ended $?'
	wait_until shows '^ended 75$'
	shows_not 'waited'
	run ! grep -q "$VIEW" monitor
	wait_on_terminal
	wait_until grep -q "$VIEW" monitor
}

@test "no signal hastens the first line: a wait that is short stays without" {
	hold job
	background "$CLI" -s "$SERVER_SOCKET" MONITOR >monitor
	wait_until grep -q OK monitor
	terminal
	# SIGWINCH all the time
	background bash -c 'while :; do tmux -S "$0" resize-window -x 79 && tmux -S "$0" resize-window -x 80 && : >resized; done' "$TERMINAL"
	wait_until test -e resized
	type_line 'clear; "$FAIRLOCK" wrap -w 250ms job true; echo ended $?'
	wait_until shows '^ended 75$'
	run ! grep -q "$VIEW" monitor
}

@test "--verbose does not hasten the first line either" {
	hold job
	wait_until tells_its_place_only
}

# On a busy machine the wait may be over before the place is known, or the line be due.
tells_its_place_only() {
	run script -qec 'stty cols 80; "$FAIRLOCK" wrap --verbose -w 200ms job true' /dev/null
	[[ $output == *'place 1 of 1'* && $output != *'waited '* ]]
}

@test "it asks once a second at most" {
	hold job
	background "$CLI" -s "$SERVER_SOCKET" MONITOR >monitor
	wait_until grep -q OK monitor
	terminal
	wait_on_terminal
	for columns in {100..60}; do
		resize "$columns"
		sleep 0.05
	done
	asked() { [ "$(grep -ci "\"evalsha\" \"$VIEW\"" monitor)" -ge 4 ]; }
	wait_until asked
	grep -i "\"evalsha\" \"$VIEW\"" monitor | awk '
		NR > 1 && $1 - last < 0.95 { print "after " $1 - last " s"; failed = 1 }
		{ last = $1 }
		END { exit failed }'
}

# ---- What can go wrong ----

@test "a look that is refused is no reason to end the wait" {
	hold job
	cli SET 'fairlock_log:{job}' precious >/dev/null
	terminal
	wait_on_terminal
	wait_until shows '^fairlock: job: waited [2-9]s$'
	kill "$HOLDER"
	wait_until shows '^got it$'
}

@test "a server that went away is told in the line" {
	hold job
	terminal 120
	wait_on_terminal
	wait_until shows 'waited'

	mv "$SERVER_SOCKET" "$SERVER_SOCKET.away"
	"$CLI" -s "$SERVER_SOCKET.away" CLIENT KILL TYPE normal >/dev/null 2>&1 || true
	"$CLI" -s "$SERVER_SOCKET.away" CLIENT KILL TYPE pubsub >/dev/null
	wait_until shows '^fairlock: job: waited [0-9]+s; cannot '
	mv "$SERVER_SOCKET.away" "$SERVER_SOCKET"
	wait_until shows '^fairlock: job: 1st of 1, waited [0-9]+s; held'
	pieces 1
}

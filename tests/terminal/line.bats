#!/usr/bin/env bats
# The waiting line, which a waiter draws on its terminal. Its times grow by themselves, so each test
# waits until the line has the expected text.

load ../lib/helpers
load ../lib/one_server
load ../lib/screens

setup() {
	begin
	VIEW=$(sed -n '/script_view = {/,/}/s/.*sha1 = "\(.*\)".*/\1/p' "$BUILD/scripts.c")
	[ -n "$VIEW" ]
}

# wait_on_terminal: starts a wrap of `job` on the terminal, whose COMMAND prints "got it"
wait_on_terminal() {
	type_line 'clear; "$FAIRLOCK" wrap job echo got it'
}

# been_held BY MS COUNT: has the log say that BY has held `job` for so long, so many times
been_held() {
	cli --raw EVAL 'for i = 1, ARGV[3] do redis.call("XADD", KEYS[1], "*", "event", "released", "time", 1, "owner",
		"o", "token", 1, "by", ARGV[1], "waited", 0, "held", ARGV[2]) end' \
		1 'fairlock_log:{job}' "$1" "$2" "$3" >/dev/null
}

backup=$'web1\t4711\tada\tbackup.sh --all'

# monitor_requests: writes each request that the server gets from now on into `monitor`
monitor_requests() {
	background "$CLI" -s "$SERVER_SOCKET" MONITOR >monitor
	wait_until grep -q OK monitor
}

# the_line: prints the waiting line on the screen
the_line() {
	screen | grep 'waited'
}

# pieces COUNT: succeeds if so many lines of the screen have part of the waiting line
pieces() {
	[ "$(screen | grep -cE 'waited|held|backup')" = "$1" ]
}

# ---- Its text ----

@test "the waiting line shows place, number of waiters, holder, time held, and a growing time waited" {
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

@test "the waiting line shows how many slots are held, and of how many that the waiter wants" {
	for _ in 1 2 3; do "$FAIRLOCK" acquire --lease 1h --slots 3 job >/dev/null; done
	terminal 120
	type_line 'clear; "$FAIRLOCK" wrap --slots 3 job echo got it'
	wait_until shows '^fairlock: job: 1st of 1, waited [0-9]+s; 3 of 3 slots held$'
	press C-c
	type_line 'clear; "$FAIRLOCK" wrap job echo got it'
	wait_until shows '^fairlock: job: 1st of 1, waited [0-9]+s; 3 slots held$'
}

@test "the waiting line shows how many share the lock" {
	for _ in 1 2; do "$FAIRLOCK" acquire --lease 1h --shared job >/dev/null; done
	terminal 120
	wait_on_terminal
	wait_until shows '^fairlock: job: 1st of 1, waited [0-9]+s; held by 2 that share it$'
}

@test "the waiting line does not guess the turn where several may hold the lock" {
	been_held "$backup" 1000000 9
	"$FAIRLOCK" acquire --lease 1h --slots 1 job >/dev/null
	lock=job change "h:$(cli --raw ZRANGE 'fairlock_holders:{job}' 0 0)" "by=$backup"
	terminal 120
	type_line 'clear; "$FAIRLOCK" wrap --slots 1 job echo got it'
	wait_until shows '^fairlock: job: 1st of 1, waited [0-9]+s; held [0-9]+s \(usually 16m40s\) by ada@web1'
}

@test "the waiting line estimates the time of the turn from the usual holds of the holder's command" {
	hold job
	held_by "$backup" 100000
	been_held "$backup" 600000 5
	been_held $'web1\t4711\tada\tother' 1 20
	terminal 120
	wait_on_terminal
	wait_until shows 'waited [0-9]s, turn in about 8m; held 1m[45][0-9]s \(usually 10m\) by ada@web1'
}

@test "the waiting line of a second waiter adds the usual hold of all commands to its estimate" {
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

@test "the waiting line says in colour that the lock is held for longer than usual" {
	hold job
	held_by "$backup" 700000
	been_held "$backup" 600000 5
	terminal 120
	wait_on_terminal
	wait_until shows 'waited [0-9]s; held 11m4[0-9]s \(usually 10m\) by ada@web1'
	on_terminal capture-pane -p -e | grep -q $'\033\\[35mfairlock: job'
}

@test "the waiting line of a lock that --min-hold keeps says until when, after which command, and nothing of usual" {
	"$FAIRLOCK" wrap --min-hold 1h job true
	held_by "$backup" 700000
	been_held "$backup" 600000 5
	terminal 120
	wait_on_terminal
	wait_until shows "waited [0-9]+s; kept until ([A-Z][a-z]+ +[0-9]+ )?$(kept_until job) by --min-hold of ada@web1: backup\.sh --all$"
	run ! grep -q $'\033\\[35m' <(on_terminal capture-pane -p -e)
}

@test "the waiting line of a kept lock names no last holder if the server does not know it" {
	"$FAIRLOCK" wrap --min-hold 1h job true
	held_by ''
	terminal 120
	wait_on_terminal
	wait_until shows "waited [0-9]+s; kept until ([A-Z][a-z]+ +[0-9]+ )?$(kept_until job)$"
}

@test "the waiting line estimates nothing from only four holds" {
	hold job
	held_by "$backup"
	been_held "$backup" 600000 4
	terminal 100
	wait_on_terminal
	wait_until shows 'waited [1-9]s; held [0-9]+s by ada@web1'
}

@test "the waiting line shows the owner id of Redisson's holder" {
	cli HSET job redisson:1 1 >/dev/null
	terminal 100
	wait_on_terminal
	wait_until shows 'waited [0-9]+s; held by redisson:1$'
	press C-c
	wait_until in_queue job 0
}

# ---- Its looks ----

@test "the waiting line is cut to the terminal's width, and drawn anew when that changes" {
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

@test "the waiting line is cut between wide characters, and has ? in place of control characters" {
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

@test "the waiting line has no colours with NO_COLOR, and only carriage returns on a dumb terminal" {
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

@test "the waiting line has only ASCII characters if the locale has no others" {
	hold job
	held_by $'web1\t1\tada\t備份資料庫 '"$(printf '%200s' x)"
	terminal 80 LC_ALL=C
	keep_bytes "$PWD/bytes"
	wait_on_terminal
	wait_until grep -q 'waited 1s' bytes
	LC_ALL=C run ! grep -q $'[\x80-\xff]' bytes
	shows '~$'
}

# ---- When it is on the screen ----

@test "the waiting line is gone before COMMAND starts" {
	hold job
	terminal
	wait_on_terminal
	wait_until shows 'waited'
	kill "$HOLDER"
	wait_until shows '^got it$'
	pieces 0
}

@test "acquire draws a waiting line, too, and clears it before a message" {
	hold job
	terminal
	type_line 'clear; "$FAIRLOCK" acquire --wait 3s job'
	wait_until shows '^fairlock: job: 1st of 1, waited'
	wait_until shows '^fairlock: cannot get lock job: timed out after 3s; held by sleep 600 '
	shows_not 'waited'
}

@test "Ctrl-C clears the waiting line, and the waiter leaves the queue" {
	hold job
	terminal
	wait_on_terminal
	wait_until shows 'waited'
	press C-c
	wait_until in_queue job 0
	wait_until shows '^> $|^>$'
	pieces 0
}

@test "a waiter in the background draws no line and asks the server for none, and fg draws it at the cursor" {
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
	monitor_requests
	sleep 2.5 # enough for two requests or drawings
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

@test "the waiting line leaves out the host's domain and the command's folder if room is short" {
	hold job
	held_by $'db1.example.com\t4711\tpostgres\t/usr/local/bin/pg_dump --format=custom '"$(printf '%200s' x)"
	terminal 80
	wait_on_terminal
	wait_until shows '^job: 1st of 1, waited [0-9]s; held [0-9]+s by postgres@db1, pid 4711: pg_dump --f.*…$'
}

@test "at 60 columns the waiting line leaves out the pid before the command" {
	hold job
	held_by $'db1.example.com\t4711\tpostgres\t/usr/local/bin/pg_dump --format=custom shop'
	terminal 60
	wait_on_terminal
	wait_until shows '^job: 1st of 1, waited [0-9]s; held [0-9]+s by postgres@db1: pg_.*…$'
}

@test "the waiting line shows the reason behind the command" {
	hold job
	held_by $'db1\t4711\tann\tpg_dump\tnightly copy'
	terminal 120
	wait_on_terminal
	wait_until shows 'by ann@db1, pid 4711: pg_dump: nightly copy$'
}

@test "a waiter in the background of a terminal prints the reports of --report, and none in the foreground" {
	hold job
	terminal
	type_line 'clear; "$FAIRLOCK" wrap --report 1s job true &'
	wait_until shows '^fairlock: waiting for lock job: place 1 of 1, waited [1-9]s, held by sleep 600 '
	type_line 'clear; fg'
	wait_until shows '^(fairlock: )?job: 1st of 1, waited [0-9]+s'
	sleep 2.5 # two reports would come in this time
	run ! shows '^fairlock: waiting for lock job'
	press C-c
}

@test "a waiter in the background under tostop prints its message without being stopped" {
	hold job
	terminal
	type_line 'clear; stty tostop; "$FAIRLOCK" wrap --wait 1s job true & wait $!; echo ended $?; stty -tostop'
	wait_until shows '^ended 75$'
	shows '^fairlock: cannot get lock job: timed out after 1s; held by sleep 600 '
}

@test "a waiter whose terminal Ctrl-S has stopped takes its turn all the same" {
	hold job
	terminal
	type_line 'clear; "$FAIRLOCK" wrap job touch done'
	wait_until shows 'waited'
	press C-s
	sleep 2.5 # the terminal takes none of the drawings in this time
	kill "$HOLDER"
	wait_until test -e done
	# the terminal does not catch up, so the line may stand there
	press C-q
	wait_until shows '^>'
}

@test "wrap stops COMMAND when the lock is lost even if Ctrl-S has stopped the terminal" {
	terminal
	type_line 'clear; "$FAIRLOCK" wrap -k 200ms job sh -c "echo \$\$ >pid; exec sleep 600"'
	wait_until test -s pid
	press C-s
	"$FAIRLOCK" release --force job
	wait_until ended "$(<pid)"
	press C-q
	wait_until shows '^>'
}

@test "a waiter draws no line and asks for none with --quiet, a short wait, or standard error in a file" {
	hold job
	monitor_requests
	terminal
	type_line 'clear; "$FAIRLOCK" wrap -w 2s job true 2>errors; echo ended $?'
	wait_until shows '^ended 75$'
	grep -qx 'fairlock: cannot get lock job: timed out after 2s; held by sleep 600 (.*) for [0-9a-z]*' errors
	[ "$(wc -l <errors)" = 1 ]
	type_line 'clear; "$FAIRLOCK" wrap -q -w 2s job true; echo ended $?'
	wait_until shows '^ended 75$'
	type_line 'clear; "$FAIRLOCK" wrap -n job true; "$FAIRLOCK" wrap -w 100ms job true; echo ended $?'
	wait_until shows '^ended 75$'
	shows_not 'waited'
	run ! grep -q "$VIEW" monitor
	wait_on_terminal
	wait_until grep -q "$VIEW" monitor
}

@test "signals do not hasten the first waiting line: a short wait stays without one" {
	hold job
	monitor_requests
	terminal
	# sends SIGWINCH all the time
	background bash -c 'while :; do tmux -S "$0" resize-window -x 79 && tmux -S "$0" resize-window -x 80 && : >resized; done' "$TERMINAL"
	wait_until test -e resized
	type_line 'clear; "$FAIRLOCK" wrap -w 250ms job true; echo ended $?'
	wait_until shows '^ended 75$'
	run ! grep -q "$VIEW" monitor
}

@test "--verbose does not hasten the first waiting line: a short wait stays without one" {
	hold job
	wait_until tells_its_place_only
}

# tells_its_place_only: succeeds if a short wait tells its place and draws no line. On a busy
# machine the wait may be over before the place is known, or the line may be due.
tells_its_place_only() {
	run script -qec 'stty cols 80; "$FAIRLOCK" wrap --verbose -w 200ms job true' /dev/null
	[[ $output == *'place 1 of 1'* && $output != *'waited '* ]]
}

@test "a waiter asks the server for its line once a second at most, even if the terminal's size changes often" {
	hold job
	monitor_requests
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

@test "a waiter waits on if the server refuses to tell it what its line should say" {
	hold job
	cli SET 'fairlock_log:{job}' precious >/dev/null
	terminal
	wait_on_terminal
	wait_until shows '^fairlock: job: waited [2-9]s$'
	kill "$HOLDER"
	wait_until shows '^got it$'
}

@test "the waiting line says that the server is away, and shows the place again when it is back" {
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

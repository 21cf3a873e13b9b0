# The line that a waiter draws on its terminal: what it says, how it looks, when it is there, and an outage. Its times grow by
# themselves, so each test waits until the line has the expected text.

load ../lib/one_server
load ../lib/screens

setup() {
	begin
	find_view
}

@test "the waiting line shows place, number of waiters, holder, time held, and a growing time waited" {
	hold job
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	held_by "$backup" 250000
	terminal 120
	wait_on_terminal
	wait_until shows '^fairlock: job: place 2 of 2, waited [0-9]s, held by backup\.sh --all \(pid 4711, ada@web1\) for 4m1[0-9]s$'
	wait_until shows 'waited [2-9]s, held by .* for 4m1[1-9]s'
	background "$FAIRLOCK" wrap job true
	wait_until shows 'place 2 of 3'
	pieces 1
}

@test "the waiting line is cut to the terminal's width, and drawn anew when that changes" {
	local columns

	hold job
	held_by $'web1.eu-west.example.com\t4711\tpostgres\tbackup.sh '"$(printf 'host%d ' {1..40})"
	terminal 60
	wait_on_terminal
	wait_until shows '^job: place 1 of 1, waited [0-9]+s, held by backup\.sh .*\.\.\. for [0-9]+s$'
	for columns in 80 120 60 100 40; do
		resize "$columns"
		fits() {
			[ "$(the_line | wc -m)" -le "$columns" ] && [ "$(the_line | grep -c ^fairlock)" = $((columns / 100)) ] &&
				[[ $(the_line) = *held*[.…]* ]]
		}
		wait_until fits
		wait_until pieces 1
	done
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

# ---- When it is on the screen ----

@test "the waiting line is gone before COMMAND starts, before acquire's message, and after Ctrl-C" {
	hold job
	terminal
	type_line 'clear; "$FAIRLOCK" acquire --wait 3s job'
	wait_until shows '^(fairlock: )?job: place 1 of 1, waited'
	wait_until shows '^fairlock: cannot get lock job: timed out after 3s; held by sleep 600 '
	shows_not 'waited'
	wait_on_terminal
	wait_until shows 'waited'
	press C-c # takes the waiter out of the queue
	wait_until in_queue job 0
	wait_until shows '^>$'
	pieces 0
	wait_on_terminal
	wait_until shows 'waited'
	kill "$HOLDER"
	wait_until shows '^got it$'
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
	wait_until shows '^(fairlock: )?job: place 1 of 1, waited'
	wait_until grep -q "$VIEW" monitor
	kill "$HOLDER"
	wait_until shows '^got it$'
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

@test "a waiter asks the server for its line once a second at most, even if the terminal's size changes often" {
	hold job
	monitor_requests
	terminal
	wait_on_terminal
	for columns in {100..60}; do
		resize "$columns"
		sleep 0.05
	done
	asked() { [ "$(grep -ci "\"evalsha\" \"$VIEW\"" monitor)" -ge 11 ]; }
	WAIT_S=30 wait_until asked
	grep -i "\"evalsha\" \"$VIEW\"" monitor | awk '
		NR == 1 { first = $1 }
		# a busy machine may serve one of them half a second late: ten intervals take 9.5 s
		$1 - first < NR - 1.5 { print NR " requests within " $1 - first " s"; failed = 1 }
		END { exit failed }'
}

@test "the waiting line shows the reason behind the command, says that the server is away, and shows the place again when it is back" {
	hold job
	held_by $'db1\t4711\tann\tpg_dump\tnightly copy'
	terminal 120
	wait_on_terminal
	wait_until shows 'by pg_dump: nightly copy \(pid 4711, ann@db1\) for'
	mv "$SERVER_SOCKET" "$SERVER_SOCKET.away"
	"$CLI" -s "$SERVER_SOCKET.away" CLIENT KILL TYPE normal >/dev/null 2>&1 || true
	"$CLI" -s "$SERVER_SOCKET.away" CLIENT KILL TYPE pubsub >/dev/null
	wait_until shows '^fairlock: job: waited [0-9]+s; cannot '
	mv "$SERVER_SOCKET.away" "$SERVER_SOCKET"
	wait_until shows '^(fairlock: )?job: place 1 of 1, waited [0-9]+s, held'
	pieces 1
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

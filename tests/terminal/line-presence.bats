#!/usr/bin/env bats
# When a waiter draws its waiting line, and when it clears it; and what the line does when the server is away.

load ../lib/helpers
load ../lib/one_server
load ../lib/screens

setup() {
	begin
	find_view
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
	wait_until shows '^(fairlock: )?job: place 1 of 1, waited'
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

# ---- What can go wrong ----

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
	wait_until shows '^(fairlock: )?job: place 1 of 1, waited [0-9]+s, held'
	pieces 1
}

@test "the waiting line shows the reason behind the command" {
	hold job
	held_by $'db1\t4711\tann\tpg_dump\tnightly copy'
	terminal 120
	wait_on_terminal
	wait_until shows 'by pg_dump: nightly copy \(pid 4711, ann@db1\) for'
}

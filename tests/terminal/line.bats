#!/usr/bin/env bats
# What the waiting line says, which a waiter draws on its terminal, and how it looks. Its times grow by themselves, so each
# test waits until the line has the expected text.

load ../lib/helpers
load ../lib/one_server
load ../lib/screens

setup() {
	begin
	find_view
}

# ---- Its text ----

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

@test "the waiting line shows how many slots are held, and of how many that the waiter wants" {
	for _ in 1 2 3; do "$FAIRLOCK" acquire --lease 1h --slots 3 job >/dev/null; done
	terminal 120
	type_line 'clear; "$FAIRLOCK" wrap --slots 3 job echo got it'
	wait_until shows '^fairlock: job: place 1 of 1, waited [0-9]+s, all 3 slots are held, the next lease ends in [0-9]+m[0-9]*s?$'
	press C-c
	type_line 'clear; "$FAIRLOCK" wrap job echo got it'
	wait_until shows '^fairlock: job: place 1 of 1, waited [0-9]+s, 3 slots are held, the next lease ends in [0-9]+m[0-9]*s?$'
}

@test "the waiting line of a lock that --min-hold keeps says until when, and after which command" {
	"$FAIRLOCK" wrap --min-hold 1h job true
	held_by "$backup" 700000
	terminal 120
	wait_on_terminal
	wait_until shows "waited [0-9]+s, kept until ([A-Z][a-z]+ +[0-9]+ )?$(kept_until job) by --min-hold of backup\.sh --all \(ada@web1\)$"
}

# ---- Its looks ----

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

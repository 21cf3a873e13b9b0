#!/usr/bin/env bats
# The forms in which status, and other commands, print: tables, raw lists, JSON, colours, and what other people wrote.

load ../lib/helpers
load ../lib/one_server

@test "status prints a table with headings, one line per lock, and times in units" {
	"$FAIRLOCK" acquire --lease 90s job
	lock=job change "$(lock=job holder_field)" "since=$(($(now_ms) - 3725000))"
	run -0 "$FAIRLOCK" status
	[ "${#lines[@]}" -eq 2 ]
	read -r -a headings <<<"${lines[0]}"
	[ "${headings[*]}" = "NAME STATE USER HOST PID COMMAND HELD LEASE WAITERS" ]
	[[ ${lines[1]} =~ ^job\ +by\ hand\ until\ .*\ 1h2m\ +1m([1-9]|[12][0-9])s\ +0$ ]]
}

@test "status --raw prints words with single blanks between them, and milliseconds" {
	"$FAIRLOCK" acquire 'my job'
	run -0 "$FAIRLOCK" status --raw
	[ "${lines[0]}" = "NAME STATE USER HOST PID COMMAND HELD_MS LEASE_MS WAITERS" ]
	[[ ${lines[1]} =~ ^my\\x20job\ held\ [^\ ]+\ [^\ ]+\ [0-9]+\ fairlock\\x20acquire\ [0-9]+\ (30000|[12][0-9]{4})\ 0$ ]]
}

@test "status --raw leaves UTF-8 as it is, escapes blanks, control characters and bytes that are none, and prints - for nothing" {
	"$FAIRLOCK" acquire 'ünï 備份'
	describe_holder 'ünï 備份' $'-\t7\ta\\b\tx\x1b\xc2\x9b\xff y'
	LC_ALL=C run -0 "$FAIRLOCK" status --raw --noheadings -o NAME,HOST,USER,COMMAND,REASON
	assert_output 'ünï\x20備份 \x2d a\x5cb x\x1b\xc2\x9b\xff\x20y -'
	[ "$("$FAIRLOCK" status --raw --noheadings free)" = 'free free - - - - - - 0' ]
}

@test "status --color=always colours headings and states, never and a pipe do not" {
	"$FAIRLOCK" acquire job
	"$FAIRLOCK" wrap --min-hold 60s keep true
	"$FAIRLOCK" wrap free true
	run -0 "$FAIRLOCK" status --color=always job keep free
	assert_line --index 0 --partial $'\e[1mNAME'
	assert_line --index 1 --partial $'\e[35mby hand until '
	assert_line --index 2 --regexp $'\e\\[[0-9;]*33mkept until '
	assert_line --index 3 --partial $'\e[32mfree'
	for words in '--color=never' '' '--color' '--color=auto' '--color=always --raw' '--color=always --json'; do
		# shellcheck disable=SC2086
		run -0 "$FAIRLOCK" status $words
		refute_output --partial $'\e'
	done
	run -64 "$FAIRLOCK" status --color=red
	assert_line --index 0 "fairlock: cannot use option '--color': 'red' is not auto, always or never"
}

@test "doctor and log --plot use colours if --color=always, and not with never" {
	"$FAIRLOCK" wrap job true
	run "$FAIRLOCK" doctor --color=always
	assert_output --partial $'\e[3'
	run "$FAIRLOCK" doctor
	refute_output --partial $'\e'
	run -0 "$FAIRLOCK" log --plot --color=always job
	assert_output --partial $'\e['
	run -0 "$FAIRLOCK" log --plot --color=never job
	refute_output --partial $'\e'
}

@test "status --json is valid JSON whatever bytes other programs have written" {
	"$FAIRLOCK" acquire job
	describe_holder job $'h"o\\st\t007\tu\xff\xc3\ts\x01\x1b[31m\x7f\xc2\x9b'
	[ "$(lock job '|[.host, .pid, .user]')" = '["h\"o\\st",null,"u��"]' ]
	[ "$(lock job '|.command == "s\u0001\u001b[31m\u007f\u009b"')" = true ]
	describe_holder job $'h\t1\tu\ta\u202eb\u2066c'
	run -0 "$FAIRLOCK" status --json job
	assert_output --partial 'a\u202eb\u2066c'
}

@test "messages, status, queue and log show no characters that cannot be seen; JSON escapes them" {
	local hidden=$'a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg\U000e0041h' shown='a?b?c?d?e?f?g?h'

	"$FAIRLOCK" acquire job
	background "$FAIRLOCK" wrap job true "$hidden"
	wait_until in_queue job 1
	describe_holder job $'h\t1\tu\t'"$hidden" >/dev/null
	cli XADD 'fairlock_log:{job}' '*' event granted by $'h\t1\tu\t'"$hidden" >/dev/null
	run -75 "$FAIRLOCK" wrap -n job true
	assert_output --partial "held by $shown (pid 1, u@h)"
	for command in status queue log; do
		run -0 "$FAIRLOCK" $command job
		assert_output --partial "$shown"
		run -0 "$FAIRLOCK" $command --raw job
		assert_output --partial 'a\xe2\x80\x8bb\xe2\x80\x8cc\xe2\x80\x8dd\xe2\x81\xa0e\xef\xbb\xbff\xc2\xadg\xf3\xa0\x81\x81h'
		run -0 "$FAIRLOCK" $command --json job
		assert_output --partial 'a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg'
		run -0 jq -r '.. | .command? // empty' <<<"$output"
		assert_output --partial "$hidden"
	done
}

@test "status, queue and log show no control characters of Latin-1, and none that turn the direction of writing" {
	local shown='a?b?c?d?e'

	"$FAIRLOCK" acquire job
	background "$FAIRLOCK" wrap job true $'a\u202eb\u2066c\u200fd\u009be'
	wait_until in_queue job 1
	describe_holder job $'h\t1\tu\ta\u202eb\u2066c\u200fd\u009be'
	cli XADD 'fairlock_log:{job}' '*' event granted by $'h\t1\tu\ta\u202eb\u2066c\u200fd\u009be' >/dev/null
	for form in '' --raw; do
		for command in status queue log; do
			run -0 "$FAIRLOCK" $command $form job
			assert_output --partial "$shown"
		done
		shown='a\xe2\x80\xaeb\xe2\x81\xa6c\xe2\x80\x8fd\xc2\x9be'
	done
}

@test "status -o +COLUMN adds a column to the default ones" {
	[ "$("$FAIRLOCK" status --raw -o +HOLDS,TOKEN job | head -n 1)" = "NAME STATE USER HOST PID COMMAND HELD_MS LEASE_MS WAITERS HOLDS TOKEN" ]
}

#!/usr/bin/env bats
# fairlock log --plot: the drawing, on terminals of several kinds and sizes.

load ../lib/helpers
load ../lib/history

# plot WIDTH [OPTION...]: draws the log on so many columns
plot() {
	COLUMNS=$1 run -0 "$FAIRLOCK" log --plot "${@:2}" job
}

# an_hour_with_an_overrun: a log of three jobs; Bob's holds the lock past its lease
an_hour_with_an_overrun() {
	entries <<-END
		0 granted 1 ann 0 -
		300 released 1 ann 0 300
		320 granted 2 bob 0 -
		600 left - cleo 200 -
		1400 expired 2 bob 0 1080
		1400 granted 3 ann 600 -
		1500 granted 4 cleo 300 -
		1500 released 3 ann 600 100
		1800 forced 4 cleo 300 300
		1900 granted 5 ann 0 -
		3600 released 5 ann 0 1700
	END
}

# ---- The drawing ----

@test "log --plot draws an hour with an overrun on 60 columns" {
	an_hour_with_an_overrun
	plot 60
	assert_output "$(cat <<-'END'
		job: Nov 21 03:00:00 to Nov 21 04:00:00 (1h)

		                         03:00            03:30
		backup.sh    ann@db1     ███     ░░░░░██  ┊█████████████████
		report --mo… bob@web2    ┊  ██████████!   ┊
		deploy.sh p… cleo@build1 ┊   ░×      ░░███!
		up to 2 wait                ▄▄▄ ▄▄▄▄███▄

		█ holds  ░ waits  × left the queue  ! expired, forced, lost
	END
	)"
}

# widths [TEXT]: prints how many columns each line of the input takes, up to TEXT if it has that
widths() {
	python3 -c '
import sys, unicodedata
for line in sys.stdin.buffer.read().decode().splitlines():
    print(sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
              for c in line.split(sys.argv[1])[0]))' "${1-$'\n'}"
}

@test "log --plot cuts long and wide names to the width, and its columns stay in line" {
	long=$'host.example.com\t1\tabcdefghijklmnopqrstuvwxyz\t/opt/very/long/path/'$(printf 'x%.0s' {1..300})
	wide=$'東京ホスト名前\t1\t田中さん\t日本語の報告書を作成するための長い命令'
	combined=$'h\t1\tu\tcafe\xcc\x81'
	entries <<-END
		0 granted 1 long 0 -
		1000 released 1 long 0 1000
		1000 granted 2 wide 900 -
		1900 released 2 wide 900 900
		1900 granted 3 combined 900 -
		2000 released 3 combined 900 100
	END
	for width in 30 60 80 120; do
		plot $width
		key=$(grep -n '█ holds' <<<"$output" | cut -d : -f 1)
		[ "$(head -n $((key - 1)) <<<"$output" | widths | sort -n | tail -n 1)" -le $width ] || fail "$width: $output"
		# each hold begins in the column in which the hold before it ends, or in the next
		mapfile -t begins < <(sed -n 4,6p <<<"$output" | widths █)
		mapfile -t ends < <(sed -n 4,6p <<<"$output" | sed -E 's/(.*█).*/\1/' | widths)
		between 0 $((begins[1] - ends[0] + 1)) 1 || fail "$width: $output"
		between 0 $((begins[2] - ends[1] + 1)) 1 || fail "$width: $output"
	done
	assert_line --regexp '^x+… abcdefghijklmnopqrstuvw… '
	assert_line --regexp '^日本語の報告書を作成す… +田中さん@東京ホスト名前 '
	assert_line --regexp $'^cafe\xcc\x81 +u@h '
}

# between LEAST NUMBER MOST: succeeds if the number is within these bounds
between() {
	[ "$2" -ge "$1" ] && [ "$2" -le "$3" ]
}

@test "log --plot draws a hold and a wait that go on until now" {
	LOGNAME=ann background "$FAIRLOCK" wrap job sleep 100
	wait_until "$FAIRLOCK" status -q job
	LOGNAME=bob background "$FAIRLOCK" wrap job sleep 200
	wait_until in_queue job 1
	sleep 0.2
	plot 80
	assert_line --index 0 --regexp '^job: .* to now \(.*\)$'
	assert_line --regexp '^sleep 100 .*█$'
	assert_line --regexp '^sleep 200 .*░$'
	run -0 "$FAIRLOCK" log --plot --since 100ms job
	assert_line --regexp '^sleep 100 .*█$'
}

# ---- The terminal ----

@test "log --plot draws a bar for each hold, also of one job that holds several slots at once" {
	entries <<-END
		0 granted 1 ann 0 -
		600 granted 2 ann 0 -
		900 granted 3 bob 0 -
		1800 released 1 ann 0 1800
		1800 granted 4 ann 300 -
		2400 released 2 ann 0 1800
		3000 expired 4 ann 300 1200
		3600 released 3 bob 0 2700
	END
	plot 60
	assert_output "$(cat <<-'END'
		job: Nov 21 03:00:00 to Nov 21 04:00:00 (1h)

		                         03:00            03:30
		backup.sh       ann@db1  ██████████████████
		                         ┊    ███████████████████
		                         ┊              ░░████████████!
		report --month… bob@web2 ┊       ███████████████████████████

		█ holds  ░ waits  × left the queue  ! expired, forced, lost
	END
	)"
}

# fairlock log --plot and --stats: the drawing and the figures.

load ../lib/helpers
load ../lib/history

# plot WIDTH [OPTION...]: draws the log on so many columns
plot() { COLUMNS=$1 run -0 "$FAIRLOCK" log --plot "${@:2}" job; }

@test "log --plot draws an hour with an overrun on 60 columns" {
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
between() { [ "$2" -ge "$1" ] && [ "$2" -le "$3" ]; }

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

# ---- Figures ----

# stats FILTER: prints this part of the figures (jq 1.7 prints 1.0000 as written; + 0 makes it 1)
stats() { "$FAIRLOCK" log --stats --json job | jq -c ".stats$1"; }

@test "log --stats prints the figures of a log with every kind of event, as they were worked out by hand" {
	entries <<-END
		0 granted 1 ann 0 -
		10 released 1 ann 0 10
		20 granted 2 bob 5 -
		50 expired 2 bob 5 30
		55 left - ann 20 -
		60 granted 3 ann 40 -
		80 forced 3 ann 40 20
		90 granted 4 bob 10 -
		100 lost 4 bob - -
	END
	assert_equal "$(stats '')" "$(jq -c . <<-END
		{"from": "2026-11-21T03:00:00.000Z", "to": "2026-11-21T03:01:40.000Z",
		"granted": 4, "released": 1, "expired": 1, "forced": 1, "lost": 1, "left": 1, "superseded": 0, "failed": 0,
		"busy": 0.7000, "mean_holders": 0.7000, "most_holders": 1,
		"waited_ms": {"median": 7500, "p95": 40000, "longest": 40000},
		"held_ms": {"median": 20000, "p95": 30000, "longest": 30000}}
	END
	)"
	run -0 "$FAIRLOCK" log --stats job
	assert_output "$(cat <<-END
		job: Nov 21 03:00:00 to Nov 21 03:01:40 (1m40s)

		 busy  granted released  expired   forced     lost     left   failed
		 70 %        4        1        1        1        1        1        0

		          median      95 %   longest
		waited        7s       40s       40s
		held         20s       30s       30s
	END
	)"
}

@test "log --stats counts a hold that goes on as busy until now, and leaves it out of held_ms" {
	hold job
	assert_equal "$(stats '|[.granted, .busy + 0, .held_ms.longest]')" '[1,1,null]'
}

@test "log --stats counts an hour that several shared once as busy, and prints the mean and the most holders" {
	entries <<-END
		0 granted 1 ann 0 -
		0 granted 2 bob 0 -
		20 granted 3 cleo 0 -
		40 released 1 ann 0 40
		40 released 2 bob 0 40
		60 released 3 cleo 0 40
		90 granted 4 ann 0 -
		100 released 4 ann 0 10
	END
	assert_equal "$(stats '|[.busy + 0, .mean_holders + 0, .most_holders, .released]')" '[0.7,1.3,3,4]'
	run -0 "$FAIRLOCK" log --stats job
	assert_line --regexp '^ 70 %        4        4 '
	assert_equal "${lines[-1]}" '1.30 holders on average, at most 3 at once'
}

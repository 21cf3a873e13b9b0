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

@test "log --plot draws an hour with an overrun on 80 columns" {
	an_hour_with_an_overrun
	plot 80
	assert_output "$(cat <<-'END'
		job: Nov 21 03:00:00 to Nov 21 04:00:00 (1h)

		                                 03:00      03:15       03:30       03:45
		backup.sh            ann@db1     ████      ░░░░░░░░██   ┊███████████████████████
		report --monthly     bob@web2    ┊   ██████████████!    ┊           ┊
		deploy.sh production cleo@build1 ┊    ░░×   ┊    ░░░████!           ┊
		up to 2 wait                          ▄▄▄  ▄▄▄▄▄████▄

		█ holds  ░ waits  × left the queue  ! expired, forced, lost
	END
	)"
}

@test "log --plot draws an hour with an overrun on 120 columns" {
	an_hour_with_an_overrun
	plot 120
	assert_output "$(cat <<-'END'
		job: Nov 21 03:00:00 to Nov 21 04:00:00 (1h)

		                                 03:00         03:10          03:20         03:30          03:40         03:50
		backup.sh            ann@db1     ████████      ┊    ░░░░░░░░░░░░░░████      ┊ ██████████████████████████████████████████
		report --monthly     bob@web2    ┊      ██████████████████████████!         ┊              ┊             ┊
		deploy.sh production cleo@build1 ┊         ░░░░×              ░░░░░░░███████!              ┊             ┊
		up to 2 wait                              ▄▄▄▄▄▄    ▄▄▄▄▄▄▄▄▄▄█████▄▄▄

		█ holds  ░ waits  × left the queue  ! expired, forced, lost
	END
	)"
}

@test "log --plot draws with ASCII characters if the locale has no UTF-8" {
	an_hour_with_an_overrun
	LC_ALL=C plot 80
	assert_output "$(cat <<-'END'
		job: Nov 21 03:00:00 to Nov 21 04:00:00 (1h)

		                                 03:00      03:15       03:30       03:45
		backup.sh            ann@db1     ####      ........##   |#######################
		report --monthly     bob@web2    |   ##############!    |           |
		deploy.sh production cleo@build1 |    ..x   |    ...####!           |
		up to 2 wait                          111  1111122221

		# holds  . waits  x left the queue  ! expired, forced, lost
	END
	)"
}

@test "log --plot sets its ticks at round local times, and names the days" {
	entries <<-END
		0 granted 1 ann 0 -
		86400 released 1 ann 0 86400
	END
	TZ=Asia/Kolkata plot 80
	assert_line --index 0 'job: Nov 21 08:30:00 to Nov 22 08:30:00 (1d), all by ann@db1'
	assert_line --index 1 '                       12:00            18:00           Nov 22           06:00'
	cli DEL "$key"
	entries <<-END
		0 granted 1 ann 0 -
		8640000 released 1 ann 0 8640000
	END
	plot 80
	assert_line --index 1 --partial 'Dec 17'
	cli DEL "$key"
	at 2 granted 1 ann 1
	plot 80
	assert_line --index 1 --regexp '^ +03:00:01\.0 +03:00:01\.2 '
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

@test "log --plot draws overlapping runs of one job in rows of their own, and the other runs in one row" {
	entries <<-END
		10 granted 1 ann 10 -
		20 released 1 ann 10 10
		20 granted 2 ann 20 -
		30 released 2 ann 20 10
		30 granted 3 ann 30 -
		40 released 3 ann 30 10
		60 granted 4 ann 10 -
		70 released 4 ann 10 10
	END
	LC_ALL=C plot 84
	assert_equal "$(sed -n '4,7p' <<<"$output" | tr -d '|' | tr -s ' ' | sed 's/ $//')" "$(cat <<-'END'
		backup.sh ..........########## ..........##########
		 ....................##########
		 ..............................##########
		up to 3 wait 333333333322222222221111111111 1111111111
	END
	)"
}

@test "log --plot shows the latest 40 rows, how many more there are, and how many waiters there were" {
	for ((i = 0; i < 60; i++)); do
		echo "$((100 + i)) left - job$i $((100 - i)) -"
		declare -g "job$i=host	1	user	command-$i"
	done | cat >"$BATS_TEST_TMPDIR/list"
	for ((i = 0; i < 60; i++)); do
		declare -g "job$i=host	1	user	command-$i"
	done
	entries <"$BATS_TEST_TMPDIR/list"
	plot 80
	assert_equal "$(grep -c '^command' <<<"$output")" 40
	refute_line --regexp '^command-19 '
	assert_line --regexp '^command-20 '
	assert_line --regexp '^up to 50 wait '
	assert_line '20 more rows are not shown'
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

@test "log --plot draws a holder of Redisson's, which is not in the log, at the end" {
	cli HSET job redisson:1 1 >/dev/null
	plot 80
	assert_line --regexp '^redisson +.*█'
}

@test "log --plot --since leaves out older events" {
	now=$(($(now_ms) / 1000 - base))
	entries <<-END
		$((now - 5000)) granted 1 bob 0 -
		$((now - 4000)) released 1 bob 0 1000
		$((now - 1000)) granted 2 ann 0 -
		$((now - 500)) released 2 ann 0 500
	END
	plot 80 --since 20m
	assert_line --regexp '^job: .* \((20m|19m59s)\), all by ann@db1$'
	assert_line --regexp '^backup.sh {5,13}[┊ ]*█+'
	refute_output --partial report
}

# ---- The terminal ----

# plot_on_terminal COLUMNS ROWS [NAME=VALUE...]: draws the log on a terminal of this size
plot_on_terminal() {
	local size="stty cols $1 rows $2"

	shift 2
	output=$(script -qec "$size; env TERM=xterm-256color $* '$FAIRLOCK' log --plot job" /dev/null \
		</dev/null 3>&- | tr -d '\r')
}

@test "log --plot uses the terminal's width, and no more rows than its height has room for" {
	an_hour_with_an_overrun
	plot_on_terminal 60 24 TERM=dumb
	here=$output
	plot 60
	assert_equal "$here" "$output"
	plot_on_terminal 60 24 TERM=dumb COLUMNS=80
	here=$output
	plot 80
	assert_equal "$here" "$output"
	cli DEL "$key" >/dev/null
	for ((i = 0; i < 60; i++)); do
		echo "$((100 + i)) left - ann 100 -"
	done | entries
	plot_on_terminal 60 20 TERM=dumb
	[ "$(wc -l <<<"$output")" -le 20 ] || fail "$output"
	assert_output --partial '49 more rows are not shown'
}

@test "log --plot uses colours on a terminal that has them, unless NO_COLOR is set" {
	colour=$'\033['
	an_hour_with_an_overrun
	plot_on_terminal 80 24
	assert_output --partial "${colour}32m█"
	assert_output --partial "${colour}35m░"
	assert_output --partial "${colour}1;31m!"
	# the rest is as without colours
	here=$(sed 's/\x1b\[[0-9;]*m//g' <<<"$output")
	plot 80
	assert_equal "$here" "$output"
	plot_on_terminal 80 24 NO_COLOR=1
	refute_output --partial "$colour"
	plot_on_terminal 80 24 TERM=dumb
	refute_output --partial "$colour"
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

@test "log --plot draws slots that are held now until now" {
	"$FAIRLOCK" acquire --slots 2 job >/dev/null
	"$FAIRLOCK" acquire --slots 2 job >/dev/null
	plot 80
	assert_line --index 0 --regexp ' to now '
	assert_equal "$(grep -c '█$' <<<"$output")" 2
}

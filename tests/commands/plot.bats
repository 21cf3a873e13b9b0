#!/usr/bin/env bats
# fairlock log --plot, and what every form of the log makes of hostile entries

load ../lib/helpers
load ../lib/history

setup_file() { start_server; }

# plot WIDTH [OPTION...]
plot() {
	COLUMNS=$1 run -0 "$FAIRLOCK" log --plot "${@:2}" job
}

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

@test "an hour with an overrun, 60 columns" {
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

@test "the same, 80 columns" {
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

@test "the same, 120 columns" {
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

@test "where the locale has no UTF-8, plain characters do" {
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

@test "ticks are round in local time, and a day has its name" {
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

# The columns that each line of the input takes, up to WHAT where that is in it.
widths() {
	python3 -c '
import sys, unicodedata
for line in sys.stdin.buffer.read().decode().splitlines():
    print(sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
              for c in line.split(sys.argv[1])[0]))' "${1-$'\n'}"
}

@test "long and wide names are cut to the width, and columns stay in line" {
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
		# each begins to hold in the column where the one before ends, or in the next
		mapfile -t begins < <(sed -n 4,6p <<<"$output" | widths █)
		mapfile -t ends < <(sed -n 4,6p <<<"$output" | sed -E 's/(.*█).*/\1/' | widths)
		between 0 $((begins[1] - ends[0] + 1)) 1 || fail "$width: $output"
		between 0 $((begins[2] - ends[1] + 1)) 1 || fail "$width: $output"
	done
	assert_line --regexp '^x+… abcdefghijklmnopqrstuvw… '
	assert_line --regexp '^日本語の報告書を作成す… +田中さん@東京ホスト名前 '
	assert_line --regexp $'^cafe\xcc\x81 +u@h '
}

# between LEAST NUMBER MOST
between() {
	[ "$2" -ge "$1" ] && [ "$2" -le "$3" ]
}

@test "what overlaps in one job gets rows of its own, what does not shares one" {
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

@test "of many rows the latest are shown, and how many wait at all" {
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
	[ "$(grep -c '03:0' <<<"$output")" -ge 3 ] # the title, and an axis above and below
}

@test "who holds and who waits now are drawn until now" {
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

@test "Redisson's holder and waiter, of whom nothing is known, are seen at the end" {
	cli HSET job redisson:1 1 >/dev/null
	plot 80
	assert_line --regexp '^redisson +.*█'
}

@test "what was before --since is not drawn" {
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

# on_terminal COLUMNS ROWS [NAME=VALUE...]: the drawing on a terminal of this size
on_terminal() {
	local size="stty cols $1 rows $2"

	shift 2
	output=$(script -qec "$size; env TERM=xterm-256color $* '$FAIRLOCK' log --plot job" /dev/null \
		</dev/null 3>&- | tr -d '\r')
}

@test "a terminal's width is used, and its height: more rows than lines would scroll away" {
	an_hour_with_an_overrun
	on_terminal 60 24 TERM=dumb
	here=$output
	plot 60
	assert_equal "$here" "$output"
	on_terminal 60 24 TERM=dumb COLUMNS=80
	here=$output
	plot 80
	assert_equal "$here" "$output"
	cli DEL "$key" >/dev/null
	for ((i = 0; i < 60; i++)); do
		echo "$((100 + i)) left - ann 100 -"
	done | entries
	on_terminal 60 20 TERM=dumb
	[ "$(wc -l <<<"$output")" -le 20 ] || fail "$output"
	assert_output --partial '49 more rows are not shown'
}

@test "colours are for terminals that have them, and for people who want them" {
	colour=$'\033['
	an_hour_with_an_overrun
	on_terminal 80 24
	assert_output --partial "${colour}32m█"
	assert_output --partial "${colour}35m░"
	assert_output --partial "${colour}1;31m!"
	# all else is as without
	here=$(sed 's/\x1b\[[0-9;]*m//g' <<<"$output")
	plot 80
	assert_equal "$here" "$output"
	on_terminal 80 24 NO_COLOR=1
	refute_output --partial "$colour"
	on_terminal 80 24 TERM=dumb
	refute_output --partial "$colour"
}

# ---- Hostile entries ----

# harmless: every form ends well, and prints no control character but the end of a line
harmless() {
	local form width

	for form in '' --raw --json --stats '--stats --json' --plot '--since 1h' '--plot --since 1000000d' \
		'--stats --since 1000000d'; do
		for width in 30 80 900; do
			# shellcheck disable=SC2086
			COLUMNS=$width run -0 timeout 20 "$FAIRLOCK" log $form job
			[[ $form != *json* ]] || jq -e . <<<"$output" >/dev/null || fail "$form: $output"
			! LC_ALL=C tr -d '\n' <<<"$output" | LC_ALL=C grep -q '[[:cntrl:]]' || fail "$form: $output"
			iconv -f UTF-8 -t UTF-8 <<<"$output" >/dev/null || fail "$form: $output"
		done
	done
}

@test "fields that are missing, doubled, empty or no numbers" {
	cli XADD $key '*' event granted >/dev/null
	cli XADD $key '*' nonsense nonsense >/dev/null
	cli XADD $key '*' '' '' >/dev/null
	cli XADD $key '*' event released event granted time 5 time x token -1 held -5 waited 1e9 >/dev/null
	cli XADD $key '*' event expired token abc time '' by '' held nan >/dev/null
	cli XADD $key '*' event exploded by "$(printf '\t\t\t\t\t')" token 007 time 01 >/dev/null
	cli XADD $key '*' event released token 5 time 0 held 999999999999999 >/dev/null
	harmless
}

@test "numbers that are huge, and times that are far away" {
	for time in 0 1 253402300799999 253402300800000 999999999999999 1000000000000000 9223372036854775807 \
		18446744073709551616 99999999999999999999999999; do
		for event in granted released left; do
			cli XADD $key '*' event $event time $time token $time waited $time held $time >/dev/null
		done
		harmless
	done
	cli DEL $key >/dev/null
	cli XADD $key 18446744073709551615-18446744073709551614 event granted >/dev/null
	harmless
}

@test "texts that are huge, no UTF-8, or drive a terminal" {
	huge=$(printf 'x%.0s' {1..100000})
	cli XADD $key '*' event granted by "h	1	u	$huge" owner "$huge" token "$huge" >/dev/null
	cli XADD $key '*' event "$huge" time "$huge" >/dev/null
	printf 'XADD %s * event "\\x1b[2J" by "\\x1b]0;x\\x07\\t\\x9b\\t\\xff\\xfe\\t\\r\\n\\x00 \\xe2\\x80\\xae x" token "\\x00"\n' \
		"$key" | cli >/dev/null
	printf 'XADD %s * event granted by "a\\tb\\tc\\t\\xc2\\x9b31m\\xc3" time 1795230000000\n' "$key" | cli >/dev/null
	harmless
}

@test "a thousand jobs at once, and grants without ends" {
	for ((i = 0; i < 1000; i++)); do
		echo "XADD $key $((base + i))000-1 event granted time $((base + i))000 token $((i % 7)) by \"h\\t1\\tu\\tjob$i\" waited 900000"
	done | cli >/dev/null
	harmless
}

@test "keys of other types are refused" {
	for key in 'fairlock_log:{job}' 'fairlock:{job}' 'redisson_lock_queue:{job}' job; do
		cli FLUSHALL >/dev/null
		cli SET "$key" precious >/dev/null
		case $key in
		fairlock_log*) forms=('' --stats --follow) ;;
		*) forms=(--stats --plot) ;;
		esac
		for form in "${forms[@]}"; do
			# shellcheck disable=SC2086
			run -78 timeout 20 "$FAIRLOCK" log $form job
		done
		assert_equal "$(cli GET "$key")" precious
	done
}

# The forms in which status, queue and log print: tables in a pipe and on a terminal, raw lists, JSON, colours, and what other
# people wrote.

load ../lib/one_server
load ../lib/screens

# ---- In a pipe ----

@test "status prints a table with headings, one line per lock, and times in units; -o + adds a column to the default ones" {
	"$FAIRLOCK" acquire --lease 90s job
	lock=job change "$(lock=job holder_field)" "since=$(($(now_ms) - 3725000))"
	run -0 "$FAIRLOCK" status
	[ "${#lines[@]}" -eq 2 ]
	read -r -a headings <<<"${lines[0]}"
	[ "${headings[*]}" = "NAME STATE USER HOST PID COMMAND HELD LEASE WAITERS" ]
	[[ ${lines[1]} =~ ^job\ +by\ hand\ until\ .*\ 1h2m\ +1m([1-9]|[12][0-9])s\ +0$ ]]
	[ "$("$FAIRLOCK" status --raw -o +HOLDS,TOKEN job | head -n 1)" = "NAME STATE USER HOST PID COMMAND HELD_MS LEASE_MS WAITERS HOLDS TOKEN" ]
}

@test "status --raw prints words with single blanks, and milliseconds; escapes blanks, control characters and what is no UTF-8" {
	"$FAIRLOCK" acquire 'my job'
	run -0 "$FAIRLOCK" status --raw
	[ "${lines[0]}" = "NAME STATE USER HOST PID COMMAND HELD_MS LEASE_MS WAITERS" ]
	[[ ${lines[1]} =~ ^my\\x20job\ held\ [^\ ]+\ [^\ ]+\ [0-9]+\ fairlock\\x20acquire\ [0-9]+\ (30000|[12][0-9]{4})\ 0$ ]]
	"$FAIRLOCK" acquire 'ünï 備份'
	describe_holder 'ünï 備份' $'-\t7\ta\\b\tx\x1b\xc2\x9b\xff y'
	assert_equal "$(lock 'ünï 備份' '|[.user, .pid]')" '["a\\b",7]'
	[ "$(lock 'ünï 備份' '|.command == "x\u001b\u009b\ufffd y"')" = true ]
	LC_ALL=C run -0 "$FAIRLOCK" status --raw --noheadings -o NAME,HOST,USER,COMMAND,REASON 'ünï 備份'
	assert_output 'ünï\x20備份 \x2d a\x5cb x\x1b\xc2\x9b\xff\x20y -'
	[ "$("$FAIRLOCK" status --raw --noheadings free)" = 'free free - - - - - - 0' ]
}

@test "--color=always colours headings, states, findings and the drawing; never and a pipe do not" {
	"$FAIRLOCK" acquire job
	"$FAIRLOCK" wrap --min-hold 60s keep true
	"$FAIRLOCK" wrap free true
	run -0 "$FAIRLOCK" status --color=always job keep free
	assert_line --index 0 --partial $'\e[1mNAME'
	assert_line --index 1 --partial $'\e[35mby hand until '
	assert_line --index 2 --regexp $'\e\\[[0-9;]*33mkept until '
	assert_line --index 3 --partial $'\e[32mfree'
	for words in 'doctor --color=always' 'log --plot --color=always free'; do
		run "$FAIRLOCK" $words
		assert_output --partial $'\e['
		refute_output --partial 'fairlock: '
	done
	for words in 'status --color=never' status 'status --color' 'status --color=auto' 'status --color=always --raw' \
		'status --color=always --json' doctor 'log --plot --color=never free'; do
		run "$FAIRLOCK" $words
		refute_output --partial $'\e'
		refute_output --partial 'fairlock: '
		[ -n "$output" ]
	done
	run -64 "$FAIRLOCK" status --color=red
	assert_line --index 0 "fairlock: cannot use option '--color': 'red' is not auto, always or never"
}

@test "messages, status, queue and log show no control characters, none that cannot be seen, and none that turn the direction" {
	local hidden=$'a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg\U000e0041h\u202ei\u2066j\u200fk\u009bl' shown='a?b?c?d?e?f?g?h?i?j?k?l'
	local raw='a\xe2\x80\x8bb\xe2\x80\x8cc\xe2\x80\x8dd\xe2\x81\xa0e\xef\xbb\xbff\xc2\xadg\xf3\xa0\x81\x81h\xe2\x80\xaei\xe2\x81\xa6j\xe2\x80\x8fk\xc2\x9bl'

	"$FAIRLOCK" acquire job
	join_queue job true "$hidden"
	describe_holder job $'h\t1\tu\t'"$hidden" >/dev/null
	cli XADD 'fairlock_log:{job}' '*' event granted by $'h\t1\tu\t'"$hidden" >/dev/null
	run -75 "$FAIRLOCK" wrap -n job true
	assert_output --partial "held by $shown (pid 1, u@h)"
	for command in status queue log; do
		run -0 "$FAIRLOCK" $command job
		assert_output --partial "$shown"
		run -0 "$FAIRLOCK" $command --raw job
		assert_output --partial "$raw"
		run -0 "$FAIRLOCK" $command --json job
		assert_output --partial 'a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg'
		assert_output --partial 'h\u202ei\u2066j\u200fk'
		run -0 jq -r '.. | .command? // empty' <<<"$output"
		assert_output --partial "$hidden"
	done
}

# ---- On a terminal ----

# shown COLUMNS WORD...: runs fairlock with these words on a terminal of so many columns; its output comes into `shown`, and its
# bytes into `bytes`
shown() {
	terminal "$1"
	: >bytes
	keep_bytes "$PWD/bytes"
	type_line "clear; ${*:2}; echo \"ended \$?\""
	wait_until shows '^ended 0$'
	wait_until grep -q '^ended 0' bytes
	screen | sed '/^ended/,$d' >shown
	on_terminal kill-server
}

@test "status prints one line per lock on 60, 80 and 120 columns, from the name to the number of waiters" {
	local columns name long

	long=$(printf '%.0slong-' {1..30})
	for name in job "$long" 備份資料庫備份資料庫備份資料庫 evil; do
		"$FAIRLOCK" acquire -l 1h "$name" >/dev/null
	done
	describe_holder job $'web1\t4711\tada\tbackup.sh --all'
	describe_holder "$long" $"$long.example.com"$'\t4711\t'"$long"$'\t/usr/bin/'"$long $long"
	describe_holder 備份資料庫備份資料庫備份資料庫 $'ホスト名ホスト名\t1\tużytkownik\t備份資料庫備份資料庫備份資料庫備份資料庫備份資料庫'
	describe_holder evil $'h\033[31mo\t1\tus\ver\trm\033[2J\r\302\233gotcha'
	for columns in 60 80 120; do
		shown $columns '"$FAIRLOCK" status'
		[ "$(wc -l <shown)" = 5 ]
		[ "$(LC_ALL=C.UTF-8 wc -L <shown)" -le $columns ]
		head -n 1 shown | grep -Eq '^NAME +STATE +USER +HOST .*COMMAND +HELD .*WAITERS$'
		grep -Eq '^job +held +ada +web1 .*backup.sh.* [0-9]+m?s .* 0$' shown
		grep -Eq '^long-long[^ ]*… +held +long-[^ ]*… +long-[^ ]*… .*… .* 0$' shown
		grep -Eq '^備份.* held +u.* 備份.*… ' shown
		grep -Eq '^evil +held +us\?er +h\?\[31mo .*rm\?\[2J' shown
	done
	grep -q 'PID' shown
	grep -Eq '^job .* 59m[0-9]*s ' shown
}

@test "status counts the free locks that it does not show below the others, on a terminal only" {
	"$FAIRLOCK" wrap free1 true
	shown 60 '"$FAIRLOCK" status'
	assert_equal "$(<shown)" $'no lock is held or waited for\n1 free lock: --all'
	"$FAIRLOCK" wrap free2 true
	hold job
	shown 60 '"$FAIRLOCK" status'
	sed -n 2p shown | grep -q '^job *held'
	assert_equal "$(sed 1,2d shown)" '2 free locks: --all'
	shown 60 '"$FAIRLOCK" status --all'
	assert_equal "$(sed 1,2d shown | cut -d ' ' -f 1)" $'free1\nfree2'
	shown 60 '"$FAIRLOCK" status --raw'
	assert_equal "$(wc -l <shown)" 2
	run -0 "$FAIRLOCK" status
	refute_output --partial --all
}

@test "status and log use colours on a terminal, and none with NO_COLOR or --color=never" {
	hold job
	shown 100 '"$FAIRLOCK" status; "$FAIRLOCK" log job'
	grep -q $'\e\\[1mNAME' bytes
	grep -q $'\e\\[35mheld' bytes
	grep -q $'\e\\[1mTIME' bytes
	shown 100 'NO_COLOR=1 "$FAIRLOCK" status; "$FAIRLOCK" status --color=never'
	run ! grep -q $'\e\\[1mNAME' bytes
	run ! grep -q $'\e\\[35mheld' bytes
}

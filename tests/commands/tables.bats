#!/usr/bin/env bats
# The tables of status, queue and log on a terminal: one line for each entry, however long its words
# are, with the important columns in sight.

load ../lib/helpers
load ../lib/one_server
load ../lib/screens

setup() {
	begin
	long=$(printf '%.0slong-' {1..30})
}

# set_holder NAME BY: has the server say that BY holds this lock, which is held already
set_holder() {
	describe_holder "$1" "$2"
}

# many_locks: makes locks with long and strange words in all columns
many_locks() {
	local name

	for name in job "$long" 備份資料庫備份資料庫備份資料庫 evil; do
		"$FAIRLOCK" acquire -l 1h "$name" >/dev/null
	done
	set_holder job $'web1\t4711\tada\tbackup.sh --all'
	set_holder "$long" $"$long.example.com"$'\t4711\t'"$long"$'\t/usr/bin/'"$long $long"
	set_holder 備份資料庫備份資料庫備份資料庫 $'ホスト名ホスト名\t1\tużytkownik\t備份資料庫備份資料庫備份資料庫備份資料庫備份資料庫'
	set_holder evil $'h\033[31mo\t1\tus\ver\trm\033[2J\r\302\233gotcha'
}

# shown COLUMNS WORD...: runs fairlock with these words on a terminal of so many columns; prints its
# output, which is in `shown`, too
shown() {
	terminal "$1"
	type_line "clear; \"\$FAIRLOCK\" ${*:2}; echo \"ended \$?\""
	wait_until shows '^ended 0$'
	screen | sed '/^ended/,$d' >shown
	on_terminal kill-server
	cat shown
}

@test "status prints one line per lock on 60, 80 and 120 columns, from the name to the number of waiters" {
	local columns

	many_locks
	for columns in 60 80 120; do
		shown $columns status
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
	shown 60 'status'
	assert_equal "$(<shown)" $'no lock is held or waited for\n1 free lock: --all'
	"$FAIRLOCK" wrap free2 true
	hold job
	shown 60 'status'
	sed -n 2p shown | grep -q '^job *held'
	assert_equal "$(sed 1,2d shown)" '2 free locks: --all'
	shown 60 'status --all'
	assert_equal "$(sed 1,2d shown | cut -d ' ' -f 1)" $'free1\nfree2'
	shown 60 'status --raw'
	assert_equal "$(wc -l <shown)" 2
	run -0 "$FAIRLOCK" status
	refute_output --partial --all
}

@test "status, queue and log use colours on a terminal, and none with NO_COLOR or --color=never" {
	hold job
	terminal 100
	keep_bytes "$PWD/bytes"
	type_line 'clear; "$FAIRLOCK" status; "$FAIRLOCK" log job; echo "ended $?"'
	wait_until shows '^ended 0$'
	wait_until grep -q 'ended 0' bytes
	grep -q $'\e\\[1mNAME' bytes
	grep -q $'\e\\[35mheld' bytes
	grep -q $'\e\\[1mTIME' bytes
	on_terminal kill-server
	rm bytes
	BATS_TEST_TMPDIR=$BATS_TEST_TMPDIR/again
	mkdir -p "$BATS_TEST_TMPDIR"
	terminal 100
	keep_bytes "$PWD/bytes"
	type_line 'clear; NO_COLOR=1 "$FAIRLOCK" status; "$FAIRLOCK" status --color=never; echo "ended $?"'
	wait_until shows '^ended 0$'
	wait_until grep -q 'ended 0' bytes
	run ! grep -q $'\e\\[1mNAME' bytes
	run ! grep -q $'\e\\[35mheld' bytes
}

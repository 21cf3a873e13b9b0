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

@test "status -o +COLUMN shows the usual columns as without it: REASON only if there is one, and LEASE only if it fits" {
	"$FAIRLOCK" acquire job
	describe_holder job $'web1\t4711\tada\tbackup.sh --all' 5000
	run -0 "$FAIRLOCK" status -o +HOLDS
	assert_line --index 0 --regexp '^NAME +STATE +USER +HOST +PID +COMMAND +HELD +LEASE +WAITERS +HOLDS$'
	shown 50 status -o +HOLDS
	head -n 1 shown | grep -Eq '^NAME +STATE +USER +HOST +COMMAND +HELD +WAITERS +HOLDS$'
	shown 50 status -o +LEASE
	head -n 1 shown | grep -Eq ' WAITERS +LEASE$'
	run -0 "$FAIRLOCK" status -o NAME,REASON
	assert_line --index 0 --regexp '^NAME +REASON *$'
}

@test "status prints whole words with --raw, and if its output is no terminal" {
	many_locks
	run -0 "$FAIRLOCK" status "$long"
	assert_output --partial "$long $long"
	assert_output --partial "$long.example.com"
	shown 60 status job --raw
	# the terminal wraps the line, and nothing is lost
	[[ $(tr -d '\n' <shown) = *'web1 4711 backup.sh\x20--all'* ]]
}

@test "queue shows owner ids if there is room or if -o asks for them" {
	hold job
	background "$FAIRLOCK" wrap job true "$long"
	wait_until in_queue job 1
	shown 60 queue job
	head -n 1 shown | grep -Eq '^POSITION +USER +HOST .*COMMAND +WAITING +PRESENT$'
	shown 120 queue job
	head -n 1 shown | grep -Eq '^POSITION +OWNER +USER'
	shown 60 queue -o OWNER,COMMAND job
	grep -Eq '^[0-9a-f-]{36}:[0-9]+ true long-' shown
}

@test "log cuts each event to the terminal's width, and log --follow each new one" {
	"$FAIRLOCK" wrap job true "$long" "$long"
	shown 60 log job
	[ "$(wc -l <shown)" = 3 ]
	[ "$(wc -L <shown)" -le 60 ]
	grep -Eq ' released .*…$' shown
	head -n 1 shown | grep -Eq '^TIME +EVENT +HELD STATUS WHO +COMMAND$'
	shown 60 'log'
	[ "$(wc -l <shown)" = 3 ]
	[ "$(wc -L <shown)" -le 60 ]
	terminal 60
	type_line 'clear; "$FAIRLOCK" log --follow job'
	wait_until shows ' released .*…$'
	"$FAIRLOCK" wrap job true "$long"
	both() { [ "$(screen | grep -Ec '(granted|released) .*…$')" = 4 ]; }
	wait_until both
	[ "$(screen | grep -c .)" -le 6 ] # with the headings
}

@test "log on 80 columns has user and host, a short time, no wait of 0ms, and the reason in place of the command" {
	local key='fairlock_log:{job}' base=1795230000 who=$'build1.example.com\t4711\tdeploy'

	cli XADD "$key" '*' event granted time ${base}007 waited 0 by "$who"$'\t./deploy.sh' >/dev/null
	cli XADD "$key" '*' event left time ${base}107 waited 61000 by "$who"$'\t./deploy.sh\tmigrate the table' >/dev/null
	cli XADD "$key" '*' event superseded time ${base}207 waited 61000 \
		by $'build1.example.com\t4711\tdeploy\t./deploy.sh '"$long" >/dev/null
	cli XADD "$key" '*' event released time ${base}907 waited 0 held 900 status 143 cause 'wrap died' by "$who"$'\t./deploy.sh' >/dev/null
	shown 80 log job
	[ "$(wc -L <shown)" -le 80 ]
	head -n 1 shown | grep -Eq '^TIME +EVENT +WAITED +HELD +STATUS.* WHO +.*COMMAND$'
	[ "$(grep -c ' deploy@b' shown)" = 4 ]
	grep -Eq '^Nov 21 0[0-9]:00:00 granted +deploy@.* ./deploy.sh$' shown
	grep -Eq '^Nov 21 0[0-9]:00:00 left +1m1s .* migrate ' shown
	grep -Eq '^Nov 21 0[0-9]:00:00 released +900ms +143 ' shown
	shown 80 log
	[ "$(wc -L <shown)" -le 80 ]
	[ "$(grep -c ' deploy@b' shown)" = 4 ]
	shown 100 log -o TIME,WAITED,COMMAND job
	grep -Eq '^Nov 21 0[0-9]:00:00 +1m1s ./deploy.sh$' shown
	grep -Eq '^Nov 21 0[0-9]:00:00 +0ms ./deploy.sh$' shown
	run -0 "$FAIRLOCK" log job
	assert_line --index 0 --regexp '^TIME +EVENT +WAITED +HELD +STATUS CAUSE +USER +HOST +PID +COMMAND$'
	assert_line --index 1 --regexp '\.007 granted +0ms +deploy build1\.example\.com +4711 \./deploy\.sh$'
	run -0 "$FAIRLOCK" log --noheadings -o WHO job
	assert_line --index 0 deploy@build1.example.com
}

@test "status shows the host on 60 columns, also of a lock that somebody holds by hand" {
	LOGNAME=$long "$FAIRLOCK" acquire -l 20m "$long" >/dev/null
	shown 60 status
	[ "$(LC_ALL=C.UTF-8 wc -L <shown)" -le 60 ]
	head -n 1 shown | grep -Eq '^NAME +STATE +HOST .*WAITERS$'
	grep -Eq " by hand until ([0-9:]{5}|[A-Z][a-z]{2} ..) .*$(uname -n | cut -c 1-7).* fairlock .* 0\$" shown # the day if it is tomorrow
}

@test "status, queue and log say on a terminal that their list is empty" {
	run -0 "$FAIRLOCK" status
	refute_output
	run -0 "$FAIRLOCK" queue
	refute_output
	shown 60 'status; "$FAIRLOCK" queue job 2>/dev/null; "$FAIRLOCK" queue; exec 2>/dev/null; "$FAIRLOCK" log job; "$FAIRLOCK" queue --json job; "$FAIRLOCK" queue --raw job'
	[ "$(head -n 3 shown)" = $'no locks\nnobody waits for job\nnobody waits for any lock' ]
	sed -n 4p shown | grep -q '^no events'
	[ "$(grep -c 'no ' shown)" = 2 ]
	[ "$(sed -n 5p shown)" = '{"queue":[]}' ]
	shown 60 'log; "$FAIRLOCK" log --since "2026-11-21 03:00" job 2>/dev/null; "$FAIRLOCK" log --since @1795230000'
	[ "$(head -n 3 shown)" = $'no events\nno events since Nov 21 03:00:00\nno events since Nov 21 03:00:00' ]
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

@test "status shows a kept lock and reasons on 60 and 80 columns, with name, state, command and number of waiters" {
	"$FAIRLOCK" acquire -l 1h "$long" >/dev/null
	set_holder "$long" $'web1.example.com\t4711\tadalovelace\tbackup.sh --all\tthe new shop goes live'
	"$FAIRLOCK" wrap --min-hold 1h keep true
	for columns in 60 80; do
		shown $columns status
		[ "$(wc -l <shown)" = 3 ]
		[ "$(LC_ALL=C.UTF-8 wc -L <shown)" -le $columns ]
		# an hour before midnight a day stands there, and on 60 columns no reason has room beside it
		head -n 1 shown | grep -Eq '^NAME +STATE .*COMMAND +(REASON +)?(HELD .*)?WAITERS$'
		grep -Eq '^long-l[^ ]*… +held .*backup.* 0$' shown
		[ $columns = 60 ] || grep -Eq '^long-l[^ ]*… +held .*backup.* the new.* 0$' shown
		[ $columns = 60 ] || head -n 1 shown | grep -Eq ' REASON +HELD '
		grep -Eq '^keep +kept until ([0-9:]{8}|[A-Z][a-z]+ [0-9]+)' shown # the day if it is tomorrow
	done
}

@test "status shows on 60 columns the day until which a lock is kept, and leaves the reason of another out for it" {
	"$FAIRLOCK" acquire -l 1h "$long" >/dev/null
	set_holder "$long" $'web1.example.com\t4711\tadalovelace\tbackup.sh --all\tthe new shop goes live'
	"$FAIRLOCK" wrap --min-hold 2d keep true
	shown 60 status
	[ "$(wc -l <shown)" = 3 ]
	[ "$(LC_ALL=C.UTF-8 wc -L <shown)" -le 60 ]
	grep -Eq '^keep +kept until [A-Z][a-z]+ +[0-9]+ .* 0$' shown
	run ! grep REASON shown
}

@test "status prints only ASCII characters if the locale has no others" {
	many_locks
	terminal 80 LC_ALL=C
	keep_bytes "$PWD/bytes"
	type_line 'clear; "$FAIRLOCK" status; echo "ended $?"'
	wait_until shows '^ended 0$'
	LC_ALL=C run ! grep -q $'[\x80-\xff]' bytes
	shows '^long-long[^ ]*~ +held'
	shows '^\?\?\?\?\?'
}

@test "status and queue show slots on 60 and 80 columns, with name, state, slot, command and number of waiters" {
	"$FAIRLOCK" acquire -l 1h --slots 'database-number-one,database-number-two' "$long" >/dev/null
	"$FAIRLOCK" acquire -l 1h --slots 'database-number-one,database-number-two' "$long" >/dev/null
	background "$FAIRLOCK" wrap --slots 'database-number-one,database-number-two' "$long" true
	wait_until in_queue "$long" 1
	for columns in 60 80; do
		shown $columns status
		[ "$(wc -l <shown)" = 3 ]
		[ "$(LC_ALL=C.UTF-8 wc -L <shown)" -le $columns ]
		head -n 1 shown | grep -Eq '^NAME +STATE .*SLOT .*COMMAND +(HELD .*)?WAITERS$'
		grep -Eq '^long-l[^ ]*… +by hand until .*dat[^ ]* .*fairlock.* 1$' shown
		shown $columns "queue $long"
		[ "$(wc -l <shown)" = 2 ]
		[ "$(LC_ALL=C.UTF-8 wc -L <shown)" -le $columns ]
		head -n 1 shown | grep -Eq '^POSITION .*SLOTS .*COMMAND .*WAITING'
		grep -Eq ' data[^ ]* ' shown
	done
}

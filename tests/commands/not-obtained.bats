#!/usr/bin/env bats
# What wrap and acquire say when they did not get the lock: why, after how long, and who holds it.

load ../lib/helpers
load ../lib/one_server

time='[0-9]+m?s'

# says TEXT COMMAND...: COMMAND ends with 75 and exactly this one line, a regular expression
says() {
	run -75 "$FAIRLOCK" "${@:2}"
	assert_output --regexp "^fairlock: cannot get lock $1$"
	assert_equal "${#lines[@]}" 1
	[ "${#lines[0]}" -lt 160 ]
}

@test "a wait that timed out says after how long, who holds the lock, and for how long" {
	hold job
	held_by $'db1\t12\tann\t./job' 180000
	says 'job: timed out after 1s; held by \./job \(pid 12, ann@db1\) for 3m[0-9s]*' wrap -w 1 job true
	says 'job: timed out after 1\.5s; held by \./job \(pid 12, ann@db1\) for 3m[0-9s]*' wrap -w 1.5 job true
	says 'job: timed out after 500ms; held by \./job \(pid 12, ann@db1\) for 3m[0-9s]*' acquire -w 0.5 job
}

@test "a lock that is busy is said to be held by whom, and since when" {
	hold job
	held_by $'db1\t12\tann\t./job' 7200000
	says 'job: held by \./job \(pid 12, ann@db1\) for 2h' wrap -n job true
	says 'job: held by \./job \(pid 12, ann@db1\) for 2h' acquire -n job
}

@test "a full queue, a command that ran already and a removed waiter name the holder, too" {
	local waiter

	hold job
	held_by $'db1\t12\tann\t./job' 60000
	says 'job: the queue is full \(0 waiting\); held by \./job \(pid 12, ann@db1\) for 1m[0-9s]*' wrap --max-queue 0 job true
	says "job: its command started $time ago, within --once-per 1d; held by \./job \(pid 12, ann@db1\) for 1m[0-9s]*" \
		wrap --once-per 1d job true
	background "$FAIRLOCK" wrap job true 2>said
	waiter=$!
	wait_until in_queue job 1
	"$FAIRLOCK" queue --remove "$(cli ZRANGE 'fairlock_queue:{job}' 0 0)" job
	ends_with 75 "$waiter"
	assert_regex "$(<said)" "^fairlock: cannot get lock job: removed from the queue after $time; held by \./job \(pid 12, ann@db1\) for 1m[0-9s]*$"
}

# keep NAME: has --min-hold keep the lock; `kept` is a regular expression for until when, and after which command
keep() {
	"$FAIRLOCK" wrap --min-hold 1h "$1" true
	describe_holder "$1" $'db1\t12\tann\t./job' 60000
	kept="kept until ([A-Z][a-z]+ +[0-9]+ )?$(kept_until "$1") by --min-hold of \./job \(ann@db1\)"
}

@test "a lock that --min-hold keeps has no holder in a message: it is kept, until when, and after which command" {
	local waiter kept

	keep job
	says "job: $kept" wrap -n job true
	says "job: $kept" acquire -n job
	says "job: timed out after 100ms; $kept" wrap -w 100ms job true
	says "job: the queue is full \(0 waiting\); $kept" wrap --max-queue 0 job true
	says "job: its command started $time ago, within --once-per 1d; $kept" wrap --once-per 1d job true
	run -0 "$FAIRLOCK" wrap --skip -v job true
	assert_line --regexp "cannot get lock job: $kept$"
	background "$FAIRLOCK" wrap job true 2>said
	waiter=$!
	wait_until in_queue job 1
	"$FAIRLOCK" queue --remove "$(cli ZRANGE 'fairlock_queue:{job}' 0 0)" job
	ends_with 75 "$waiter"
	assert_regex "$(<said)" "^fairlock: cannot get lock job: removed from the queue after $time; $kept$"
}

@test "a message tells the date too if a lock is not kept until today, and needs fewer words for a long name" {
	local long kept

	"$FAIRLOCK" wrap --min-hold 2d job true
	says "job: kept until [A-Z][a-z]+ +[0-9]+ $(kept_until job) by --min-hold of true \(.*@.*\)" wrap -n job true
	long=$(printf '%0100d' 0)
	keep "$long"
	describe_holder "$long" "$long"$'\t4194304\t'"$long"$'\tpg_dump '"$long"
	kept=${kept% by *}
	# user and host have no room beside the date that is told an hour before midnight
	says "0{37}\.\.\.: $kept by --min-hold of pg_dump 0+\.\.\.( \(0{9}\.\.\.@0{9}\.\.\.\))?" wrap -n "$long" true
	says "0{37}\.\.\.: its command started $time ago, within --once-per 23h59m; $kept.*" wrap --once-per 23h59m "$long" true
}

@test "a message names no last holder of a kept lock if the server does not know it" {
	local kept

	"$FAIRLOCK" wrap --min-hold 1h job true
	describe_holder job '' 60000
	kept="kept until ([A-Z][a-z]+ +[0-9]+ )?$(kept_until job)"
	says "job: $kept" wrap -n job true
	says "job: timed out after 100ms; $kept" wrap -w 100ms job true
}

@test "a command that ran already under a lock that is free names no holder" {
	"$FAIRLOCK" wrap job true
	says "job: its command started $time ago, within --once-per 1d" wrap --once-per 1d job true
}

@test "a Redisson holder is named by its owner id" {
	cli HSET job 01234567-89ab-4cde-8f01-23456789abcd:7 1 >/dev/null
	cli PEXPIRE job 60000 >/dev/null
	says 'job: held by 01234567-89ab-4cde-8f01-23456789abcd:7' wrap -n job true
	says 'job: timed out after 100ms; held by 01234567-89ab-4cde-8f01-23456789abcd:7' wrap -w 100ms job true
}

@test "a waiter of a free lock is not called its holder" {
	hold job
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	cli DEL job >/dev/null
	says 'job: it is free, but others asked first' wrap -n job true
	says 'job: the queue is full \(1 waiting\)' wrap --max-queue 1 job true
}

@test "a wait does not time out but fails if the server refuses the waiter that leaves" {
	local waiter

	hold job
	background "$FAIRLOCK" wrap -w 2 job true 2>said
	waiter=$!
	wait_until in_queue job 1
	cli SET job 1 >/dev/null
	ends_with 78 "$waiter"
	assert_equal "$(<said)" 'fairlock: cannot use the name job: it is in use by something that is no lock'
}

@test "a waiter that ends because the process of --while-pid has ended names the holder" {
	local process waiter

	hold job
	held_by $'db1\t12\tann\t./job' 60000
	background sleep 600
	process=$!
	background "$FAIRLOCK" acquire --while-pid "$process" job 2>said
	waiter=$!
	wait_until in_queue job 1
	kill "$process"
	ends_with 75 "$waiter"
	assert_regex "$(<said)" '^fairlock: cannot get lock job: the process of --while-pid has ended; held by \./job .* for 1m[0-9s]*$'
}

@test "other people's text is cut so that the message stays under 160 characters" {
	local long

	long=$(printf '%0100d' 0)
	hold job
	held_by $'db1.example.com\t4194304\tpostgres\tpg_dump '"$long" 86350000
	says 'job: timed out after 100ms; held by pg_dump 0{29}\.\.\. \(pid 4194304, postgres@db1.example.com\) for 23h59m' wrap -w 100ms job true
	held_by "$long"$'\t4194304\t'"$long"$'\tpg_dump '"$long" 86350000
	says 'job: held by pg_dump 0+\.\.\. \(0{9}\.\.\.@0{9}\.\.\.\) for 23h59m' wrap -n job true
	hold "n$long"
	describe_holder "n$long" "$long"$'\t4194304\t'"$long"$'\tpg_dump '"$long"
	says "n0{36}\.\.\.: its command started $time ago, within --once-per 1d; held by pg_dump 0+\.\.\. for $time" \
		wrap --once-per 1d "n$long" true
	says "n0{36}\.\.\.: timed out after 100ms; held by .*\.\.\. \(0{9}\.\.\.@0{9}\.\.\.\) for $time" wrap -w 100ms "n$long" true
}

@test "messages about a lock with a long name and a command with a long path stay under 160 characters" {
	local name path

	name=$(printf '%0100d' 0)
	path=$PWD/$(printf '%0100d' 1)
	ln -s "$(command -v sleep)" "$path"
	background "$FAIRLOCK" wrap "$name" "$path" 600 2>lost
	wait_until "$FAIRLOCK" status -q "$name"
	"$FAIRLOCK" release --force "$name" >/dev/null
	wait_until test -s lost
	assert_regex "$(<lost)" '^fairlock: lost lock 0{37}\.\.\.: somebody broke it by force; stopping /.{36}\.\.\.$'
	run -124 "$FAIRLOCK" wrap --max-hold 100ms "$name" "$path" 600
	assert_output --regexp '^fairlock: lock 0{37}\.\.\. was held for 100ms, as long as --max-hold allows; stopping /.{36}\.\.\.$'
	run -127 "$FAIRLOCK" wrap "$name" "$path.not" 600
	assert_output --regexp '^fairlock: cannot execute /.{36}\.\.\.: No such file or directory$'
	run -76 "$FAIRLOCK" release --owner 1:1 "$name"
	assert_output 'fairlock: cannot release lock 0000000000000000000000000000000000000...: this owner does not hold it now; see fairlock status'
	run -64 "$FAIRLOCK" renew --owner "x$name" "$name"
	assert_line --index 0 "fairlock: cannot act as owner 'x000000000000000000000000000000000000...': this is no id; acquire prints the id"
}

# ---- Several holders ----

# share COUNT OPTION...: so many acquires hold `job` with these options; describes the one whose lease ends first
share() {
	local i owner slot lock=job

	for ((i = 1; i <= $1; i++)); do
		read -r owner slot < <("$FAIRLOCK" acquire --lease "${i}h" "${@:2}" job)
		[ "$i" -gt 1 ] || change "h:$owner" "holds=,a$owner," by=$'db1\t4\tann\t./backup.sh'
	done
}

@test "a waiter for a slot is told that all slots are held, and when the next lease ends" {
	share 3 --slots 3
	says 'job: all 3 slots are held, the next lease ends in 59m[0-9s]*' wrap -n --slots 3 job true
	says 'job: all 3 slots are held, the next lease ends in 59m[0-9s]*' acquire -n --slots 3 job
	says 'job: timed out after 1s; all 3 slots are held, the next lease ends in 59m[0-9s]*' \
		wrap -w 1s --slots 3 job true
	says 'job: the queue is full \(0 waiting\); all 3 slots are held, the next lease ends in 59m[0-9s]*' \
		wrap --max-queue 0 --slots 3 job true
	cli FLUSHALL >/dev/null
	share 2 --slots a,b
	says 'job: all 2 slots are held, the next lease ends in 59m[0-9s]*' wrap -n --slots a,b job true
}

@test "a waiter for a slot is told that others asked first if slots are free" {
	share 2 --slots 3
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	says 'job: 2 of 3 slots are held, but others asked first' wrap -n --slots 3 job true
	says 'job: timed out after 100ms; 2 of 3 slots are held, but others asked first' wrap -w 100ms --slots 3 job true
}

@test "a waiter for slots of another count is told the count of the holders" {
	share 2 --slots 3
	says 'job: all others take one of 3 slots' wrap -n --slots 2 job true
	says 'job: all others take one of 3 slots' acquire -n --slots 4 job
	says 'job: timed out after 100ms; all others take one of 3 slots' wrap -w 100ms --slots 1 job true
}

@test "a waiter for fewer named slots than are held is told how many are held" {
	share 2 --slots a,b,c
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	says 'job: all 2 slots are held, the next lease ends in 59m[0-9s]*' wrap -n --slots a,b job true
	says 'job: 2 slots are held, the next lease ends in 59m[0-9s]*' wrap -n --slots a job true
}

@test "one slot that is held beside free ones names no holder, and the only slot names it" {
	share 1 --slots a,b,c
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	says 'job: 1 of 3 slots is held, but others asked first' wrap -n --slots a,b,c job true
	says "job: held by \./backup\.sh \(pid 4, ann@db1\) for $time" wrap -n --slots a job true
}

@test "a waiter for the lock alone, or for a shared hold, is told how many slots are held" {
	share 3 --slots 3
	says 'job: 3 slots are held, the next lease ends in 59m[0-9s]*' wrap -n job true
	says 'job: 3 slots are held, the next lease ends in 59m[0-9s]*' wrap -n --shared job true
}

@test "a command that ran already is said to have done so while so many slots are held" {
	"$FAIRLOCK" wrap --slots 3 job true
	share 2 --slots 3
	says "job: its command started $time ago, within --once-per 1d; 2 of 3 slots are held" \
		wrap --once-per 1d --slots 3 job true
}

@test "a waiter is told one of the shared holders, and how many others there are" {
	share 1 --shared
	says "job: held by \./backup\.sh \(pid 4, ann@db1\) for $time" wrap -n job true
	share 1 --shared
	says 'job: held by \./backup\.sh \(pid 4, ann@db1\) and 1 other that shares it' wrap -n job true
	share 10 --shared
	says 'job: held by \./backup\.sh \(pid 4, ann@db1\) and 11 others that share it' wrap -n --slots 3 job true
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	says 'job: held by \./backup\.sh \(pid 4, ann@db1\) and 11 others that share it, but others asked first' \
		wrap -n --shared job true
}

@test "a waiter for one of several slots names the holder that has the lock alone" {
	hold job
	held_by $'db1\t12\tann\t./job' 180000
	says 'job: held by \./job \(pid 12, ann@db1\) for 3m[0-9s]*' wrap -n --slots 3 job true
	says 'job: held by \./job \(pid 12, ann@db1\) for 3m[0-9s]*' wrap -n --shared job true
}

@test "several holders, long names and long words leave a message under 160 characters" {
	local long owner slot lock

	long=$(printf '%0100d' 0) lock=n$long
	owner=$("$FAIRLOCK" acquire --shared --lease 1h "n$long")
	"$FAIRLOCK" acquire --shared --lease 2h "n$long" >/dev/null
	change "h:$owner" "by=$long"$'\t4194304\t'"$long"$'\tpg_dump '"$long"
	says "n0{36}\.\.\.: held by pg_dump .* and 1 other that shares it" wrap -n "n$long" true
	"$FAIRLOCK" wrap --shared "n$long" true
	says "n0{36}\.\.\.: its command started $time ago, within --once-per 23h59m; held by pg_dump .*\.\.\." \
		wrap --once-per 23h59m "n$long" true
	"$FAIRLOCK" release --force -q "n$long"
	for slot in 1 2; do "$FAIRLOCK" acquire --slots 2 "n$long" >/dev/null; done
	says "n0{36}\.\.\.: its command started $time ago, within --once-per 23h59m; 2 slots are held.*" \
		wrap --once-per 23h59m "n$long" true
}

# ---- --skip ----

@test "--skip ends with 0, silently and at once, if the lock is busy, and runs COMMAND if it is free" {
	hold job
	run -0 "$FAIRLOCK" wrap --skip job touch ran
	refute_output
	[ ! -e ran ]
	run -3 "$FAIRLOCK" wrap --skip free -- sh -c 'echo mine; exit 3'
	assert_output mine
}

@test "--skip goes before a wait and a conflict-exit-code of variables and files" {
	hold job
	FAIRLOCK_WAIT=1h FAIRLOCK_CONFLICT_EXIT_CODE=7 run -0 "$FAIRLOCK" wrap --skip job true
	printf 'wait = 1h\nconflict-exit-code = 7\n' >conf
	run -0 "$FAIRLOCK" wrap --config conf --skip job true
	refute_output
}

@test "--skip hides no outage, no mistake, no refusal, and no lost lock" {
	FAIRLOCK_URL=unix:$PWD/nothing run -69 "$FAIRLOCK" wrap --skip job true
	assert_output --regexp '^fairlock: cannot reach '
	run -64 "$FAIRLOCK" wrap --skip 'a}b{' true
	assert_output --partial 'fairlock: cannot use NAME'
	cli SET text precious >/dev/null
	run -78 "$FAIRLOCK" wrap --skip text true
	assert_output --partial 'no lock'
	# shellcheck disable=SC2016
	run -76 "$FAIRLOCK" wrap --skip job sh -c '"$FAIRLOCK" release --force job >/dev/null; sleep 600'
	assert_output --partial 'fairlock: lost lock job'
}

@test "--skip has no variable and no key in files" {
	hold job
	FAIRLOCK_SKIP=yes run -75 "$FAIRLOCK" wrap -n job true
	echo 'skip = yes' >conf
	run -78 "$FAIRLOCK" wrap --config conf -n job true
}

@test "-q tells nothing of this, and the status is that of -E" {
	hold job
	run -3 "$FAIRLOCK" wrap -q -E 3 -w 100ms job true
	refute_output
}

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

@test "a Redisson holder is named by its owner id" {
	cli HSET job 01234567-89ab-4cde-8f01-23456789abcd:7 1 >/dev/null
	cli PEXPIRE job 60000 >/dev/null
	says 'job: held by 01234567-89ab-4cde-8f01-23456789abcd:7' wrap -n job true
	says 'job: timed out after 100ms; held by 01234567-89ab-4cde-8f01-23456789abcd:7' wrap -w 100ms job true
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

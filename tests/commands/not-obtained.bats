# What wrap and acquire say when they did not get the lock: why, after how long, and who holds it.

load ../lib/one_server

time='[0-9]+m?s'
ann='held by \./job \(pid 12, ann@db1\) for 3m[0-9s]*'

# all_say: reads lines "WORDS | TEXT"; `fairlock WORDS` ends with 75 and exactly this one line, a regular expression
all_say() {
	local words text

	while IFS='|' read -r words text; do
		run -75 "$FAIRLOCK" $words
		assert_output --regexp "^fairlock: cannot get lock job: ${text# }$"
		assert_equal "${#lines[@]}" 1
		[ "${#lines[0]}" -lt 160 ]
	done
}

# a_removed_waiter_says TEXT
a_removed_waiter_says() {
	join_queue job true
	"$FAIRLOCK" queue --remove "$(cli ZRANGE 'fairlock_queue:{job}' 0 0)" job
	ends_with 75 "$WAITER"
	assert_regex "$(<said)" "^fairlock: cannot get lock job: removed from the queue after $time; $1$"
}

@test "a wait that timed out, a full queue, a command that ran already and a removed waiter name the holder" {
	hold job
	held_by $'db1\t12\tann\t./job' 180000
	all_say <<-END
		wrap -w 1.1 job true | timed out after 1\.1s; $ann
		acquire -w 0.5 job | timed out after 500ms; $ann
		wrap --max-queue 0 job true | the queue is full \(0 waiting\); $ann
		wrap --once-per 1d job true | its command started $time ago, within --once-per 1d; $ann
	END
	a_removed_waiter_says "$ann"
}

@test "a lock that --min-hold keeps has no holder in a message: it is kept, until when, and after which command" {
	local kept

	"$FAIRLOCK" wrap --min-hold 1h job true
	held_by $'db1\t12\tann\t./job' 60000
	kept="kept until ([A-Z][a-z]+ +[0-9]+ )?$(kept_until job) by --min-hold of \./job \(ann@db1\)"
	all_say <<-END
		wrap -n job true | $kept
		acquire -n job | $kept
		wrap -w 100ms job true | timed out after 100ms; $kept
		wrap --max-queue 0 job true | the queue is full \(0 waiting\); $kept
		wrap --once-per 1d job true | its command started $time ago, within --once-per 1d; $kept
	END
	run -0 "$FAIRLOCK" wrap --skip -v job true
	assert_line --regexp "cannot get lock job: $kept$"
	a_removed_waiter_says "$kept"
}

@test "a Redisson holder is named by its owner id" {
	cli HSET job 01234567-89ab-4cde-8f01-23456789abcd:7 1 >/dev/null
	cli PEXPIRE job 60000 >/dev/null
	all_say <<-'END'
		wrap -n job true | held by 01234567-89ab-4cde-8f01-23456789abcd:7
		wrap -w 100ms job true | timed out after 100ms; held by 01234567-89ab-4cde-8f01-23456789abcd:7
	END
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
	all_say <<-'END'
		wrap -n job true | 3 slots are held, the next lease ends in 59m[0-9s]*
		wrap -n --slots 3 job true | all 3 slots are held, the next lease ends in 59m[0-9s]*
		acquire -n --slots 3 job | all 3 slots are held, the next lease ends in 59m[0-9s]*
		wrap -w 100ms --slots 3 job true | timed out after 100ms; all 3 slots are held, the next lease ends in 59m[0-9s]*
		wrap --max-queue 0 --slots 3 job true | the queue is full \(0 waiting\); all 3 slots are held, the next lease ends in 59m[0-9s]*
	END
	cli FLUSHALL >/dev/null
	share 2 --slots a,b
	all_say <<<'wrap -n --slots a,b job true | all 2 slots are held, the next lease ends in 59m[0-9s]*'
}

@test "a waiter for a slot is told that others asked first, or that all others take one of another count" {
	share 2 --slots 3
	all_say <<-'END'
		wrap -n --slots 2 job true | all others take one of 3 slots
		acquire -n --slots 4 job | all others take one of 3 slots
		wrap -w 100ms --slots 1 job true | timed out after 100ms; all others take one of 3 slots
	END
	join_queue job true
	all_say <<-'END'
		wrap -n --slots 3 job true | 2 of 3 slots are held, but others asked first
		wrap -w 100ms --slots 3 job true | timed out after 100ms; 2 of 3 slots are held, but others asked first
	END
}

@test "a waiter is told one of the shared holders, and how many others there are" {
	local backup='held by \./backup\.sh \(pid 4, ann@db1\)'

	share 1 --shared
	all_say <<<"wrap -n job true | $backup for $time"
	share 1 --shared
	all_say <<<"wrap -n job true | $backup and 1 other that shares it"
	share 10 --shared
	all_say <<<"wrap -n --slots 3 job true | $backup and 11 others that share it"
	join_queue job true
	all_say <<<"wrap -n --shared job true | $backup and 11 others that share it, but others asked first"
}

# ---- --skip ----

@test "--skip ends with 0, silently and at once, if the lock is busy, whatever files and variables say, and runs COMMAND if it is free" {
	hold job
	printf 'wait = 1h\nconflict-exit-code = 7\n' >conf
	run -0 "$FAIRLOCK" wrap --config conf --skip job touch ran
	refute_output
	FAIRLOCK_WAIT=1h FAIRLOCK_CONFLICT_EXIT_CODE=7 run -0 "$FAIRLOCK" wrap --skip job touch ran
	refute_output
	[ ! -e ran ]
	run -3 "$FAIRLOCK" wrap --skip free -- sh -c 'echo mine; exit 3'
	assert_output mine
}

@test "--skip hides no mistake, no refusal, and no lost lock" {
	run -64 "$FAIRLOCK" wrap --skip 'a}b{' true
	assert_output --partial 'fairlock: cannot use NAME'
	FAIRLOCK_URL=unix:$PWD/nothing run -69 "$FAIRLOCK" wrap --skip --connect-timeout 100ms job true
	assert_output --regexp '^fairlock: cannot reach '
	cli SET text precious >/dev/null
	run -78 "$FAIRLOCK" wrap --skip text true
	assert_output --partial 'no lock'
	run -76 "$FAIRLOCK" wrap --skip job sh -c '"$FAIRLOCK" release --force job >/dev/null; sleep 600'
	assert_output --partial 'fairlock: lost lock job'
}

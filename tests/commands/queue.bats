#!/usr/bin/env bats
# fairlock queue: the waiters that it shows, its forms, and --remove.

load ../lib/helpers
load ../lib/one_server

# queue .FILTER: prints this part of the queue of "job" as JSON
queue() {
	"$FAIRLOCK" queue --json job | jq -c ".queue$1"
}

waiting() {
	[ "$(queue '|map(select(.present))|length')" = "$1" ]
}

# join_queue NUMBER: starts an acquire, which becomes waiter NUMBER in the queue of "job"
join_queue() {
	background "$FAIRLOCK" acquire job >"$BATS_TEST_TMPDIR/owner.$1"
	wait_until waiting "$1"
}

redisson=0a1b2c3d-0000-4000-8000-000000000009:42

@test "queue shows the waiters in the order in which they came" {
	"$FAIRLOCK" acquire job
	join_queue 1
	first=$!
	join_queue 2
	second=$!
	[ "$(queue '|map([.position, .pid])')" = "[[1,$first],[2,$second]]" ]
}

@test "queue tells a waiter's host, user, process and command, and that it is present" {
	"$FAIRLOCK" acquire job
	LOGNAME=bob join_queue 1
	"$FAIRLOCK" queue --json job | jq -e --arg host "$(uname -n)" --arg pid $! '.queue[0]
		| .host == $host and .user == "bob" and "\(.pid)" == $pid and (.owner | endswith(":" + $pid))
		and .command == "fairlock acquire" and .client == "fairlock" and .present == true'
}

@test "queue --json has the keys that the manual names, in this order" {
	"$FAIRLOCK" acquire job
	join_queue 1
	[ "$(queue '[0]|keys_unsorted|join(" ")')" = '"name position owner host pid user command client mode slots reason waiting_ms present"' ]
}

@test "queue shows a killed waiter as not present" {
	"$FAIRLOCK" acquire job
	join_queue 1
	kill -KILL $!
	wait_until waiting 0
	[ "$(queue '|map([.client, .present])')" = '[["fairlock",false]]' ]
}

@test "queue prints a table with headings and a line for each waiter" {
	"$FAIRLOCK" acquire job
	join_queue 1
	run -0 "$FAIRLOCK" queue job
	[ "${#lines[@]}" -eq 2 ]
	read -r -a headings <<<"${lines[0]}"
	[ "${headings[*]}" = "POSITION OWNER USER HOST PID COMMAND WAITING PRESENT" ]
	[[ ${lines[1]} =~ ^\ +1\ [0-9a-f-]+:$!\ .*\ [0-9]+m?s\ +yes\ *$ ]]
}

@test "queue without a name shows the waiters of all locks, and those of one lock in their order" {
	"$FAIRLOCK" acquire job10
	"$FAIRLOCK" acquire job2
	"$FAIRLOCK" acquire free
	background "$FAIRLOCK" wrap job10 true ten
	wait_until in_queue job10 1
	background "$FAIRLOCK" wrap job2 true first
	wait_until in_queue job2 1
	background "$FAIRLOCK" wrap job2 true second
	wait_until in_queue job2 2
	run -0 "$FAIRLOCK" queue --raw --noheadings -o NAME,POSITION,COMMAND
	assert_output $'job2 1 true\\x20first\njob2 2 true\\x20second\njob10 1 true\\x20ten'
	run -0 "$FAIRLOCK" queue
	read -r -a headings <<<"${lines[0]}"
	[ "${headings[*]}" = "NAME POSITION OWNER USER HOST PID COMMAND WAITING PRESENT" ]
	[ "$("$FAIRLOCK" queue --json | jq -c '[.queue[] | [.name, .position]]')" = '[["job2",1],["job2",2],["job10",1]]' ]
}

@test "queue shows a waiter's reason, and the column only if there is one" {
	"$FAIRLOCK" acquire job
	join_queue 1
	run -0 "$FAIRLOCK" queue job
	refute_output --partial REASON
	lock=job change "w:$(queue '[0].owner' | jq -r .)" by=$'web1\t7\tann\tdeploy\tnew shop'
	run -0 "$FAIRLOCK" queue job
	assert_line --partial ' COMMAND REASON '
	assert_line --partial ' deploy  new shop '
	[ "$(queue '[0].reason')" = '"new shop"' ]
}

@test "queue --remove takes a waiter out of the queue, which then ends with 75" {
	"$FAIRLOCK" acquire job
	join_queue 1
	"$FAIRLOCK" queue --remove "$(queue '[0].owner' | jq -r .)" job
	ends_with 75 $!
	[ ! -s "$BATS_TEST_TMPDIR/owner.1" ]
}

@test "queue --remove of the holder ends with 76, and the holder keeps the lock" {
	owner=$("$FAIRLOCK" acquire job)
	run -76 "$FAIRLOCK" queue --remove "$owner" job
	[ "$(cli EXISTS job)" = 1 ]
}

# ---- What the waiters want ----

@test "queue shows what each waiter wants: the lock alone, a shared hold, one of so many slots, or of these" {
	hold job
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	background "$FAIRLOCK" wrap --shared job true
	wait_until in_queue job 2
	background "$FAIRLOCK" wrap --slots 3 job true
	wait_until in_queue job 3
	background "$FAIRLOCK" wrap --slots 'db1,a"b,c\d,é' job true
	wait_until in_queue job 4
	assert_equal "$(queue '|map([.mode, .slots])')" \
		'[["exclusive",null],["shared",null],["slots",3],["slots",["db1","a\"b","c\\d","é"]]]'
	run -0 "$FAIRLOCK" queue --raw --noheadings -o MODE,SLOTS job
	assert_output $'exclusive -\nshared -\nslots 3\nslots db1,a"b,c\\x5cd,é'
	run -0 "$FAIRLOCK" queue job
	assert_line --index 0 --regexp '^POSITION OWNER +MODE +SLOTS +USER '
	assert_line --index 3 --regexp ' slots +3 '
}

@test "queue --sort sorts the waiters by a column" {
	"$FAIRLOCK" acquire job
	join_queue 1
	join_queue 2
	lock=job change "w:$(queue '[0].owner' | jq -r .)" by=$'web1\t10\tzoe\tb'
	lock=job change "w:$(queue '[1].owner' | jq -r .)" by=$'web1\t9\tann\ta'
	[ "$("$FAIRLOCK" queue --raw --noheadings -o POSITION --sort user job | xargs)" = '2 1' ]
	[ "$("$FAIRLOCK" queue --raw --noheadings -o POSITION --sort PID job | xargs)" = '2 1' ]
	[ "$("$FAIRLOCK" queue --raw --noheadings -o POSITION job | xargs)" = '1 2' ]
}

@test "queue counts waiting_ms from the waiter's arrival" {
	waited_for_300_ms() {
		[ "$(queue '[0].waiting_ms')" -ge 300 ]
	}
	"$FAIRLOCK" acquire job
	start=$(date +%s%3N)
	join_queue 1
	[ "$(queue '[0].waiting_ms')" -le $(($(date +%s%3N) - start)) ]
	wait_until waited_for_300_ms
}

@test "queue --remove leaves the other waiters in their order" {
	"$FAIRLOCK" acquire job
	join_queue 1
	first=$!
	join_queue 2
	second=$!
	join_queue 3
	third=$!
	"$FAIRLOCK" queue --remove "$(queue '[1].owner' | jq -r .)" job
	ends_with 75 "$second"
	[ "$(queue '|map([.position, .pid])')" = "[[1,$first],[2,$third]]" ]
}

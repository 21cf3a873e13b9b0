# fairlock queue: the waiters that it shows, its forms, and --remove.

load ../lib/one_server
load ../lib/holders

# queue .FILTER: prints this part of the queue of "job" as JSON
queue() { "$FAIRLOCK" queue --json job | jq -c ".queue$1"; }

# columns COLUMNS WORD...: prints these columns, without headings
columns() { "$FAIRLOCK" queue --raw --noheadings -o "$1" "${@:2}"; }

waiting() { [ "$(queue '|map(select(.present))|length')" = "$1" ]; }

@test "queue shows a waiter's host, user, process, command and presence; --json has the keys of the manual" {
	"$FAIRLOCK" acquire job
	LOGNAME=bob join_queue job true
	"$FAIRLOCK" queue --json job | jq -e --arg host "$(uname -n)" --arg pid "$WAITER" '.queue[0]
		| .host == $host and .user == "bob" and "\(.pid)" == $pid and (.owner | endswith(":" + $pid))
		and .command == "true" and .client == "fairlock" and .present == true'
	assert_equal "$(queue '[0]|keys_unsorted|join(" ")')" \
		'"name position owner host pid user command client mode slots reason waiting_ms present"'
	kill -KILL "$WAITER"
	wait_until waiting 0
	assert_equal "$(queue '|map([.client, .present])')" '[["fairlock",false]]'
}

@test "queue prints a table with headings and a line for each waiter, and its reason if there is one" {
	"$FAIRLOCK" acquire job
	join_queue job true
	run -0 "$FAIRLOCK" queue job
	[ "${#lines[@]}" -eq 2 ]
	read -r -a headings <<<"${lines[0]}"
	[ "${headings[*]}" = "POSITION OWNER USER HOST PID COMMAND WAITING PRESENT" ]
	[[ ${lines[1]} =~ ^\ +1\ [0-9a-f-]+:$WAITER\ .*\ [0-9]+m?s\ +yes\ *$ ]]
	lock=job change "w:$(queue '[0].owner' | jq -r .)" by=$'web1\t7\tann\tdeploy\tnew shop'
	run -0 "$FAIRLOCK" queue job
	assert_line --partial ' COMMAND REASON '
	assert_line --partial ' deploy  new shop '
	assert_equal "$(queue '[0].reason')" '"new shop"'
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
	assert_equal "$(columns NAME,POSITION,COMMAND)" $'job2 1 true\\x20first\njob2 2 true\\x20second\njob10 1 true\\x20ten'
	run -0 "$FAIRLOCK" queue
	read -r -a headings <<<"${lines[0]}"
	[ "${headings[*]}" = "NAME POSITION OWNER USER HOST PID COMMAND WAITING PRESENT" ]
	assert_equal "$("$FAIRLOCK" queue --json | jq -c '[.queue[] | [.name, .position]]')" '[["job2",1],["job2",2],["job10",1]]'
}

@test "queue shows what each waiter wants: the lock alone, a shared hold, one of so many slots, or of these" {
	hold job
	join_queue job true
	join_queue --shared job true
	join_queue --slots 3 job true
	join_queue --slots 'db1,a"b,c\d,é' job true
	assert_equal "$(queue '|map([.mode, .slots])')" \
		'[["exclusive",null],["shared",null],["slots",3],["slots",["db1","a\"b","c\\d","é"]]]'
	assert_equal "$(columns MODE,SLOTS job)" $'exclusive -\nshared -\nslots 3\nslots db1,a"b,c\\x5cd,é'
	run -0 "$FAIRLOCK" queue job
	assert_line --index 0 --regexp '^POSITION OWNER +MODE +SLOTS +USER '
	assert_line --index 3 --regexp ' slots +3 '
}

@test "queue counts waiting_ms from the waiter's arrival, and sorts by a column" {
	waited_for_300_ms() { [ "$(queue '[0].waiting_ms')" -ge 300 ]; }
	"$FAIRLOCK" acquire job
	start=$(date +%s%3N)
	join_queue job true
	[ "$(queue '[0].waiting_ms')" -le $(($(date +%s%3N) - start)) ]
	wait_until waited_for_300_ms
	join_queue job true
	lock=job change "w:$(queue '[0].owner' | jq -r .)" by=$'web1\t10\tzoe\tb'
	lock=job change "w:$(queue '[1].owner' | jq -r .)" by=$'web1\t9\tann\ta'
	assert_equal "$(columns POSITION --sort user job | xargs)" '2 1'
	assert_equal "$(columns POSITION --sort PID job | xargs)" '2 1'
	assert_equal "$(columns POSITION job | xargs)" '1 2'
}

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

join_as_redisson() {
	cli RPUSH 'redisson_lock_queue:{job}' $redisson
	cli ZADD 'redisson_lock_timeout:{job}' "$(($(cli TIME | head -n 1) * 1000 + 300000))" $redisson
}

@test "queue shows no waiters of a free lock" {
	run -0 "$FAIRLOCK" queue --json job
	[ "$(jq -c . <<<"$output")" = '{"queue":[]}' ]
	run -0 "$FAIRLOCK" queue job
	refute_output
}

@test "queue writes nothing to the server" {
	"$FAIRLOCK" queue job
	[ "$(cli DBSIZE)" = 0 ]
}

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
	[ "$(queue '[0]|keys_unsorted|join(" ")')" = '"position owner host pid user command client waiting_ms present"' ]
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

@test "queue shows a killed waiter as not present" {
	"$FAIRLOCK" acquire job
	join_queue 1
	kill -KILL $!
	wait_until waiting 0
	[ "$(queue '|map([.client, .present])')" = '[["fairlock",false]]' ]
}

@test "queue shows only the owner id of Redisson's waiter" {
	join_as_redisson
	[ "$(queue '[0]')" = "{\"position\":1,\"owner\":\"$redisson\",\"host\":null,\"pid\":null,\"user\":null,\"command\":null,\"client\":\"redisson\",\"waiting_ms\":null,\"present\":false}" ]
}

@test "queue prints a table with headings and a line for each waiter" {
	"$FAIRLOCK" acquire job
	join_queue 1
	run -0 "$FAIRLOCK" queue job
	[ "${#lines[@]}" -eq 2 ]
	read -r -a headings <<<"${lines[0]}"
	[ "${headings[*]}" = "POSITION OWNER USER HOST PID COMMAND WAITING PRESENT" ]
	[[ ${lines[1]} =~ ^\ +1\ [0-9a-f-]+:$!\ .*\ [0-9]+m?s\ +1\ *$ ]]
}

@test "queue --raw prints milliseconds" {
	"$FAIRLOCK" acquire job
	join_queue 1
	run -0 "$FAIRLOCK" queue --raw -o POSITION,PID,WAITING_MS,PRESENT job
	[ "${lines[0]}" = "POSITION PID WAITING_MS PRESENT" ]
	[[ ${lines[1]} =~ ^1\ $!\ [0-9]+\ 1$ ]]
}

@test "queue refuses an unknown column as a usage error, and lists the known ones" {
	run -64 "$FAIRLOCK" queue -o TOKEN job
	assert_line --index 0 "fairlock: cannot show column 'TOKEN': there is no such column, '-o help' lists them"
}

@test "queue --remove takes a waiter out of the queue, which then ends with 75" {
	"$FAIRLOCK" acquire job
	join_queue 1
	"$FAIRLOCK" queue --remove "$(queue '[0].owner' | jq -r .)" job
	ends_with 75 $!
	[ ! -s "$BATS_TEST_TMPDIR/owner.1" ]
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

@test "queue --remove takes Redisson's waiter out of the queue" {
	join_as_redisson
	"$FAIRLOCK" queue --remove $redisson job
	[ "$(queue '|length')" = 0 ]
	[ "$(cli EXISTS 'redisson_lock_timeout:{job}')" = 0 ]
}

@test "queue --remove ends with 76 if the owner does not wait for the lock" {
	run -76 "$FAIRLOCK" queue --remove $redisson job
	[ "$output" = "fairlock: cannot remove waiter $redisson: it does not wait for lock job" ]
}

@test "queue --remove of the holder ends with 76, and the holder keeps the lock" {
	owner=$("$FAIRLOCK" acquire job)
	run -76 "$FAIRLOCK" queue --remove "$owner" job
	[ "$(cli EXISTS job)" = 1 ]
}

@test "queue --remove refuses a malformed owner id as a usage error" {
	run -64 "$FAIRLOCK" queue --remove everybody job
}

@test "queue refuses a name that something else uses, and leaves that alone" {
	cli SET 'redisson_lock_queue:{job}' precious
	run -78 "$FAIRLOCK" queue job
	[ "$(cli GET 'redisson_lock_queue:{job}')" = precious ]
}

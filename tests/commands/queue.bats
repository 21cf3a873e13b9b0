#!/usr/bin/env bats
# fairlock queue

load ../lib/helpers

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; }

# A value of the queue of "job": queue .FIELD
queue() {
	"$FAIRLOCK" queue --json job | jq -c ".queue$1"
}

waiting() {
	[ "$(queue '|map(select(.present))|length')" = "$1" ]
}

# Joins the queue of "job" as waiter number $1.
join_queue() {
	background "$FAIRLOCK" acquire job >"$BATS_TEST_TMPDIR/owner.$1"
	wait_until waiting "$1"
}

redisson=0a1b2c3d-0000-4000-8000-000000000009:42

join_as_redisson() {
	cli RPUSH 'redisson_lock_queue:{job}' $redisson
	cli ZADD 'redisson_lock_timeout:{job}' "$(($(cli TIME | head -n 1) * 1000 + 300000))" $redisson
}

@test "nobody waits for a free lock" {
	run -0 "$FAIRLOCK" queue --json job
	[ "$(jq -c . <<<"$output")" = '{"queue":[]}' ]
	run -0 "$FAIRLOCK" queue job
	refute_output
}

@test "asking who waits leaves no trace" {
	"$FAIRLOCK" queue job
	[ "$(cli DBSIZE)" = 0 ]
}

@test "waiters are shown in the order in which they came" {
	"$FAIRLOCK" acquire job
	join_queue 1
	first=$!
	join_queue 2
	second=$!
	[ "$(queue '|map([.position, .pid])')" = "[[1,$first],[2,$second]]" ]
}

@test "a waiter is told with where it runs, who it is, and that it is present" {
	"$FAIRLOCK" acquire job
	LOGNAME=bob join_queue 1
	"$FAIRLOCK" queue --json job | jq -e --arg host "$(uname -n)" --arg pid $! '.queue[0]
		| .host == $host and .user == "bob" and "\(.pid)" == $pid and (.owner | endswith(":" + $pid))
		and .command == "fairlock acquire" and .client == "fairlock" and .present == true'
}

@test "JSON has the keys that the manual names, in this order" {
	"$FAIRLOCK" acquire job
	join_queue 1
	[ "$(queue '[0]|keys_unsorted|join(" ")')" = '"position owner host pid user command client waiting_ms present"' ]
}

@test "waiting_ms counts from the arrival" {
	waited_for_300_ms() {
		[ "$(queue '[0].waiting_ms')" -ge 300 ]
	}
	"$FAIRLOCK" acquire job
	start=$(date +%s%3N)
	join_queue 1
	[ "$(queue '[0].waiting_ms')" -le $(($(date +%s%3N) - start)) ]
	wait_until waited_for_300_ms
}

@test "a waiter that was killed is not present" {
	"$FAIRLOCK" acquire job
	join_queue 1
	kill -KILL $!
	wait_until waiting 0
	[ "$(queue '|map([.client, .present])')" = '[["fairlock",false]]' ]
}

@test "of Redisson's waiter only the owner id is known" {
	join_as_redisson
	[ "$(queue '[0]')" = "{\"position\":1,\"owner\":\"$redisson\",\"host\":null,\"pid\":null,\"user\":null,\"command\":null,\"client\":\"redisson\",\"waiting_ms\":null,\"present\":false}" ]
}

@test "the table has headings and a line for each waiter" {
	"$FAIRLOCK" acquire job
	join_queue 1
	run -0 "$FAIRLOCK" queue job
	[ "${#lines[@]}" -eq 2 ]
	read -r -a headings <<<"${lines[0]}"
	[ "${headings[*]}" = "POSITION OWNER USER HOST PID COMMAND WAITING PRESENT" ]
	[[ ${lines[1]} =~ ^\ +1\ [0-9a-f-]+:$!\ .*\ [0-9]+m?s\ +1\ *$ ]]
}

@test "raw output has milliseconds" {
	"$FAIRLOCK" acquire job
	join_queue 1
	run -0 "$FAIRLOCK" queue --raw -o POSITION,PID,WAITING_MS,PRESENT job
	[ "${lines[0]}" = "POSITION PID WAITING_MS PRESENT" ]
	[[ ${lines[1]} =~ ^1\ $!\ [0-9]+\ 1$ ]]
}

@test "an unknown column is a mistake in usage" {
	run -64 "$FAIRLOCK" queue -o TOKEN job
	assert_line --index 0 "fairlock: cannot show column 'TOKEN': there is no such column, '-o help' lists them"
}

@test "a waiter that is taken out ends with 75" {
	"$FAIRLOCK" acquire job
	join_queue 1
	"$FAIRLOCK" queue --remove "$(queue '[0].owner' | jq -r .)" job
	status=0
	wait $! || status=$?
	[ "$status" -eq 75 ]
	[ ! -s "$BATS_TEST_TMPDIR/owner.1" ]
}

@test "the others keep their order when a waiter is taken out" {
	"$FAIRLOCK" acquire job
	join_queue 1
	first=$!
	join_queue 2
	second=$!
	join_queue 3
	third=$!
	"$FAIRLOCK" queue --remove "$(queue '[1].owner' | jq -r .)" job
	status=0
	wait $second || status=$?
	[ "$status" -eq 75 ]
	[ "$(queue '|map([.position, .pid])')" = "[[1,$first],[2,$third]]" ]
}

@test "Redisson's waiter can be taken out" {
	join_as_redisson
	"$FAIRLOCK" queue --remove $redisson job
	[ "$(queue '|length')" = 0 ]
	[ "$(cli EXISTS 'redisson_lock_timeout:{job}')" = 0 ]
}

@test "who does not wait cannot be taken out" {
	run -76 "$FAIRLOCK" queue --remove $redisson job
	[ "$output" = "fairlock: cannot remove waiter $redisson: it does not wait for lock job" ]
}

@test "the holder cannot be taken out" {
	owner=$("$FAIRLOCK" acquire job)
	run -76 "$FAIRLOCK" queue --remove "$owner" job
	[ "$(cli EXISTS job)" = 1 ]
}

@test "what is no owner id cannot be taken out" {
	run -64 "$FAIRLOCK" queue --remove everybody job
}

@test "a name in use by something that is no lock is refused" {
	cli SET 'redisson_lock_queue:{job}' precious
	run -78 "$FAIRLOCK" queue job
	[ "$(cli GET 'redisson_lock_queue:{job}')" = precious ]
}

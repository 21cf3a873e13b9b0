#!/usr/bin/env bats
# fairlock status

load ../lib/helpers

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; }

# One value of the only lock that is shown: lock NAME .FIELD
lock() {
	"$FAIRLOCK" status --json -- "$1" | jq -c ".locks[0]$2"
}

redisson=0a1b2c3d-0000-4000-8000-000000000009:42

@test "a lock that nobody ever used is free, and asking leaves no trace" {
	[ "$(lock job .state)" = '"free"' ]
	[ "$(cli DBSIZE)" = 0 ]
}

@test "a held lock tells who holds it" {
	owner=$(LOGNAME=alice "$FAIRLOCK" acquire job)
	run -0 "$FAIRLOCK" status --json job
	jq -e --arg owner "$owner" --arg host "$(uname -n)" '.locks[0] | .name == "job"
		and .state == "held" and .owner == $owner and .host == $host and .user == "alice"
		and "\(.pid)" == ($owner | split(":")[1]) and .command == "fairlock acquire"
		and .client == "fairlock"' <<<"$output"
}

@test "the command of a wrap is told as it was given" {
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap job -- sh -c '"$FAIRLOCK" status --json job' 'two words'
	# shellcheck disable=SC2016
	[ "$(jq -r '.locks[0].command' <<<"$output")" = 'sh -c "$FAIRLOCK" status --json job two words' ]
}

@test "JSON has the keys that the manual names, in this order" {
	[ "$(lock job '|keys_unsorted|join(" ")')" = '"name state owner host pid user command client held_ms lease_ms holds token waiters"' ]
}

@test "everything but name, state and waiters of a free lock is null" {
	[ "$(lock job '|del(.name)')" = '{"state":"free","owner":null,"host":null,"pid":null,"user":null,"command":null,"client":null,"held_ms":null,"lease_ms":null,"holds":null,"token":null,"waiters":0}' ]
}

@test "the token is that of the grant" {
	token=$("$FAIRLOCK" acquire --json job | jq .token)
	[ "$token" -gt 0 ]
	[ "$(lock job .token)" = "$token" ]
}

@test "the hold count grows with each re-entry" {
	owner=$("$FAIRLOCK" acquire job)
	[ "$(lock job .holds)" = 1 ]
	"$FAIRLOCK" acquire --owner "$owner" job
	[ "$(lock job .holds)" = 2 ]
}

@test "lease_ms is what is left of the lease" {
	"$FAIRLOCK" acquire --lease 1h job
	cli PEXPIRE job 50000
	left=$(lock job .lease_ms)
	[ "$left" -gt 40000 ]
	[ "$left" -le 50000 ]
}

@test "held_ms counts from the grant" {
	held_for_300_ms() {
		[ "$(lock job .held_ms)" -ge 300 ]
	}
	start=$(date +%s%3N)
	"$FAIRLOCK" acquire job
	[ "$(lock job .held_ms)" -le $(($(date +%s%3N) - start)) ]
	wait_until held_for_300_ms
}

@test "a lock without a time to live is held, and its lease is null" {
	"$FAIRLOCK" acquire job
	cli PERSIST job
	[ "$(lock job '|[.state, .lease_ms]')" = '["held",null]' ]
	[ "$("$FAIRLOCK" status --noheadings --raw -o LEASE job)" = none ]
}

@test "of Redisson's holder only the owner id and the hold count are known" {
	cli HSET job $redisson 3
	cli PEXPIRE job 30000
	[ "$(lock job '|[.state, .owner, .client, .holds]')" = "[\"held\",\"$redisson\",\"redisson\",3]" ]
	[ "$(lock job '|[.host, .pid, .user, .command, .held_ms, .token]')" = '[null,null,null,null,null,null]' ]
}

@test "what a fairlock holder left behind is not told of Redisson's holder after it" {
	"$FAIRLOCK" acquire job
	cli DEL job
	cli HSET job $redisson 1
	[ "$(lock job '|[.client, .user, .token]')" = '["redisson",null,null]' ]
}

@test "waiters are counted while they are alive" {
	waiters() {
		[ "$(lock job .waiters)" = "$1" ]
	}
	"$FAIRLOCK" acquire job
	background "$FAIRLOCK" acquire job
	first=$!
	background "$FAIRLOCK" acquire job
	wait_until waiters 2
	kill -KILL "$first"
	wait_until waiters 1
	kill $!
	wait_until waiters 0
}

@test "without a name all locks are shown, each once, in the order of their names" {
	for name in pear apple 'fig tree'; do
		"$FAIRLOCK" acquire "$name"
	done
	[ "$("$FAIRLOCK" status --json | jq -c '[.locks[].name]')" = '["apple","fig tree","pear"]' ]
}

@test "more locks than one step of a scan finds are all shown" {
	for i in {1..2500}; do
		echo "HSET fairlock:{job$i} name job$i"
	done | cli >/dev/null
	[ "$("$FAIRLOCK" status --json | jq '[.locks[].name] | unique | length')" = 2500 ]
}

@test "a server without locks gives an empty list" {
	run -0 "$FAIRLOCK" status --json
	[ "$(jq -c . <<<"$output")" = '{"locks":[]}' ]
	run -0 "$FAIRLOCK" status
	refute_output
}

@test "keys of others that look like ours are no locks" {
	cli SET fairlock:string x
	cli HSET fairlock:foreign name job
	cli HSET 'fairlock:{nameless}' field x
	cli HSET 'fairlock:{wrong}' name right
	[ "$("$FAIRLOCK" status --json | jq '.locks | length')" = 0 ]
}

@test "a name in braces is shown as it was given" {
	"$FAIRLOCK" acquire '{job}'
	[ "$("$FAIRLOCK" status --json | jq -c '[.locks[] | [.name, .state]]')" = '[["{job}","held"]]' ]
}

@test "a name that shares keys with another in use is refused" {
	"$FAIRLOCK" acquire '{job}'
	run -64 "$FAIRLOCK" status job
	[[ $output == *"shares keys with {job}"* ]]
}

@test "names with blanks, quotes, glob characters and letters beyond ASCII are found" {
	name='a "b" \ *[c]? ünï'
	"$FAIRLOCK" acquire "$name"
	[ "$("$FAIRLOCK" status --json | jq -r '.locks[0].name')" = "$name" ]
}

@test "names are shown in the order in which they were given" {
	"$FAIRLOCK" acquire b
	[ "$("$FAIRLOCK" status --json c b a | jq -c '[.locks[] | [.name, .state]]')" = '[["c","free"],["b","held"],["a","free"]]' ]
}

@test "quietly, the status is 0 when any of the locks is held" {
	"$FAIRLOCK" acquire b
	run -0 "$FAIRLOCK" status -q a b c
	refute_output
}

@test "quietly, the status is 1 when all of the locks are free" {
	"$FAIRLOCK" acquire c
	run -1 "$FAIRLOCK" status -q a b
	refute_output
}

@test "quietly or not, a server that is out of reach is an error" {
	run -69 "$FAIRLOCK" status --url unix:"$BATS_TEST_TMPDIR/none" -q job
	[[ $output == "fairlock: cannot "* ]]
}

@test "a name in use by something that is no lock is refused and left alone" {
	cli SET job precious
	run -78 "$FAIRLOCK" status job
	[ "$(cli GET job)" = precious ]
}

@test "a name in use by something else keeps nobody from seeing the other locks" {
	"$FAIRLOCK" acquire a
	"$FAIRLOCK" acquire b
	cli DEL a
	cli SET a x
	run -78 "$FAIRLOCK" status --noheadings -o NAME
	[ "${lines[0]}" = "fairlock: cannot use the name a: it is in use by something that is no lock" ]
	[ "${lines[1]}" = b ]
}

@test "a mistake in one of the names is told before the server is asked" {
	run -64 "$FAIRLOCK" status --url "unix:$BATS_TEST_TMPDIR/none" good ''
	[[ ${lines[0]} == "fairlock: cannot use NAME: "* ]]
}

@test "the table has headings, one line for a lock, and times for people" {
	"$FAIRLOCK" acquire --lease 90s job
	cli HSET 'fairlock:{job}' since "$(($(cli TIME | head -n 1) * 1000 - 3725000))"
	run -0 "$FAIRLOCK" status
	[ "${#lines[@]}" -eq 2 ]
	read -r -a headings <<<"${lines[0]}"
	[ "${headings[*]}" = "NAME STATE USER HOST PID COMMAND HELD LEASE WAITERS" ]
	[[ ${lines[1]} =~ ^job\ +held\ .*\ 1h2m\ +1m([1-9]|[12][0-9])s\ +0$ ]]
}

@test "raw output is blanks between words, and milliseconds" {
	"$FAIRLOCK" acquire 'my job'
	run -0 "$FAIRLOCK" status --raw
	[ "${lines[0]}" = "NAME STATE USER HOST PID COMMAND HELD_MS LEASE_MS WAITERS" ]
	[[ ${lines[1]} =~ ^my\\x20job\ held\ [^\ ]+\ [^\ ]+\ [0-9]+\ fairlock\\x20acquire\ [0-9]+\ (30000|[12][0-9]{4})\ 0$ ]]
}

@test "no headings are printed when they are not wanted" {
	run -0 "$FAIRLOCK" status --noheadings -o NAME,STATE job
	[ "${#lines[@]}" -eq 1 ]
	[[ ${lines[0]} =~ ^job\ +free\ *$ ]]
}

@test "columns are shown in the order in which they were asked for, whatever their case" {
	[ "$("$FAIRLOCK" status --raw -o state,NAME job)" = $'STATE NAME\nfree job' ]
}

@test "columns after a plus sign are added to the default ones" {
	[ "$("$FAIRLOCK" status --raw -o +HOLDS,TOKEN job | head -n 1)" = "NAME STATE USER HOST PID COMMAND HELD_MS LEASE_MS WAITERS HOLDS TOKEN" ]
}

@test "JSON has the columns that were asked for" {
	[ "$("$FAIRLOCK" status --json -o WAITERS,NAME job | jq -c .)" = '{"locks":[{"waiters":0,"name":"job"}]}' ]
}

@test "an unknown column is a mistake in usage, and -o help lists the known ones" {
	run -64 "$FAIRLOCK" status -o NAME,COLOUR job
	assert_line --index 0 "fairlock: cannot show column 'COLOUR': there is no such column, '-o help' lists them"
	[ "$("$FAIRLOCK" status -o help | cut -d ' ' -f 1 | paste -s -d ' ')" = "NAME STATE OWNER HOST PID USER COMMAND CLIENT HELD_MS LEASE_MS HOLDS TOKEN WAITERS HELD LEASE" ]
}

@test "raw JSON is a mistake in usage" {
	run -64 "$FAIRLOCK" status --json --raw job
}

@test "whatever bytes others wrote, JSON stays JSON" {
	"$FAIRLOCK" acquire job
	cli HSET 'fairlock:{job}' by $'h"o\\st\t007\tu\xff\xc3\ts\x01\x1b[31m\x7f\xc2\x9b'
	[ "$(lock job '|[.host, .pid, .user, .command]')" = '["h\"o\\st",null,"u��","s\u0001\u001b[31m��"]' ]
}

@test "whatever bytes others wrote, a table does not drive the terminal" {
	"$FAIRLOCK" acquire job
	cli HSET 'fairlock:{job}' by $'h\t1\tu\t\x1b[31m\nred\xc2\x9b'
	run -0 "$FAIRLOCK" status
	[ "${#lines[@]}" -eq 2 ]
	[[ $output != *$'\x1b'* && $output != *$'\xc2\x9b'* ]]
}

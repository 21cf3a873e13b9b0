#!/usr/bin/env bats
# The log script: what it gives of the log, and who it says is there.

load ../lib/helpers
load ../lib/scripts

# look [AFTER [SINCE [NOW]]]: the answer is in `reply`, a word a line
look() {
	script log "${1-}" "${2-}" "${3-0}"
}

# The ids of the entries in the last answer, as they stand there.
ids() {
	printf '%s\n' "${reply[@]:2}" | grep -E '^[0-9]+-[0-9]+$' | paste -sd ' '
}

# entry ID [TIME]
entry() {
	cli XADD "$(key_log)" "$1" event granted time "${2-${1%-*}}" >/dev/null
}

@test "a lock without a log has no entries" {
	look
	answered log
	between $(($(now_ms) - 5000)) "${reply[1]}" "$(now_ms)"
	assert_equal "$(ids)" ''
	assert_equal "$(cli DBSIZE)" 0
}

@test "looking changes nothing" {
	acquire anna
	queue_up ben
	before=$(digest)
	look '' '' 1
	look 1-1 1000 1
	assert_equal "$(digest)" "$before"
}

@test "entries come newest first" {
	entry 1-1
	entry 2-1
	entry 3-1
	look
	assert_equal "$(ids)" '3-1 2-1 1-1'
}

@test "after an entry come those behind it" {
	entry 1-1
	entry 2-1
	entry 3-1
	look 1-1
	assert_equal "$(ids)" '3-1 2-1'
	look 3-1
	assert_equal "$(ids)" ''
}

@test "after an entry that is gone come all: the log may have begun anew under an earlier clock" {
	entry 1-1
	entry 2-1
	look 1795230000000-0
	assert_equal "$(ids)" '2-1 1-1'
	look 1-5
	assert_equal "$(ids)" '2-1 1-1'
}

@test "what was written before the time asked for is left out" {
	now=$(now_ms)
	entry $((now - 20000))-1
	entry $((now - 1000))-1
	look '' 10000
	assert_equal "$(ids)" "$((now - 1000))-1"
	look '' 0
	assert_equal "$(ids)" ''
	look '' 4611686018427387903
	assert_equal "$(ids)" "$((now - 1000))-1 $((now - 20000))-1"
}

@test "of a log that is too long come the latest 2,000" {
	for ((i = 1; i <= 2100; i++)); do
		echo "XADD $(key_log) $i-1 event granted"
	done | cli >/dev/null
	look
	assert_equal "$(ids | wc -w)" 2000
	[[ $(ids) = '2100-1 2099-1 '*' 101-1' ]]
}

@test "the holder, its hold, and the waiters who are present are told when asked for" {
	acquire anna by=$'host\t1\tann\tjob'
	since=$(field since)
	queue_up ben
	queue_up_dead cleo
	redisson_waits mallory
	present mallory
	look '' '' 1
	rest=$(printf '%s|' "${reply[@]: -11}")
	assert_equal "$rest" "anna|anna|${token[anna]}|$since|$((since + 30000))|0|host	1	ann	job|$((ticket[ben] / 1000))|by ben|||"
	look '' '' 0
	refute_regex "${reply[*]}" 'by ben'
}

@test "a hold whose lease ended unnoticed is told, and that nobody holds" {
	acquire anna lease=1000
	later 1001
	wait_until free
	look '' '' 1
	rest=$(printf '%s|' "${reply[@]: -8}")
	[[ $rest = *"|anna|${token[anna]}|"*'|0|by anna|'* ]] || fail "$rest"
	assert_equal "$(cli XLEN "$(key_log)")" 1
}

free() {
	[ "$(cli EXISTS "$lock")" = 0 ]
}

@test "of one of Redisson's only the owner id is known" {
	cli HSET "$lock" redisson:1 1 >/dev/null
	look '' '' 1
	assert_equal "${reply[*]: -3}" 'redisson:1  '
}

@test "another spelling of the name is told" {
	acquire anna
	lock='{job}'
	look
	answered spelled job
}

@test "what happened is told also when something else is in the lock's place by now" {
	acquire anna
	release anna
	cli SET job x >/dev/null
	script log '' '' 0
	answered log
}

@test "a log that is no stream is refused" {
	cli SET "$(key_log)" precious >/dev/null
	run look
	assert_failure
	assert_output --partial WRONGTYPE
}

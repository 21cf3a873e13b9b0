#!/usr/bin/env bats
# The log script: the entries of the log, and the present holder and waiters.

load ../lib/helpers
load ../lib/scripts

# look [AFTER [SINCE [NOW]]]: the answer is in `reply`, one word a line
look() {
	script log "${1-}" "${2-}" "${3-0}"
}

# The ids of the entries in the last answer, in its order
ids() {
	printf '%s\n' "${reply[@]:2}" | grep -E '^[0-9]+-[0-9]+$' | paste -sd ' '
}

# entry ID [TIME]
entry() {
	cli XADD "$(key_log)" "$1" event granted time "${2-${1%-*}}" >/dev/null
}

@test "the log script gives only entries behind the one that it is given" {
	entry 1-1
	entry 2-1
	entry 3-1
	look 1-1
	assert_equal "$(ids)" '3-1 2-1'
	look 2-0 # a log may have lost it
	assert_equal "$(ids)" '3-1 2-1'
	look 3-1
	assert_equal "$(ids)" ''
}

@test "the log script leaves out entries that are older than the time asked for" {
	now=$(now_ms)
	entry $((now - 20000))-1
	entry $((now - 1000))-1
	look '' 10000
	assert_equal "$(ids)" "$((now - 1000))-1"
	look '' 0
	assert_equal "$(ids)" ''
	look '' "@$((now - 20001))"
	assert_equal "$(ids)" "$((now - 1000))-1 $((now - 20000))-1"
	look '' "@$((now - 1000))"
	assert_equal "$(ids)" "$((now - 1000))-1"
	look '' "@$((now - 999))"
	assert_equal "$(ids)" ''
	look '' 4611686018427387903
	assert_equal "$(ids)" "$((now - 1000))-1 $((now - 20000))-1"
}

@test "the log script gives the latest 2,000 entries of a longer log" {
	for ((i = 1; i <= 2100; i++)); do
		echo "XADD $(key_log) $i-1 event granted"
	done | cli >/dev/null
	look
	assert_equal "$(ids | wc -w)" 2000
	[[ $(ids) = '2100-1 2099-1 '*' 101-1' ]]
}

@test "the log script gives the holder, its hold and the present waiters if asked for them" {
	acquire anna by=$'host\t1\tann\tjob'
	since=${token[anna]}
	queue_up ben
	queue_up_dead cleo
	redisson_waits mallory
	present mallory
	look '' '' 1
	rest=$(printf '%s|' "${reply[@]: -13}")
	hold="anna|${token[anna]}|$since|$((since + 30000))|0|host	1	ann	job|x||"
	assert_equal "$rest" "anna|$((ticket[ben] / 1000))|by ben|||$hold"
	look '' '' 0
	refute_regex "${reply[*]}" 'by ben'
}

@test "the log script gives an unnoticed end of a lease, and no holder" {
	acquire anna lease=1000
	later 1001
	assert_equal "$(cli EXISTS job)" 0
	look '' '' 1
	rest=$(printf '%s|' "${reply[@]: -10}")
	[[ $rest = "||anna|${token[anna]}|"*'|0|by anna|x||' ]] || fail "$rest"
	assert_equal "$(cli XLEN "$(key_log)")" 1
}

#!/usr/bin/env bats
# Several holders as status, queue, view and log show them, and as the answers to a process that does not get the lock.

load ../lib/helpers
load ../lib/scripts

# row N COLUMN...: columns of the row of the Nth holder in the answer of status, from 0 on
row() {
	local column first=$((18 + 10 * $1)) words=()

	for column in "${@:2}"; do words+=("${reply[first + column]}"); done
	echo "${words[*]}"
}

@test "view shows the holder whose lease ends first, and how many hold" {
	acquire anna want=s lease=60000
	acquire ben want=s lease=40000
	acquire cleo want=s lease=50000
	script view zoe ''
	assert_equal "${reply[*]: -7:2} ${reply[*]: -4:2}" "ben by ben s 3"
	assert_equal "${reply[-2]}" 40000
	cli DEL job
	script view zoe ''
	assert_equal "${reply[*]:3}" '  -1  0 -1 0'
}

@test "status has a row for each slot, in the order of their grants" {
	acquire anna want='=b' lease=60000
	later 10
	acquire ben want='=a' lease=40000
	later 10
	acquire cleo want='=c' lease=50000
	acquire inner inherited=cleo want='=c' kind=a
	release anna min=60000
	script status
	assert_equal "${reply[*]:0:2} ${reply[*]:3:4} ${reply[15]}" \
		"ben 1 ${token[ben]} by ben ${token[ben]} 1 0"
	assert_equal "${reply[2]}" 39990
	assert_equal "${reply[17]} ${#reply[@]}" "= $((23 + 3 * 10))"
	assert_equal "$(row 0 0 1 3 4 5 6 7 8)" "anna 1 ${token[anna]} by anna ${token[anna]} 1 1 b"
	assert_equal "$(row 0 2)" 59980
	assert_equal "$(row 1 0 1 3 4 5 6 7 8)" "ben 1 ${token[ben]} by ben ${token[ben]} 1 0 a"
	assert_equal "$(row 2 0 1 3 4 5 6 7 8)" "cleo 2 ${token[cleo]} by cleo ${token[cleo]} 1 0 c"
}

@test "status has one row for an exclusive holder, and none for a free lock" {
	acquire anna lease=20000
	script status
	assert_equal "${reply[0]} ${reply[17]} ${#reply[@]}" 'anna x 33'
	assert_equal "$(row 0 0 1 3 4 5 6 7 8)" "anna 1 ${token[anna]} by anna ${token[anna]} 1 0 "
	assert_equal "$(row 0 2)" 20000
	release anna
	script status
	assert_equal "${reply[0]} ${reply[2]} ${#reply[@]}" ' -2 24' # the list without rows is an empty line
	redisson_takes r1
	script status
	assert_equal "$(row 0 0 1 3 4 5 6 7 8)" 'r1 1    0 0 '
}

@test "status has no row for a hold whose lease has ended, and counts its end" {
	acquire anna want='#2' lease=20000
	acquire ben want='#2' lease=60000
	later 20001
	script status
	assert_equal "${reply[0]} ${reply[12]} ${#reply[@]} $(row 0 0 8)" 'ben 1 33 ben 2'
	acquire cleo want='#2'
	script status
	assert_equal "${reply[12]} ${#reply[@]} $(row 0 0 8) $(row 1 0 8)" '1 43 ben 2 cleo 1'
}

@test "queue tells what each waiter wants" {
	acquire anna
	present b c d e
	acquire b
	acquire c want=s
	acquire d want='#3'
	acquire e want='=db1,db2'
	redisson_waits r1
	script queue
	assert_equal "${reply[5]} ${reply[11]} ${reply[17]} ${reply[23]} ${reply[29]}" 'x s #3 =db1,db2 x'
}

# event NAME: the latest entry of this event in the log, its owner and its slot
event() {
	cli --json XREVRANGE "$(key_log)" + - | python3 -c '
import json, sys
for _, words in json.load(sys.stdin):
    fields = dict(zip(words[::2], words[1::2]))
    if fields["event"] == sys.argv[1]:
        print(fields["owner"], fields.get("slot", "-"))
        break
' "$1"
}

@test "the log has the slot of each event of a hold" {
	acquire anna want='#2' lease=60000
	assert_equal "$(event granted)" 'anna 1'
	acquire ben want='#2' lease=600000
	release ben
	assert_equal "$(event released)" 'ben 2'
	acquire ben want='=x' lease=600000
	release zoe mode=force only==x
	assert_equal "$(event forced)" 'ben x'
	acquire ben want='=y' lease=600000
	later 60001
	acquire cleo want='=1'
	assert_equal "$(event expired)" 'anna 1'
	later 10
	release cleo
	cli FLUSHALL
	acquire dora
	renew cleo hold_mode='=1' is='lost taken'
	assert_equal "$(event lost)" 'cleo 1'
	assert_equal "$(event granted)" 'dora -'
}

@test "the log script gives the holds of several holders" {
	acquire anna want='#2' lease=60000
	later 10
	acquire ben want='#2' lease=40000
	cli DEL "$(key_log)"
	script log '' '' 1
	rest=$(printf '%s|' "${reply[@]:2}")
	anna="anna|${token[anna]}|${token[anna]}|$((token[anna] + 60000))|0|by anna|=|1|"
	ben="ben|${token[ben]}|${token[ben]}|$((token[ben] + 40000))|0|by ben|=|2|"
	assert_equal "$rest" "|ben||$anna$ben"
	cli DEL job
	script log '' '' 1
	rest=$(printf '%s|' "${reply[@]:2}")
	[[ $rest = *"|$anna$ben" || $rest = *"|$ben$anna" ]] || fail "$rest"
}

@test "status tells of a lease that is longer than its record allows" {
	acquire anna lease=30000
	script status
	assert_equal "${reply[-1]}" 0
	cli PEXPIRE job 86400000 >/dev/null
	script status
	assert_equal "${reply[-1]}" 1
}

# about ID WORD...: each answer about the holder ends with these words. ID: a waiter that is removed.
about() {
	local waiter=$1 call

	present "$waiter"
	acquire "$waiter" is=queued
	for call in 'acquire zoe mode=try' 'acquire zoe limit=1' 'acquire zoe period=60000' 'script view zoe' "remove $waiter request=x-$waiter" \
		"ask $waiter"; do
		$call
		assert_equal "$call: ${reply[*]: -7}" "$call: ${*:2}"
	done
	absent "$waiter"
}

@test "busy, full, ran, view, left and removed tell who holds: alone, by hand, kept until then, or the first of several to end" {
	acquire anna lease=20000
	about ben anna 'by anna' 0 x 1 20000 0
	release anna
	acquire anna kind=h lease=20000
	about carl anna 'by anna' 0 x 1 20000 1
	release anna min=10000 is=kept
	about dora anna 'by anna' "-$(($(now_ms) + 10000))" x 1 10000 0
	later 10001
	acquire emil want='#2' lease=60000
	acquire fred want='#2' lease=40000
	about gina fred 'by fred' 0 =2 2 40000 0
}

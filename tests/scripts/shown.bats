# Holders and waiters as status, queue and view show them, and as the answers to a process that does not get the lock.

load ../lib/scripts

# row N COLUMN...: columns of the row of the Nth holder in the answer of status, from 0 on
row() {
	local column first=$((18 + 10 * $1)) words=()

	for column in "${@:2}"; do words+=("${reply[first + column]}"); done
	echo "${words[*]}"
}

@test "status shows the holder and the number of waiters that are present" {
	acquire anna lease=20000 'by=host 7 root make'
	acquire inner inherited=anna lease=20000
	queue_up ben
	queue_up_dead cleo
	script status
	answered anna 2 20000 "${token[anna]}" host 7 root make "${token[anna]}" 1 1
	assert_equal "${reply[9]} ${reply[17]} ${#reply[@]} ${reply[-1]}" 'job x 33 0'
	assert_equal "$(row 0 0 1 2 3 4 5 6 7 8)" "anna 2 20000 ${token[anna]} host 7 root make ${token[anna]} 1 0 "
	cli PEXPIRE job 86400000 >/dev/null # a longer lease than its record allows
	script status
	assert_equal "${reply[-1]}" 1
	release '' mode=force request=breaker
	absent ben
	script status
	assert_equal "${reply[0]} ${reply[2]} ${#reply[@]}" ' -2 24' # the list without rows is an empty line
	cli FLUSHALL
	redisson_takes r1
	script status
	assert_equal "$(row 0 0 1 3 4 5 6 7 8)" 'r1 1    0 0 '
}

@test "status has a row for each slot, in the order of their grants, and the first lease to end" {
	acquire anna want='=b' lease=60000
	later 10
	acquire ben want='=a' lease=40000
	later 10
	acquire cleo want='=c' lease=50000
	acquire inner inherited=cleo want='=c' kind=a
	release anna min=60000
	script status
	answered ben 1 39990 "${token[ben]}" by ben "${token[ben]}" 1
	assert_equal "${reply[17]} ${#reply[@]}" "= $((23 + 3 * 10))"
	assert_equal "$(row 0 0 1 2 3 4 5 6 7 8)" "anna 1 59980 ${token[anna]} by anna ${token[anna]} 1 1 b"
	assert_equal "$(row 1 0 1 3 4 5 6 7 8)" "ben 1 ${token[ben]} by ben ${token[ben]} 1 0 a"
	assert_equal "$(row 2 0 1 3 4 5 6 7 8)" "cleo 2 ${token[cleo]} by cleo ${token[cleo]} 1 0 c"
}

@test "status has no row for a hold whose lease has ended, and counts each end; its slot is free" {
	acquire anna want='#2' lease=20000
	acquire ben want='#2' lease=60000
	later 20001
	script status
	assert_equal "${reply[0]} ${reply[12]} ${#reply[@]} $(row 0 0 8)" 'ben 1 33 ben 2'
	acquire cleo want='#2'
	script status
	assert_equal "${reply[12]} ${#reply[@]} $(row 0 0 8) $(row 1 0 8)" '1 43 ben 2 cleo 1'
	later 60001
	acquire dora is='granted dora'
	assert_equal "$(shown counts) $(cli EXISTS "$(key_holders)")" '4 3 0 0 0'
}

@test "view gives the waiter's place, the number of waiters that are present, or ask, and the holder whose lease ends first" {
	acquire anna want=s lease=60000
	acquire ben want=s lease=40000 by=$'host\t7\tann\tjob'
	acquire cleo want=s lease=50000
	queue_up dora emil
	script view emil
	answered view 2 2 ben $'host\t7\tann\tjob' 0 s 3 40000
	absent dora
	script view emil
	answered view 1 1
	script view dora
	answered view 1 2
	cli DEL job
	script view zoe ''
	assert_equal "${reply[*]:3}" '  -1  0 -1 0'
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
	acquire inner inherited=anna kind=w lease=20000 # it is no longer by hand alone
	about hal anna 'by anna' 0 x 1 20000 0
	release anna request=inner
	release anna min=10000 is=kept
	about dora anna 'by anna' "-$(($(now_ms) + 10000))" x 1 10000 0
	later 10001
	acquire emil want='#2' lease=60000
	acquire fred want='#2' lease=40000
	about gina fred 'by fred' 0 =2 2 40000 0
}

@test "status and queue change nothing where other scripts would mend, drop or notice something" {
	acquire anna
	queue_up ben
	queue_up_dead cleo
	redisson_waits r1
	cli RPUSH "$(key_queue)" r2
	later 31000
	before=$(digest)
	script status
	script queue
	assert_equal "$(digest)" "$before"
}

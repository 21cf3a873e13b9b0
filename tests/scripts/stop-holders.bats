#!/usr/bin/env bats
# The release script with mode stop: which holders it asks, and which it cannot ask.

load ../lib/helpers
load ../lib/scripts

@test "a stop of a lock that Redisson holds changes nothing of it, and says that nobody can be asked" {
	redisson_takes r1
	request_stop xena is='stops alone'
	assert_equal "${reply[3]}${reply[4]}" '- - - r1'
	assert_equal "$(owner)" r1
	request_stop xena "list=$list" is='stops alone'
}

@test "a stop of a lock that acquire holds says that nobody can be asked" {
	acquire anna kind=a
	request_stop xena is='stops alone'
	assert_equal "${reply[3]}" 'by anna'
	renew anna kind=a
	assert_equal "${reply[4]}" ''
	assert_equal "$(the_events)" granted
}

@test "only the wrap that took the lock is told, not a process that went in" {
	acquire anna
	acquire inner inherited=anna
	acquire other kind=a inherited=anna
	request_stop xena is='stops asked'
	renew anna request=inner
	assert_equal "${reply[0]} ${reply[4]}" 'renewed '
	renew anna request=other kind=a
	assert_equal "${reply[0]} ${reply[4]}" 'renewed '
	renew anna request=renewer kind=''
	assert_equal "${reply[0]} ${reply[4]}" 'renewed '
	renew anna
	assert_equal "${reply[4]}" 'by xena'
}

@test "when the wrap has given its hold back, and an inner acquire holds on, those who asked are told that nobody can be asked" {
	acquire anna
	acquire inner kind=a inherited=anna
	present xena
	request_stop xena
	release anna is='released 1'
	told xena 0
	request_stop xena "list=$list" is='stops alone'
}

@test "a kept lock is given back at once, and the next waiter gets it" {
	acquire anna lease=60000
	queue_for_handover ben
	release anna min=50000 status=3 cause=exit is=kept
	request_stop xena is='stops kept 0 by anna'
	handed ben 5000
	request_stop xena again=1
	assert_equal "${reply[*]}" stops
	assert_equal "$(the_events)" 'granted released granted'
	run -0 entry 2
	assert_line 'status 3'
	assert_line 'actor by xena'
	assert_line 'owner anna'
}

@test "a hold that is asked is not kept for --min-hold" {
	acquire anna
	request_stop xena
	release anna min=50000 is='released 0'
	is_free job
}

@test "all holders of several are asked, those that can be, and only they are told" {
	acquire anna want='#3'
	acquire ben want='#3' kind=a
	acquire cleo want='#3'
	present anna ben cleo
	request_stop xena
	assert_equal "$(printf '%s\n' "${reply[@]}" | grep -c -x asked) $(printf '%s\n' "${reply[@]}" | grep -c -x alone)" '2 1'
	assert_equal "$(sort <<<"$list")" "$(printf '%s\n' "${token[anna]} 30000 =1 anna" "${token[ben]} 30000 =2 ben" \
		"${token[cleo]} 30000 =3 cleo" | sort)"
	told anna 0
	told ben ''
	told cleo 0
	renew cleo hold_mode='=3'
	assert_equal "${reply[4]}" 'by xena'
	assert_equal "$(cli XRANGE "$(key_log)" - + | grep -x -A 1 slot | grep -cx '[13]')" 4
	agree
}

@test "of several holders only the one that is meant is asked, by its owner or its slot" {
	acquire anna want='=db1,db2'
	acquire ben want='=db1,db2'
	request_stop xena only==db2
	assert_equal "$list" "${token[ben]} 30000 =db2 ben"
	request_stop yara only=anna
	assert_equal "$list" "${token[anna]} 30000 =db1 anna"
	renew anna hold_mode='=db1'
	assert_equal "${reply[4]}" 'by yara'
	release ben
	request_stop xena
	assert_equal "${reply[*]}" stops
	request_stop zoe only==db2
	assert_equal "${reply[*]}" stops
	request_stop zora only=nobody
	assert_equal "${reply[*]}" stops
	agree
}

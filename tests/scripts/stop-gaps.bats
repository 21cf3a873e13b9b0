#!/usr/bin/env bats
# The release script with mode stop after a loss of data, beside records that are damaged or old, and without memory.

load ../lib/helpers
load ../lib/scripts

# lost_hold: anna was granted the lock 5 s ago and was asked to stop; then the server lost its data
lost_hold() {
	acquire anna
	request_stop xena
	later 5000
	cli FLUSHALL >/dev/null
}

@test "after a loss of data a hold that may be taken up again is not over, and is asked again then" {
	lost_hold
	request_stop xena "list=$list" is='stops away'
	later 5000
	request_stop xena "list=$list" is='stops away'
	renew anna
	assert_equal "${reply[0]} ${reply[3]} ${reply[4]}" 'renewed 1 '
	request_stop xena "list=$list" is='stops asked'
	renew anna
	assert_equal "${reply[4]}" 'by xena'
	release anna
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
	all_well
}

@test "after a loss of data a hold that was taken up under a new token is asked again" {
	acquire anna kind=v
	later 10
	request_stop xena
	cli FLUSHALL
	renew anna kind=v is=renewed
	[ "${reply[2]}" -gt "${token[anna]}" ]
	token[anna]=${reply[2]}
	request_stop xena "list=$list" is='stops asked'
	renew anna kind=v
	assert_equal "${reply[4]}" 'by xena'
	release anna
	acquire anna kind=v # another hold
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
}

@test "after a loss of data a hold is over when its lease has passed, or another holds the lock" {
	lost_hold
	request_stop xena "list=$list" is='stops away'
	later 30001
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
	cli FLUSHALL >/dev/null
	acquire ben
	later 10
	request_stop yara
	cli FLUSHALL
	acquire cleo
	request_stop yara "list=$list"
	assert_equal "${reply[*]}" stops
}

@test "a hold of which our hash was deleted is asked when it is known again" {
	acquire anna
	later 10
	request_stop xena
	cli DEL "$(key_state)"
	request_stop xena "list=$list" is='stops away'
	renew anna
	request_stop xena "list=$list" is='stops asked'
	renew anna
	assert_equal "${reply[4]}" 'by xena'
}

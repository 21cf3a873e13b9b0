#!/usr/bin/env bats
# The renew script on a server that lost its data: it takes the lock up again, unless another owner got it. What token
# a hold has then is in take-up-token.bats.

load ../lib/helpers
load ../lib/scripts

@test "renew takes the lock up under its token on a server that lost its data" {
	granted_to_anna
	cli FLUSHALL
	renew anna lease=20000 is="renewed 20000 ${token[anna]} 1"
	assert_equal "$(owner) $(holds)" 'anna 1'
	assert_equal "$(cli PTTL job)" 20000
}

@test "renew answers taken if a client of Redisson's got the lock after the loss of data" {
	granted_to_anna
	cli FLUSHALL
	redisson_takes r1
	renew anna is='lost taken r1'
	assert_equal "$(owner) $(holds)" 'r1 1'
}

@test "renew answers taken if another owner got the lock after the loss of data" {
	granted_to_anna
	cli FLUSHALL
	acquire ben
	renew anna is='lost taken ben'
	assert_equal "$(owner)" ben
}

@test "the renew command takes no lock up, because it knows no token" {
	acquire anna
	cli FLUSHALL
	renew anna kind= holder_token= is='lost gone'
	assert_equal "$(cli EXISTS job)" 0
}

@test "all processes of an owner keep their holds over a loss of data" {
	acquire anna
	acquire left inherited=anna
	acquire right inherited=anna
	later 10
	cli FLUSHALL
	renew anna request=left "holder_token=${token[anna]}" is="renewed 30000 ${token[anna]} 1"
	renew anna is=renewed
	renew anna request=right is=renewed
	renew anna request=left is=renewed
	assert_equal "$(owner) $(holds)" 'anna 3'
	release anna request=left is='released 2'
	release anna request=right is='released 1'
	release anna is='released 0'
}

@test "after a loss of data a process that was not back gives back its own hold only, and the lock stays with the others" {
	acquire anna
	acquire left inherited=anna
	acquire right inherited=anna
	later 10
	cli FLUSHALL
	renew anna request=left "holder_token=${token[anna]}"
	release anna request=right again=1 strays=1 is=released
	assert_equal "$(owner) $(holds)" 'anna 1'
	release anna is=released
	assert_equal "$(owner) $(holds)" 'anna 1'
	release anna request=left is='released 0'
	assert_equal "$(cli EXISTS job)" 0
}

@test "a lock that was broken by force is not taken up, even if our hash was lost before" {
	granted_to_anna
	cli DEL "$(key_state)"
	release '' mode=force request=breaker is='forced anna'
	renew anna is=lost
	assert_equal "$(owner)" ''
}

@test "renew takes the lock up on a server whose data is older than the grant" {
	acquire zoe
	release zoe
	copy_data
	granted_to_anna
	old_data
	renew anna is="renewed 30000 ${token[anna]} 1"
	acquire inner inherited=anna is="granted anna ${token[anna]}"
	assert_equal "${reply[5]} ${reply[6]}" '2 x'
}

@test "a process that goes into a hold that our hash, which was deleted, does not know costs its owner nothing" {
	acquire anna
	cli DEL "$(key_state)" >/dev/null
	later 100
	acquire inner inherited=anna is='granted anna'
	renew anna request=inner "holder_token=${reply[2]}" is=renewed
	renew anna is="renewed 30000 ${token[anna]} 1"
	renew anna request=inner is=renewed
	assert_equal "$(holds)" 2
	release anna is='released 1'
	release anna request=inner is='released 0'
}

@test "a waiter goes into the hold that it inherited, also if it stands in the queue" {
	acquire anna
	queue_up ben
	queue_up cleo
	ask ben inherited=anna is='granted anna'
	assert_equal "${reply[5]}" 2
	queue_is cleo
}

@test "a process of an owner whose hold is another one by now has lost its own" {
	acquire anna
	local earlier=${token[anna]}
	later 10
	cli DEL job >/dev/null
	acquire anna request=other is='granted anna'
	renew anna "holder_token=$earlier" is=released
	renew anna request=other is=renewed
}

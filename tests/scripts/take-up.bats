#!/usr/bin/env bats
# The renew script on a server that lost its data: it takes the lock up again, unless another owner got it. What token
# a hold has then is in take-up-token.bats.

load ../lib/helpers
load ../lib/scripts

@test "renew takes the lock up under its token on a server that lost its data" {
	granted_to_anna
	cli FLUSHALL
	renew anna lease=20000
	answered renewed 20000 "${token[anna]}" 1
	assert_equal "$(owner) $(holds)" 'anna 1'
	assert_equal "$(cli PTTL job)" 20000
}

@test "renew answers taken if another owner got the lock after the loss of data" {
	granted_to_anna
	cli FLUSHALL
	acquire ben
	renew anna
	answered lost taken ben
	assert_equal "$(owner)" ben
}

@test "renew answers taken if a client of Redisson's got the lock after the loss of data" {
	granted_to_anna
	cli FLUSHALL
	redisson_takes r1
	renew anna
	answered lost taken r1
	assert_equal "$(owner) $(holds)" 'r1 1'
}

@test "the renew command takes no lock up, because it knows no token" {
	acquire anna
	cli FLUSHALL
	renew anna kind= holder_token=
	answered lost gone
	assert_equal "$(cli EXISTS job)" 0
}

@test "all processes of an owner keep their holds over a loss of data" {
	acquire anna
	acquire left inherited=anna
	acquire right inherited=anna
	later 10
	cli FLUSHALL
	renew anna request=left "holder_token=${token[anna]}"
	answered renewed 30000 "${token[anna]}" 1
	renew anna
	answered renewed
	renew anna request=right
	answered renewed
	renew anna request=left
	answered renewed
	assert_equal "$(owner) $(holds)" 'anna 3'
	release anna request=left
	answered released 2
	release anna request=right
	answered released 1
	release anna
	answered released 0
}

@test "a hold that was released after the lock was taken up does not come back by a renewal" {
	acquire anna
	acquire inner inherited=anna kind=a
	later 10
	cli FLUSHALL
	renew anna
	renew anna request=inner kind=a
	assert_equal "$(holds)" 2
	release anna mode=any request=command
	answered released 1
	renew anna request=inner kind=a
	answered released
	assert_equal "$(holds)" 1
}

@test "after a loss of data a process that was not back gives back its own hold only, and the lock stays with the others" {
	acquire anna
	acquire left inherited=anna
	acquire right inherited=anna
	later 10
	cli FLUSHALL
	renew anna request=left "holder_token=${token[anna]}"
	release anna request=right again=1 strays=1
	answered released
	assert_equal "$(owner) $(holds)" 'anna 1'
	release anna
	answered released
	assert_equal "$(owner) $(holds)" 'anna 1'
	release anna request=left
	answered released 0
	assert_equal "$(cli EXISTS job)" 0
}

@test "after a loss of data the release command does not give back the hold of a wrap" {
	acquire anna
	acquire byhand inherited=anna kind=h
	later 10
	cli FLUSHALL
	renew anna
	release anna mode=any request=command
	answered not acquired
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "a process that goes into a hold that our hash, which was deleted, does not know costs its owner nothing" {
	acquire anna
	cli DEL "$(key_state)" >/dev/null
	later 100
	acquire inner inherited=anna
	answered granted anna
	renew anna request=inner "holder_token=${reply[2]}"
	answered renewed
	renew anna
	answered renewed 30000 "${token[anna]}" 1
	renew anna request=inner
	answered renewed
	assert_equal "$(holds)" 2
	release anna
	answered released 1
	release anna request=inner
	answered released 0
}

@test "a lock that was taken up is handed to the first waiter when it is given back" {
	granted_to_anna
	cli FLUSHALL
	renew anna
	present ben cleo
	acquire ben handed=abc
	acquire cleo handed=abc
	later 2000 # the pause for all who waited is over
	release anna
	answered released 0
	handed ben 5000 abc
	[ "${token[ben]}" -gt "${token[anna]}" ]
	queue_is cleo
	all_well
}

@test "a lock that was broken by force is not taken up, even if our hash was lost before" {
	granted_to_anna
	cli DEL "$(key_state)"
	release '' mode=force request=breaker
	answered forced anna
	renew anna
	answered lost
	assert_equal "$(owner)" ''
}

@test "renew takes the lock up on a server whose data is older than the grant" {
	acquire zoe
	release zoe
	copy_data
	granted_to_anna
	old_data
	renew anna
	answered renewed 30000 "${token[anna]}" 1
	acquire inner inherited=anna
	answered granted anna "${token[anna]}"
	assert_equal "${reply[5]} ${reply[6]}" '2 x'
}

@test "a process of an owner whose hold is another one by now has lost its own" {
	acquire anna
	local earlier=${token[anna]}
	later 10
	cli DEL job >/dev/null
	acquire anna request=other
	answered granted anna
	renew anna "holder_token=$earlier"
	answered released
	renew anna request=other
	answered renewed
}

@test "a waiter goes into the hold that it inherited, also if it stands in the queue" {
	acquire anna
	queue_up ben
	queue_up cleo
	ask ben inherited=anna
	answered granted anna
	assert_equal "${reply[5]}" 2
	queue_is cleo
}

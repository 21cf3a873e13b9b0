#!/usr/bin/env bats
# Holds by hand, of the kind h: how the scripts tell of them, and who may renew one for longer than a day.
load ../lib/helpers
load ../lib/scripts

DAY=86400000

# hand_of ID: prints the seventh element about the holder that a busy answer has
hand_of() {
	acquire "$1" mode=try
	[ "${reply[0]}" = busy ]
	echo "${reply[7]}"
}

@test "other holds are not by hand: of wrap, of a keeper, a kept one, and one that a process has gone into" {
	acquire anna
	assert_equal "$(hand_of ben)" 0
	release anna
	acquire anna kind=a
	assert_equal "$(hand_of ben)" 0
	release anna
	acquire anna kind=h
	acquire anna request=inner inherited=anna
	assert_equal "$(hand_of ben)" 0
	release anna request=inner
	assert_equal "$(hand_of ben)" 1
	release anna min=60000
	assert_equal "${reply[0]}" kept
	assert_equal "$(hand_of ben)" 0
}

@test "the renew command prolongs a hold by hand beyond a day, and our keys outlive it" {
	acquire anna kind=h
	renew anna request=person kind='' lease=$((30 * DAY)) holder_token=''
	assert_equal "${reply[0]}" renewed
	[ "$(cli PTTL "$lock")" -gt $((29 * DAY)) ]
	[ "$(cli PTTL "fairlock:{$lock}")" -gt $((30 * DAY + DAY / 2)) ]
	# the one that was sent again, and a shorter one, which shortens nothing
	renew anna request=person kind='' lease=$((30 * DAY)) holder_token=''
	assert_equal "${reply[0]}" renewed
	renew anna request=person kind='' lease=60000 holder_token=''
	[ "$(cli PTTL "$lock")" -gt $((29 * DAY)) ]
	release anna mode=any request=person
	assert_equal "${reply[*]}" 'released 0'
}

@test "the renew command may not prolong another hold beyond a day, and changes nothing, also if it is sent again" {
	local before

	acquire anna
	acquire anna request=inner kind=h inherited=anna
	before=$(digest)
	for _ in 1 2; do
		renew anna request=person kind='' lease=$((DAY + 1)) holder_token='' is='not by hand'
	done
	assert_equal "$(digest)" "$before"
	renew anna request=person kind='' lease=$DAY holder_token=''
	assert_equal "${reply[0]}" renewed
}

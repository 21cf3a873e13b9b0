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

@test "every answer about the holder says that it holds by hand" {
	acquire anna kind=h lease=$((30 * DAY))
	assert_equal "$(hand_of ben)" 1
	present ben
	acquire ben
	script view ben ''
	assert_equal "${reply[-1]}" 1
	acquire carl limit=1
	assert_equal "${reply[0]} ${reply[-1]}" 'full 1'
	leave ben
	assert_equal "${reply[0]} ${reply[-1]}" 'left 1'
	script status
	assert_equal "${reply[-2]}" 1
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

@test "a slot by hand is told as such, and status tells it for each holder" {
	acquire anna kind=h want=#2 lease=10000
	acquire ben want=#2 lease=20000
	want=#2 acquire carl mode=try want=#2
	assert_equal "${reply[0]} ${reply[1]} ${reply[7]}" 'busy anna 1'
	want=#2 script status
	# the holders' rows, then their number, the slots, the last success, the first holder's hand, and no lease is too long
	assert_equal "${reply[*]: -5}" '2 2  1 0'
	[[ "${reply[*]}" == *'0 1 1 '*'0 2 0 '* ]] || fail "${reply[*]}"
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
		renew anna request=person kind='' lease=$((DAY + 1)) holder_token=''
		answered 'not by hand'
	done
	assert_equal "$(digest)" "$before"
	renew anna request=person kind='' lease=$DAY holder_token=''
	assert_equal "${reply[0]}" renewed
}

@test "the renew command may not prolong a hold beyond a day that our hash does not know" {
	acquire anna kind=h
	cli DEL "fairlock:{$lock}" >/dev/null
	renew anna request=person kind='' lease=$((2 * DAY)) holder_token=''
	answered 'not by hand'
}

@test "a waiter by hand that is handed the lock holds it by hand, and release any gives it back" {
	acquire anna
	present ben
	acquire ben kind=h handed=0123456789abcdef
	release anna
	assert_equal "$(hand_of carl)" 1
	release ben request=person mode=any
	assert_equal "${reply[*]}" 'released 0'
}

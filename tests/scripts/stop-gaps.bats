#!/usr/bin/env bats
# The release script with mode stop after a loss of data, beside records that are damaged or old, and without memory.

load ../lib/helpers
load ../lib/scripts
load ../lib/handover

# lost_hold: anna was granted the lock a minute ago and was asked to stop; then the server lost its data
lost_hold() {
	acquire anna
	request_stop xena
	token[anna]=$((token[anna] - 60000))
	list="${token[anna]} 30000 x anna"
	cli FLUSHALL >/dev/null
}

@test "after a loss of data a hold that may be taken up again is not over, and is asked again then" {
	lost_hold
	request_stop xena "list=$list"
	answered stops away
	left 2000 "${reply[2]}"
	change run lost=$(($(now_ms) - 5000))
	request_stop xena "list=$list"
	answered stops away
	left 25000 "${reply[2]}"
	renew anna
	assert_equal "${reply[0]} ${reply[3]} ${reply[4]}" 'renewed 1 '
	request_stop xena "list=$list"
	answered stops asked
	renew anna
	assert_equal "${reply[4]}" 'by xena'
	release anna
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
	all_well
}

@test "after a loss of data a hold that was taken up under a new token is asked again" {
	acquire anna kind=v
	wait_until is_past "${token[anna]}"
	request_stop xena
	cli FLUSHALL
	renew anna kind=v
	answered renewed
	[ "${reply[2]}" -gt "${token[anna]}" ]
	request_stop xena "list=$list"
	answered stops asked
	renew anna kind=v holder_token="$(column h:anna token)"
	assert_equal "${reply[4]}" 'by xena'
	release anna
	acquire anna kind=v # another hold
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
}

@test "after a loss of data a hold that was taken up under a new token, and broken, is over" {
	acquire anna kind=v want='#2'
	wait_until is_past "${token[anna]}"
	request_stop xena
	cli FLUSHALL
	renew anna kind=v hold_mode='=1'
	answered renewed
	release '' mode=force request=breaker want='#2'
	answered forced
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
}

@test "after a loss of data a hold is over when its lease has passed, or another holds the lock" {
	lost_hold
	request_stop xena "list=$list"
	answered stops away
	change run lost=$(($(now_ms) - 30001))
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
	cli FLUSHALL >/dev/null
	acquire ben
	wait_until is_past "${token[ben]}"
	request_stop yara
	cli FLUSHALL
	acquire cleo
	request_stop yara "list=$list"
	assert_equal "${reply[*]}" stops
}

@test "after a loss of data a slot that was taken up and given back is over" {
	acquire anna want='#2'
	wait_until is_past "${token[anna]}"
	request_stop xena
	cli FLUSHALL
	renew anna hold_mode='=1'
	assert_equal "${reply[3]}" 1
	release anna want='#2'
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
}

@test "a hold that was lost or broken is over" {
	acquire anna
	request_stop xena
	release '' mode=force request=breaker
	request_stop xena "list=$list"
	assert_equal "${reply[*]}" stops
}

@test "a hold that another process of its owner took up first may be that of the wrap" {
	acquire anna
	acquire inner inherited=anna
	wait_until is_past "${token[anna]}"
	request_stop xena
	cli FLUSHALL
	renew anna request=inner "holder_token=${token[anna]}"
	request_stop xena "list=$list"
	answered stops away
	renew anna
	request_stop xena "list=$list"
	answered stops asked
}

@test "a hold of which our hash was deleted is asked when it is known again" {
	acquire anna
	wait_until is_past "${token[anna]}"
	request_stop xena
	cli DEL "$(key_state)"
	request_stop xena "list=$list"
	answered stops away
	renew anna
	request_stop xena "list=$list"
	answered stops asked
	renew anna
	assert_equal "${reply[4]}" 'by xena'
}

@test "a stop on a server out of memory is written down" {
	acquire anna
	cli CONFIG SET maxmemory 1 >/dev/null
	request_stop xena
	cli CONFIG SET maxmemory 0 >/dev/null
	answered stops asked
	assert_equal "$(field a:anna)" 'xena by xena'
	renew anna
	assert_equal "${reply[4]}" 'by xena'
}

@test "a damaged record of who asks is no error, asks nobody, and the next stop mends it" {
	local damage number=0

	for damage in '' x ' by' ',' ', by' 'a,,b ' '-'; do
		acquire anna
		request_stop "x$((++number))"
		cli HSET "$(key_state)" a:anna "$damage" >/dev/null
		renew anna
		assert_equal "${reply[0]} ${reply[4]}" 'renewed '
		request_stop "y$number"
		renew anna
		assert_equal "${reply[4]}" "by y$number"
		cli HSET "$(key_state)" a:anna "$damage" >/dev/null
		release anna
		answered released 0
		all_well
	done
	acquire anna
	request_stop xena
	cli HDEL "$(key_state)" a:anna >/dev/null
	renew anna
	assert_equal "${reply[0]} ${reply[4]}" 'renewed '
	release anna
	all_well
}

# swept: our hash has so many records that scripts look through it in parts; they have done so
swept() {
	local number

	for number in {1..60}; do
		echo "HSET $(key_state) r:other$number \"$(now_ms) 0 -\""
	done | cli >/dev/null
	for number in {1..12}; do
		later 150
		leave nobody
	done
}

@test "a note of who asks beside a hold that was not asked counts for nothing" {
	acquire anna
	cli HSET "$(key_state)" a:anna 'xena,yara by yara' >/dev/null
	renew anna
	assert_equal "${reply[4]}" ''
	request_stop xena
	assert_equal "$(field a:anna)" 'xena by xena'
	renew anna
	assert_equal "${reply[4]}" 'by xena'
}

@test "a note of who asks goes if its owner holds no more" {
	acquire anna
	cli HSET "$(key_state)" a:gone 'xena by xena' >/dev/null
	swept
	assert_equal "$(field a:gone)" ''
	release anna
	acquire ben want='#2'
	cli HSET "$(key_state)" a:gone 'xena by xena' >/dev/null
	swept
	assert_equal "$(field a:gone)" ''
}

@test "a note of who asks stays while its hold does, alone or beside others" {
	acquire anna
	request_stop xena
	swept
	renew anna
	assert_equal "${reply[4]}" 'by xena'
	release anna
	acquire ben want='#2'
	request_stop yara
	swept
	renew ben hold_mode='=1'
	assert_equal "${reply[4]}" 'by yara'
}

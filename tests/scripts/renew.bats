# The renew script: it lengthens a lease, or says that the lock is lost. On a server that lost its data it takes the lock up again,
# unless another owner got it.

load ../lib/scripts

@test "renew gives a full lease, that of the grant if it names none, and never shortens one" {
	acquire anna lease=30000
	later 20000
	renew anna lease=20000 is="renewed 20000 ${token[anna]} 0"
	renew anna lease= kind= holder_token= is="renewed 30000 ${token[anna]}"
	renew anna lease=1000 is='renewed 30000'
	assert_equal "$(cli PTTL job)" 30000
}

@test "renew answers lost, and why, after the lease has ended, a deletion, or force, and takes nothing up" {
	local end

	for end in 'later 30001' 'cli DEL job' "release '' mode=force request=breaker"; do
		granted_to_anna
		eval "$end"
		for _ in 1 2; do
			renew anna is=lost
			assert_equal "${reply[1]}" "$([[ $end = release* ]] && echo forced || echo gone)"
		done
		assert_equal "$(cli EXISTS job)" 0
		cli FLUSHALL >/dev/null
	done
}

# By hand

DAY=86400000

@test "the renew command prolongs a hold by hand beyond a day, also if it is sent again, and our keys outlive it" {
	acquire anna kind=h
	for lease in $((30 * DAY)) $((30 * DAY)) 60000; do
		renew anna request=person kind='' lease=$lease holder_token='' is=renewed
		[ "$(cli PTTL "$lock")" -gt $((29 * DAY)) ]
		[ "$(cli PTTL "$(key_state)")" -gt $((30 * DAY + DAY / 2)) ]
	done
	release anna mode=any request=person
	assert_equal "${reply[*]}" 'released 0'
}

@test "the renew command may not prolong another hold beyond a day, nor one that a process has gone into by hand" {
	acquire anna
	acquire anna request=inner kind=h inherited=anna
	before=$(digest)
	for _ in 1 2; do
		renew anna request=person kind='' lease=$((DAY + 1)) holder_token='' is='not by hand'
	done
	assert_equal "$(digest)" "$before"
	renew anna request=person kind='' lease=$DAY holder_token='' is=renewed
}

# After a loss of data

@test "renew takes the lock up under its token, and the renew command, which knows none, does not" {
	granted_to_anna
	cli FLUSHALL
	renew anna kind= holder_token= is='lost gone'
	cli FLUSHALL
	renew anna lease=20000 is="renewed 20000 ${token[anna]} 1"
	assert_equal "$(owner) $(holds) $(cli PTTL job)" 'anna 1 20000'
}

@test "renew takes nothing up if another owner got the lock meanwhile, or it was broken by force" {
	granted_to_anna
	cli FLUSHALL
	redisson_takes r1
	renew anna is='lost taken r1'
	cli FLUSHALL
	acquire ben 'by=host 7 root make'
	renew anna is='lost taken ben host 7 root make'
	assert_equal "$(owner) $(holds)" 'ben 1'
	release ben
	renew anna is='lost gone'
	cli FLUSHALL
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
	acquire inner inherited=anna is="granted anna ${token[anna]} * 2 x"
}

@test "all processes of an owner keep their holds, and one that was not back gives back its own only" {
	acquire anna
	acquire left inherited=anna kind=v # it has begun: there is no new token
	acquire right inherited=anna
	later 10
	cli FLUSHALL
	renew anna request=left kind=v "holder_token=${token[anna]}" is="renewed 30000 ${token[anna]} 1"
	release anna request=right again=1 strays=1 is=released
	assert_equal "$(owner) $(holds)" 'anna 1'
	renew anna is=renewed
	renew anna request=left is=renewed
	assert_equal "$(owner) $(holds)" 'anna 2'
	release anna request=left is='released 1'
	release anna is='released 0'
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

@test "a process of an owner whose hold is another one by now has lost its own" {
	acquire anna
	local earlier=${token[anna]}
	later 10
	cli DEL job >/dev/null
	acquire anna request=other is='granted anna'
	renew anna "holder_token=$earlier" is=released
	renew anna request=other is=renewed
}

# The token of a hold that is taken up is that of COMMAND, or a new one if COMMAND has not begun.

# grown_token TAKEN_UP: anna, whose COMMAND has not begun, was answered a newer token than it had
grown_token() {
	answered renewed 30000 '*' "$1"
	[ "${reply[2]}" -gt "${token[anna]}" ]
}

@test "a hold whose COMMAND has not begun is taken up under a new token, also by a renewal that says that it begins" {
	local how

	for how in kind=v 'kind=w start=1'; do
		granted_to_anna kind=v
		copy_data
		lose_data
		renew anna $how
		grown_token 1
		renew anna $how
		grown_token 0
		token[anna]=${reply[2]}
		old_data
		renew anna kind=v is="renewed 30000 ${token[anna]} 0" # it is the newer one
		cli FLUSHALL
	done
}

@test "such a hold has a newer token than all that held the lock since, also after a second loss, and is not revived under the old one" {
	local mode

	for mode in x =1; do
		granted_to_anna kind=v want="${mode/=1/#2}"
		cli FLUSHALL
		acquire ben want="${mode/=1/#2}"
		later 10
		release ben want="${mode/=1/#2}"
		[ "$mode" = =1 ] || cli FLUSHALL # of an exclusive hold it is lost, else
		renew anna kind=v hold_mode="$mode"
		grown_token 1
		[ "${reply[2]}" -gt "${token[ben]}" ]
		release x mode=force request=breaker is=forced
		renew anna kind=v hold_mode="$mode" is='lost forced'
		cli FLUSHALL
	done
}

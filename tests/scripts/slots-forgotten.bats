#!/usr/bin/env bats
# Holds beside others of which our hash knows less than there is: somebody deleted it, or an owner comes again before any
# script has noticed how its last hold ended.

load ../lib/helpers
load ../lib/scripts

# kinds_of_holds: what an owner may want beside others, one a line
kinds_of_holds() { printf '%s\n' s '#2'; }

@test "after our hash was deleted, an inner hold that is given back does not end the outer one" {
	for want in $(kinds_of_holds); do
		cli FLUSHALL >/dev/null
		acquire anna "want=$want"
		acquire inner inherited=anna "want=$want"
		cli DEL "$(key_state)" >/dev/null
		release anna request=inner
		answered released 1
		assert_equal "$(holders)" anna
		# sent again, it changes nothing more
		release anna request=inner again=1
		answered released
		assert_equal "$(holders)" anna
		acquire zoe mode=try
		answered busy
		held_as=${want/'#2'/'=1'}
		renew anna "hold_mode=$held_as" "holder_token=${token[anna]}"
		answered renewed
		release anna
		answered released 0
		acquire zoe mode=try
		answered granted zoe
	done
}

@test "after our hash was deleted, going in and out again does not end the outer hold" {
	for want in $(kinds_of_holds); do
		cli FLUSHALL >/dev/null
		acquire anna "want=$want"
		cli DEL "$(key_state)" >/dev/null
		acquire inner inherited=anna want=s
		[ "$want" = s ] || continue # nobody knows the slot
		answered granted anna
		release anna request=inner
		answered released 1
		assert_equal "$(holders)" anna
		acquire inner inherited=anna want=s
		leave inner inherited=anna
		answered left
		assert_equal "$(holders)" anna
		acquire zoe mode=try
		answered busy
	done
}

@test "an owner that comes again has left its old slot, also if no script has noticed that end" {
	local i

	acquire keep want='=keep' lease=600000
	for i in {1..22}; do acquire "a$i" want='#22' lease=$((20000 + i)); done
	later 20100
	acquire a22 want='=zz'
	answered granted a22
	assert_equal "$(field s:22) $(field s:zz)" ' a22'
	run cli --raw XREVRANGE "$(key_log)" + - COUNT 60
	[[ ${lines[*]} = *' event expired time '*' owner a22 '*' slot 22 '* ]] || fail "$output"
	acquire zoe want='=22'
	answered granted zoe
	acquire yuri want='=21'
	answered granted yuri
	assert_equal "$(field n:expired)" 22
	release x mode=force only==22 request=req
	answered forced zoe
	assert_equal "$(field s:zz)" a22
}

@test "an owner that comes again after key 1 was deleted has left its old slot" {
	acquire a1 want='#2' lease=600000
	cli DEL job >/dev/null
	acquire a1 want='=zz'
	answered granted a1
	assert_equal "$(field s:1) $(field s:zz)" ' a1'
}

@test "nothing of several holders is left when the lock is free, however many leases ended at once" {
	local i

	for ((i = 1; i <= 1100; i++)); do
		echo "ZADD $(key_holders) 1 gone$i"
	done | cli >/dev/null
	acquire anna want=s lease=60000
	for ((i = 1; i <= 1100; i++)); do
		echo "ZADD $(key_holders) 1 gone$i"
	done | cli >/dev/null
	release anna
	answered released 0
	assert_equal "$(cli EXISTS job) $(cli EXISTS "$(key_holders)")" '0 0'
}

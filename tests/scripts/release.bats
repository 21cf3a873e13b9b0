#!/usr/bin/env bats
# The release script: giving back, waking the next, breaking.

load ../lib/helpers
load ../lib/scripts

# Anna holds three times, our hash forgets it, and the third hold is given back: two are left.
forget_holds_but_release_right() {
	acquire anna
	acquire left inherited=anna
	acquire right inherited=anna
	cli DEL "$(key_state)"
	release anna request=right
}

# Giving back

@test "the last hold given back frees the lock" {
	acquire anna
	release anna
	answered released 0
	assert_equal "$(cli EXISTS job)" 0
}

@test "an inner hold given back leaves the outer one, and its lease" {
	acquire anna lease=60000
	acquire inner inherited=anna
	release anna request=inner
	answered released 1
	assert_equal "$(owner) $(holds)" 'anna 1'
	left 60000 "$(cli PTTL job)"
}

@test "a hold of its own is given back even when inner ones are left" {
	acquire anna
	acquire inner inherited=anna kind=a
	release anna
	answered released 1
	assert_equal "$(holds)" 1
}

@test "a release that is repeated gives the same answer" {
	acquire anna
	release anna
	release anna again=1
	answered released 0
	assert_equal "$(log_lines | grep -c released)" 1
}

@test "an inner release that is repeated gives back one hold only" {
	acquire anna
	acquire inner inherited=anna
	release anna request=inner
	release anna request=inner again=1
	answered released 1
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "a release that is repeated does not harm the next holder" {
	acquire anna
	release anna
	acquire ben
	release anna again=1
	answered released 0
	assert_equal "$(owner) $(holds)" 'ben 1'
}

@test "a release that is repeated wakes nobody twice" {
	acquire anna
	queue_up ben
	release anna
	release anna again=1
	told ben 0
}

@test "who is not the owner cannot release" {
	acquire anna 'by=host 7 root make'
	before=$(digest job)
	release ben
	answered not held anna host 7 root make
	assert_equal "$(digest job)" "$before"
}

@test "a free lock cannot be released" {
	release ben
	answered not held
	assert_equal "$(cli KEYS '*')" ''
}

@test "another process of the owner cannot give back a hold that is not its own" {
	acquire anna
	release anna request=other
	answered not held anna
	assert_equal "$(holds)" 1
}

@test "a hold that ended with its lease is not released, and the next holder keeps the lock" {
	acquire anna lease=1000
	later 2000
	acquire ben
	release anna
	answered not held ben
	assert_equal "$(owner)" ben
}

@test "an owner who never released is not told that it did" {
	acquire anna lease=1000
	later 2000
	acquire ben
	release anna again=1
	answered not held ben
}

@test "the release command gives back what acquire took" {
	acquire anna kind=a
	release anna mode=any request=command
	answered released 0
	assert_equal "$(cli EXISTS job)" 0
}

@test "the release command never gives back a hold of wrap" {
	acquire anna kind=w
	release anna mode=any request=command
	answered not acquired
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "inside a wrap the release command gives back what acquire took there, once" {
	acquire anna kind=w
	acquire inner inherited=anna kind=a
	release anna mode=any request=first
	answered released 1
	release anna mode=any request=second
	answered not acquired
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "the release command that is repeated gives back one of two" {
	acquire anna kind=w
	acquire one inherited=anna kind=a
	acquire two inherited=anna kind=a
	release anna mode=any request=command
	release anna mode=any request=command again=1
	answered released 2
	assert_equal "$(holds)" 2
}

@test "the last release command that is repeated gives the same answer" {
	acquire anna kind=a
	release anna mode=any request=command
	acquire ben
	release anna mode=any request=command again=1
	answered released 0
	assert_equal "$(owner)" ben
}

@test "the keeper of a hold that the release command gave back is told" {
	acquire anna kind=a
	present anna
	release anna mode=any request=command
	told anna 0
}

@test "nothing is given back under another spelling of the name" {
	acquire anna
	before=$(digest)
	lock='{job}' release anna
	answered spelled job
	lock='{job}' release '' mode=force request=breaker
	answered spelled job
	assert_equal "$(digest)" "$before"
}

# Waking

@test "a release tells the first that it is its turn, and the second to look after it" {
	acquire anna
	queue_up ben cleo dora
	release anna
	told ben 0
	told cleo 'second 5000'
	told dora ''
}

@test "a release tells the first two who are present" {
	acquire anna
	queue_up_dead u v
	queue_up ben
	queue_up_dead w
	queue_up cleo
	release anna
	told ben 0
	told cleo 'second 5000'
	queue_is ben cleo
}

@test "a release tells a Redisson waiter in its own word" {
	acquire anna
	redisson_waits r1
	present r1
	release anna
	told r1 0
}

@test "behind a Redisson waiter the first of ours is the second, and sees in a second whether the turn was taken" {
	acquire anna
	redisson_waits r1
	present r1
	queue_up ben
	release anna
	told r1 0
	told ben 'second 1000'
	later 1000
	ask ben
	left 4000 "${reply[2]}"
}

@test "a grant tells the next of ours that it is first and when the lease ends" {
	acquire anna
	queue_up ben cleo dora
	release anna
	ask ben lease=20000
	answered granted ben
	told cleo 'second 5000,first 20000'
	told dora ''
}

@test "holds that our hash has forgotten are given back one by one, each once" {
	forget_holds_but_release_right
	answered released 2
	release anna request=right again=1
	answered released 2
	release anna request=left
	answered released 1
	release anna request=right again=1
	answered released 1
	release anna
	answered released 0
	assert_equal "$(cli EXISTS job)" 0
}

@test "what was given back inside a lock of Redisson stays known, also behind a hold of ours that is over" {
	acquire anna
	release anna
	redisson_takes rex
	acquire inner inherited=rex
	answered granted rex
	acquire other inherited=rex
	release rex request=inner
	answered released 2
	release rex request=inner again=1
	answered released 2
}

@test "nobody is told when an inner hold is given back" {
	acquire anna
	acquire inner inherited=anna
	queue_up ben
	release anna request=inner
	told ben ''
}

# Breaking

@test "breaking a lock says whose it was" {
	acquire anna 'by=host 7 root make'
	release '' mode=force request=breaker
	answered forced anna host 7 root make
	assert_equal "$(cli EXISTS job)" 0
}

@test "breaking a free lock says so" {
	release '' mode=force request=breaker
	answered free
}

@test "breaking a lock that Redisson holds says whose it was" {
	redisson_takes r1
	release '' mode=force request=breaker
	answered forced r1
	assert_equal "$(cli EXISTS job)" 0
}

@test "breaking a lock tells its holder at once" {
	acquire anna
	present anna
	release '' mode=force request=breaker
	told anna 0
}

@test "breaking a lock wakes the next" {
	acquire anna
	queue_up ben cleo
	release '' mode=force request=breaker
	told ben 0
	told cleo 'second 5000'
}

@test "breaking a lock ends all holds of its owner" {
	acquire anna
	acquire inner inherited=anna
	release '' mode=force request=breaker
	assert_equal "$(cli EXISTS job)" 0
	renew anna request=inner
	answered lost forced
}

@test "breaking that is repeated gives the same answer and spares the next holder" {
	acquire anna 'by=host 7 root make'
	release '' mode=force request=breaker
	acquire ben
	release '' mode=force request=breaker again=1
	answered forced anna host 7 root make
	assert_equal "$(owner)" ben
}

@test "breaking a free lock that is repeated spares who took it meanwhile" {
	release '' mode=force request=breaker
	answered free
	acquire ben
	release '' mode=force request=breaker again=1
	answered free
	assert_equal "$(owner)" ben
}

@test "breaking that is repeated spares the next holder also when another broke a lock since" {
	acquire anna
	release '' mode=force request=breaker
	acquire ben
	release '' mode=force request=other
	acquire cleo
	release '' mode=force request=breaker again=1
	answered forced anna
	assert_equal "$(owner)" cleo
}

@test "breaking with the holder's token breaks the lock" {
	acquire anna
	release '' mode=force request=breaker "holder_token=${token[anna]}"
	answered forced anna
}

@test "breaking with an older token is refused, and says who holds the lock" {
	acquire anna
	release anna
	acquire ben 'by=host 8 root make'
	release '' mode=force request=breaker "holder_token=${token[anna]}"
	answered not held ben host 8 root make
	assert_equal "$(owner)" ben
}

@test "breaking with a token spares Redisson, which has none" {
	acquire anna
	release anna
	redisson_takes r1
	release '' mode=force request=breaker "holder_token=${token[anna]}"
	answered not held r1
	assert_equal "$(owner)" r1
}

@test "breaking with a token is refused when the lock is free" {
	acquire anna
	release anna
	release '' mode=force request=breaker "holder_token=${token[anna]}"
	answered not held
}

@test "what was given back of a hold that our hash has forgotten stays known, also when a dead waiter goes" {
	forget_holds_but_release_right
	queue_up_dead ben carl
	cli HSET "$(key_state)" run "$(cli INFO server | tr -d '\r' | sed -n 's/^run_id://p')" >/dev/null
	acquire dora mode=try
	queue_is
	release anna request=right again=1
	answered released 2
}

@test "of the holds that are over, the last eight are remembered" {
	local i

	acquire anna
	for i in {1..10}; do
		acquire "inner$i" inherited=anna
		release anna request="inner$i"
		answered released 1
	done
	assert_equal "$(field holds)" "wanna$(printf ' dinner%s' {3..10})"
	release anna request=inner10 again=1
	answered released 1
	assert_equal "$(holds)" 1
}

@test "a server without memory: a repeated release by force does not break the next one's lock" {
	acquire anna
	cli CONFIG SET maxmemory 1 >/dev/null
	release '' mode=force request=breaker
	cli CONFIG SET maxmemory 0 >/dev/null
	answered forced anna by anna
	acquire ben
	release '' mode=force request=breaker again=1
	answered forced anna by anna
	assert_equal "$(owner)" ben
}

@test "a server without memory: each of several holds is given back, also for the rest of --min-hold" {
	acquire anna
	acquire inner inherited=anna
	acquire short inherited=anna
	cli CONFIG SET maxmemory 1 >/dev/null
	release anna request=inner
	answered released 2
	release anna request=short min=60000
	answered released 1
	release anna
	cli CONFIG SET maxmemory 0 >/dev/null
	assert_equal "${reply[0]}" kept
}

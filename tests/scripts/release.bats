#!/usr/bin/env bats
# The release script: it gives a hold back and wakes the next waiter. (Mode force: see force.bats.)

load ../lib/helpers
load ../lib/scripts

# anna holds the lock three times, our hash is lost, and one hold is released: two are left.
forget_holds_but_release_right() {
	acquire anna
	acquire left inherited=anna
	acquire right inherited=anna
	cli DEL "$(key_state)"
	release anna request=right
}

# Giving back

@test "release of the last hold frees the lock" {
	acquire anna
	release anna
	answered released 0
	assert_equal "$(cli EXISTS job)" 0
}

@test "release of an inner hold keeps the outer one and its lease" {
	acquire anna lease=60000
	acquire inner inherited=anna
	release anna request=inner
	answered released 1
	assert_equal "$(owner) $(holds)" 'anna 1'
	left 60000 "$(cli PTTL job)"
}

@test "release of the outer hold keeps the inner one" {
	acquire anna
	acquire inner inherited=anna kind=a
	release anna
	answered released 1
	assert_equal "$(holds)" 1
}

@test "a repeated release gets the same answer and is logged once" {
	acquire anna
	release anna
	release anna again=1
	answered released 0
	assert_equal "$(log_lines | grep -c released)" 1
}

@test "a repeated release of an inner hold gives back one hold only" {
	acquire anna
	acquire inner inherited=anna
	release anna request=inner
	release anna request=inner again=1
	answered released 1
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "a repeated release does not touch the next holder" {
	acquire anna
	release anna
	acquire ben
	release anna again=1
	answered released 0
	assert_equal "$(owner) $(holds)" 'ben 1'
}

@test "a repeated release wakes the next waiter once" {
	acquire anna
	queue_up ben
	release anna
	release anna again=1
	told ben 0
}

# ended: prints "status=...|cause=..." of each release in the log
ended() {
	log_lines | sed -n 's/^event=released.*|status/status/p' | paste -sd ' '
}

@test "a release is logged with how COMMAND ended, as its request says" {
	acquire anna
	release anna status=137 cause=KILL
	assert_equal "$(ended)" 'status=137|cause=KILL'
	acquire ben
	release ben mode=unused status=127 cause=exit
	assert_equal "$(ended)" 'status=137|cause=KILL status=127|cause=exit'
}

@test "a repeated release with another status is logged once, with the first" {
	acquire anna
	release anna status=1 cause=exit
	release anna status=2 cause=exit again=1
	answered released 0
	assert_equal "$(ended)" 'status=1|cause=exit'
}

@test "a late release with a status changes nothing in the log" {
	acquire anna
	renew anna strays=1
	release anna status=1 cause=exit
	answered late
	assert_equal "$(ended) $(owner)" ' anna'
}

@test "a release refused in favour of the next holder does not give its status to another's end" {
	acquire anna lease=1000
	later 2000
	release anna status=3 cause=exit
	answered not held
	assert_equal "$(log_lines | sed -n 's/^event=expired.*|status/status/p')" 'status=|cause='
}

@test "the last of several holds gives its status to the log" {
	acquire anna
	acquire inner inherited=anna
	release anna request=inner status=4 cause=exit
	assert_equal "$(ended)" ''
	release anna status=5 cause=exit
	assert_equal "$(ended)" 'status=5|cause=exit'
}

@test "a release that hands the lock over is logged with its status" {
	acquire anna
	queue_up ben
	release anna status=6 cause=exit
	assert_equal "$(ended)" 'status=6|cause=exit'
}

@test "release refuses an id that is not the owner" {
	acquire anna 'by=host 7 root make'
	before=$(digest job)
	release ben
	answered not held anna host 7 root make
	assert_equal "$(digest job)" "$before"
}

@test "release refuses a free lock and creates no key" {
	release ben
	answered not held
	assert_equal "$(cli KEYS '*')" ''
}

@test "release refuses a process of the owner that has no hold" {
	acquire anna
	release anna request=other
	answered not held anna
	assert_equal "$(holds)" 1
}

@test "release refuses an owner whose lease has ended, and the next holder keeps the lock" {
	acquire anna lease=1000
	later 2000
	acquire ben
	release anna
	answered not held ben
	assert_equal "$(owner)" ben
}

@test "a repeated release is refused if the owner's lease has ended before the first copy" {
	acquire anna lease=1000
	later 2000
	acquire ben
	release anna again=1
	answered not held ben
}

@test "the release command gives back a hold of acquire" {
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

@test "inside a wrap the release command gives back the hold of an acquire, once" {
	acquire anna kind=w
	acquire inner inherited=anna kind=a
	release anna mode=any request=first
	answered released 1
	release anna mode=any request=second
	answered not acquired
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "a repeated release command gives back one of two holds" {
	acquire anna kind=w
	acquire one inherited=anna kind=a
	acquire two inherited=anna kind=a
	release anna mode=any request=command
	release anna mode=any request=command again=1
	answered released 2
	assert_equal "$(holds)" 2
}

@test "a repeated release command gets the same answer after the lock has passed on" {
	acquire anna kind=a
	release anna mode=any request=command
	acquire ben
	release anna mode=any request=command again=1
	answered released 0
	assert_equal "$(owner)" ben
}

@test "a repeated release command leaves the next hold of the same owner alone" {
	acquire anna kind=a
	release anna mode=any request=command
	acquire anna kind=a request=other
	release anna mode=any request=command again=1 strays=1
	answered released
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "release tells the keeper whose hold the release command gave back" {
	acquire anna kind=a
	present anna
	release anna mode=any request=command
	told anna 0
}

@test "release refuses another spelling of the name" {
	acquire anna
	before=$(digest)
	lock='{job}' release anna
	answered spelled job
	lock='{job}' release '' mode=force request=breaker
	answered spelled job
	assert_equal "$(digest)" "$before"
}

# Waking

@test "release tells the first waiter its turn, and the second to look after it" {
	acquire anna
	queue_up ben cleo dora
	release anna
	told ben 0
	told cleo 'second 5000'
	told dora ''
}

@test "release tells the first two waiters that are present" {
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

@test "release tells a Redisson waiter its turn in Redisson's word" {
	acquire anna
	redisson_waits r1
	present r1
	release anna
	told r1 0
}

@test "release tells our first waiter behind a Redisson waiter to look in 1 s" {
	turn_of_present_redisson
	told r1 0
	told ben 'second 1000'
	later 1000
	ask ben
	left 4000 "${reply[2]}"
}

@test "a grant tells our next waiter that it is first, and when the lease ends" {
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

@test "a released inner hold in a Redisson lock stays known, also after a hold of ours that is over" {
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

@test "a process whose hold in a Redisson lock the release command gave back gives back no other one" {
	redisson_takes rex
	acquire inner inherited=rex kind=a
	release rex mode=any request=command
	answered released 1
	release rex request=inner
	answered 'not held' rex
	assert_equal "$(owner) $(holds)" 'rex 1'
}

@test "release of an inner hold tells no waiter" {
	acquire anna
	acquire inner inherited=anna
	queue_up ben
	release anna request=inner
	told ben ''
}

@test "a released hold that our hash has forgotten stays known after a dead waiter is dropped" {
	forget_holds_but_release_right
	queue_up_dead ben carl
	cli HSET "$(key_state)" run "$(cli INFO server | tr -d '\r' | sed -n 's/^run_id://p') $(now_ms) - 0" >/dev/null
	acquire dora mode=try
	queue_is
	release anna request=right again=1
	answered released 2
}

@test "our hash remembers for ten minutes which holds are over" {
	local i

	acquire anna
	for i in {1..10}; do
		acquire "inner$i" inherited=anna
		release anna request="inner$i"
		answered released 1
	done
	assert_equal "$(column h:anna holds)" ,wanna,
	later 590000
	acquire anna
	for i in {1..10}; do
		release anna request="inner$i" again=1
		answered released 1
	done
	assert_equal "$(holds)" 1
}

@test "on a server out of memory each of several holds is given back, also with a --min-hold" {
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

# The queue that the scripts keep: its order, dead and hung waiters, and waiters that come back, also to a server that was restarted,
# with its data (only its run id changes) or without.

load ../lib/scripts

@test "acquire queues a waiter with a ticket; the first is to ask when the lease ends, the second in 10 s" {
	acquire anna lease=9000
	present cleo
	acquire ben is='queued * 9001 1 9000'
	[[ ${reply[1]} =~ ^[0-9]{16}$ ]]
	present ben
	acquire cleo is=queued
	between 10001 "${reply[2]}" 12000
	queue_is ben cleo
}

# The dead

@test "one script passes over a thousand dead waiters at most, and somebody who is alive goes on, also beside who listens to all" {
	listen_by_pattern '*'
	acquire anna
	crowd 2101
	absent together
	wait_until listens_not w2101
	queue_up zoe
	assert_equal "$(cli ZCARD "$(key_ours)") ${reply[2]}" '1102 1'
	release anna
	assert_equal "$(cli ZCARD "$(key_ours)")" 102
	told zoe 0
	ask zoe is='granted zoe'
}

@test "a waiter that was dropped as dead comes back to its place with its ticket" {
	acquire anna
	queue_up ben cleo dora
	absent ben
	ask cleo
	queue_is cleo dora
	present ben
	come_back ben is="queued ${ticket[ben]} * 1"
	queue_is ben cleo dora
}

# The hung

@test "a hung head is passed over after 5 s, and has its old place when it comes back" {
	acquire anna
	queue_up ben cleo dora
	release anna
	later 5000
	ask cleo is='granted cleo'
	queue_is dora
	told ben 0,0 # the second, so that it asks as soon as it is alive again
	come_back ben is="queued ${ticket[ben]}"
	queue_is ben dora
}

@test "waiters that were silent for 15 s are passed over with a hung head, and one that gave a sign of life is not" {
	acquire anna
	queue_up ben cleo dora emil
	later 11000
	ask dora
	ask emil
	release anna
	later 5000
	ask emil is=queued
	queue_is dora emil
	told ben 0,0
	told dora 0
}

@test "a head whose turn was taken away by a plain lock does not count as hung, and has another turn when that lock is free" {
	acquire anna
	queue_up ben cleo
	release anna
	cli HSET job plain 1
	ask ben is="queued ${ticket[ben]} * 1"
	cli DEL job
	ask cleo is=queued
	told ben 0,0
	cli HSET job plain 1
	later 6000
	ask cleo is=queued
	queue_is ben cleo
}

# After a restart

@test "after a restart no waiter is passed over in the first 2 s, whichever comes back first, and an absent one then" {
	acquire anna
	queue_up ben cleo dora
	later 31000
	absent ben cleo dora
	restarted
	for id in dora cleo; do
		present "$id"
		come_back "$id" is="queued ${ticket[$id]}"
		queue_is ben cleo dora
		later 1000
	done
	ask cleo is='granted cleo'
	queue_is dora
}

@test "a release within the 2 s hands the lock to nobody, and tells the first two waiters to ask when these are over" {
	acquire anna
	queue_for_handover ben cleo dora
	absent ben cleo dora
	restarted
	present ben cleo dora
	come_back cleo handed=1
	later 100
	release anna
	assert_equal "$(cli EXISTS job)" 0
	assert_equal "$(heard ben | sed -n 's/^first //p')" 1900
	assert_equal "$(heard cleo | sed -n 's/^second //p')" 1900
	told dora ''
}

@test "an empty server keeps a waiter that knows its ticket waiting for 2 s, and the holder takes the lock up" {
	acquire anna
	queue_up ben
	later 10
	cli FLUSHALL
	come_back ben is="queued ${ticket[ben]}"
	between 1 "${reply[2]}" 2000
	assert_equal "$(cli EXISTS job)" 0
	renew anna is="renewed 30000 ${token[anna]} 1"
	later 2000
	ask ben is=queued
	assert_equal "$(owner)" anna
}

@test "on an empty server whose clock was set back a newcomer has a later ticket than those who are back" {
	acquire anna
	queue_up ben cleo
	cli FLUSHALL
	later -60000
	come_back ben
	come_back cleo
	acquire dora is=queued
	queue_is ben cleo dora
	[ "${ticket[dora]}" -gt "${ticket[cleo]}" ]
	later 2000
	ask ben is='granted ben'
}

@test "a turn that was told before a restart is told again and lasts 5 s from then" {
	turn_of_present_redisson
	told r1 0
	restarted
	later 6000
	come_back ben is=queued
	queue_is r1 ben
	later 2000
	ask ben is=queued
	queue_is r1 ben
	told r1 0,0
	later 5000
	ask ben is='granted ben'
}

@test "a newcomer that notices a restart does not use up the 2 s of the waiters" {
	acquire anna
	queue_up ben cleo dora
	release anna
	ask ben is=granted
	leave cleo # the restart loses what the server wrote last
	leave dora
	absent cleo dora
	later 10
	restarted
	present emil
	acquire emil is=queued
	present dora
	come_back dora
	release ben
	assert_equal "$(cli EXISTS job)" 0
	ask dora is=queued
	present cleo
	come_back cleo
	queue_is cleo dora emil
	later 2000
	ask cleo is='granted cleo'
}

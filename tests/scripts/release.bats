# The scripts that end a hold or a wait: release, also by force or kept for --min-hold, and leave, also by somebody else.

load ../lib/scripts

@test "release of an inner hold keeps the outer one and its lease, and tells no waiter" {
	acquire anna lease=60000
	queue_up ben
	acquire inner inherited=anna
	release anna request=inner is='released 1'
	assert_equal "$(owner) $(holds) $(cli PTTL job)" 'anna 1 60000'
	told ben ''
}

@test "a repeated release gets the same answer and is logged once; an id that is not the owner's is refused" {
	acquire anna 'by=host 7 root make'
	before=$(digest job)
	release ben is='not held anna host 7 root make'
	assert_equal "$(digest job)" "$before"
	release anna
	release anna again=1 is='released 0'
	assert_equal "$(the_events)" 'granted released'
}

@test "the release command gives back what acquire holds, once, which a renewal hears, and never a hold of wrap" {
	acquire anna kind=w
	acquire one inherited=anna kind=a
	acquire two inherited=anna kind=a
	release anna mode=any request=first
	release anna mode=any request=first again=1 is='released 2'
	assert_equal "$(holds)" 2
	release anna mode=any request=second is='released 1'
	release anna mode=any request=third is='not acquired'
	renew anna request=one kind=a is=released
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "release tells the first waiter its turn, the second to look after it, and the keeper whose hold was given back" {
	acquire anna kind=a
	queue_up ben cleo dora
	present anna
	release anna mode=any request=command
	told anna 0
	told ben 0
	told cleo 'second 5000'
	told dora ''
}

# Force

@test "release by force answers with the owner and its command; repeated, it says the same and spares the next holder" {
	acquire anna 'by=host 7 root make'
	release '' mode=force request=breaker is='forced anna host 7 root make'
	assert_equal "$(cli EXISTS job)" 0
	acquire ben 'by=host 8 root make'
	release '' mode=force request=breaker again=1 is='forced anna host 7 root make'
	release '' mode=force request=other "holder_token=${token[anna]}" is='not held ben host 8 root make'
	assert_equal "$(owner)" ben
}

# --min-hold

@test "the last release before the least time keeps the lock held for the rest of it, and says so again" {
	acquire anna lease=30000
	acquire inner inherited=anna
	later 2000
	release anna request=inner min=12000 is='released 1'
	assert_equal "$(cli PTTL job)" 28000
	release anna is='kept 10000'
	release anna again=1 is='kept 10000'
	assert_equal "$(owner) $(holds) $(cli PTTL job)" 'anna 1 10000'
	all_well
	later 10001
	assert_equal "$(cli EXISTS job)" 0
	release anna again=1 is='released 0'
	acquire ben is=granted
	assert_equal "$(the_events)" 'granted released granted' # at the end of the least time, as if then:
	assert_equal "$(log_lines | sed -n 's/^event=released.*|held=\([0-9]*\).*/\1/p')" 12000
}

@test "a clock that was set back makes the least time begin anew, and no longer" {
	acquire anna
	later -100000
	release anna min=10000 is='kept 10000'
}

@test "a kept lock cannot be renewed, nobody goes in again, and its first waiter is told when it gets the lock" {
	acquire anna lease=60000
	queue_up ben cleo
	release anna min=10000
	told ben 'first 10000'
	told cleo ''
	renew anna lease=60000 is=released
	renew anna kind='' holder_token='' lease=60000 is=released
	acquire daemon mode=try inherited=anna is='busy anna'
	acquire anna again=1 is=removed # a late copy
	assert_equal "$(cli PTTL job) $(holds)" '10000 1'
	later 10001
	ask ben is='granted ben'
	all_well
}

# Leaving

@test "if the first waiter leaves a held lock, the next is told that it is first; a free one: its turn" {
	acquire anna lease=20000
	queue_up ben cleo dora
	leave ben
	assert_equal "$(heard cleo | sed -n 's/^first //p')" 20000
	release anna
	leave cleo
	is_told dora 0
}

@test "if a waiter for a lock of Redisson's leaves, the two that are first then are told to listen to the marker" {
	redisson_takes r0
	queue_up ben cleo dora
	leave ben
	is_told cleo 0
	told dora 0
}

@test "leave undoes a grant that crossed it, and tells the next waiter its turn" {
	acquire anna
	queue_up ben cleo
	release anna
	ask ben is=granted
	leave ben is=left
	assert_equal "$(cli EXISTS job)" 0
	is_told cleo 0
	leave ben is=left
	ask cleo is=granted
	leave ben
	assert_equal "$(owner)" cleo
}

@test "a removed waiter is woken, and is answered removed when it asks; one of Redisson's is taken out, and an unknown one is not" {
	acquire anna
	queue_up ben cleo
	redisson_waits r2
	remove ben is=left
	told ben 0
	ask ben is=removed
	come_back ben is=removed
	remove r2 request=another is=left
	queue_is cleo
	before=$(digest)
	remove zoe request=third is=unknown
	remove anna request=fourth is=unknown # it holds
	assert_equal "$(digest)" "$before"
}

@test "leave and release tell clients of the plain lock when the lock is free and the queue empty" {
	acquire anna
	queue_up ben
	listen plain "$(channel)" "$(channel):plain"
	wait_until listens plain
	release anna
	told plain ''
	leave ben
	told plain 0
	acquire cleo
	release cleo
	told plain 0,0
}

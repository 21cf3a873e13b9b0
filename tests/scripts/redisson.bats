# Redisson's waiters beside ours: turns, scores, patience, and who wakes the next one.

load ../lib/scripts

@test "a present Redisson waiter that misses its turn of 5 s is passed over and told once more" {
	turn_of_present_redisson
	told r1 0
	told ben 'second 1000'
	assert_equal "$(cli EXISTS job)" 0
	later 5000
	ask ben is='granted ben'
	queue_is
	told r1 0,0
}

@test "the 5 s of an absent Redisson head begin when a script, also a renewal, first sees it absent" {
	acquire anna
	redisson_waits r1
	queue_up ben
	later 1000
	release anna
	told ben 'second 1000'
	later 1000
	ask ben is='queued * 3000'
	later 3000
	ask ben is='granted ben'
	redisson_waits r2
	queue_up cleo
	later 6000
	renew ben
	release ben
	queue_is cleo
	told cleo 'first 30000,0'
}

@test "a Redisson head whose score has passed is dropped, as Redisson itself would do" {
	acquire anna lease=3600000
	redisson_waits r1
	present r1
	queue_up ben
	later 290000
	ask ben
	queue_is r1 ben
	later 10000
	ask ben
	queue_is ben
}

@test "an absent waiter of ours behind Redisson's keeps its place when those before Redisson's are passed over" {
	acquire anna
	queue_up ben
	redisson_waits r1
	present r1
	queue_up cleo
	absent ben cleo
	release anna
	queue_is r1 cleo
}

@test "a Redisson waiter that becomes head by a grant has 300 s at least, and no script lowers the score of one" {
	acquire anna
	queue_up ben
	redisson_waits r1 10000
	redisson_waits r2 4000000
	present r1 r2
	before=$(cli ZSCORE "$(key_timeouts)" r2)
	queue_up cleo
	release anna
	ask ben is='granted ben'
	[ "$(cli ZSCORE "$(key_timeouts)" r1)" -ge $(($(now_ms) + 300000)) ]
	queue_is r1 r2 cleo
	renew ben
	release ben
	leave cleo
	assert_equal "$(cli ZSCORE "$(key_timeouts)" r2)" "$before"
}

@test "our first waiter behind Redisson's asks when the lease ends, because nobody tells Redisson's" {
	acquire anna lease=10000
	redisson_waits r1
	redisson_waits r2
	present r1 r2
	queue_up ben cleo
	ask ben is='queued * 10001'
	ask cleo is='queued * 10500'
	release anna
	acquire zoe lease=7000 is=queued
	redisson_takes r1
	ask ben is='queued * 10500'
}

@test "a grant tells our first waiter behind Redisson's when to ask" {
	acquire anna
	queue_up ben
	redisson_waits r1
	present r1
	queue_up cleo dora
	release anna
	ask ben lease=6000 is='granted ben'
	assert_equal "$(heard cleo | grep second | paste -sd ,)" 'second 5000,second 6001'
	assert_equal "$(heard dora | grep second)" ''
}

@test "where only Redisson's wait, renewals find a dead head, and the release wakes the waiter behind it" {
	acquire anna
	redisson_asks dead 300000 queued
	redisson_asks r2 300000 queued
	present r2
	renew anna
	queue_is dead r2
	later 5000
	renew anna
	queue_is r2
	release anna
	told r2 0
	redisson_asks r2 300000 granted
}

@test "a Redisson waiter at the head is told when a lease is cut down to what its record allows" {
	acquire anna lease=5000
	cli PEXPIRE job 86400000 >/dev/null
	redisson_waits r1
	present r1
	acquire ben mode=try
	told r1 0
	assert_equal "$(cli PTTL job)" 5000
}

# How much patience a waiter has it adds to its score, and takes from every score behind it when it is granted the lock. An old version
# takes 300 s when it gives up, whatever it added.

@test "Redisson's waiters and ours in turn are granted in the order of arrival, whatever patience Redisson's have" {
	local id ms order='r1 f1 r2 f2 r3 f3 r4 f4'
	local -A ms=([r1]=5000 [r2]=300000 [r3]=1000 [r4]=300000)

	acquire anna
	for id in $order; do
		present "$id"
		[ "${ms[$id]-}" ] || acquire "$id"
		[ ! "${ms[$id]-}" ] || redisson_asks "$id" "${ms[$id]}" queued
	done
	later 8000
	release anna
	for id in $order; do
		order=${order#* }
		if [ "${ms[$id]-}" ]; then
			redisson_asks "$id" "${ms[$id]}" granted
			redisson_asks last 5000 queued # and drops dead ones first
			queue_is $([ "$order" = "$id" ] || echo "$order") last
			redisson_gives_up last 300000
			redisson_unlocks
		else
			ask "$id" is=granted
			release "$id"
		fi
		all_well
	done
}

@test "our dead waiter holds up Redisson's for 330 s after a grant with a patience of a second" {
	acquire anna
	redisson_asks r1 1000 queued
	present r1
	queue_up dead
	redisson_asks r2 1000 queued
	release anna
	absent dead
	redisson_asks r1 1000 granted
	redisson_unlocks
	redisson_asks r2 1000 queued
	later 330000
	redisson_asks r2 1000 granted
}

@test "the keys of a queue of ours expire, and those of one with a Redisson waiter do not" {
	acquire anna
	queue_up ben
	for key in "$(key_queue)" "$(key_timeouts)" "$(key_ours)"; do
		between 30000 "$(cli PTTL "$key")" 1000000
	done
	redisson_waits r1
	present r1
	queue_up cleo
	assert_equal "$(cli PTTL "$(key_queue)") $(cli PTTL "$(key_timeouts)")" '-1 -1'
}

@test "our waiter that Redisson's unlock dropped is put back before our next one is granted" {
	redisson_takes r1
	queue_up anna ben
	redisson_drops # the place of anna
	redisson_unlocks
	ask ben is=queued
	queue_is anna ben
	is_told anna 0
	ask anna is=granted
	queue_is ben
	all_well
}

@test "the last waiter of ours between two of Redisson's takes its marker along" {
	redisson_takes r0
	redisson_waits r1
	queue_up ben
	redisson_waits r2
	leave ben
	assert_equal "$(listed)" 'r1 r2'
}

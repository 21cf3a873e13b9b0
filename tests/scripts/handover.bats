# Handing over: the script that frees the lock grants it to the first waiter, and tells the waiter. One that hangs costs a bounded
# time, and has its old place afterwards.

load ../lib/scripts

@test "release hands the lock to the first waiter with a short lease, and the first renewal gives it the whole one" {
	acquire anna
	queue_for_handover ben carl dora
	release anna is='released 0'
	handed ben 5000
	told carl 'first 5000'
	told dora ''
	assert_equal "$(cli PTTL job)" 5000
	[ "${token[ben]}" -gt "${token[anna]}" ]
	queue_is carl dora
	acquire zoe mode=try is='busy ben by ben 0 x 1 5000'
	renew ben is="renewed 30000 ${token[ben]} 0"
	assert_equal "$(cli PTTL job)" 30000
	assert_equal "$(the_events)" 'granted released granted'
	all_well
}

@test "a waiter that was handed the lock and asks before it hears so has the same hold, with the whole lease" {
	acquire anna
	queue_for_handover ben
	release anna
	handed ben 5000
	ask ben handed=1 is="granted ben ${token[ben]} 30000"
	assert_equal "$(holds) $(shown counts)" '1 2 0 0 0'
}

@test "a waiter that leaves gives back the lock that it was handed, and the next waiter has it" {
	acquire anna
	queue_for_handover ben carl
	release anna
	handed ben 5000
	leave ben is=left
	handed carl 5000
	assert_equal "$(heard ben | grep -c granted)" 1
}

@test "a lease shorter than a turn is handed over 1 ms shorter, and a waiter that accepts no handover is only told its turn" {
	acquire anna
	present ben
	acquire ben handed=1 lease=1000
	queue_up carl
	release anna
	handed ben 999
	renew ben lease=1000 is='renewed 1000'
	release ben
	is_told carl 0
	assert_equal "$(cli EXISTS job)" 0
}

@test "a holder whose key somebody deleted hands the lock over, whether it renews or gives back, and so does who breaks it" {
	acquire anna
	queue_for_handover ben carl
	cli DEL job
	release anna is='not held ben'
	handed ben 5000
	cli DEL job
	renew ben is='lost gone carl'
	handed carl 5000
	queue_for_handover dora
	cli DEL job
	release '' mode=force request=breaker
	handed dora 5000
}

# Missed handovers

@test "the script that notices the end of a lease hands the lock over; a waiter that hangs then costs a turn and has its old place" {
	acquire anna lease=1000
	queue_for_handover ben carl
	later 1001
	ask carl handed=1 is="queued ${ticket[carl]} 5001 1 5000"
	handed ben 5000
	queue_is carl
	later 5001
	ask carl handed=1 is='granted carl'
	assert_equal "$(the_events)" 'granted expired granted expired granted'
	queue_up dora
	ask ben handed=1 is="queued ${ticket[ben]}"
	queue_is ben dora
}

@test "a silent first waiter has one second, and is passed over with the other silent ones" {
	acquire anna lease=60000
	queue_for_handover ben carl dora
	later 15000
	ask dora handed=1
	release anna
	ask dora handed=1 is=queued
	later 1001
	ask dora handed=1 is='granted dora'
}

# hang_waiters ID...: the lock was handed to the first of these hung waiters; zoe waits behind them
hang_waiters() {
	acquire anna
	queue_for_handover "$@" zoe
	release anna
	handed "$1" 5000
}

@test "acquire passes over no living waiter behind a hung one, however late the hang is noticed" {
	hang_waiters h1 h2
	later 9000
	ask h2 handed=1 is='granted h2'
}

@test "two hung waiters cost 12 s, three 17 s, and more hardly more, since the last ones are silent by then" {
	local row waited

	for row in '2 12001' '3 17002' '5 18003'; do
		hang_waiters $(seq -f h%g "${row% *}")
		waited=7000
		later 7000
		ask zoe handed=1
		while [ "${reply[0]}" = queued ]; do
			later "${reply[2]}"
			waited=$((waited + reply[2]))
			ask zoe handed=1
		done
		answered granted zoe
		between 7000 "$waited" "${row#* }"
		teardown
	done
}

# acquire with `newest`, which is wrap --supersede: of the waiters that ask so, only the newest goes on waiting, also if waiters die,
# requests or data are lost, or the server restarts.

load ../lib/scripts

@test "a new one takes over the place and the ticket of the one before, which is told, answered who holds the lock, and logged" {
	acquire anna
	queue_up ben
	asks_newest cleo
	queue_up dora
	later 7000
	asks_newest ed is="queued ${ticket[cleo]}"
	told cleo 0
	asks_again cleo is='superseded by ed anna by anna'
	is_superseded cleo again=1
	leave cleo
	queue_is ben ed dora
	assert_equal "$(superseded_events)" 'cleo by cleo 7000 by ed'
	all_well
}

@test "a new one is granted the free lock in place of the one whose turn it was, at once" {
	acquire anna
	asks_newest cleo
	queue_up dora
	release anna
	asks_newest ed is='granted ed'
	queue_is dora
	is_superseded cleo
	assert_equal "$(owner)" ed
}

@test "a holder is not superseded, whether it was granted or handed the lock" {
	acquire anna
	asks_newest cleo handed=5ec
	queue_up dora
	release anna
	assert_equal "$(owner)" cleo # the message is under way
	asks_newest ed
	queue_is dora ed
	asks_again cleo is='granted cleo'
	asks_again cleo again=1 is='granted cleo'
	asks_again ed is=queued
	assert_equal "$(superseded_events)" ''
}

@test "--max-queue does not count one whose place is taken over, and one that does not wait supersedes nobody" {
	acquire anna
	asks_newest cleo
	asks_newest ed limit=1 is=queued
	present fay
	acquire fay limit=1 is='full 1'
	asks_newest gus limit=0 is=queued
	acquire hal newest=0 period=60000 is=ran
	acquire hal newest=0 mode=try is=busy
	queue_is gus
	leave gus
	queue_up ben
	acquire hal newest=0 limit=1 is=full
	queue_is ben
}

@test "each process has waited since it came, however old its place is" {
	acquire anna
	asks_newest cleo
	later 20000
	asks_newest ed
	later 3000
	script queue
	assert_equal "${reply[1]}" 3000
	script status
	assert_equal "${reply[10]}" 3000
	release anna
	asks_again ed is='granted ed * 3000 1 x'
}

# Requests and answers that are lost

@test "a first request that is sent again has the same place, and one that did not hear its ticket is superseded" {
	acquire anna
	asks_newest cleo
	acquire cleo newest=0 again=1 is="queued ${ticket[cleo]}"
	acquire cleo newest=0 is="queued ${ticket[cleo]}"
	asks_newest ed
	acquire ed newest=0 again=1 is="queued ${ticket[cleo]}"
	acquire cleo newest=0 again=1 is='superseded by ed'
	queue_is ed
	run superseded_events
	assert_equal ${#lines[@]} 1
}

@test "a first request that was lost on its way, and comes after that of a newer one, is superseded" {
	acquire anna
	asks_newest cleo
	present ed
	acquire ed newest=-600000 again=1 strays=1 is='superseded by cleo anna'
	acquire ed newest=-5 is=removed # the one that was lost
	queue_is cleo
	release anna
	asks_again cleo is=granted
	release cleo
	acquire ed newest=-600000 again=1 strays=2 is=superseded
	queue_is
	all_well
}

@test "a waiter that was away is superseded by one that has come since, also after that has ended" {
	acquire anna
	asks_newest cleo
	absent cleo
	queue_up dora
	release anna # passes over cleo
	ask dora
	release dora
	acquire ed newest=0 is='granted ed'
	asks_again cleo again=1 is='superseded by ed ed by ed'
	release ed
	is_superseded cleo again=1
	answered superseded 'by ed'
	queue_is
}

@test "one that was taken out as dead has its place back, also if it did not hear its ticket, or a new one takes that over" {
	acquire anna
	queue_up ben
	asks_newest cleo
	queue_up dora
	absent ben cleo
	ask dora # it finds those before it absent
	queue_is dora
	present ben cleo
	acquire cleo newest=0 again=1 is="queued ${ticket[cleo]}"
	ask ben
	queue_is ben cleo dora
	asks_again cleo # it has heard its ticket
	absent ben cleo
	ask dora
	queue_is dora
	asks_newest ed is="queued ${ticket[cleo]}"
	present ben cleo
	ask ben
	queue_is ben ed dora
	is_superseded cleo
	queue_is ben ed dora
	all_well
}

@test "nobody takes over the place of one that was taken out as dead once its turn has gone by" {
	acquire anna
	asks_newest cleo
	absent cleo
	later 10
	queue_up dora
	release anna # passes over cleo
	ask dora is='granted dora'
	queue_up ben
	asks_newest ed is=queued
	queue_is ben ed
	all_well
}

# Losses of data

# is_back ID [WORD=VALUE...]: it asks over a new connection
is_back() { asks_again "$1" again=1 "${@:2}"; }

@test "after a loss of data the newest stands where the first of them stood, whichever comes back first" {
	acquire anna
	asks_newest cleo
	cli FLUSHALL >/dev/null
	acquire anna
	is_back cleo is="queued ${ticket[cleo]}"
	later 100
	asks_newest ed is="queued ${ticket[cleo]}"
	queue_up dora
	cli FLUSHALL >/dev/null
	acquire anna
	is_back cleo is="queued ${ticket[cleo]}"
	ask dora again=1
	is_back ed is="queued ${ticket[cleo]}"
	queue_is ed dora
	is_superseded cleo
	answered superseded 'by ed'
	cli FLUSHALL >/dev/null
	acquire anna
	is_back ed
	is_superseded cleo again=1
	queue_is ed
	all_well
}

@test "a waiter that an old copy of the data does not know is newer than the newest of that copy" {
	acquire anna
	asks_newest cleo
	queue_up dora
	copy_data
	later 100
	asks_newest ed
	is_superseded cleo
	old_data
	is_back ed is="queued ${ticket[cleo]}"
	queue_is ed dora
	is_superseded cleo
	queue_is ed dora
}

@test "after a restart a new one in the place of the first is not granted the lock for 2 s" {
	acquire anna
	asks_newest cleo
	release anna
	absent cleo
	restarted
	asks_newest ed is=queued
	queue_is ed
	later 2001
	asks_again ed is=granted
}

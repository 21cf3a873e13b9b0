# The checker of the torture test on order: waiters that were passed over, and locks that were idle,
# with the excuses for both.
load ../lib/helpers
load checker

# swapped COMMAND...: one came first, and two got the lock first; COMMAND happens before that
swapped() {
	job one
	job two
	job three
	say start three 4
	later 5 seen three one
	later 5 seen three one two
	"$@"
	later 5 finish three 4
	seen two "${ONE-one}"
	section two 5
	later 5 section one 6
}

@test "the checker reports a waiter that got the lock before one that came earlier" {
	swapped true
	violated 'order: lock x: two was granted token 5 before one, who waited longer'
}

@test "the checker reports a waiter that never got the lock while a later one did" {
	job one
	job two
	seen zero one
	later 5 seen zero one two
	later 5 seen two one
	section two 5
	later 5 seen '' one
	later 5 seen '' one
	ends one 75
	check
	assert_failure
	assert_line --partial 'order: lock x: two was granted token 5 before one, who waited longer'
}

@test "the checker excuses that a stopped waiter was passed over" {
	swapped fault stop one wrapper
	fine
}

@test "the checker reports that a waiter was passed over long after it had been continued" {
	swapped_later() {
		fault stop one wrapper
		later 100 fault cont one wrapper
		later 4000 seen three one two
	}
	swapped swapped_later
	violated 'order: '
}

cut_off() {
	fault cut one wrapper
	later 200 seen three -one two
	later 100 seen three -one two
}

@test "the checker excuses that a waiter was passed over while it was cut off" {
	ONE=-one swapped cut_off
	fine
}

cut_and_back() {
	fault cut one wrapper
	later 500 seen three one two
}

@test "the checker reports that a waiter was passed over when it was back after being cut off" {
	swapped cut_and_back
	violated 'order: '
}

restarted() {
	data_kept
	later "$1" seen '' -one two
}

@test "the checker reports that a waiter was passed over within 2 s after a restart" {
	ONE=-one swapped restarted 1500
	violated 'order: lock x: two was granted token 5 before one'
}

@test "the checker excuses that a waiter was passed over that was not back 2 s after a restart" {
	ONE=-one swapped restarted 2500
	fine
}

# all_lost MS: the server is restarted without its data; two is back after 100 ms, and one is not
# back MS later
all_lost() {
	data_lost
	later 100 seen '' -one two
	later "$1" seen '' -one two
}

@test "the checker reports that a waiter was passed over within 2 s after a loss of data" {
	ONE=-one swapped all_lost 1500
	violated 'order: lock x: two was granted token 5 before one, which was not there'
}

@test "the checker excuses that a waiter was passed over that was not back 2 s after the first one, after a loss of data" {
	ONE=-one swapped all_lost 2500
	fine
}

# newcomer [WAITER...]: two comes after a loss of data, and is granted the lock when these are back
newcomer() {
	job one
	job zero
	seen zero one
	later 5 data_lost
	later 100 job two
	seen '' "$@"
	later 100 seen two
	section two 5
	later 5 seen '' one
	later 5 section one 6
	ends zero 76
}

@test "the checker excuses a newcomer that got the lock before any waiter was back after a loss of data" {
	newcomer
	fine
}

@test "the checker excuses a newcomer that a slow look saw with the first waiter that was back after a loss of data" {
	job one
	job zero
	seen zero one
	later 5 data_lost
	later 100 job two
	LASTS=150 later 50 seen two one
	later 160 section two 5
	later 5 seen '' one
	later 5 section one 6
	ends zero 76
	fine
}

@test "the checker reports a newcomer that got the lock when a waiter was back after a loss of data" {
	newcomer one
	violated 'order: lock x: two was granted token 5 before one'
}

# set_clock MS: one waits; the clock is set by MS, and the server loses its data; then two comes, stands
# before one, and is granted
set_clock() {
	job zero
	job one
	seen zero one
	later 500 event step "\"ms\":$1"
	data_lost
	later 100 job two
	seen zero two # one is not back yet
	later 9000 seen zero two one
	later 100 section two 5
	later 5 seen '' one
	later 5 section one 6
	ends zero 76
}

@test "the checker excuses a newcomer with an older ticket: the clock was set back before a loss of data" {
	set_clock -2000
	fine
}

@test "the checker reports a newcomer that stands before an earlier waiter although the clock was set back by less" {
	set_clock -200
	violated 'order: lock x: two was granted token 5 before one'
}

frozen_before() {
	outage frozen 0 1000
	later 1500
	all_lost 1000
}

@test "the checker reports that a waiter was passed over although the server was frozen before a restart" {
	ONE=-one swapped frozen_before
	violated 'order: '
}

# idle SECONDS HUNG...: the lock is idle for so long while these waiters hang ahead of one that
# lives
idle() {
	local seconds=$1 waiter
	shift

	job zero
	for waiter in "$@" one; do
		job "$waiter"
	done
	say start zero 4
	seen zero "$@" one
	for waiter; do
		fault stop "$waiter" wrapper
	done
	later 100 finish zero 4
	later 10 seen '' "$@" one
	later $((seconds * 1000))
	seen '' "$@" one
	later 10 section one 5
	for waiter; do
		fault cont "$waiter" wrapper
		section "$waiter" $((++token + 5))
	done
}

@test "the checker excuses a lock that is idle for 5 s per waiter that hangs, and for 15 s at most" {
	idle 12 two three
	fine
	: >events
	: >history
	idle 17 two three four five
	fine
}

@test "the checker reports a lock that is idle for longer than two waiters that hang may cost" {
	idle 14 two three
	violated 'idle: lock x: nobody had it for 14.0 s, not 13.0, while one waited, behind 2 that were hit'
}

@test "the checker reports a lock that is idle for longer than many waiters that hang may cost" {
	idle 19 two three four five
	violated 'idle: lock x: nobody had it for 19.0 s, not 18.0, while one waited, behind 4 that were hit'
}

@test "the checker reports a lock that is idle while no waiter hangs" {
	idle 9
	violated 'idle: lock x: nobody had it for 9.0 s, not 3.0, while one waited, behind 0 that were hit'
}

@test "the checker excuses a lock that is idle while the server is away" {
	outage frozen 0 9000
	idle 9
	fine
}

@test "the checker reports a new waiter that got the lock at once while another one waited" {
	job one
	seen three one
	later 5 job two
	later 5 seen two one
	section two 5
	seen '' one
	later 5 section one 6
	violated 'order: lock x: two was granted token 5 before one'
}

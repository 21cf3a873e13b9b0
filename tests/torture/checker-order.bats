# The checker of the torture test on order: waiters that were passed over, and locks that were idle,
# with the excuses for both.
load ../lib/helpers
load ../lib/checker

# swapped COMMAND...: one came first, and two got the lock first; COMMAND happens before that
swapped() {
	job one
	job two
	job three
	say start three 4
	later 5
	seen three one
	later 5
	seen three one two
	"$@"
	later 5
	say end three 4
	ends three 0
	seen two "${ONE-one}"
	section two 5
	later 5
	section one 6
}

@test "the checker reports a waiter that got the lock before one that came earlier" {
	swapped true
	violated 'order: lock x: two was granted token 5 before one, who waited longer'
}

@test "the checker reports a waiter that never got the lock while a later one did" {
	job one
	job two
	seen zero one
	later 5
	seen zero one two
	later 5
	seen two one
	section two 5
	later 5
	seen '' one
	later 5
	seen '' one
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
		later 100
		fault cont one wrapper
		later 4000
		seen three one two
	}
	swapped swapped_later
	violated 'order: '
}

cut_off() {
	fault cut one wrapper
	later 200
	seen three -one two
	later 100
	seen three -one two
}

@test "the checker excuses that a waiter was passed over while it was cut off" {
	ONE=-one swapped cut_off
	fine
}

cut_and_back() {
	fault cut one wrapper
	later 500
	seen three one two
}

@test "the checker reports that a waiter was passed over when it was back after being cut off" {
	swapped cut_and_back
	violated 'order: '
}

restarted() {
	data_kept
	later "$1"
	seen '' -one two
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
	later 100
	seen '' -one two
	later "$1"
	seen '' -one two
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
	later 5
	data_lost
	later 100
	job two
	seen '' "$@"
	later 100
	seen two
	section two 5
	later 5
	seen '' one
	later 5
	section one 6
	ends zero 76
}

@test "the checker excuses a newcomer that got the lock before any waiter was back after a loss of data" {
	newcomer
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
	later 500
	event step "\"ms\":$1"
	data_lost
	later 100
	job two
	seen zero two # one is not back yet
	later 9000
	seen zero two one
	later 100
	section two 5
	later 5
	seen '' one
	later 5
	section one 6
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
	later 100
	say end zero 4
	ends zero 0
	later 10
	seen '' "$@" one
	later $((seconds * 1000))
	seen '' "$@" one
	later 10
	section one 5
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
	later 5
	job two
	later 5
	seen two one
	section two 5
	seen '' one
	later 5
	section one 6
	violated 'order: lock x: two was granted token 5 before one'
}

# ---- Several holders

# overtaken HOW-ONE HOW-TWO HOW-THREE: one waits behind three; two, which came later, begins before it
overtaken() {
	job three "$3"
	job one "$1"
	job two "$2"
	say start three 4 "$(how "$3")"
	later 5
	seen three one
	later 5
	seen three one two
	later 5
	seen three,two one
	say start two 5 "$(how "$2")"
	later 50
	say end two 5 "$(how "$2")"
	say end three 4 "$(how "$3")"
	ends two 0
	ends three 0
	later 5
	section one 6 "$(how "$1")"
}

ALONE='"mode":"exclusive"'
SHARED='"mode":"shared"'
SLOT1='"mode":"slots","slots":["1"]'
SLOT2='"mode":"slots","slots":["2"]'

# how FIELDS: as `say` names it
how() {
	case $1 in
	"$SHARED") echo shared ;;
	"$SLOT1") echo 1 ;;
	"$SLOT2") echo 2 ;;
	*) echo exclusive ;;
	esac
}

@test "the checker reports a reader that overtakes a waiting writer" {
	overtaken "$ALONE" "$SHARED" "$SHARED"
	violated 'order: lock x: two was granted token 5 before one, who waited longer'
}

@test "the checker reports a job with a free slot that overtakes a waiting writer" {
	overtaken "$ALONE" "$SLOT2" "$SLOT1"
	violated 'order: lock x: two was granted token 5 before one'
}

@test "the checker reports a job with a free slot that overtakes one that waits for another slot" {
	overtaken "$SLOT1" "$SLOT2" "$SLOT1"
	violated 'order: lock x: two was granted token 5 before one'
}

@test "the checker reports a reader that overtakes a job that waits for a slot" {
	overtaken "$SLOT1" "$SHARED" "$SHARED"
	violated 'order: lock x: two was granted token 5 before one'
}

@test "the checker accepts that waiters that fit together begin in any order of one moment" {
	job three
	job one "$SHARED"
	job two "$SHARED"
	say start three 4
	later 5
	seen three one
	later 5
	seen three one two
	later 5
	say end three 4
	ends three 0
	seen one,two
	say start two 6 shared
	later 5
	section one 5 shared
	section two 6 shared
	fine
}

@test "the checker reports that waiters that fit together got their tokens in another order than they came" {
	job three
	job one "$SHARED"
	job two "$SHARED"
	say start three 4
	later 5
	seen three one
	later 5
	seen three one two
	later 5
	say end three 4
	ends three 0
	seen one,two
	say start one 6 shared
	later 5
	section two 5 shared
	section one 6 shared
	violated 'order: lock x: two was granted token 5 before one'
}

# free SECONDS FIELDS-ONE [FIELDS-ZERO]: slot 1 is free for so long while one waits, and three has slot 2. HOLDER: zero
# held slot 1, and this fault hit it. AHEAD: this waiter stands before one
free() {
	job three "$SLOT2"
	job zero "${3-$SLOT1}"
	[ -z "${AHEAD-}" ] || job "$AHEAD" "$AHEAD_WANTS"
	job one "$2"
	say start three 3 2
	say start zero 4 "$(how "${3-$SLOT1}")"
	seen three,zero ${AHEAD-} one
	[ -z "${HOLDER-}" ] || fault "$HOLDER" zero guard
	later 100
	say end zero 4 "$(how "${3-$SLOT1}")"
	ends zero "${ZERO:-0}"
	later 10
	seen three ${AHEAD-} one
	for ((i = 0; i < $1; i++)); do
		say beat three 3 2
		later 1000
	done
	seen three ${AHEAD-} one
	later 10
	say end three 3 2
	ends three 0
	if [ -n "${AHEAD-}" ]; then
		section "$AHEAD" 5 "$(how "$AHEAD_WANTS")"
	fi
	section one 6 "$(how "$2")"
}

@test "the checker reports a slot that is free while the first waiter waits for it" {
	free 9 "$SLOT1"
	violated 'idle: lock x: nobody had slot 1 for 9.0 s, not 3.0, while one waited, behind 0 that were hit'
}

@test "the checker reports a slot that is free for more than 3 s while nothing happens, and accepts less" {
	free 4 "$SLOT1"
	violated 'idle: lock x: nobody had slot 1 for 4.0 s, not 3.0'
	: >events
	: >history
	free 2 "$SLOT1"
	fine
}

@test "the checker accepts that a slot is free while a writer waits for all of them" {
	free 9 "$ALONE"
	fine
}

@test "the checker accepts that a slot is free while a writer waits whose COMMAND will go in for a slot" {
	free 9 "$ALONE,\"inner\":[\"x\"],\"inner_mode\":\"slots\",\"inner_slots\":[\"1\",\"2\"]"
	fine
}

@test "the checker accepts that a slot is free behind a first waiter for which there is no room" {
	AHEAD=two AHEAD_WANTS=$ALONE free 9 "$SLOT1"
	fine
	: >events
	: >history
	AHEAD=two AHEAD_WANTS=$SLOT2 free 9 "$SLOT1"
	fine
}

@test "the checker reports a slot that is free behind a first waiter that would take it" {
	AHEAD=two AHEAD_WANTS=$SLOT1 free 9 "$SLOT1"
	violated 'idle: lock x: nobody had slot 1 for 9.0 s, not 3.0, while two waited'
}

@test "the checker excuses a slot whose holder died for the rest of its lease" {
	HOLDER=kill ZERO=76 free 14 "$SLOT1"
	fine
}

@test "the checker reports a slot whose holder died, and that stays free for longer than its lease" {
	HOLDER=kill ZERO=76 free 17 "$SLOT1"
	violated 'idle: lock x: nobody had slot 1 for 17.0 s, not 16.0, while one waited, behind 0 that were hit'
}

@test "the checker reports a lock that no reader gets while only readers hold it" {
	job zero "$ALONE"
	job three "$SHARED"
	job one "$SHARED"
	say start zero 3
	seen zero three one
	later 5
	say end zero 3
	ends zero 0
	seen three one
	say start three 4 shared
	for ((i = 0; i < 9; i++)); do
		seen three one
		later 1000
		say beat three 4 shared
	done
	seen three one
	section one 5 shared
	section three 4 shared
	violated 'idle: lock x: nobody but shared holders had it for 9.0 s, not 3.0, while one waited, behind 0 that were hit'
}

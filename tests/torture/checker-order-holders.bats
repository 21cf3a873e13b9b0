# The checker of the torture test on order and idle slots where several hold a lock.
load ../lib/helpers
load checker

# overtaken HOW-ONE HOW-TWO HOW-THREE: one waits behind three; two, which came later, begins before it
overtaken() {
	job three "$3"
	job one "$1"
	job two "$2"
	say start three 4 "$(how "$3")"
	later 5 seen three one
	later 5 seen three one two
	later 5 seen three,two one
	say start two 5 "$(how "$2")"
	later 50 say end two 5 "$(how "$2")"
	say end three 4 "$(how "$3")"
	ends two 0
	ends three 0
	later 5 section one 6 "$(how "$1")"
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

# let_in: one and two, in this order, wait behind three, and get the lock at the same moment
let_in() {
	job three
	job one "$SHARED"
	job two "$SHARED"
	say start three 4
	later 5 seen three one
	later 5 seen three one two
	later 5 finish three 4
	seen one,two
}

@test "the checker accepts that waiters that fit together begin in any order of one moment" {
	let_in
	say start two 6 shared
	later 5 section one 5 shared
	section two 6 shared
	fine
}

@test "the checker reports that waiters that fit together got their tokens in another order than they came" {
	let_in
	say start one 6 shared
	later 5 section two 5 shared
	section one 6 shared
	violated 'order: lock x: two was granted token 5 before one'
}

# killed MS: one and two wait; the server is killed for so long, and then two has a slot, and one is not there yet
killed() {
	job three
	job one "$SLOT1"
	job two "$SLOT2"
	say start three 4
	later 5 seen three one
	later 5 seen three one two
	later 5 finish three 4
	later "$1"
	echo "{\"at\":$((at - $1 * 1000000)),\"until\":$at,\"up\":$at,\"what\":\"outage\",\"kind\":\"killed\",\"path\":\"server\"}" >>events
	later 5 seen two
	section two 5 2
	later 300 seen '' one
	section one 6 1
}

@test "the checker excuses a waiter whose hold, handed over with that of another one, was over when the server was back" {
	killed 2900
	fine
}

@test "the checker reports a waiter that was passed over although no hold of it can have been over by then" {
	killed 2000
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
	later 100 say end zero 4 "$(how "${3-$SLOT1}")"
	ends zero "${ZERO:-0}"
	later 10 seen three ${AHEAD-} one
	for ((i = 0; i < $1; i++)); do
		say beat three 3 2
		later 1000
	done
	LASTS=${LAST_LOOK:-0} seen three ${AHEAD-} one
	later 10 finish three 3 2
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

@test "the checker sees the first waiter for which there is no room also in a look that the lock's next event cuts short" {
	LAST_LOOK=20 AHEAD=two AHEAD_WANTS=$ALONE free 9 "$SLOT1"
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
	later 5 finish zero 3
	seen three one
	say start three 4 shared
	for ((i = 0; i < 9; i++)); do
		seen three one
		later 1000 say beat three 4 shared
	done
	seen three one
	section one 5 shared
	section three 4 shared
	violated 'idle: lock x: nobody but shared holders had it for 9.0 s, not 3.0, while one waited, behind 0 that were hit'
}

# The torture test's checker: it must find what is wrong in a history, and excuse no more than it says.
# The test itself is `make torture`.

load ../lib/helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	at=1000000000
	touch events history
}

# event WHAT FIELDS [MS]: at this time, for which the others are counted on. FIELDS are those of an object.
later() { at=$((at + $1 * 1000000)); }
event() { echo "{\"at\":$at,\"until\":$at,\"what\":\"$1\",$2}" >>events; }

# job NAME [FIELDS]: a wrap of the lock x that begins now
job() {
	event job "\"job\":\"$1\",\"kind\":\"wrap\",\"lock\":\"x\",\"lease\":3000,\"own\":0,\"wait\":null${2:+,$2}"
}

ends() { event exit "\"job\":\"$1\",\"status\":$2"; }
fault() { event fault "\"fault\":\"$1\",\"job\":\"$2\",\"role\":\"$3\",\"pid\":${4:-7}"; }

# say WHAT JOB TOKEN: what its section writes
say() {
	echo "{\"at\":$at,\"what\":\"$1\",\"lock\":\"x\",\"token\":$3,\"job\":\"$2\",\"pid\":7,\"owner\":\"$2:7\"}" >>history
}

# seen HOLDER WAITER...: a look at the lock; a waiter with a minus is not present
seen() {
	local queue='' waiter holder=$1
	shift

	for waiter; do
		queue+="${queue:+,}[\"${waiter#-}:7\",$([[ $waiter = -* ]]; echo $?)]"
		grep -q "\"owner\":\"${waiter#-}:7\"" events || event waiter "\"owner\":\"${waiter#-}:7\",\"job\":\"${waiter#-}\""
	done
	event seen "\"lock\":\"x\",\"holder\":\"${holder:+$holder:7}\",\"queue\":[$queue],\"ttl\":0,\"queue_ttl\":0,\"agree\":${AGREE:-true}"
}

# A section of this job, from now on for 100 ms.
section() {
	say start "$1" "$2"
	later 50
	say beat "$1" "$2"
	later 50
	say end "$1" "$2"
	ends "$1" 0
}

check() { run python3 -B "$TESTS_DIR/torture/check.py" .; }

violated() {
	check
	assert_failure 1
	assert_line --partial "$1"
	assert_output --partial ' 1 violations, '
}

fine() {
	check
	assert_success
}

@test "a history in which all is well" {
	job one
	job two
	seen one two
	section one 5
	later 1
	seen '' two
	section two 6
	fine
	assert_output '2 critical sections, 0 violations, 0 excused'
}

@test "two critical sections that overlap" {
	job one
	job two
	say start one 5
	later 10
	say start two 6
	later 1
	say beat one 5
	later 10
	say end one 5
	ends one 0
	say end two 6
	ends two 0
	violated 'exclusion: lock x: one (token 5) ran 1.0 ms after two (token 6) had begun'
}

# overlapping FUNCTION: one goes on 50 ms after two has begun, and what happened before is FUNCTION's
overlapping() {
	job one
	job two
	say start one 5
	later 1000
	"$@"
	later 1000
	say start two 6
	later 10
	say end two 6
	ends two 0
	later 40
	say beat one 5
	ends one "${STATUS:-76}"
}

one_guard() { fault kill one guard; }
both_guards() {
	fault kill one guard
	later 1
	fault stop one wrapper 8
}
both_killed() {
	fault kill one wrapper 8
	later 100
	fault kill one guard
}
both_stopped() {
	fault stop one guard
	fault stop one wrapper 8
}
stopped_and_killed() {
	fault stop one wrapper 8
	later 100
	fault kill one guard
}
one_after_the_other() {
	fault stop one guard 8
	later 100
	fault cont one guard 8
	later 100
	fault stop one wrapper 9
}

@test "an overlap counts though one guard was killed" {
	overlapping one_guard
	violated 'exclusion: lock x: one (token 5) ran 50.0 ms after two (token 6) had begun'
}

@test "an overlap counts though both guards were stopped, one after the other" {
	overlapping one_after_the_other
	violated 'exclusion: '
}

@test "an overlap counts though both guards were stopped at once" {
	overlapping both_stopped
	violated 'exclusion: '
}

@test "an overlap counts though one guard was killed when the other was stopped" {
	overlapping stopped_and_killed
	violated 'exclusion: '
}

@test "an overlap is excused when one guard was killed and then the other one stopped" {
	overlapping both_guards
	fine
}

@test "an overlap is excused when both guards were killed" {
	STATUS=-9 overlapping both_killed
	fine
}

command_stopped() {
	fault stop one command 9
	later 100
	fault kill one guard
	later 100
	fault cont one command 9
}

@test "an overlap counts though COMMAND was stopped when its guard was killed" {
	overlapping command_stopped
	violated 'exclusion: '
}

clock_set() {
	event step "\"ms\":$1"
}

@test "a holder may overlap for a moment when the server's clock was set forward" {
	overlapping clock_set 4000
	fine
	later 9000
	say beat one 5
	violated 'exclusion: '
}

@test "an overlap counts though the server's clock was set back" {
	overlapping clock_set -4000
	violated 'exclusion: '
}

# paused SEEN: while the machine of one stands still for 2 s; SEEN is a look in that time
paused() {
	job one
	job two
	seen three one
	say start two 4
	later 100
	event paused '"job":"one"'
	sed -i "\$s/\"until\":[0-9]*/\"until\":$((at + 2000000000))/" events
	later 500
	"$@"
	later 500
	say end two 4
	ends two 0
	job four
	say start four 6
	later 1100
	say start one 5
	later 10
	say end one 5
	ends one 76
	say end four 6
	ends four 0
}

@test "a waiter that was paused with its clock, and then began beside another" {
	paused seen two one
	violated 'tokens: lock x: one began with token 5 after four, with 6'
}

@test "a holder that was paused with its clock may overlap" {
	paused seen one
	fine
}

@test "a token of a forged message" {
	job one
	section one 4102444800123
	violated 'forged: lock x: one began with token 4102444800123, of a forged message'
}

lock_broken() {
	event force '"lock":"x"'
}

@test "a COMMAND whose lock was broken may go on for a moment only" {
	overlapping lock_broken
	fine
	later 6000
	say beat one 5
	violated 'exclusion: '
}

@test "a script whose lock was broken may go on for ever, since nothing stops it" {
	event job '"job":"one","kind":"keeper","lock":"x","lease":3000'
	job two
	say start one 5
	later 1000
	event force '"lock":"x"'
	later 10
	say start two 6
	say end two 6
	later 9000
	say beat one 5
	say end one 5
	echo "{\"at\":$at,\"what\":\"status\",\"job\":\"one\",\"command\":\"release\",\"status\":76}" >>history
	ends one 76
	ends two 0
	fine
}

data_lost() {
	event outage '"kind":"killed","path":"server","lost":true,"up":'$at
}

data_kept() {
	event outage '"kind":"killed","path":"server","up":'$at
}

@test "a holder of a server that lost its data may overlap for a moment only" {
	overlapping data_lost
	fine
	later 7000
	say beat one 5
	violated 'exclusion: '
}

@test "an overlap counts though the server was restarted with its data" {
	overlapping data_kept
	# no reason for 76, either
	check
	assert_failure
	assert_line --partial 'exclusion: '
}

@test "an overlap while the machine stood still is counted apart" {
	overlapping one_guard
	echo "{\"at\":$((at - 300000000)),\"what\":\"stall\",\"until\":$((at - 100000000))}" >>history
	fine
	assert_output --partial ', 1 excused'
	# but no longer
	later 200
	say beat one 5
	violated 'exclusion: lock x: one (token 5) ran 250.0 ms after two'
}

@test "a script counts to the end of its lease, whatever was done to it" {
	event job '"job":"one","kind":"script","lock":"x","lease":3000'
	fault stop one script
	job two
	say start one 5
	later 10
	say start two 6
	later 10
	say beat one 5
	ends one 76
	say end two 6
	ends two 0
	violated 'exclusion: '
}

# kept LEASE-PART: a script with a keeper that was killed goes on for so long beside another
keeper() {
	event job '"job":"one","kind":"keeper","lock":"x","lease":3000'
	job two
	say start one 5
	later 10
	fault kill one keeper
	later "$1"
	say start two 6
	later 10
	say beat one 5
	ends one 0
	say end two 6
	ends two 0
}

@test "a script whose keeper was killed counts for a third of the lease" {
	keeper 900
	violated 'exclusion: '
}

@test "a script whose keeper was killed does not count after that" {
	keeper 1100
	fine
}

@test "a token that is smaller than one before" {
	job one
	job two
	section one 6
	later 1
	section two 5
	violated 'tokens: lock x: two began with token 5 after one, with 6'
}

@test "a token that two had" {
	job one
	job two
	section one 6
	later 1
	section two 6
	violated 'tokens: two and one both had token 6'
}

# swapped FUNCTION: one came first, and two went first
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

@test "a waiter who went before one that came earlier" {
	swapped true
	violated 'order: lock x: two was granted token 5 before one, who waited longer'
}

@test "a waiter who never got a turn that others had" {
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

@test "a waiter who was stopped may be passed over" {
	swapped fault stop one wrapper
	fine
}

@test "a waiter who went on long ago may not" {
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

@test "a waiter who was cut off and is not back may be passed over" {
	ONE=-one swapped cut_off
	fine
}

cut_and_back() {
	fault cut one wrapper
	later 500
	seen three one two
}

@test "a waiter who is back from being cut off may not" {
	swapped cut_and_back
	violated 'order: '
}

restarted() {
	event outage "\"kind\":\"killed\",\"path\":\"server\",\"up\":$at"
	later "$1"
	seen '' -one two
}

@test "nobody who waited is passed over right after a restart" {
	ONE=-one swapped restarted 1500
	violated 'order: lock x: two was granted token 5 before one'
}

@test "a waiter who is not back 2 s after a restart may be passed over" {
	ONE=-one swapped restarted 2500
	fine
}

# Two is back at once, one after 100 ms, as after a restart in which all was lost.
all_lost() {
	event outage "\"kind\":\"killed\",\"path\":\"server\",\"lost\":true,\"up\":$at"
	later 100
	seen '' -one two
	later "$1"
	seen '' -one two
}

@test "nobody who waited is passed over right after a loss of data" {
	ONE=-one swapped all_lost 1500
	violated 'order: lock x: two was granted token 5 before one, which was not there'
}

@test "a waiter who is not back 2 s after the first one may be passed over" {
	ONE=-one swapped all_lost 2500
	fine
}

# newcomer [WAITER...]: comes after a loss of data, and is granted when these are back
newcomer() {
	job one
	job zero
	seen zero one
	later 5
	event outage "\"kind\":\"killed\",\"path\":\"server\",\"lost\":true,\"up\":$at"
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

@test "a newcomer may be granted before any waiter is back from a loss of data" {
	newcomer
	fine
}

@test "a newcomer may not when a waiter is back" {
	newcomer one
	violated 'order: lock x: two was granted token 5 before one'
}

frozen_before() {
	echo "{\"at\":$at,\"until\":$((at + 1000000000)),\"what\":\"outage\",\"kind\":\"frozen\",\"path\":\"server\"}" >>events
	later 1500
	all_lost 1000
}

@test "an outage is no excuse when a restart has followed" {
	ONE=-one swapped frozen_before
	violated 'order: '
}

# idle SECONDS HUNG...: nobody has the lock for so long while these hang before one who lives
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

@test "a lock is idle for 5 s for each waiter that hangs, and for 15 s at most" {
	idle 12 two three
	fine
	: >events
	: >history
	idle 17 two three four five
	fine
}

@test "a lock that is idle for longer than two waiters that hang may cost" {
	idle 14 two three
	violated 'idle: lock x: nobody had it for 14.0 s, not 13.0, while one waited, behind 2 that were hit'
}

@test "a lock that is idle for longer than many waiters that hang may cost" {
	idle 19 two three four five
	violated 'idle: lock x: nobody had it for 19.0 s, not 18.0, while one waited, behind 4 that were hit'
}

@test "a lock that is idle while nobody hangs" {
	idle 9
	violated 'idle: lock x: nobody had it for 9.0 s, not 3.0, while one waited, behind 0 that were hit'
}

@test "a lock that is idle while the server is away" {
	away() {
		echo "{\"at\":$at,\"until\":$((at + 9000000000)),\"what\":\"outage\",\"kind\":\"frozen\",\"path\":\"server\"}" >>events
	}
	away
	idle 9
	fine
}

@test "a waiter that nobody had seen, and that went before one who waited" {
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

@test "a job that does not end" {
	job one
	later 1000
	event end '"x":0'
	violated 'served: one (wrap, lock x) had not ended when all was over: it never got the lock'
	# that is when the driver kills who is left
	later 1000
	ends one -9
	violated 'served: one (wrap, lock x) had not ended when all was over: it never got the lock'
}

@test "a lock lost without a reason" {
	job one
	say start one 5
	later 100
	say beat one 5
	ends one 76
	violated 'statuses: one (lock x, lease 3000 ms): it ended with 76'
}

@test "a lock lost when the server was away for a moment only" {
	job one
	say start one 5
	later 10
	event outage '"kind":"frozen","path":"server"'
	ends one 76
	violated 'statuses: '
}

@test "a lock lost when the way to the server was cut" {
	job one '"path":"proxy"'
	say start one 5
	later 10
	echo "{\"at\":$at,\"until\":$((at + 2000000000)),\"what\":\"outage\",\"kind\":\"cut\",\"path\":\"proxy\"}" >>events
	later 2000
	ends one 76
	fine
	# that was not the way of another
	at=1100000000
	job two
	later 2000
	ends two 76
	violated 'statuses: two '
}

@test "a command that gave up when its connection broke" {
	job one '"path":"proxy"'
	fault cut one wrapper
	later 200
	ends one 69
	violated 'statuses: one (lock x, lease 3000 ms): it ended with 69'
}

@test "a command that gave up when the server was frozen for a moment" {
	job one
	echo "{\"at\":$at,\"until\":$((at + 900000000)),\"what\":\"outage\",\"kind\":\"frozen\",\"path\":\"server\"}" >>events
	later 800
	ends one 69
	violated 'statuses: '
}

@test "a command that gave up when its wait was over and the server frozen" {
	job one '"wait":500'
	echo "{\"at\":$at,\"until\":$((at + 900000000)),\"what\":\"outage\",\"kind\":\"frozen\",\"path\":\"server\"}" >>events
	later 800
	ends one 69
	fine
}

@test "a command that gave up when nobody listened" {
	job one
	data_kept
	later 10
	ends one 69
	fine
}

@test "a wait that ended too early" {
	job one '"wait":500'
	later 400
	ends one 75
	violated 'statuses: one (lock x, lease 3000 ms): it ended with 75'
}

@test "a wait that ended when its time was over" {
	job one '"wait":500'
	later 501
	ends one 75
	fine
}

@test "a COMMAND's own status that was not passed on" {
	job one '"own":7'
	section one 5
	violated 'statuses: one (lock x, lease 3000 ms): it ended with 0, not with any of [7]'
}

@test "a status that is a bug" {
	job one
	event outage '"kind":"frozen","path":"server"'
	ends one 70
	violated 'statuses: '
}

# frozen FROM UNTIL: the server, in ms from now
frozen() {
	echo "{\"at\":$((at + $1 * 1000000)),\"until\":$((at + $2 * 1000000)),\"what\":\"outage\",\"kind\":\"frozen\",\"path\":\"server\"}" >>events
}

# gives_up_after MS: the acquire of a script
gives_up_after() {
	event job '"job":"one","kind":"script","lock":"x","lease":3000'
	later "$1"
	echo "{\"at\":$at,\"what\":\"status\",\"job\":\"one\",\"command\":\"acquire\",\"status\":69}" >>history
	ends one 69
}

@test "a script that gave up when the server was frozen twice, with a moment between" {
	frozen 0 2500
	frozen 2900 4900
	gives_up_after 5000
	fine
}

@test "a script that gave up when the server was frozen twice, with time between" {
	frozen 0 1900
	frozen 3100 4900
	gives_up_after 5000
	violated 'statuses: one (lock x, lease 3000 ms): acquire ended with 69'
}

@test "a script's release that was refused without a reason" {
	event job '"job":"one","kind":"script","lock":"x","lease":3000'
	echo "{\"at\":$at,\"what\":\"status\",\"job\":\"one\",\"command\":\"release\",\"status\":76}" >>history
	ends one 0
	violated 'statuses: one (lock x, lease 3000 ms): release ended with 76'
}

@test "what is left behind" {
	event left '"text":"channel y"'
	violated 'left: channel y'
}

@test "a list and a sorted set that do not agree" {
	AGREE=false seen one two
	violated 'left: list and sorted set of lock x did not agree'
}

@test "a waiter who has ended and is still in the queue" {
	job one '"wait":500'
	seen two one
	later 501
	ends one 75
	fine
	later 5
	seen two one
	violated 'left: one had ended with 75, and still waited for lock x'
}

@test "a holder who has ended and still holds" {
	job one
	seen one
	section one 5
	fine
	later 5
	seen one
	violated 'left: one had ended with 0, and still held lock x'
}

@test "a waiter who was killed may be in the queue for a while" {
	job one
	seen two one
	later 100
	fault kill one wrapper
	ends one -9
	later 5
	seen two one
	fine
}

@test "a lock without a time to live" {
	event seen '"lock":"x","holder":"one:7","queue":[],"ttl":-1,"queue_ttl":0,"agree":true'
	violated 'left: lock x had no time to live'
}

@test "a descriptor that COMMAND got" {
	job one
	say descriptors one 5
	section one 5
	violated 'left: one got descriptors'
}

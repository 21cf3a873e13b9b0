#!/usr/bin/env bats
# The records in our hash of holds, waiters and requests: what each script writes into their columns.

load ../lib/helpers
load ../lib/scripts
load ../lib/handover

# hold_is ID STATE TTL REST...: the columns of a hold whose lease began with it; REST is from `lease` on
hold_is() {
	local since

	since=$(column "h:$1" since)
	grown 0 $(($(now_ms) - since))
	assert_equal "$(field "h:$1")" "$2 $(field token) $since $((since + $3)) ${*:4}"
}

# A hold

@test "the record of a hold that was granted has token, lease and owner, and '-' where there is nothing to say" {
	acquire anna lease=20000 by=$'host\t7\troot\tmake all'
	hold_is anna held 20000 '20000 0 - - - - x ,wanna, '$'host\t7\troot\tmake all'
	assert_equal "$(field holder) $(column h:anna token)" "anna ${token[anna]}"
	assert_equal "$(column started last) $(column started before) $(column started recall)" "$(column h:anna since) - -"
}

@test "the record of a hold of acquire says so, and starts no COMMAND" {
	acquire anna kind=a request=other
	assert_equal "$(column h:anna holds)" ,aother,
	assert_equal "$(field started)" '- - -'
}

@test "the record of a hold that a waiter asked for says how long it waited" {
	acquire anna kind=a
	queue_up ben
	release anna
	change run "up=$(($(column run up) - 7000))" # our hash existed when it came
	ask ben "old_ticket=$((ticket[ben] - 7000000))"
	answered granted
	grown 7000 "${reply[4]}"
	hold_is ben held 30000 "30000 ${reply[4]} - - - - x ,wben, by ben"
	assert_equal "$(field started)" "$(column h:ben since) - -"
}

@test "the record of a hold that was handed over ends with the turn and has the ticket that its owner may not know" {
	acquire anna
	queue_for_handover ben carl
	ask carl handed=1 by='by a waiter that moved' kind=a lease=3000
	release anna
	cli PEXPIRE job 60000 >/dev/null # on a slow machine, too, ben holds it until it gives it back
	hold_is ben held 5000 "30000 $(column h:ben waited) - - ${ticket[ben]} - x ,wben, by ben"
	assert_equal "$(field holder)$(field h:anna)$(field w:ben)" ben
	release ben
	hold_is carl held 2999 "3000 $(column h:carl waited) - - - - x ,acarl, by a waiter that moved"
}

@test "a renewal moves the end of the hold, and writes a longer lease beside the first one" {
	local before since

	acquire anna lease=20000
	before=$(column h:anna since)
	renew anna lease=40000 by='by somebody else'
	since=$(column h:anna since)
	assert_equal "$since" "$before"
	between $((since + 40000)) "$(column h:anna ends)" "$(($(now_ms) + 40000))"
	assert_equal "$(field h:anna)" "held ${token[anna]} $since $(column h:anna ends) 20000/40000 0 - - - - x ,wanna, by anna"
	renew anna lease=1000 # never a shorter one
	between $((since + 40000)) "$(column h:anna ends)" "$(($(now_ms) + 40000))"
	assert_equal "$(column h:anna lease)" 20000/40000
}

@test "a renewal moves nothing but the end of the hold" {
	acquire anna lease=20000
	cli PEXPIRE "$lock" 10000 >/dev/null
	renew anna lease=20000 by='by somebody else'
	assert_equal "$(field h:anna)" \
		"held ${token[anna]} $(column h:anna since) $(column h:anna ends) 20000 0 - - - - x ,wanna, by anna"
}

@test "a renewal that meets waiters writes the same record" {
	acquire anna lease=20000
	queue_up ben
	renew anna lease=40000
	assert_equal "$(field h:anna)" \
		"held ${token[anna]} $(column h:anna since) $(column h:anna ends) 20000/40000 0 - - - - x ,wanna, by anna"
	between $(($(column h:anna since) + 40000)) "$(column h:anna ends)" "$(($(now_ms) + 40000))"
}

@test "each process that goes into a hold stands in its record, until it gives its own back" {
	acquire anna
	acquire inner inherited=anna kind=a
	acquire inmost inherited=anna
	assert_equal "$(column h:anna holds)" ,wanna,ainner,winmost,
	release anna request=inner
	assert_equal "$(column h:anna holds)" ,wanna,winmost,
	release anna
	assert_equal "$(column h:anna holds)" ,winmost,
	release anna request=inmost
	assert_equal "$(field h:anna)$(field holder)" ''
}

@test "who goes in for longer moves the end of the hold" {
	acquire anna lease=20000
	acquire inner inherited=anna lease=50000
	between $(($(column h:anna since) + 50000)) "$(column h:anna ends)" "$(($(now_ms) + 50000))"
	assert_equal "$(column h:anna lease)" 20000/50000
}

@test "our hash knows only the token of a hold in a lock of Redisson's" {
	redisson_takes r1
	acquire inner inherited=r1
	answered granted r1
	assert_equal "$(field h:r1)" "held $(field token) - $(column h:r1 ends) - - - - - - x ,winner, "
	assert_equal "$(field holder)" r1
}

@test "the record of a kept hold has its request, its end and how COMMAND ended" {
	local since

	acquire anna
	since=$(column h:anna since)
	release anna min=60000 status=3 cause=exit
	answered kept "${reply[1]}"
	assert_equal "$(field h:anna)" "kept ${token[anna]} $since $((since + 60000)) 30000 0 $((since + 60000)) - - 3:exit x ,anna, by anna"
}

@test "the record of a kept hold says nothing where the release does not know how COMMAND ended" {
	acquire anna
	release anna min=60000
	assert_equal "$(column h:anna ending)" :
}

@test "the record of a hold that is to be kept while others hold on says until when" {
	acquire anna
	acquire inner inherited=anna
	release anna request=inner min=60000
	answered released 1
	assert_equal "$(column h:anna state) $(column h:anna holds)" 'held ,wanna,'
	assert_equal "$(column h:anna keep)" $(($(column h:anna since) + 60000))
	between $(($(column h:anna since) + 59000)) "$(column h:anna ends)" $(($(now_ms) + 60000))
}

@test "the record of a hold that was taken up has the token of before" {
	granted_to_anna
	cli FLUSHALL
	renew anna lease=20000
	hold_is anna held 20000 '20000 - - taken - - x ,wanna, by anna'
	assert_equal "$(column h:anna token)" "${token[anna]}"
	assert_equal "$(column started last)" "${token[anna]}"
}

@test "the record of a hold that was taken up while its lock survived says that its holds are counted" {
	granted_to_anna
	acquire inner inherited=anna
	cli DEL "$(key_state)"
	renew anna lease=40000
	assert_equal "$(column h:anna taken) $(column h:anna holds)" 'counted ,wanna,'
	renew anna request=inner
	assert_equal "$(column h:anna taken) $(column h:anna holds) $(holds)" 'counted ,wanna,winner, 2'
}

# The ends of a hold

# ended_is ID STATE: the record of this hold, which is over, has this state; nobody holds
ended_is() {
	assert_equal "$(column "h:$1" state) $(column "h:$1" token)" "$2 ${token[$1]}"
	assert_equal "$(field holder)" ''
}

@test "a hold that its owner gave back leaves no record" {
	acquire anna
	release anna
	assert_equal "$(field h:anna)$(field holder)" ''
	acquire anna
	acquire ben
	release anna
	assert_equal "$(field h:anna)$(field holder)" ''
}

@test "a hold that the release command gave back leaves a record that says so" {
	acquire anna kind=a
	release anna mode=any request=command
	ended_is anna released
}

@test "a hold that was broken by force leaves a record that says so" {
	acquire anna
	release '' mode=force request=breaker
	ended_is anna forced
}

@test "a hold whose lease has ended leaves a record that says so" {
	acquire anna lease=1000
	later 1001
	wait_until is_free job
	release nobody mode=force request=breaker
	ended_is anna expired
}

@test "a kept hold whose time is over leaves a record that says that it was released" {
	acquire anna
	release anna min=1000
	later 1001
	wait_until is_free job
	release nobody mode=force request=breaker
	ended_is anna released
}

@test "a hold whose key was deleted leaves a record that says so" {
	acquire anna
	cli DEL job
	release nobody mode=force request=breaker
	ended_is anna gone
}

@test "a hold that our hash did not know any more leaves a record that says so" {
	token[anna]=1
	acquire zoe
	release zoe
	renew anna
	answered lost gone
	ended_is anna lost
	assert_equal "$(column h:anna since) $(column h:anna by)" '- by anna'
}

@test "a hold of an owner that took the lock again says nothing of the one before" {
	acquire anna
	release '' mode=force request=breaker
	acquire anna lease=20000
	hold_is anna held 20000 '20000 0 - - - - x ,wanna, by anna'
}

# A waiter

@test "the record of a waiter is new until it brings its ticket, and waits from then on" {
	acquire anna
	acquire ben lease=20000 by='by the waiter' kind=a
	assert_equal "$(field w:ben)" "new ${ticket[ben]} ${reply[5]} 20000 - a - x by the waiter"
	later 3000
	ask ben lease=25000 handed=77 period=60000 by='by it, later'
	assert_equal "$(field w:ben)" "waits ${ticket[ben]} ${reply[5]} 25000 77 w 60000 x by it, later"
}

@test "the record of a waiter whose answer was lost stays new" {
	acquire anna
	acquire ben
	acquire ben again=1 strays=1
	assert_equal "$(column w:ben state) $(column w:ben ticket)" "new ${ticket[ben]}"
}

@test "the record of a waiter that was granted, or has left, goes" {
	acquire anna
	queue_up ben cleo
	leave cleo
	release anna
	ask ben
	assert_equal "$(field w:ben)$(field w:cleo)" ''
}

@test "of a dead waiter that was new the ticket stays, with the time when it was dropped" {
	acquire anna
	queue_up_dead ben
	queue_up cleo
	release anna
	assert_equal "$(field w:ben)" "dropped ${ticket[ben]} $(column w:ben seen) 30000 - w - x by ben"
	grown 0 $(($(now_ms) - $(column w:ben seen)))
}

@test "of a dead waiter that knows its ticket nothing stays" {
	acquire anna
	acquire ben
	ask ben
	queue_up cleo
	release anna
	assert_equal "$(field w:ben)" ''
}

@test "the record of a waiter that was removed stays, with the time when that was" {
	acquire anna
	queue_up ben
	remove ben
	assert_equal "$(field w:ben)" "removed ${ticket[ben]} $(column w:ben seen) - - w - x by ben"
	grown 0 $(($(now_ms) - $(column w:ben seen)))
	ask ben
	answered removed
	assert_equal "$(column w:ben state)" removed
}

# A request

# request_is ID STRAYS ANSWER
request_is() {
	assert_equal "$(field "r:$1")" "$(column "r:$1" made) $2 $3"
	grown 0 $(($(now_ms) - $(column "r:$1" made)))
}

@test "a request that leaves none under way, and that may be repeated without harm, has no record" {
	acquire anna
	queue_up ben
	renew anna
	leave ben
	release anna
	assert_equal "$(cli --raw HKEYS "$(key_state)" | grep -c '^r:')" 0
}

@test "the record of a request that left others under way says how many" {
	acquire anna again=1 strays=3
	request_is anna 3 -
	renew anna strays=5
	request_is anna 5 -
	renew anna strays=4
	answered late
	request_is anna 5 -
}

@test "the record of a request that gave one of several holds back says so" {
	acquire anna
	acquire inner inherited=anna
	release anna request=inner strays=2
	request_is inner 2 released
}

@test "the records of a release command and of the holder whose hold it gave back say so" {
	acquire anna
	acquire inner inherited=anna kind=a
	release anna request=command mode=any
	answered released 1
	request_is command 0 released
	request_is inner 0 given
}

@test "the record of a request that removed a waiter names the waiter" {
	acquire anna
	queue_up ben
	remove ben request=remover
	request_is remover 0 'left ben'
}

@test "the record of a release by force says what it found" {
	release '' mode=force request=first
	request_is first 0 free
	acquire anna by=$'host\t7\troot\tmake  all'
	release '' mode=force request=second
	request_is second 0 $'forced anna host\t7\troot\tmake  all'
	redisson_takes r1
	release '' mode=force request=third
	request_is third 0 'forced r1 '
}

# What callers call themselves

@test "whatever a caller calls itself comes back as it was, through each record" {
	local by

	present ben
	for by in 'one' 'a b' ' a  b ' $'host\t7\tann\tmake -j 2\tthe nightly  build ' '-' '- - -' $'\t\t\t' $'\xff\xfe' '%s %d+' '' \
		'held 1 2 3 4 5 6 7 8 9 10 11'; do
		acquire anna by="$by"
		acquire ben by="$by" handed=1
		acquire zoe mode=try
		assert_equal "${reply[2]}" "$by" # in the record of a grant
		renew anna
		acquire inner inherited=anna
		release anna request=inner min=1
		acquire zoe mode=try
		assert_equal "${reply[2]}" "$by" # after each script that writes it again
		script queue
		assert_equal "${reply[2]}" "$by"
		release '' mode=force request="first $by"
		assert_equal "${reply[2]}" "$by"
		release '' mode=force request="second $by"
		assert_equal "$(owner)" '' || release ben
		acquire anna
		remove ben
		release anna
		cli FLUSHALL >/dev/null
		acquire anna
		acquire ben by="$by" handed=1
		release anna
		acquire zoe mode=try
		assert_equal "${reply[1]} ${reply[2]}" "ben $by" # handed over
		release ben min=60000
		acquire zoe mode=try
		assert_equal "${reply[1]} ${reply[2]}" "ben $by" # kept
		cli FLUSHALL >/dev/null
	done
}

@test "a record of a waiter that was dropped and comes back has its whole name" {
	acquire zed
	acquire anna by=' a  - b '
	queue_up ben cleo
	assert_equal "$(column w:anna state)$(cli --raw HGET "$(key_state)" w:anna | cut -d ' ' -f 9-)" 'dropped a  - b '
	present anna
	acquire anna again=1 strays=1 by=' a  - b '
	answered queued
	assert_equal "$(cli --raw HGET "$(key_state)" w:anna | cut -d ' ' -f 9-)" ' a  - b '
	script queue
	assert_equal "${reply[2]}" ' a  - b '
}

@test "status tells of a lease that is longer than its record allows" {
	acquire anna lease=30000
	script status
	assert_equal "${reply[-1]}" 0
	cli PEXPIRE job 86400000 >/dev/null
	script status
	assert_equal "${reply[-1]}" 1
}

@test "of many long leases, one that is longer than its record allows is cut down" {
	local name

	for name in {a..y}; do
		acquire "$name" want=s lease=300000
	done
	cli ZADD 'fairlock_holders:{job}' $(($(now_ms) + 86400000)) g >/dev/null
	cli PEXPIRE job 86400000 >/dev/null
	acquire z want=s
	[ "$(cli PTTL job)" -le 300000 ]
}

@test "a Redisson waiter at the head is told when a lease is cut down to what its record allows" {
	acquire anna lease=5000
	cli PEXPIRE job 86400000 >/dev/null
	redisson_waits r1
	present r1
	acquire ben mode=try
	told r1 0
	[ "$(cli PTTL job)" -le 5000 ]
}

#!/usr/bin/env bats
# Late copies: requests left under way on a connection that their sender has given up, which the server reads when
# newer ones were carried out.

load helpers
load scripts

nobody_holds() {
	assert_equal "$(owner)" ''
	all_well
}

@test "late: the first request, when a second copy was granted and the lock given back" {
	acquire anna again=1 strays=1
	answered granted anna
	release anna
	answered released
	acquire anna
	answered removed
	nobody_holds
}

@test "late: the first request, when a second copy was queued and its sender has left" {
	acquire zed
	acquire anna again=1 strays=1
	answered queued
	leave anna strays=1
	release zed
	acquire anna
	answered removed
	nobody_holds
}

@test "late: the first request, when its sender has left before any copy arrived" {
	leave ben strays=1
	answered left
	acquire ben
	answered removed
	nobody_holds
	acquire cleo
	answered granted
}

@test "late: the second of three copies, when the first was queued and its sender has left" {
	acquire zed
	acquire anna
	leave anna strays=2
	release zed
	acquire anna again=1 strays=1
	answered removed
	nobody_holds
}

@test "late: a sign of life, when its sender was granted, and has given the lock back" {
	acquire zed
	queue_up anna
	release zed
	come_back anna strays=1
	answered granted
	release anna
	ask anna
	answered removed
	nobody_holds
}

@test "late: the first request, when the lease has run out" {
	acquire anna again=1 strays=1 lease=1000
	answered granted
	later 1001
	acquire anna
	answered removed
	nobody_holds
}

@test "late: a sign of life, when the lease has run out" {
	acquire zed
	queue_up anna
	release zed
	come_back anna strays=1 lease=1000
	answered granted
	later 1001
	ask anna
	answered removed
	nobody_holds
}

@test "late: going in again, when that hold was given back and the outer one was not" {
	acquire anna
	acquire inner inherited=anna again=1 strays=1
	answered granted anna
	release anna request=inner
	answered released 1
	acquire inner inherited=anna
	answered removed
	assert_equal "$(owner) $(holds)" 'anna 1'
}

@test "late: a copy does not renew the lease of a holder, nor put back who was passed over" {
	acquire anna again=1 strays=1 lease=60000
	acquire anna
	answered removed
	left 60000 "$(cli PTTL job)"
	queue_up ben
	come_back ben strays=1
	absent ben
	later 60001
	acquire cleo
	answered granted
	ask ben
	answered removed
	queue_is
	present ben
	come_back ben strays=2
	answered queued
	queue_is ben
}

@test "late: nobody is taken for it whose grant has run out unheard, or was broken" {
	acquire anna again=1 strays=1 lease=1000
	later 1001
	acquire anna again=1 strays=2
	answered granted anna
	release zoe mode=force
	acquire anna again=1 strays=3
	answered granted anna
}

@test "late: nobody is taken for it who acts as the same owner" {
	acquire anna again=1 strays=1
	release anna
	acquire anna request=second inherited=anna
	answered granted anna
	release anna request=second
	leave anna request=third strays=1
	acquire anna request=fourth
	answered granted anna
}

@test "late: a lock that is busy is not asked for in vain with a mark that stays for ever" {
	redisson_takes r1
	acquire anna mode=try again=1 strays=1
	answered busy r1
	between 1 "$(cli PTTL "$(key_state)")" 86400000
	assert_equal "$(field name)" ''
}

@test "our hash does not grow with late copies, in a queue that is never empty" {
	acquire anna
	queue_up ben
	for ((i = 1; i <= 100; i++)); do
		script_line acquire "w$i" "w$i" w 30000 wait '' 1 '' '' '' 1
		script_line leave "w$i" "w$i" 1
	done | cli >/dev/null
	between 100 "$(cli HLEN "$(key_state)")" 140
	later 600001
	acquire cleo again=1 strays=1
	answered queued
	between 1 "$(cli HLEN "$(key_state)")" 45
}

# Who has not heard its ticket

@test "the first answer is lost: who was dropped meanwhile comes back to its place" {
	local before

	acquire zed
	acquire anna
	before=${ticket[anna]}
	queue_up ben cleo
	queue_is ben cleo
	present anna
	acquire anna again=1 strays=1
	answered queued "$before"
	queue_is anna ben cleo
	assert_equal "$(field p:anna)" ''
	come_back anna strays=2
	answered queued "$before"
	all_well
}

@test "the first answer is lost: who was passed over as the second comes back to its place" {
	acquire anna
	queue_up ben
	acquire cleo
	queue_up dora
	release anna
	queue_is ben dora
	present cleo
	acquire cleo again=1 strays=1
	queue_is ben cleo dora
}

@test "the first answer is lost: who was present and did not take its turn comes back to its place" {
	acquire zed
	queue_up anna ben
	release zed
	later 5001
	ask ben
	answered granted
	queue_up cleo
	acquire anna again=1 strays=1
	queue_is anna cleo
}

@test "the first answer is lost: whom Redisson dropped while it was away comes back to its place" {
	redisson_takes r1
	queue_up anna ben
	cli ZADD "$(key_timeouts)" 1 anna >/dev/null
	redisson_sweeps
	queue_is ben
	absent anna
	queue_up cleo
	queue_is ben cleo
	present anna
	acquire anna again=1 strays=1
	queue_is anna ben cleo
}

@test "a ticket is kept for nobody who knows it, nor for who has left" {
	acquire zed
	acquire anna
	ask anna
	acquire ben
	queue_up cleo
	queue_is cleo
	assert_equal "$(field p:anna)" ''
	[ -n "$(field p:ben)" ]
	leave ben
	assert_equal "$(field p:ben)" ''
	ask anna
	queue_is anna cleo
}

@test "our hash does not grow with tickets that are kept, in a queue that is never empty" {
	acquire zed
	queue_up anna
	for ((i = 1; i <= 100; i++)); do
		script_line acquire "w$i" "w$i" w 30000 wait '' 0 '' ''
		script_line acquire "v$i" "v$i" w 30000 wait '' 0 '' ''
		script_line leave "v$i" "v$i" 0
	done | cli >/dev/null
	release zed
	ask anna
	acquire ben
	between 100 "$(cli HLEN "$(key_state)")" 140
	later 600001
	release anna
	acquire cleo again=1 strays=1
	answered granted
	queue_up dora
	release cleo
	queue_is dora
	between 1 "$(cli HLEN "$(key_state)")" 45
}

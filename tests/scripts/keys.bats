#!/usr/bin/env bats
# The keys that the scripts keep: their types, times to live and growth.

load ../lib/helpers
load ../lib/scripts

# foreign KEY: another program keeps something under this key
foreign() {
	cli SET "$1" theirs
}

# unharmed KEY COMMAND...: COMMAND fails, names the type, and changes nothing
unharmed() {
	local key=$1 before

	shift
	foreign "$key"
	before=$(digest)
	run "$@"
	assert_failure
	assert_output --partial WRONGTYPE
	assert_equal "$(digest)" "$before"
	assert_equal "$(cli GET "$key") $(cli TTL "$key")" 'theirs -1'
}

@test "every script refuses a lock key of another type and changes nothing" {
	unharmed job acquire ben
	unharmed job acquire ben mode=try
	unharmed job renew ben holder_token=1
	unharmed job release ben
	unharmed job release '' mode=force request=breaker
	unharmed job leave ben
}

@test "acquire refuses a list of another type and changes nothing" {
	unharmed "$(key_queue)" acquire ben
	unharmed "$(key_queue)" acquire ben mode=try
	redisson_takes r1
	unharmed "$(key_queue)" acquire ben
}

@test "acquire refuses a sorted set of another type for a free lock and changes nothing" {
	unharmed "$(key_timeouts)" acquire ben
	unharmed "$(key_timeouts)" acquire ben mode=try
}

@test "acquire refuses a sorted set of another type for a busy lock and queues nobody" {
	redisson_takes r1
	unharmed "$(key_timeouts)" acquire ben
}

@test "every script refuses a hash of ours of another type and changes nothing" {
	unharmed "$(key_state)" acquire ben
	redisson_takes r1
	unharmed "$(key_state)" acquire ben
	unharmed "$(key_state)" renew r1
	unharmed "$(key_state)" release r1
	unharmed "$(key_state)" release '' mode=force request=breaker
	unharmed "$(key_state)" leave r1
}

@test "no script changes a log of ours of another type" {
	foreign "$(key_log)"
	# whether these succeed is another question
	acquire anna || true
	renew anna || true
	release anna || true
	release anna again=1 || true
	assert_equal "$(cli GET "$(key_log)") $(cli TTL "$(key_log)")" 'theirs -1'
}

# refused_to_holder KEY: every script that the holder anna can call fails because of KEY
refused_to_holder() {
	unharmed "$1" renew anna lease=60000
	unharmed "$1" release anna
	unharmed "$1" release '' mode=force request=breaker
	unharmed "$1" leave anna
}

@test "renew, release and leave refuse a list of another type and change nothing" {
	acquire anna
	refused_to_holder "$(key_queue)"
}

@test "renew, release and leave refuse a sorted set of another type and change nothing" {
	acquire anna
	refused_to_holder "$(key_timeouts)"
}

# What stays

@test "when the last user is gone our hash stays for a day and our log for a week, and nothing else does" {
	acquire anna
	queue_up ben cleo
	acquire inner inherited=anna kind=a
	queue_up_dead dora
	renew anna
	release anna mode=any request=command
	release anna
	ask ben
	answered granted
	leave cleo
	release ben
	absent ben cleo
	assert_equal "$(cli KEYS '*' | sort | paste -sd ' ')" 'fairlock:{job} fairlock_log:{job}'
	between 86300 "$(cli TTL "$(key_state)")" 86430
	between 604700 "$(cli TTL "$(key_log)")" 604800
}

# lives_again SCRIPT ARG...: the script gives our hash its time to live
lives_again() {
	cli EXPIRE "$(key_state)" 100
	"$@"
	between 86300 "$(cli TTL "$(key_state)")" 86430
}

@test "every script that changes something renews the time to live of our hash" {
	acquire anna
	release anna
	lives_again acquire anna
	lives_again renew anna
	lives_again acquire ben
	lives_again ask ben
	lives_again renew anna
	lives_again acquire inner inherited=anna
	lives_again release anna request=inner
	lives_again acquire cleo
	lives_again leave cleo
	lives_again remove ben
	lives_again release anna min=1000
	lives_again release '' mode=force request=breaker
	lives_again renew anna
	answered lost
}

@test "our hash stays for a day beyond the lease of a holder that does not renew it" {
	acquire anna lease=500000000
	left $((500000000 + 86400000)) "$(cli PTTL "$(key_state)")"
	renew anna lease=700000000
	left $((700000000 + 86400000)) "$(cli PTTL "$(key_state)")"
	acquire ben
	left $((700000000 + 86400000)) "$(cli PTTL "$(key_state)")"
	release anna
	leave ben
	acquire cleo lease=600000000
	left $((600000000 + 86400000)) "$(cli PTTL "$(key_state)")"
}

@test "our hash stays for a day after a handover, and for the lease that the new holder wants" {
	present ben
	acquire anna
	acquire ben handed=1 lease=500000000
	release anna
	assert_equal "$(owner)" ben
	left $((500000000 + 86400000)) "$(cli PTTL "$(key_state)")"
}

@test "every event renews the time to live of the log" {
	local event

	for event in 'acquire anna' 'release anna' 'acquire ben' 'release any mode=force request=breaker' 'acquire cleo'; do
		cli EXPIRE "$(key_log)" 100
		$event
		between 604700 "$(cli TTL "$(key_log)")" 604800
	done
	queue_up_dead dora
	cli EXPIRE "$(key_log)" 100
	leave dora
	between 604700 "$(cli TTL "$(key_log)")" 604800
	cli EXPIRE "$(key_log)" 100
	renew emil holder_token=1
	answered lost
	between 604700 "$(cli TTL "$(key_log)")" 604800
}

@test "keys of ours that somebody deleted have their times to live again with the next script" {
	acquire anna
	cli DEL "$(key_log)"
	release anna
	between 604700 "$(cli TTL "$(key_log)")" 604800
	cli DEL "$(key_state)"
	acquire anna
	between 86300 "$(cli TTL "$(key_state)")" 86430
}

@test "the log has a time to live again if any script notices the end of a lease" {
	acquire anna lease=1000
	queue_up ben
	later 1001
	cli DEL "$(key_log)" >/dev/null
	acquire carl mode=try
	all_well
}

@test "renew gives a sorted set that somebody deleted a time to live again" {
	acquire anna
	present ben
	acquire ben handed=1
	cli DEL "$(key_timeouts)" >/dev/null
	renew anna
	[ "$(cli PTTL "$(key_timeouts)")" -gt 0 ]
}

@test "the first script on a new server, whichever it is, leaves no key without a time to live" {
	renew anna holder_token=1
	all_well
	cli FLUSHALL
	release anna
	all_well
	cli FLUSHALL
	release '' mode=force request=breaker
	all_well
	cli FLUSHALL
	leave anna
	all_well
	cli FLUSHALL
	redisson_takes r1
	redisson_waits r2
	acquire anna limit=0
	answered full
	all_well
}

@test "our hash does not grow with waiters that come and leave" {
	acquire anna
	for ((i = 1; i <= 100; i++)); do
		script_line acquire "w$i" "w$i" w 30000 wait '' 0 '' ''
		script_line leave "w$i" ''
	done | cli >/dev/null
	later 600001 # until then the marks may meet copies of requests
	acquire anna
	queue_up ben
	leave ben
	between 1 "$(cli HLEN "$(key_state)")" 45
}

@test "our hash does not grow with waiters that others drop and that never come back" {
	acquire anna
	for ((i = 1; i <= 100; i++)); do
		script_line acquire "w$i" "w$i" w 30000 wait '' 0 '' ''
		echo DEL "$(key_queue)" "$(key_timeouts)"
	done | cli >/dev/null
	release anna
	between 90 "$(cli HLEN "$(key_state)")" 120
	later 600001 # until then their tickets are kept
	acquire zed
	queue_up ben
	shrinks_to 45 leave ben
}

@test "our hash drops records that nobody can read, and keeps fields that are no records" {
	local i

	acquire anna
	for ((i = 1; i <= 50; i++)); do
		echo HSET "$(key_state)" "h:h$i" rubbish "w:w$i" rubbish "r:r$i" rubbish
	done | cli >/dev/null
	cli HSET "$(key_state)" z:odd stays odd stays >/dev/null
	queue_up ben
	shrinks_to 45 leave ben
	assert_equal "$(field z:odd)$(field odd)" staysstays
}

@test "our hash does not grow with inner holds that come and go" {
	acquire anna
	for ((i = 1; i <= 200; i++)); do
		script_line acquire "inner$i" "inner$i" w 30000 wait '' 0 '' '' '' 0 '' x '' anna
		script_line release anna "inner$i" own '' 0
	done | cli >/dev/null
	assert_equal "$(holds)" 1
	between 1 "$(field h:anna | wc -c)" 150
	later 600001 # until then the releases may be repeated
	acquire anna
	shrinks_to 45 leave ben
	assert_equal "$(holds)" 1
}

# ends_by_force ID: it holds for half a minute, and somebody breaks the lock
ends_by_force() {
	acquire "$1" lease=30000
	release '' mode=force request="breaker of $1"
}

@test "our hash remembers the end of a hold until its lease would have ended, and no longer" {
	local i

	for ((i = 1; i <= 60; i++)); do
		script_line acquire "h$i" "h$i" w 30000 wait '' 0 '' ''
		script_line release x "breaker$i" force '' 0
	done | cli >/dev/null
	later 600001 # the marks of the breakers go
	ends_by_force anna
	shrinks_to 45 leave ben
	assert_equal "$(column h:anna state)" forced
	for ((i = 1; i <= 60; i++)); do
		script_line acquire "h$i" "h$i" w 30000 wait '' 0 '' ''
		script_line release x "breaker$i" force '' 0
	done | cli >/dev/null
	later 30001 # now the ends may go, and the marks of the breakers may not
	shrinks_to 110 leave ben
	later 570000
	shrinks_to 45 leave ben
}

@test "the log keeps about a thousand events" {
	for ((i = 1; i <= 700; i++)); do
		script_line acquire "w$i" "w$i" w 30000 wait '' 0 '' ''
		script_line release "w$i" "w$i" own '' 0
	done | cli >/dev/null
	between 1000 "$(cli XLEN "$(key_log)")" 1199
}

@test "our hash does not grow with releases by force of a free lock" {
	for i in $(seq 60); do
		release anna mode=force request="command$i"
		later 50000
	done
	between 1 "$(cli HLEN "$(key_state)")" 60
}

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

# What stays

@test "when the last user is gone our hash stays for a day and our log for a week, and nothing else does" {
	acquire anna
	queue_up ben cleo
	acquire inner inherited=anna kind=a
	queue_up_dead dora
	renew anna
	release anna mode=any request=command
	release anna
	ask ben is=granted
	leave cleo
	release ben
	absent ben cleo
	assert_equal "$(cli KEYS '*' | grep -v '^fairlock_done:' | sort | paste -sd ' ')" 'fairlock:{job} fairlock_log:{job}'
	for key in $(cli KEYS 'fairlock_done:*'); do
		between 1 "$(cli PTTL "$key")" 600000
	done
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
	assert_equal "$(cli PTTL "$(key_state)")" $((500000000 + 86400000))
	renew anna lease=700000000
	assert_equal "$(cli PTTL "$(key_state)")" $((700000000 + 86400000))
	acquire ben
	assert_equal "$(cli PTTL "$(key_state)")" $((700000000 + 86400000))
	release anna
	leave ben
	acquire cleo lease=600000000
	assert_equal "$(cli PTTL "$(key_state)")" $((600000000 + 86400000))
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

@test "the log keeps about a thousand events" {
	for ((i = 1; i <= 700; i++)); do
		script_line acquire "w$i" "w$i" w 30000 wait '' 0 '' ''
		script_line release "w$i" "w$i" own '' 0
	done | cli >/dev/null
	between 1000 "$(cli XLEN "$(key_log)")" 1199
}

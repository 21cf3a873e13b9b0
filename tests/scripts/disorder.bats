#!/usr/bin/env bats
# Keys that others left in disorder, or deleted: no script fails because of them, and the order of ours stays. tests/fuzz/walk damages
# them at random.

load ../lib/helpers
load ../lib/scripts

# Every script runs without an error, and leaves the keys in order.
every_script_works() {
	acquire zoe mode=try
	acquire zoe
	ask zoe
	release zoe
	acquire yuri
	ask ben
	renew yuri
	script status
	script queue
	leave ben
	remove zoe
	release yuri
	all_well
}

@test "a queue whose list or sorted set was deleted is complete and in order once all waiters have asked" {
	local key

	for key in "$(key_queue)" "$(key_timeouts)"; do
		acquire anna
		queue_up ben cleo dora
		cli DEL "$key"
		for id in cleo dora ben; do
			ask "$id"
			all_well
		done
		queue_is ben cleo dora
		absent ben cleo dora
		cli FLUSHALL >/dev/null
	done
}

@test "a Redisson id that lost its score, or its place in the list, gets one" {
	acquire anna
	queue_up ben
	redisson_waits r1
	cli ZREM "$(key_timeouts)" r1
	ask ben
	queue_is ben r1
	cli LREM "$(key_queue)" 0 r1
	ask ben
	queue_is ben r1
}

@test "odd ids and scores of Redisson's waiters are no error to any script" {
	acquire anna lease=3600000
	for id in ' ' '%d+' 'a b c' '*' "it's" $'tab\there' 't:x' 'x:' '12 34' fairlock:x "$(printf 'a\377b')"; do
		redisson_waits "$id"
	done
	cli RPUSH "$(key_queue)" ''
	release anna
	every_script_works
	redisson_waits r1
	for score in inf -inf 0 -1 1.5 1e300 9007199254740993; do
		cli ZADD "$(key_timeouts)" "$score" r1
		every_script_works
	done
}

@test "our hash without the other keys, and the other keys without our hash, are no error to any script" {
	acquire anna
	queue_up ben cleo
	cli DEL job "$(key_queue)" "$(key_timeouts)" "$(key_log)"
	every_script_works
	cli FLUSHALL >/dev/null
	acquire anna
	acquire ben
	cli DEL "$(key_state)"
	release anna
	every_script_works
}

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
		release '' mode=force request=breaker
		assert_equal "${reply[2]}" "$by"
		acquire zoe mode=try
		assert_equal "${reply[1]} ${reply[2]}" "ben $by" # handed over
		release ben min=60000
		acquire zoe mode=try
		assert_equal "${reply[1]} ${reply[2]}" "ben $by" # kept
		cli FLUSHALL >/dev/null
	done
}

# without_memory CALL...: makes the call while the server is out of memory
without_memory() {
	local failed=0

	cli CONFIG SET maxmemory 1 >/dev/null
	"$@" || failed=1
	cli CONFIG SET maxmemory 0 >/dev/null
	return "$failed"
}

@test "a server out of memory takes what renews, asks to stop, removes, starts COMMAND, gives back, hands over and breaks" {
	acquire anna kind=v
	queue_for_handover ben carl
	without_memory renew anna start=1 is=renewed
	without_memory request_stop xena is='stops asked'
	without_memory remove carl is=left
	without_memory succeed anna is='released 0'
	[ -n "$(shown ok)" ]
	handed ben 5000
	without_memory release '' mode=force request=breaker is='forced ben'
	acquire dora
	release '' mode=force request=breaker again=1 is='forced ben'
	acquire inner inherited=dora
	without_memory release dora request=inner is='released 1'
	without_memory release dora min=60000 is=kept
	all_well
}

@test "a server out of memory shares no lock and lets nobody take over a place, and nothing changes" {
	local before

	run -1 without_memory acquire ben want=s
	assert_output --partial OOM
	assert_equal "$(cli DBSIZE)" 0
	acquire anna
	asks_newest cleo
	present ed
	before=$(digest)
	run -1 without_memory acquire ed newest=0
	assert_output --partial OOM
	assert_equal "$(digest)" "$before"
}

# The keys that the scripts keep: their version, times to live and growth; keys that others damaged or deleted, and a server without
# memory. tests/fuzz/walk damages keys at random.

load ../lib/scripts

@test "a new hash has the version of the scripts, and they refuse a lock of any other, but for those that only show it" {
	local version

	acquire anna
	queue_up ben
	assert_equal "$(cli HGET "$(key_state)" v)" 1
	for version in 2 9007199254740991 0 '' x; do
		cli HSET "$(key_state)" v "$version" >/dev/null
		before=$(digest)
		for call in 'acquire zoe' 'acquire zoe mode=try' 'acquire ben again=1' 'acquire anna' 'renew anna' 'release anna' \
			'release zoe zoe mode=force' 'release zoe mode=forget' 'release zoe mode=stop' 'leave ben' 'remove ben'; do
			$call
			answered version "$([[ $version = [0-9]* ]] && echo "$version" || echo 0)" 1
		done
		assert_equal "$(digest)" "$before"
	done
	script status
	answered anna
	script queue
	answered ben
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
	lives_again acquire inner inherited=anna
	lives_again release anna request=inner
	lives_again acquire cleo
	lives_again leave cleo
	lives_again remove ben
	lives_again release anna min=1000
	lives_again release '' mode=force request=breaker
}

@test "our hash stays for a day beyond the lease of a holder that does not renew it" {
	acquire anna lease=500000000
	assert_equal "$(cli PTTL "$(key_state)")" $((500000000 + 86400000))
	renew anna lease=700000000
	acquire ben
	assert_equal "$(cli PTTL "$(key_state)")" $((700000000 + 86400000))
	release anna
	leave ben
	acquire cleo lease=600000000
	assert_equal "$(cli PTTL "$(key_state)")" $((600000000 + 86400000))
}

# Damage

@test "a queue whose list, sorted set or score of one was deleted is complete and in order once all waiters have asked" {
	local damage

	for damage in "DEL $(key_queue)" "DEL $(key_timeouts)" "ZREM $(key_timeouts) r1" "LREM $(key_queue) 0 r1"; do
		acquire anna
		queue_up ben cleo dora
		[[ $damage = DEL* ]] || redisson_waits r1
		cli $damage
		for id in cleo dora ben; do
			ask "$id"
			all_well
		done
		queue_is ben cleo dora $([[ $damage = DEL* ]] || echo r1)
		absent ben cleo dora
		cli FLUSHALL >/dev/null
	done
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
	without_memory release dora request=inner min=60000 is='released 1'
	without_memory release dora is=kept
	all_well
}

@test "a waiter that was handed a slot, and asks before it hears so, has it on a server out of memory, too" {
	acquire anna
	present ben
	acquire ben want='#2' handed=1 is=queued
	release anna
	without_memory ask ben want='#2' handed=1 is='granted ben'
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

# every_script_works: whatever the keys are, and all is well in the end
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

@test "odd ids and scores of Redisson's waiters are no error to any script" {
	acquire anna lease=3600000
	for id in ' ' '%d+' 'a b c' '*' "it's" $'tab\there' 't:x' 'x:' fairlock:x "$(printf 'a\377b')"; do redisson_waits "$id"; done
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

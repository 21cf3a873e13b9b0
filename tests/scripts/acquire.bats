# The acquire script: it grants the lock, lets the holder in again, or says why not.

load ../lib/scripts

@test "acquire grants a free lock with a token, a time to live, no wait and one hold; asked again, it answers the same" {
	acquire anna lease=20000 is="granted anna $(now_ms) 20000 0 1 x"
	later 1000
	acquire anna again=1 lease=5000 is="granted anna ${token[anna]} 19000"
	assert_equal "$(owner) $(holds) $(cli PTTL job)" 'anna 1 19000'
	assert_equal "$(the_events)" granted
}

@test "a token is one more than the one before if the clock was set back" {
	granted_to_anna
	release anna
	later -3600000
	acquire ben is="granted ben $((token[anna] + 1))"
}

changes() { cli INFO persistence | tr -d '\r' | sed -n 's/^rdb_changes_since_last_save://p'; }

# From version 7.2 on, WAIT looks only at what its own connection wrote. If that is nothing, it also
# counts replicas that lack what an earlier connection wrote.

@test "a repeated grant and a repeated renewal still write something, so that WAIT counts from there" {
	acquire anna
	for again in acquire renew acquire renew; do
		before=$(changes)
		"$again" anna
		[ "$(changes)" -gt "$before" ]
	done
}

@test "a name with braces gets no others, and is refused while its other spelling, without them, is in use" {
	lock='a{b}c' acquire anna is='granted anna'
	assert_equal "$(cli KEYS '*' | sort | paste -sd ' ')" 'a{b}c fairlock:a{b}c fairlock_log:a{b}c'
	acquire anna
	before=$(digest)
	lock='{job}' acquire ben is='spelled job'
	assert_equal "$(digest)" "$before"
}

@test "a process that inherited the holder's id goes in past the waiters, with its token, and shortens no lease; others wait" {
	acquire anna lease=60000
	queue_up ben
	acquire inner inherited=anna lease=1000 is="granted anna ${token[anna]} 60000 * 2 x"
	assert_equal "$(holds) $(cli PTTL job)" '2 60000'
	queue_is ben
	ask ben inherited=anna is='granted anna * 3 x' # it goes in from the queue
	queue_is
	acquire daemon inherited=old is=queued
}

@test "mode try changes nothing if somebody holds the lock or waits for it, or Redisson holds it" {
	acquire anna
	before=$(digest)
	acquire ben mode=try is='busy anna'
	assert_equal "$(digest)" "$before"
	queue_up ben
	release anna
	acquire cleo mode=try
	assert_equal "${reply[*]}" 'busy   -1  0 -1 0'
	queue_is ben
	cli FLUSHALL
	redisson_takes r1
	acquire ben mode=try is='busy r1'
	assert_equal "$(cli KEYS '*')" job
}

@test "acquire answers full if as many waiters as the limit are present, but not to one that is queued" {
	acquire anna
	queue_up ben cleo
	queue_up_dead dora emil
	acquire fred limit=2 is='full 2'
	acquire cleo again=1 limit=1 is="queued ${ticket[cleo]}"
	ask ben limit=0 is="queued ${ticket[ben]}"
	acquire fred limit=3 is=queued
}

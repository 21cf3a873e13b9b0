# The scripts on a cluster of one node, whose clients listen to sharded channels. SCRIPTS_ON=cluster
# runs the other files of this folder in this way, too.

SCRIPTS_ON=cluster
load ../lib/scripts

setup() {
	knows_sharded || skip 'a server before version 7 knows no sharded channels'
}

# plain COMMAND...: waiters that COMMAND makes present use SUBSCRIBE
plain() {
	local way=SUBSCRIBE

	"$@"
}

# outsider ID: waits for Redisson's plain lock, so it listens to the channel without an id, too
outsider() {
	listen "$1" "$(channel)" "$(channel):$1"
	wait_until listens "$1"
}

@test "in one queue plain and sharded subscribers are present, and each is told in its own way" {
	acquire anna
	queue_up ben
	plain queue_up cleo
	queue_up dora
	release anna
	told ben 0
	told cleo 'second 5000'
	ask ben lease=20000
	told cleo 'second 5000,first 20000'
	release ben
	told cleo 'second 5000,first 20000,0'
	told dora 'second 5000'
	absent cleo
	listen other "$(channel)" "$(channel):other" # but not to its own channel
	ask dora is='granted dora'
}

# It may listen at another node, which SPUBLISH does not reach.

@test "a waiter that is not present is told with PUBLISH" {
	acquire anna
	redisson_waits r1
	listen_by_pattern "$(channel):r*"
	release anna
	wait_until grep -qx "$(channel):r1" "$BATS_TEST_TMPDIR/heard.pattern"
}

@test "a waiter with a sharded subscription is not told with PUBLISH, which goes to all nodes of a cluster" {
	acquire anna
	queue_up ben
	cli CONFIG RESETSTAT >/dev/null
	release anna
	told ben 0
	[[ $(cli INFO commandstats) = *cmdstat_spublish:* ]]
	[[ $(cli INFO commandstats) != *cmdstat_publish:* ]]
}

@test "clients of plain locks hear of a release, and a holder that its lock is broken, whichever subscription they have" {
	outsider rita
	plain outsider paul
	present anna
	acquire anna
	release ben mode=force
	told anna 0
	told rita 0
	told paul 0
	plain present cleo
	acquire cleo
	release ben mode=force request=other
	told cleo 0
}

# A message that cannot be sent must neither free the lock nor keep it.

@test "release succeeds if the user may not publish to clients of plain locks" {
	acquire anna
	cli ACL SETUSER default resetchannels >/dev/null
	release anna is='released 0'
	cli ACL SETUSER default allchannels >/dev/null
}

@test "in a cluster an exclusive request changes nothing, and is to be sent again, while the holders' sorted set is not there" {
	acquire anna want=s
	cli DEL 'fairlock_holders:{job}' >/dev/null
	for call in acquire release renew leave; do
		run -1 "$call" ben
		assert_output --partial TRYAGAIN
	done
	assert_equal "$(cli HKEYS job) $(cli EXISTS 'redisson_lock_queue:{job}')" 'fairlock:shared 0'
}

# Late copies of requests. Their sender has given up the connection and sent the request again over another (strays counts that),
# and the server reads the old copy last, when the process has ended. tests/fuzz/walk has such copies of all requests.

load ../lib/scripts

# late COMMAND...: a copy that comes late changes neither who holds, nor for how long, nor who waits
late() {
	local before

	before=$(essence)
	"$@"
	assert_equal "$(essence)" "$before"
	all_well
}

essence() {
	cli HGETALL "$lock"
	cli PTTL "$lock"
	cli ZRANGE "$(key_holders)" 0 -1 WITHSCORES
	waiting
}

@test "a first request gets nothing after another copy was granted and released, or its sender has left, queued or not" {
	acquire anna again=1 strays=1 is='granted anna'
	release anna strays=1 is=released
	late acquire anna
	acquire zed
	late acquire anna
	acquire carl again=1 strays=1 is=queued
	leave carl strays=1
	leave ben strays=1
	late acquire carl
	late acquire ben
	release zed
	late acquire carl
	late acquire ben
}

@test "copies of an acquire, a renewal and a release of a slot that come after its release change nothing" {
	acquire zed want='#2'
	acquire anna want='#2' strays=1
	release anna strays=1
	late acquire anna want='#2'
	late renew anna hold_mode='=2'
	late release anna
}

@test "a late release, of whatever mode, or leave spares what another process under the same id has, and hands nothing over" {
	for mode in own unused; do
		acquire anna
		release anna again=1 strays=1 mode=$mode is='released 0'
		acquire anna request=second is='granted anna'
		present ben
		acquire ben handed=1
		late release anna mode=$mode
		late release anna mode=$mode min=60000
		told ben ''
		leave ben strays=1 is=left
		acquire ben request=second is=queued
		late leave ben
		absent ben
		cli FLUSHALL >/dev/null
	done
	acquire anna kind=a
	release anna request=by-hand mode=any again=1 strays=1 is='released 0'
	acquire anna request=second kind=a
	late release anna request=by-hand mode=any
}

@test "a late release by force, removal, stop and forgetting spare the next" {
	acquire anna
	release anna request=breaker mode=force again=1 strays=1 is='forced anna'
	acquire ben
	late release anna request=breaker mode=force
	queue_up cleo
	remove cleo strays=1 is=left
	acquire cleo request=second
	late remove cleo
	leave cleo request=second
	request_stop xena strays=1
	release ben
	acquire dora
	late request_stop xena
	renew dora
	assert_equal "${reply[4]}" ''
	later 1000
	release '' request=forgetter mode=forget strays=1
	release dora
	acquire emil
	late release '' request=forgetter mode=forget
	[ -n "$(shown started)" ]
}

@test "a waiter that a late copy of its first request queued anew has its old place, and leaves none behind" {
	acquire anna
	queue_up ben
	queue_up cleo
	earlier=${ticket[ben]}
	cli ZREM "$(key_ours)" ben >/dev/null
	cli HDEL "$(key_state)" w:ben >/dev/null
	redisson_waits mallory
	acquire ben is=queued
	ask ben "old_ticket=$earlier" is="queued $earlier"
	queue_is ben cleo mallory
}

@test "a sign of life, or a request to go in again, that comes after that hold was released gets nothing" {
	acquire zed
	queue_up anna
	release zed
	come_back anna strays=1 is=granted
	release anna strays=1
	late ask anna
	acquire ben
	acquire inner inherited=ben again=1 strays=1 is='granted ben'
	release ben request=inner strays=1 is='released 1'
	late acquire inner inherited=ben
}

@test "a renewal that comes after the release neither lengthens nor takes up a hold" {
	acquire anna lease=1000
	renew anna lease=1000 strays=1 is=renewed
	release anna strays=1
	late renew anna
	acquire ben
	late renew anna
}

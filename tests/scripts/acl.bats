# A script refuses a user who may not run all of its commands before it changes anything.

load ../lib/scripts

setup() {
	knows_sharded || skip 'this server cannot be asked what a user may do: it is older than Redis 7'
}

ALL='~* &* +@all -flushall'
# everything but the holders' sorted set
EXCLUSIVE='~job ~redisson_lock_* ~fairlock:* ~fairlock_log:* ~fairlock_queue:* ~fairlock_done:* &* +@all'

# as_user RULES CALL...: calls as a user with these rules
as_user() {
	cli ACL SETUSER limited reset on '>SECRET' $1 >/dev/null
	cli() {
		"$CLI" -s "$SERVER_SOCKET" --user limited --pass SECRET --no-auth-warning "$@" 3>&- 4>&-
	}
	"${@:2}"
}

# refused WHAT RULES CALL...: the script refuses that user, names WHAT, and changes nothing
refused() {
	local before

	before=$(digest)
	run -1 as_user "${@:2}"
	assert_output --partial NOPERM
	assert_output --partial "$1"
	assert_equal "$(digest)" "$before"
}

@test "every script refuses a user who lacks one of its commands or keys, or the channels of the lock" {
	acquire anna
	queue_up ben
	for call in 'acquire cleo' 'renew anna' 'release anna' 'leave ben'; do
		refused "permissions to run 'XADD" "$ALL -xadd" $call
	done
	for name in status queue log view; do
		refused "permissions to run 'PTTL" "$ALL -pttl" script "$name" '' ''
	done
	refused "permissions to run 'SUBSCRIBE $(channel)'" '~* resetchannels +@all' acquire cleo
}

@test "a user without the right to the holders' sorted set locks alone, tells a reader its turn, and may not share" {
	run -0 as_user "$EXCLUSIVE" acquire anna
	present ben
	acquire ben want=s handed=1
	run -0 as_user "$EXCLUSIVE" release anna
	told ben 0
	assert_equal "$(owner)$(cli EXISTS "$(key_holders)")" 0
	ask ben want=s is='granted ben'
	release ben
	acquire cleo
	run -0 as_user "$EXCLUSIVE" acquire anna
	release cleo
	run -0 as_user "$EXCLUSIVE" acquire anna again=1
	assert_equal "$(owner)" anna
	refused '' "$EXCLUSIVE" acquire ben want=s
	refused '' "$EXCLUSIVE" acquire ben want='#2'
}

@test "while several hold, every script refuses a user without the right to their sorted set, and names it" {
	acquire anna want=s
	for call in 'acquire ben' 'acquire ben mode=try' 'release zoe mode=force' 'leave ben' 'script status' 'script view ben' 'script log - - 1'; do
		refused "$(key_holders)" "$EXCLUSIVE" $call
	done
}

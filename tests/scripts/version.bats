#!/usr/bin/env bats
# The version of the protocol in our hash, which keeps clients of two versions from sharing a lock.

load ../lib/helpers
load ../lib/scripts

# all_refuse VERSION: every script that would change something answers VERSION and changes nothing
all_refuse() {
	local before

	before=$(digest)
	for call in 'acquire zoe' 'acquire zoe mode=try' 'acquire ben again=1' 'acquire anna' 'renew anna' 'release anna' \
		'release zoe zoe mode=force' 'leave ben' 'remove ben'; do
		$call
		answered version "$1" 5
	done
	assert_equal "$(digest)" "$before"
}

# older VERSION: our hash says that it is of this version; one of version 1 says nothing
older() {
	if [ "$1" = 1 ]; then
		cli HDEL "$(key_state)" v
	else
		cli HSET "$(key_state)" v "$1"
	fi
}

# left_by_version_2: an unused hash of version 2, as its last release leaves it. COMMANDs were started two and
# three hours ago; somebody may ask for that for 50 hours.
left_by_version_2() {
	now=$(now_ms)
	started=$((now - 7200000)) before=$((now - 10800000)) recall=$((now + 180000000))
	up=$((now - 86400000)) last_token=$((now + 5000)) last_ticket=$((now + 5000))000
	run_id=$(cli INFO server | tr -d '\r' | sed -n 's/^run_id://p')
	cli HSET "$(key_state)" name job v 2 token $last_token ticket $last_ticket ours 0 \
		run "$run_id" up $up back $up started $started before $before recall $recall \
		ended $last_token owner '' since $started until $now lease 30000 waited 0 by 'by zoe' \
		holds 'dzoe,gother,' keep '' taken_up '' unheard '' forced $last_token turn zoe turned $now \
		n:granted 7 n:expired 6 n:forced 5 n:lost 4 touched $now logged $now mended $now tended "$now 1 1" \
		t:ghost "$last_ticket $now" d:ghost 'by ghost' p:ghost "$now 1" x:ghost "$now other" c:zoe "$now 1" \
		f:breaker "$now zoe by" >/dev/null
	cli PEXPIREAT "$(key_state)" $recall
}

# Fields of our hash that only older versions write.
old_fields() {
	local plain='owner|since|until|lease|waited|by|holds|keep|taken_up|unheard|ended|forced|turned|before|recall|up'

	cli --raw HKEYS "$(key_state)" | grep -xE "[tdpxcf]:.*|$plain|mended|touched|logged" | sort | paste -sd ' '
}

@test "a new hash has the version of the scripts" {
	acquire anna
	assert_equal "$(field v)" 5
}

@test "the scripts refuse a lock that an older version holds" {
	acquire anna
	for version in 1 2 4; do
		older $version
		all_refuse $version
	done
}

@test "the scripts refuse a lock that an older version waits for" {
	acquire anna
	queue_up ben
	cli DEL job
	for version in 1 2 4; do
		older $version
		all_refuse $version
	done
}

@test "the scripts refuse a lock that Redisson holds while our hash is of an older version" {
	acquire anna
	release anna
	cli HSET job r1 1
	for version in 1 2 4; do
		older $version
		all_refuse $version
	done
}

@test "the scripts refuse a lock of a newer version, even one that is not in use" {
	acquire anna
	queue_up ben
	cli HSET "$(key_state)" v 6
	all_refuse 6
	cli DEL job "$(key_queue)" "$(key_timeouts)"
	all_refuse 6
}

@test "acquire raises the version of a lock that is not in use" {
	for version in 1 2 4; do
		acquire anna
		release anna
		older $version
		acquire ben
		answered granted ben
		assert_equal "$(field v)" 5
		[ "${token[ben]}" -gt "${token[anna]}" ]
		release ben
	done
}

@test "acquire raises the version of a lock whose lease has ended under the older version" {
	for version in 1 2 4; do
		acquire anna
		older $version
		cli DEL job
		acquire ben
		answered granted ben
		assert_equal "$(field v)" 5
		release ben
	done
}

@test "what a hash of version 2 says stays true when it is raised, and its old fields go" {
	left_by_version_2
	acquire anna kind=a
	answered granted anna $((last_token + 1))
	assert_equal "$(field v) $(field ours)" '5 0'
	assert_equal "$(field started)" "$started $before $recall"
	assert_equal "$(field run)" "$run_id $up - 0"
	assert_equal "$(field n:granted) $(field n:expired) $(field n:forced) $(field n:lost)" '8 6 5 4'
	assert_equal "$(field turn)$(field tended)" ''
	assert_equal "$(old_fields)" 'c:zoe d:ghost f:breaker p:ghost t:ghost x:ghost'
	between $((180000000 - 20000)) "$(cli PTTL "$(key_state)")" 180000000
	acquire ben
	answered queued $((last_ticket + 1))
}

@test "what a hash of version 4 says of the last starts, and until when it stays, is kept when it is raised" {
	acquire anna
	release anna
	acquire anna period=86400000
	release anna
	started=$(field started)
	[[ $started =~ ^[0-9]+\ [0-9-]+\ [0-9]+$ ]] || fail "$started"
	older 4
	acquire ben kind=a
	answered granted ben
	assert_equal "$(field v) $(field started)" "5 $started"
	between 172000000 "$(cli PTTL "$(key_state)")" 172800000
}

@test "the start of a COMMAND under version 2 is the last but one when a wrap takes the lock" {
	left_by_version_2
	acquire anna
	assert_equal "$(field started)" "${reply[2]} $started $recall" || # the token is ahead of the clock
		assert_equal "$(column started before) $(column started recall)" "$started $recall"
	release anna mode=unused
	assert_equal "$(column started last)" "$started"
}

@test "a job that runs once per period is told of the last start under version 2, and it stays remembered" {
	left_by_version_2
	acquire anna period=9000000
	answered ran
	grown 7200000 "${reply[1]}"
	between $((180000000 - 20000)) "$(cli PTTL "$(key_state)")" 180000000
	acquire anna period=7800000
	answered granted
	assert_equal "$(column started before)" "$started"
	cli FLUSHALL >/dev/null
	left_by_version_2
	acquire anna period=108000000 # longer than what version 2 was to remember it for
	answered ran
	acquire ben kind=a
	assert_equal "$(field started)" "$started $before $((started + 216000000))"
}

@test "scripts that find nothing to do leave a hash of version 2 its time to live" {
	left_by_version_2
	for call in 'release anna' 'leave anna' 'remove anna' 'acquire anna mode=try period=9000000'; do
		$call
		between $((180000000 - 20000)) "$(cli PTTL "$(key_state)")" 180000000
	done
}

@test "the fields of version 2 about waiters and requests go with time" {
	left_by_version_2
	for ((i = 1; i <= 50; i++)); do
		echo HSET "$(key_state)" "d:w$i" somebody
	done | cli >/dev/null
	acquire anna
	queue_up ben
	shrinks_to 45 leave ben
	release anna
	for ((i = 1; i <= 50; i++)); do
		echo HSET "$(key_state)" "z:w$i" somebody # keeps the hash long enough to be swept
	done | cli >/dev/null
	wait_until no_old_fields
}

no_old_fields() {
	leave nobody
	[ "$(old_fields)" = '' ]
}

@test "the first script that meets a hash of version 2 may be any that changes something" {
	for call in 'renew zoe holder_token=1' 'release x mode=force request=y' 'acquire anna' 'acquire anna limit=0'; do
		left_by_version_2
		$call
		assert_equal "$(field v) $(field started)" "5 $(field started)"
		assert_equal "$(column started before) $(column started recall)" \
			"$([[ $call = acquire* ]] && echo "$started" || echo "$before") $recall"
		cli FLUSHALL >/dev/null
	done
}

@test "acquire does not take a lock that only Redisson uses for one of an older version" {
	cli HSET job r1 1
	cli PEXPIRE job 30000
	acquire ben
	answered queued
	assert_equal "$(field v)" 5
}

@test "status and queue show a lock of another version" {
	acquire anna
	queue_up ben
	for version in 2 5; do
		cli HSET "$(key_state)" v $version
		script status
		assert_equal "${reply[0]}" anna
		script queue
		assert_equal "${reply[0]}" ben
	done
}

@test "status tells the counters and the last start of a lock of version 2" {
	left_by_version_2
	script status
	assert_equal "${reply[*]:11:6}" "7 6 5 4 0 $started"
}

#!/usr/bin/env bats
# What is counted: grants, expiries, breaks and losses, for status --prometheus.

load ../lib/helpers
load ../lib/scripts

# counted: the four, as status gives them
counted() {
	script status
	echo "${reply[*]: -4}"
}

# counts GRANTS EXPIRIES BREAKS LOSSES
counts() {
	assert_equal "$(counted)" "$*"
}

# events NAME: how many the log has
events() {
	log_lines | grep -c "^event=$1|" || true
}

@test "of a lock that nobody knows nothing is counted" {
	counts 0 0 0 0
	assert_equal "$(cli DBSIZE)" 0
}

@test "a grant counts; its repetition, going in again, and a return from a lost connection do not" {
	acquire anna
	counts 1 0 0 0
	acquire anna again=1
	acquire anna
	acquire inner inherited=anna
	renew anna
	counts 1 0 0 0
	release anna request=inner
	release anna
	release anna again=1
	counts 1 0 0 0
	acquire ben
	counts 2 0 0 0
}

@test "the grant to a waiter counts once, however often it asks" {
	acquire anna
	queue_up ben
	release anna
	ask ben
	answered granted
	ask ben again=1
	ask ben
	counts 2 0 0 0
}

@test "who is refused, waits, leaves or is removed counts for nothing" {
	acquire anna
	acquire ben mode=try
	answered busy
	queue_up cleo dora
	leave cleo
	remove dora
	counts 1 0 0 0
}

@test "a grant that is undone was one: a counter does not fall" {
	acquire anna
	queue_up ben
	release anna
	ask ben
	answered granted
	leave ben
	leave ben
	counts 2 0 0 0
}

@test "a lease that ended counts, whether anybody has noticed it or not, and once" {
	acquire anna lease=1000
	later 1001
	counts 1 1 0 0
	assert_equal "$(field n:expired)" ''
	renew anna
	answered lost gone
	renew anna
	counts 1 1 0 0
	acquire ben
	acquire ben again=1
	counts 2 1 0 0
	assert_equal "$(events expired)" 1
}

@test "a lease that ended counts once when somebody else has the lock meanwhile" {
	acquire anna lease=1000
	later 1001
	redisson_takes r1
	counts 1 1 0 0
	acquire ben
	answered queued
	counts 1 1 0 0
}

@test "a server out of memory counts a lease that ended" {
	acquire anna lease=1000
	later 1001
	counts 1 1 0 0
	cli CONFIG SET maxmemory 1
	script release ben ben force '' 0 ''
	cli CONFIG SET maxmemory 0
	counts 1 1 0 0
	assert_equal "$(field n:expired)" 1
}

@test "the end of a --min-hold is no expiry" {
	acquire anna
	release anna min=5000
	answered kept
	later 5001
	counts 1 0 0 0
	acquire ben
	counts 2 0 0 0
}

@test "force counts once, also when it is repeated, and whoever held the lock" {
	acquire anna
	release any mode=force request=ann
	release any mode=force request=ann again=1
	counts 1 0 1 0
	renew anna
	answered lost forced
	counts 1 0 1 0
	release any mode=force request=bob
	answered free
	counts 1 0 1 0
	redisson_takes r1
	release any mode=force request=carl
	counts 1 0 2 0
}

@test "a lock that was deleted counts as broken when somebody notices it, and does not as expired" {
	acquire anna
	cli DEL job
	renew anna
	answered lost gone
	counts 1 0 1 0
	later 31000
	acquire ben
	counts 2 0 1 0
}

@test "a lock that was deleted, and noticed when its lease had ended, counts as expired" {
	acquire anna
	cli DEL job
	later 30001
	counts 1 1 0 0
	renew anna
	counts 1 1 0 0
}

@test "a holder that finds another after a loss of data counts, once, and the lock has a name" {
	acquire anna
	cli FLUSHALL
	redisson_takes r1
	renew anna
	answered lost taken
	renew anna
	answered lost taken
	counts 0 0 0 1
	assert_equal "$(field name)" job
}

@test "a holder that takes its lock up again after a loss of data was not granted it anew" {
	acquire anna
	cli FLUSHALL
	renew anna
	answered renewed
	counts 0 0 0 0
	later 30001
	counts 0 1 0 0
}

@test "what others put in the place of a counter is no error, and no number: it counts anew" {
	for rubbish in x -3 1.5e300 9223372036854775807 ''; do
		cli HSET "$(key_state)" n:granted "$rubbish" n:expired "$rubbish"
		acquire anna lease=1000
		answered granted
		later 1001
		script status
		acquire ben
		answered granted
		release ben
	done
	counts 2 0 0 0
}

@test "the counters outlive the log" {
	for _ in 1 2 3; do
		acquire anna
		release anna
	done
	cli DEL "$(key_log)"
	counts 3 0 0 0
}

@test "a hash with everything in it is swept, and the counters stay" {
	acquire anna
	release any mode=force request=r0
	for i in {1..50}; do
		echo "HSET $(key_state) f:$i '1 x y'"
	done | cli >/dev/null
	acquire ben
	release ben mode=force request=r1
	between 1 "$(cli HLEN "$(key_state)")" 40
	counts 2 0 2 0
}

# A sequence

# one_step NUMBER: something at random happens; who left or was refused does not come again
one_step() {
	local id=w$1 earlier=w$(($1 - RANDOM % 8))

	case $((RANDOM % 18)) in
	0 | 1 | 2 | 3) step="acquire $id again=$((RANDOM % 2)) lease=3000" ;;
	4 | 5) step="acquire $id mode=try lease=3000" ;;
	6 | 7) step="release $earlier again=$((RANDOM % 2))" ;;
	8) step="renew $earlier lease=3000" ;;
	9) step="leave $earlier" ;;
	10 | 11) step="release any mode=force request=command$1" ;;
	12 | 13) step="later $((RANDOM % 4 * 1000 + 500))" ;;
	14) step='redisson_takes r1' ;;
	15) step='cli DEL job' ;;
	16 | 17) step="acquire $earlier again=1 lease=3000" ;;
	esac
	$step >/dev/null
}

@test "whatever happens, no counter falls, and each is what the log has" {
	local before=(0 0 0 0) after i step k

	RANDOM=5
	for ((i = 0; i < 250; i++)); do
		one_step $i
		read -r -a after <<<"$(counted)"
		for k in 0 1 2 3; do
			between "${before[k]}" "${after[k]}" $((before[k] + 1)) || fail "step $i: $step: ${before[*]} to ${after[*]}"
		done
		before=("${after[@]}")
	done
	later 600000 # no lease ends between what follows
	redisson_takes r1 >/dev/null
	acquire zoe # notices what has ended
	counts "$(events granted)" "$(events expired)" "$(events forced)" "$(events lost)"
	read -r -a after <<<"$(counted)"
	[ "${after[0]}" -gt 20 ] && [ "${after[1]}" -gt 5 ] && [ "${after[2]}" -gt 5 ] || fail "too little happened: ${after[*]}"
}

#!/usr/bin/env bats
# Keys that others left in disorder: the scripts mend them, and never fail because of them.

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

# anna holds the lock, ben and cleo wait. The tests then make list and sorted set disagree.
two_disagree() {
	acquire anna
	queue_up ben cleo
}

@test "a Redisson id without a score gets one of 300 s" {
	two_disagree
	cli RPUSH "$(key_queue)" r1
	renew anna
	queue_is ben cleo r1
	left 300000 "$(ahead r1)"
}

@test "a waiter of ours without a score gets one of 30 s" {
	two_disagree
	cli ZREM "$(key_timeouts)" cleo
	renew anna
	queue_is ben cleo
	left 30000 "$(ahead cleo)"
}

@test "a Redisson id that is missing in the list is put at the end, because its owner would not do it" {
	two_disagree
	redisson_waits r1
	cli LREM "$(key_queue)" 0 r1
	renew anna
	queue_is ben cleo r1
}

@test "the next script puts list and set in agreement about our missing waiter, which then has its place again" {
	two_disagree
	cli LREM "$(key_queue)" 0 ben
	renew anna
	all_well
	ask ben
	answered queued "${ticket[ben]}"
	queue_is ben cleo
}

@test "a waiter of ours that is missing in the list has its old place as soon as it asks" {
	two_disagree
	cli LREM "$(key_queue)" 0 ben
	ask ben
	answered queued "${ticket[ben]}"
	queue_is ben cleo
}

@test "a queue whose list was deleted is complete and in order once all waiters have asked" {
	acquire anna
	queue_up ben cleo dora
	cli DEL "$(key_queue)"
	for id in cleo dora ben; do
		ask "$id"
		all_well
	done
	queue_is ben cleo dora
}

@test "a queue whose sorted set was deleted stays in order" {
	acquire anna
	queue_up ben cleo dora
	cli DEL "$(key_timeouts)"
	for id in cleo dora ben; do
		ask "$id"
		all_well
	done
	queue_is ben cleo dora
}

@test "a queue that was deleted with our hash is complete and in order once all waiters have asked" {
	acquire anna
	queue_up ben cleo dora
	cli DEL "$(key_queue)" "$(key_timeouts)" "$(key_state)"
	for id in cleo dora ben; do
		come_back "$id"
		all_well
	done
	queue_is ben cleo dora
}

@test "a waiter that is listed twice keeps its first place only" {
	two_disagree
	cli RPUSH "$(key_queue)" ben
	renew anna
	queue_is ben cleo
}

@test "a waiter that is listed twice is taken out twice when it is granted the lock" {
	two_disagree
	cli RPUSH "$(key_queue)" ben
	release anna
	ask ben
	answered granted ben
	queue_is cleo
}

@test "the next script puts list and set in agreement if they have the same length and different ids" {
	two_disagree
	cli ZREM "$(key_timeouts)" cleo
	redisson_waits r1
	cli LREM "$(key_queue)" 0 r1
	renew anna
	all_well
}

@test "the next script gives a head without a score one, though list and set have the same length" {
	two_disagree
	cli ZREM "$(key_timeouts)" ben
	redisson_waits r1
	cli LREM "$(key_queue)" 0 r1
	release anna
	all_well
}

@test "the next script mends a doubled id and a missing one together" {
	two_disagree
	cli RPUSH "$(key_queue)" ben
	redisson_waits r1
	cli LREM "$(key_queue)" 0 r1
	renew anna
	all_well
}

@test "odd ids are no error to any script" {
	acquire anna lease=3600000
	for id in ' ' '%d+' 'a b c' '*' "it's" $'tab\there' 't:x' 'x:' '12 34' "$(printf 'a\377b')"; do
		redisson_waits "$id"
	done
	cli RPUSH "$(key_queue)" ''
	release anna
	every_script_works
}

@test "odd scores of Redisson's waiters are no error to any script" {
	acquire anna
	queue_up ben
	redisson_waits r1
	for score in inf -inf 0 -1 1.5 1e300 9007199254740993; do
		cli ZADD "$(key_timeouts)" "$score" r1
		renew anna
		queue_is ben r1
	done
	release anna
	every_script_works
}

@test "odd scores of our waiters are no error to any script" {
	acquire anna
	queue_up ben
	for score in inf -inf 0 -1 1.5 1e300 9007199254740993; do
		cli ZADD "$(key_timeouts)" "$score" ben
		renew anna
		queue_is ben
	done
	release anna
	every_script_works
}

@test "odd values about waiters in our hash are no error to any script" {
	acquire anna
	queue_up ben cleo
	for field in w:ben turn head w:ghost a:ghost r:ghost h:ghost h:ben w: r: h:; do
		cli HSET "$(key_state)" "$field" rubbish
	done
	release anna
	every_script_works
}

@test "odd numbers in our hash stop no grant and no release" {
	local field value
	for field in token ticket ours back n:granted turn started run tended; do
		for value in x "" -1 nan inf 1e300 9007199254740992 12345678901234567890; do
			cli HSET "$(key_state)" turn zoe "$field" "$value" >/dev/null
			every_script_works
			acquire anna
			answered granted anna
			[[ ${token[anna]} =~ ^[0-9]{13,16}$ ]]
			release anna
			answered released
		done
	done
}

@test "a token or a number of grants of more than 15 digits is not counted on" {
	local value

	acquire anna
	release anna
	for value in 9007199254740993 12345678901234567890; do
		cli HSET "$(key_state)" token $value n:granted $value >/dev/null
		acquire anna
		[[ ${token[anna]} =~ ^[0-9]{13}$ ]]
		assert_equal "$(field n:granted)" 1
		present ben
		acquire ben handed=1
		cli HSET "$(key_state)" token $value n:granted $value >/dev/null
		release anna
		assert_equal "$(owner) $(field n:granted)" 'ben 1'
		[[ $(field token) =~ ^[0-9]{13}$ ]]
		release ben
		absent ben
	done
}

@test "a hold count that is no number counts as one" {
	cli HSET job anna many >/dev/null
	release anna
	answered released 0
	cli HSET job anna many >/dev/null
	acquire anna
	answered granted anna
	release anna
	release anna
}

@test "our hash without the other keys is no error to any script" {
	acquire anna
	queue_up ben cleo
	cli DEL job "$(key_queue)" "$(key_timeouts)" "$(key_log)"
	every_script_works
}

@test "the other keys without our hash are no error to any script" {
	acquire anna
	queue_up ben cleo
	cli DEL "$(key_state)"
	release anna
	every_script_works
}

@test "two owners in one lock, which only others can make, are no error to any script" {
	acquire anna
	cli HSET job r1 1
	acquire ben
	renew anna
	cli DEL job
	every_script_works
}

@test "the removal of an unknown waiter writes down what it has mended" {
	acquire anna
	queue_up cleo
	queue_up_dead ben
	cli LREM "$(key_queue)" 0 ben
	cli ZREM "$(key_timeouts)" ben
	remove zoe
	answered unknown
	queue_is cleo
	assert_equal "$(field ours)" 1
}

# A sequence

# one_step: a random step. Each request has a lease, a kind, a secret and a period by chance.
one_step() {
	local ours=(anna ben cleo dora) theirs=(r1 r2)
	local id=${ours[RANDOM % 4]} r=${theirs[RANDOM % 2]}
	local how=(kind=w kind=w kind=a) secrets=("handed=5ec$i" "handed=5ec$i" "handed=5ec$i" handed=)
	local periods=(period= period= period= period= period= period=20000) mins=(min= min= min= min= min= min= min= min=8000)
	local words=(again=1 lease=60000 "${how[RANDOM % 3]}" "${secrets[RANDOM % 4]}" "${periods[RANDOM % 6]}")

	case $((RANDOM % 20)) in
	0 | 1 | 2 | 3) step="acquire $id ${words[*]}" ;;
	4) step="acquire $id mode=try lease=60000" ;;
	5 | 6) step="come_back_if_known $id ${words[*]}" ;;
	7 | 8 | 9 | 14) step="release ${before:-$id} ${mins[RANDOM % 8]}" ;;
	10) step="renew ${before:-$id} kind=" ;;
	11) step="leave $id" ;;
	12) step="remove $id" ;;
	13) step="later $((RANDOM % 3 * 5500 + 5000))" ;;
	15) step="redisson_waits_once $r" ;;
	16) step="redisson_takes $r" ;;
	17) step="redisson_unlocks_own" ;;
	18) step="redisson_sweeps $((RANDOM % 2 * 60000))" ;;
	19) step="toggle $id" ;;
	esac
	$step >/dev/null
}

come_back_if_known() {
	[ -z "${ticket[$1]-}" ] || come_back "$@"
}

redisson_waits_once() {
	[ -n "$(cli ZSCORE "$(key_timeouts)" "$1")" ] || redisson_waits "$1"
}

redisson_unlocks_own() {
	[[ $before != r* ]] || redisson_unlocks
}

toggle() {
	if [ -n "${subscriber[$1]-}" ]; then
		absent "$1"
	else
		present "$1"
	fi
}

# Who holds the lock, how long its lease lasts, and the server's time; or what is wrong.
look="$(sed 's/return "well"$/local owner = redis.call("HKEYS", KEYS[1])[1] or ""\
	if listed[owner] then\
		return owner .. " holds the lock and waits"\
	end\
	local clock = redis.call("TIME")\
	return {owner, redis.call("PTTL", KEYS[1]), string.format("%.0f", clock[1] * 1000 + clock[2] \/ 1000)}/' <<<"$invariants")"

# SEED gives other steps. A run in which nothing of a kind happened would show nothing.
@test "after each of 200 random steps list and set agree, and no lock changes hands while it is held" {
	local before='' ttl=-2 looked=0 last_token=0 handed=0 kept=0 ran=0 step after i

	RANDOM=${SEED:-12}
	present anna ben cleo dora
	for ((i = 1; i <= 200; i++)); do
		reply=()
		one_step || {
			echo "step $i, $step: failed"
			false
		}
		mapfile -t after < <(on_keys EVAL "$look")
		if [ ${#after[@]} -ne 3 ]; then
			echo "step $i, $step: ${after[*]}"
			false
		fi
		if [[ ${reply[0]-} = granted ]]; then
			assert_equal "${after[0]}" "${reply[1]}"
			[ "${reply[2]}" -ge "$last_token" ]
			last_token=${reply[2]}
		fi
		# The lease has not ended meanwhile, however long this step took.
		if [ -n "$before" ] && [ "$ttl" -gt $((after[2] - looked + 500)) ] &&
			[[ $step != re* && $step != later* && $step != leave* ]] &&
			[ "${after[0]}" != "$before" ]; then
			echo "step $i, $step: $before held the lock, then ${after[0]:-nobody}"
			false
		fi
		[[ ${reply[0]-} = granted || ${after[0]:-$before} = "$before" || ${after[0]} = r* ]] || ((++handed))
		[ "${reply[0]-}" != kept ] || ((++kept))
		[ "${reply[0]-}" != ran ] || ((++ran))
		before=${after[0]} ttl=${after[1]} looked=${after[2]}
	done
	echo "handed over $handed times, kept $kept times, ran $ran times"
	[ -n "${SEED-}" ] || [[ $handed -gt 2 && $kept -gt 0 && $ran -gt 0 ]]
}

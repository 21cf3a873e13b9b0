#!/usr/bin/env bats
# The scripts count grants, expiries, breaks and losses for `status --prometheus`.

load ../lib/helpers
load ../lib/scripts

# counted: the four counters, as the status script gives them
counted() { shown counts; }

# counts GRANTS EXPIRIES BREAKS LOSSES
counts() {
	assert_equal "$(counted)" "$*"
}

# events NAME: how many of them the log has
events() {
	log_lines | grep -c "^event=$1|" || true
}

@test "a grant counts; a repeated request, going in again and a renewal do not" {
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

@test "a lease that ended counts once, both before and after a script notices its end" {
	acquire anna lease=1000
	later 1001
	counts 1 1 0 0
	renew anna is='lost gone'
	renew anna
	counts 1 1 0 0
	acquire ben
	acquire ben again=1
	counts 2 1 0 0
	assert_equal "$(events expired)" 1
}

@test "force counts once if it is repeated, not at all for a free lock, and also against Redisson" {
	acquire anna
	release any mode=force request=ann
	release any mode=force request=ann again=1
	counts 1 0 1 0
	renew anna is='lost forced'
	counts 1 0 1 0
	release any mode=force request=bob is=free
	counts 1 0 1 0
	redisson_takes r1
	release any mode=force request=carl
	counts 1 0 2 0
}

# A sequence

# one_step NUMBER: a random step; an id that left or was refused is not used again
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

# Several holders of the lock `job`, with slots or shared: `load helpers`, then `load holders`.
#
#   join_holders --slots 3 job     # one more holder, until the test ends: HOLDER
#   assert_equal "$(slot_held_by "$HOLDER")" 1
#   let_go "$HOLDER"

# has_holders COUNT [NAME]: the lock has so many holders, none of them exclusive
has_holders() { [ "$(cli ZCARD "fairlock_holders:{${2-job}}")" = "$1" ]; }

# join_holders WORD... NAME: `wrap WORD... NAME` holds the lock beside the others, in the background. Sets HOLDER. Its
# messages come into `said.PID`.
join_holders() {
	local before

	before=$(cli ZCARD "fairlock_holders:{${!#}}")
	# shellcheck disable=SC2016
	background sh -c 'exec "$FAIRLOCK" wrap "$@" sleep 600 2>said.$$' - "$@"
	HOLDER=$!
	wait_until has_holders $((before + 1)) "${!#}"
}

# join_two WORD... NAME: two more holders, FIRST and HOLDER
join_two() {
	join_holders "$@"
	# shellcheck disable=SC2034 # tests read it
	FIRST=$HOLDER
	join_holders "$@"
}

# let_go PID: ends COMMAND of this wrap, and so the hold
let_go() {
	kill -TERM "$1"
	wait_until ended "$1"
}

# id_of PID: prints the owner id of this process
id_of() { cli ZRANGE 'fairlock_holders:{job}' 0 -1 | grep ":$1\$"; }

# slot_held_by PID: prints the slot that this process has
slot_held_by() {
	local lock=job

	column "h:$(id_of "$1")" mode | sed -n 's/^=//p'
}

# ends_of OWNER: prints when its lease ends, in ms of the server's clock
ends_of() { cli --raw ZSCORE 'fairlock_holders:{job}' "$1"; }

# ends_after OWNER MS: its lease ends later than MS
ends_after() { [ "$(ends_of "$1")" -gt "$2" ]; }

# key_1_field: prints the one field of the lock's key
key_1_field() { cli --raw HKEYS job; }

# consistent: key 1 has one field, both keys live until the last lease ends, and no slot has two holders
consistent() {
	# shellcheck disable=SC2034 # seen by what it calls
	local slots id lock=job

	assert_equal "$(key_1_field | wc -l)" 1
	assert_equal "$(cli --raw EVAL "
		local last = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]
		return tostring(redis.call('PEXPIRETIME', KEYS[1]) == tonumber(last)) .. ' ' ..
			tostring(redis.call('PEXPIRETIME', KEYS[2]) == tonumber(last))" 2 job 'fairlock_holders:{job}')" 'true true'
	slots=$(for id in $(cli ZRANGE 'fairlock_holders:{job}' 0 -1); do column "h:$id" mode; done | sed -n '/^=/p' | sort)
	assert_equal "$slots" "$(uniq <<<"$slots")"
}

# write_section: writes the COMMAND `section NUMBER SECONDS x|s|slot` into this folder. It says so in `wrong` if it meets a
# holder that it does not fit beside, and leaves a line `NUMBER MODE TOKEN SLOT` in `trace`. It marks first that it is in,
# and then looks for the others: of two that overlap, one sees the other. `trace.in` is there while a Redisson client
# runs (tests/interop).
write_section() {
	mkdir -p in
	cat >section <<'END'
#!/bin/sh
look() {
	case $2 in
	x) [ "$(ls in)" = "$mark" ] ;;
	s) ! ls in | grep -q -v '^s\.' ;;
	slot) ! ls in | grep -q -v '^slot\.' ;;
	esac && [ ! -e trace.in ] || echo "$1 ($2) meets" $(ls -d in/* trace.in) >>wrong
}
[ "$3" = slot ] && mark=slot.$FAIRLOCK_SLOT || mark=$3.$1
mkdir "in/$mark" || echo "$1: $mark is in already" >>wrong
look "$1" "$3"
echo "$1 $3 $FAIRLOCK_TOKEN $FAIRLOCK_SLOT" >>trace
sleep "$2"
look "$1" "$3"
rmdir "in/$mark"
END
	chmod +x section
}

# nothing_wrong: no section has met another that it does not fit beside
nothing_wrong() { [ ! -s wrong ] || { cat wrong; return 1; }; }

# in_order: the lock was granted in the order of the numbers, under tokens that grow
in_order() {
	local numbers

	numbers=$(sort -n -k 3,3 trace | cut -d ' ' -f 1)
	assert_equal "$numbers" "$(sort -n <<<"$numbers")"
	assert_equal "$(cut -d ' ' -f 3 trace | sort | uniq -d)" ''
}

# all_in_order COUNT PID...: the HOLDER ends; then these wrappers end well, and COUNT sections were right and in order
all_in_order() {
	local pid

	kill -TERM "$HOLDER"
	for pid in "${@:2}"; do ends_with 0 "$pid"; done
	nothing_wrong
	in_order
	assert_equal "$(wc -l <trace)" "$1"
}

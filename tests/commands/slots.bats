#!/usr/bin/env bats
# wrap and acquire --slots: N holders at a time, in order, and each has a slot.

load ../lib/helpers
load ../lib/one_server
load ../lib/holders

# ---- Who gets which slot ----

@test "--slots N lets N hold at a time, the rest wait in order, and each slot is used" {
	local i wrappers=()

	write_section
	hold job
	for i in {1..16}; do
		join_waiters --slots 4 job ./section "$i" 0.05 slot
		wrappers+=("$WAITER")
	done
	all_in_order 16 "${wrappers[@]}"
	assert_equal "$(cut -d ' ' -f 4 trace | sort -u | xargs)" '1 2 3 4'
	nothing_left
}

@test "--slots A,B takes the first free one of these, in this order" {
	# shellcheck disable=SC2016
	local print='echo "$FAIRLOCK_SLOT"'

	join_holders --slots db1,db2 job
	assert_equal "$(slot_held_by "$HOLDER")" db1
	run -0 "$FAIRLOCK" wrap --slots db1,db2 job -c "$print"
	assert_output db2
	run -0 "$FAIRLOCK" wrap --slots db3,db1,db2 job -c "$print"
	assert_output db3
	run -75 "$FAIRLOCK" wrap -n --slots db1 job true
	run -0 "$FAIRLOCK" wrap --slots 'licence-ä/7:x=%n' job -c "$print"
	assert_output 'licence-ä/7:x=%n'
}

@test "the first waiter for whom no slot is free stops the others, also those for another slot" {
	local first

	join_holders --slots a job
	first=$HOLDER
	join_waiters --slots a job sleep 600
	run -75 "$FAIRLOCK" wrap -n --slots b job true
	join_waiters --slots b job sleep 600
	let_go "$first"
	wait_until has_holders 2
	in_queue job 0
}

@test "slots and an exclusive hold exclude each other, in the order in which they asked" {
	local exclusive

	join_holders --slots 2 job
	join_waiters job sh -c 'echo exclusive >>order; sleep 600'
	exclusive=$WAITER
	join_waiters --slots 2 job sh -c 'echo slot >>order'
	run -75 "$FAIRLOCK" wrap -n --slots 2 job true
	let_go "$HOLDER"
	wait_until grep -q exclusive order
	in_queue job 1
	let_go "$exclusive"
	ends_with 0 "$WAITER"
	assert_equal "$(xargs <order)" 'exclusive slot'
	nothing_left
}

@test "when a waiter leaves, those behind it that fit start at once" {
	join_holders --slots 2 job
	join_waiters job true
	join_waiters --slots 2 job touch ran
	"$FAIRLOCK" queue --remove "$(cli ZRANGE 'fairlock_queue:{job}' 0 0)" job
	ends_with 0 "$WAITER"
	[ -e ran ]
	has_holders 1
}

# ---- Another count ----

@test "a slot of another count waits for its turn until all holders are gone, and those behind it wait for it" {
	local first late

	join_holders --slots 3 job
	first=$HOLDER
	join_holders --slots 3 job
	join_waiters --slots 4 job true
	late=$WAITER
	join_waiters --slots 3 job true
	let_go "$first"
	in_queue job 2
	let_go "$HOLDER"
	ends_with 0 "$late"
	ends_with 0 "$WAITER"
	nothing_left
}

# ---- FAIRLOCK_SLOT ----

@test "FAIRLOCK_SLOT is the slot, and it is unset for any other hold, also if it was inherited" {
	# shellcheck disable=SC2016
	local print='echo "${FAIRLOCK_SLOT-unset}"'

	run -0 "$FAIRLOCK" wrap --slots 7 job -c "$print"
	assert_output 1
	FAIRLOCK_SLOT=old run -0 "$FAIRLOCK" wrap --slots x,y job -c "$print"
	assert_output x
	FAIRLOCK_SLOT=old run -0 "$FAIRLOCK" wrap job -c "$print"
	assert_output unset
	FAIRLOCK_SLOT=old run -0 "$FAIRLOCK" wrap --shared job -c "$print"
	assert_output unset
	run -0 "$FAIRLOCK" wrap --slots 7 job "$FAIRLOCK" wrap other -c "$print"
	assert_output unset
}

# ---- Going in again ----

@test "going in again keeps the slot, and adds no holder" {
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap --slots 2 job sh -c '"$FAIRLOCK" wrap --slots 5 job sh -c "echo \$FAIRLOCK_SLOT \$FAIRLOCK_TOKEN"
		echo "$FAIRLOCK_SLOT $FAIRLOCK_TOKEN"; "$FAIRLOCK" acquire --slots 2 job | cut -d " " -f 2; "$FAIRLOCK" release job'
	assert_equal "${lines[0]}" "${lines[1]}"
	assert_equal "${lines[2]}" 1
	nothing_left
}

@test "inside a slot, asking for another slot, for a shared hold or for the lock alone is a mistake in usage, not a deadlock" {
	local option

	for option in '--slots b' '--slots 3' '--shared' ''; do
		# shellcheck disable=SC2086
		run -64 timeout 20 "$FAIRLOCK" wrap --slots a job "$FAIRLOCK" wrap $option job touch ran
		if [[ $option = --slots* ]]; then
			assert_line --index 0 'fairlock: cannot go into lock job: the enclosing hold has slot a, not among --slots'
		else
			assert_line --index 0 'fairlock: cannot go into lock job: the enclosing hold has slot a; use --slots, too'
		fi
	done
	run -64 "$FAIRLOCK" wrap --slots a job "$FAIRLOCK" acquire -nq -E 0 job
	[ ! -e ran ]
	nothing_left
}

@test "inside an exclusive hold, --slots goes in and has no slot" {
	# shellcheck disable=SC2016
	FAIRLOCK_SLOT=old run -0 "$FAIRLOCK" wrap job "$FAIRLOCK" wrap --slots 2 job -c 'echo "${FAIRLOCK_SLOT-unset}"'
	assert_output unset
	run -0 "$FAIRLOCK" wrap job "$FAIRLOCK" acquire --slots 2 job
	assert_output --regexp '^[-0-9a-f]+:[0-9]+$'
}

# ---- acquire, renew, release ----

@test "acquire --slots prints OWNER SLOT, and --json has mode and slot" {
	local owner slot

	read -r owner slot < <("$FAIRLOCK" acquire --slots db1,db2 job)
	assert_equal "$slot" db1
	[ -n "$(ends_of "$owner")" ]
	run -0 "$FAIRLOCK" acquire --json --slots db1,db2 job
	assert_equal "$(jq -r '"\(.mode) \(.slot) \(.name)"' <<<"$output")" 'slots db2 job'
	"$FAIRLOCK" release --owner "$owner" job
	run -0 "$FAIRLOCK" acquire --json other
	assert_equal "$(jq -r '"\(.mode) \(.slot)"' <<<"$output")" 'exclusive null'
}

# ---- Values ----

@test "a wrong value of --slots is a mistake in usage: no count from 1 to 1000, no list of words, a word twice" {
	local value

	for value in 0 -1 03 +3 1.5 1001 99999999999999999999 '' ',' 'a,' ,a a,,b a,a a,b,a 'a b' 1,2 a,12 $'a\tb' $'a\nb' $'a\x7f' \
		$'a\xff' $'a\xe2\x80\xaeb' $'a\xc2\xa0b' ' 3' '3 ' "a,$(printf 'x%064d' 1)" "$(seq -s , -f w%g 1001)"; do
		run -64 "$FAIRLOCK" wrap --slots "$value" job touch ran
		assert_line --index 0 --regexp "^fairlock: cannot use option '--slots': '.*' (has|is) "
		run -64 "$FAIRLOCK" acquire "--slots=$value" job
	done
	[ ! -e ran ]
	run -64 "$FAIRLOCK" wrap job --slots
	assert_equal "$(cli DBSIZE)" 0
}

@test "--slots goes neither with --shared nor into variables and files" {
	run -64 "$FAIRLOCK" wrap --slots 2 --shared job true
	assert_line --index 0 "fairlock: cannot use option '--slots': it does not go with --shared"
	run -64 "$FAIRLOCK" acquire --shared --slots 2 job
	FAIRLOCK_SLOTS=3 FAIRLOCK_SHARED=yes run -0 "$FAIRLOCK" acquire job
	assert_equal "$(key_1_field)" "$output"
	for key in slots shared slot; do
		echo "$key = 2" >conf
		run -78 "$FAIRLOCK" wrap --config conf other true
	done
}

# ---- The other options ----

@test "-n ends with 75 at once when no slot is free, and leaves no trace" {
	join_holders --slots 2 job
	join_holders --slots 2 job
	cli DEL 'fairlock_log:{job}' >/dev/null
	run -75 "$FAIRLOCK" wrap -n --slots 2 job touch ran
	run -75 "$FAIRLOCK" acquire -n --slots 2 job
	run -75 "$FAIRLOCK" wrap -n --shared job touch ran
	[ ! -e ran ]
	assert_equal "$(cli EXISTS 'redisson_lock_queue:{job}' 'redisson_lock_timeout:{job}' 'fairlock_log:{job}')" 0
	run -0 "$FAIRLOCK" wrap -n --slots other job true
}

@test "--min-hold keeps its slot, not those of the others, and not the shared hold of the others" {
	# shellcheck disable=SC2016
	local print='echo "$FAIRLOCK_SLOT"'

	run -0 "$FAIRLOCK" wrap --min-hold 1h --slots 2 job -c "$print"
	assert_output 1
	run -0 "$FAIRLOCK" wrap --slots 2 job -c "$print"
	assert_output 2
	run -75 "$FAIRLOCK" wrap -n --slots 1 job true
	consistent
	run -0 "$FAIRLOCK" wrap --min-hold 1h --shared other true
	run -0 "$FAIRLOCK" wrap -n --shared other true
	run -75 "$FAIRLOCK" wrap -n other true
	run -0 "$FAIRLOCK" release -q --force other
	run -0 "$FAIRLOCK" wrap -n other true
}

# ---- release --force ----

# is_lost PID: this wrap ends with 76, and says that somebody broke its hold
is_lost() {
	ends_with 76 "$1"
	grep -q 'lost lock job: somebody broke it by force' "said.$1"
}

@test "release --force breaks all holds, names each, and each COMMAND is stopped" {
	local first second owners

	for option in '--slots 3' --shared; do
		# shellcheck disable=SC2086
		join_holders $option job
		first=$HOLDER
		# shellcheck disable=SC2086
		join_holders $option job
		second=$HOLDER
		owners=$(cli ZRANGE 'fairlock_holders:{job}' 0 -1 | sort)
		run -0 "$FAIRLOCK" release --force job
		assert_equal "${#lines[@]}" 2
		assert_line --regexp "^lock job was held by sleep 600 \(pid $first, .*\) as .*:$first$"
		assert_line --regexp "^lock job was held by sleep 600 \(pid $second, .*\) as .*:$second$"
		assert_equal "$(grep -o '[^ ]*$' <<<"$output" | sort)" "$owners"
		is_free job
		is_lost "$first"
		is_lost "$second"
	done
	run -0 "$FAIRLOCK" release --force job
	assert_output 'lock job was free'
	nothing_left
}

@test "release --force --slot S breaks the hold that has this slot, and no other" {
	local first

	join_holders --slots red,blue job
	first=$HOLDER
	join_holders --slots red,blue job
	run -0 "$FAIRLOCK" release --force --slot blue job
	assert_output --regexp "^lock job was held by sleep 600 \(pid $HOLDER, .*\) as .*:$HOLDER$"
	is_lost "$HOLDER"
	has_holders 1
	assert_equal "$(slot_held_by "$first")" red
	consistent
	kill -0 "$first"
	[ ! -s "said.$first" ]
}

@test "release --force --owner ID breaks the hold of this owner, of any mode, and no other" {
	local first owner

	join_holders --shared job
	first=$HOLDER
	join_holders --shared job
	owner=$(id_of "$first")
	run -0 "$FAIRLOCK" release --force --owner "$owner" job
	assert_output --regexp " as $owner$"
	is_lost "$first"
	has_holders 1
	consistent
	kill -0 "$HOLDER"
	owner=$("$FAIRLOCK" acquire other)
	run -0 "$FAIRLOCK" release --force --owner "$owner" other
	assert_output --regexp " as $owner$"
	is_free other
}

@test "release --force of a slot or an owner that holds nothing breaks nothing: it was free, status 0" {
	local word

	"$FAIRLOCK" wrap free true
	join_holders --slots 2 job
	for word in '--slot 2' '--slot x' '--owner 1:1'; do
		# shellcheck disable=SC2086
		run -0 "$FAIRLOCK" release --force $word job
		assert_output 'lock job was free'
		# shellcheck disable=SC2086
		run -0 "$FAIRLOCK" release --force $word free
		assert_output 'lock free was free'
	done
	has_holders 1
	hold exclusive
	run -0 "$FAIRLOCK" release --force --slot 1 exclusive
	assert_output 'lock exclusive was free'
	run -0 "$FAIRLOCK" release --force --owner 1:1 exclusive
	assert_output 'lock exclusive was free'
	"$FAIRLOCK" status -q exclusive
}

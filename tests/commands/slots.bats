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

@test "a newcomer gets the first slot that is free" {
	local first second

	join_holders --slots 3 job
	first=$HOLDER
	join_holders --slots 3 job
	second=$HOLDER
	join_holders --slots 3 job
	assert_equal "$(slot_held_by "$first") $(slot_held_by "$second") $(slot_held_by "$HOLDER")" '1 2 3'
	let_go "$second"
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap --slots 3 job sh -c 'echo "$FAIRLOCK_SLOT"'
	assert_output 2
	consistent
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

@test "a lone number is a count, so 1 is the only slot of --slots 1" {
	join_holders --slots 1 job
	assert_equal "$(slot_held_by "$HOLDER")" 1
	run -75 "$FAIRLOCK" wrap -n --slots 1 job true
	run -0 "$FAIRLOCK" wrap -n --slots db1 job true
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

@test "tokens grow with each grant, also of slots that are held at the same time" {
	local last=0 token

	for _ in 1 2 3 4 5; do
		token=$("$FAIRLOCK" acquire --json --slots 5 job | jq .token)
		[ "$token" -gt "$last" ]
		last=$token
	done
	has_holders 5
}

# ---- Another count ----

# write_counted: writes the COMMAND `counted COUNT` into this folder: it notes in `wrong` if another count is in with it, or
# more than COUNT, or its slot is taken; and in `done` that it has ended
write_counted() {
	mkdir -p in
	cat >counted <<'END'
#!/bin/sh
mkdir "in/$FAIRLOCK_SLOT.of.$1" || echo "slot $FAIRLOCK_SLOT of $1 is in already" >>wrong
look() {
	[ -z "$(ls in | grep -v "\.of\.$1\$")" ] && [ "$(ls in | wc -l)" -le "$1" ] || echo "of $1:" $(ls in) >>wrong
}
look "$1"
sleep 0.1
look "$1"
rmdir "in/$FAIRLOCK_SLOT.of.$1"
echo "$1" >>"done"
END
	chmod +x counted
}

@test "a rolling change from 3 slots to 4 loses no job, and holders of both counts never meet" {
	local count pids=() pid

	write_counted
	hold job
	for count in 3 3 3 4 3 4 4 3 4 3 4 4 4 4 4 3; do
		join_waiters --slots "$count" job ./counted "$count"
		pids+=("$WAITER")
	done
	let_go "$HOLDER"
	for pid in "${pids[@]}"; do ends_with 0 "$pid"; done
	nothing_wrong
	assert_equal "$(sort "done" | uniq -c | xargs)" '7 3 9 4'
	nothing_left
}

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

@test "with -n a slot of another count is busy, and the message says why" {
	join_holders --slots 3 job
	for count in 4 2 1; do
		run -75 "$FAIRLOCK" wrap -n --slots "$count" job true
		assert_output 'fairlock: cannot get lock job: all others take one of 3 slots'
	done
	run -75 "$FAIRLOCK" acquire -w 100ms --slots 4 job
	assert_output 'fairlock: cannot get lock job: timed out after 100ms; all others take one of 3 slots'
	background setsid --wait "$FAIRLOCK" wrap --report 1s --slots 4 job true 2>report
	wait_until grep -q '^fairlock: waiting for lock job: place 1 of 1, waited .*, all others take one of 3 slots$' report
	run -75 "$FAIRLOCK" wrap -n --slots 3 job true
	assert_output 'fairlock: cannot get lock job: 1 of 3 slots is held, but others asked first'
}

@test "named slots stand beside slots of any count, and the count stays until the lock is free" {
	local counted

	join_holders --slots db1,db2 job
	join_holders --slots 3 job
	counted=$HOLDER
	run -75 "$FAIRLOCK" wrap -n --slots 4 job true
	join_holders --slots db1,db2 job
	let_go "$counted"
	run -75 "$FAIRLOCK" wrap -n --slots 4 job true
	run -0 "$FAIRLOCK" wrap -n --slots 3 job true
	consistent
}

@test "after a loss of data a holder says its count again" {
	join_holders --slots 3 -l 3s job
	cli FLUSHALL >/dev/null
	wait_until has_holders 1
	run -75 "$FAIRLOCK" wrap -n --slots 4 job true
	assert_output --partial 'all others take one of 3 slots'
	run -0 "$FAIRLOCK" wrap -w 20s --slots 3 job true
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

@test "a waiter that is handed a slot by a message tells it to COMMAND" {
	local first

	join_holders --slots alpha job
	first=$HOLDER
	# shellcheck disable=SC2016
	join_waiters -v --slots alpha job sh -c 'echo "$FAIRLOCK_SLOT" >slot'
	let_go "$first"
	ends_with 0 "$WAITER"
	assert_equal "$(<slot)" alpha
	grep -q 'heard: granted .* alpha$' said
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

@test "two jobs side by side inside one slot exclude each other on the slots of another lock" {
	cat >step <<'END'
mkdir in || echo two >wrong
sleep 0.2
rmdir in
END
	# shellcheck disable=SC2016
	timeout 60 "$FAIRLOCK" wrap --slots 2 A sh -c '"$FAIRLOCK" wrap --slots 1 B sh step & "$FAIRLOCK" wrap --slots 1 B sh step & wait'
	[ ! -e wrong ]
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

@test "acquire --slots --while-pid prints the slot, and its keeper renews its own hold only, and gives it back" {
	local owner slot other process ends

	background sleep 600
	process=$!
	read -r other slot < <("$FAIRLOCK" acquire -l 2m --slots 3 job)
	assert_equal "$slot" 1
	ends=$(ends_of "$other")
	read -r owner slot < <(timeout 20 "$FAIRLOCK" acquire -l 3s --while-pid "$process" --slots 3 job)
	assert_equal "$slot" 2
	wait_until ends_after "$owner" $(($(ends_of "$owner") + 2000))
	assert_equal "$(ends_of "$other")" "$ends"
	consistent
	kill "$process"
	wait_until has_holders 1
	assert_equal "$(ends_of "$other")" "$ends"
}

@test "renew and release act on one of several holds" {
	local one two slot before

	read -r one slot < <("$FAIRLOCK" acquire --slots 2 job)
	read -r two slot < <("$FAIRLOCK" acquire --slots 2 job)
	before=$(ends_of "$two")
	"$FAIRLOCK" renew -l 5m --owner "$one" job
	ends_after "$one" $((before + 60000))
	assert_equal "$(ends_of "$two")" "$before"
	"$FAIRLOCK" renew -l 1s --owner "$one" job
	ends_after "$one" $((before + 60000))
	consistent
	"$FAIRLOCK" release --owner "$one" job
	run -76 "$FAIRLOCK" release --owner "$one" job
	assert_output 'fairlock: cannot release lock job: this owner does not hold it now; see fairlock status'
	run -76 "$FAIRLOCK" renew --owner "$one" job
	has_holders 1
	consistent
	"$FAIRLOCK" release --owner "$two" job
	nothing_left
}

@test "acquire --owner with the owner of a slot adds a hold, and the slot is free after as many releases" {
	local owner slot

	read -r owner slot < <("$FAIRLOCK" acquire --slots 2 job)
	run -0 "$FAIRLOCK" acquire --owner "$owner" --slots 2 job
	assert_output "$owner 1"
	has_holders 1
	"$FAIRLOCK" release --owner "$owner" job
	has_holders 1
	"$FAIRLOCK" release --owner "$owner" job
	is_free job
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

@test "--slots takes up to 1000 slots, of up to 64 bytes each" {
	local word

	word=$(printf 'x%063d' 1)
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap --slots "$word" job -c 'echo "$FAIRLOCK_SLOT"'
	assert_output "$word"
	run -0 "$FAIRLOCK" acquire --slots 'x,s,#3,=y,1a,2.,a,aa,A,ä,€' job
	assert_output --regexp ' x$'
	run -0 "$FAIRLOCK" acquire --slots 1000 job
	assert_output --regexp ' 1$'
	run -0 "$FAIRLOCK" acquire --slots "$(seq -s , -f "x$(printf '%059d' 0)%g" 1001 2000)" job
	assert_output --regexp ' x0+1001$'
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

#!/usr/bin/env bats
# wrap and acquire --slots and --shared: N holders at a time, each with a slot, or any number that share; in order.

load ../lib/helpers
load ../lib/one_server
load ../lib/holders

# writes WORD: a COMMAND that writes WORD into `order`, and holds until it is ended
writes() { echo "echo $1 >>order; exec sleep 600"; }
order_has() { [ "$(wc -l <order)" = "$1" ]; }

# ---- Who may hold ----

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
	local print='echo "$FAIRLOCK_SLOT"' slots got

	join_holders --slots db1,db2 job
	assert_equal "$(slot_held_by "$HOLDER")" db1
	while read -r slots got; do
		run -0 "$FAIRLOCK" wrap --slots "$slots" job -c "$print"
		assert_output "$got"
	done <<-'END'
		db1,db2 db2
		db3,db1,db2 db3
		licence-ä/7:x=%n licence-ä/7:x=%n
	END
	run -75 "$FAIRLOCK" wrap -n --slots db1 job true
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
	join_waiters job sh -c "$(writes exclusive)"
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

@test "shared holds stand beside each other, and an exclusive one waits until the last of them is gone" {
	local first

	join_holders --shared job
	first=$HOLDER
	join_holders --shared job
	consistent
	run -75 "$FAIRLOCK" wrap -n job true
	join_waiters job sh -c "$(writes writer)"
	let_go "$first"
	in_queue job 1
	has_holders 1
	let_go "$HOLDER"
	wait_until grep -q writer order
	in_queue job 0
}

@test "a shared hold waits for an exclusive one, and all that wait start together when that is over" {
	hold job
	for _ in 1 2 3 4 5; do join_waiters --shared job sh -c "$(writes reader)"; done
	run -75 "$FAIRLOCK" wrap -n --shared job true
	kill -TERM "$HOLDER"
	wait_until has_holders 5
	wait_until order_has 5
	in_queue job 0
	consistent
}

@test "when a waiter gives up or is removed, those behind it that fit start at once" {
	local option writer

	for option in --shared '--slots 3'; do
		join_holders $option job
		join_waiters job true
		writer=$WAITER
		join_waiters $option job sh -c "$(writes "$option")"
		join_waiters $option job sh -c "$(writes "$option")"
		if [ "$option" = --shared ]; then
			kill -TERM "$writer"
			ends_with 143 "$writer"
		else
			"$FAIRLOCK" queue --remove "$(cli ZRANGE 'fairlock_queue:{job}' 0 0)" job
			ends_with 75 "$writer"
		fi
		wait_until has_holders 3
		"$FAIRLOCK" release -q --force job
		wait_until is_free job
	done
	wait_until order_has 4
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

@test "--min-hold keeps its slot, not those of the others, and not the shared hold of the others" {
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
}

# ---- FAIRLOCK_SLOT, and going in again ----

@test "FAIRLOCK_SLOT is the slot, and it is unset for any other hold, also if it was inherited" {
	local print='echo "${FAIRLOCK_SLOT-unset}"' words got

	export FAIRLOCK_SLOT=old
	while IFS='|' read -r words got; do
		run -0 "$FAIRLOCK" wrap $words -c "$print"
		assert_output "$got"
	done <<-END
		--slots 7 job|1
		--slots x,y job|x
		job|unset
		--shared job|unset
		--slots 7 job $FAIRLOCK wrap other|unset
		job $FAIRLOCK wrap --slots 2 job|unset
	END
}

@test "going in again keeps the slot or the shared hold, and adds no holder" {
	local option inner

	while read -r option inner; do
		run -0 "$FAIRLOCK" wrap $option job sh -c '
			"$FAIRLOCK" wrap $1 job sh -c "echo \$FAIRLOCK_SLOT \$FAIRLOCK_TOKEN"; echo $FAIRLOCK_SLOT $FAIRLOCK_TOKEN
			"$FAIRLOCK" acquire $1 job; "$FAIRLOCK" release job; echo $FAIRLOCK_OWNER $FAIRLOCK_SLOT' - "$inner"
		assert_equal "${lines[0]}" "${lines[1]}"
		assert_equal "${lines[2]}" "${lines[3]}"
		nothing_left
	done <<-'END'
		--slots=2 --slots=5
		--shared --shared
	END
}

@test "inside a slot or a shared hold, asking for another kind of hold is a mistake in usage, not a deadlock" {
	local outer inner cause

	while IFS='|' read -r outer inner cause; do
		run -64 timeout 20 "$FAIRLOCK" wrap $outer job "$FAIRLOCK" wrap $inner job touch ran
		assert_line --index 0 "fairlock: cannot go into lock job: the enclosing hold $cause"
		run -64 timeout 20 "$FAIRLOCK" wrap $outer job "$FAIRLOCK" acquire -nq -E 0 $inner job
	done <<-'END'
		--slots a|--slots b|has slot a; use --slots with it
		--slots a|--slots 3|has slot a; use --slots with it
		--slots a|--shared|has slot a; use --slots with it
		--slots a||has slot a; use --slots with it
		--shared|--slots b|is shared; use --shared
		--shared|--slots 3|is shared; use --shared
		--shared||is shared; use --shared
	END
	[ ! -e ran ]
	nothing_left
}

# ---- acquire, renew, release ----

@test "acquire prints OWNER SLOT with --slots, else the owner id alone, and --json has mode and slot" {
	local owner slot words kind

	read -r owner slot < <("$FAIRLOCK" acquire --slots db1,db2 job)
	assert_equal "$slot" db1
	[ -n "$(ends_of "$owner")" ]
	while IFS='|' read -r words kind; do
		run -0 "$FAIRLOCK" acquire --json $words
		assert_equal "$(jq -r '"\(.mode) \(.slot)"' <<<"$output")" "$kind"
	done <<-'END'
		--slots db1,db2 job|slots db2
		--shared books|shared null
		other|exclusive null
	END
	run -0 "$FAIRLOCK" acquire --shared books
	assert_output --regexp '^[-0-9a-f]+:[0-9]+$'
	run -0 "$FAIRLOCK" wrap alone "$FAIRLOCK" acquire --slots 2 alone
	assert_output --regexp '^[-0-9a-f]+:[0-9]+$'
}

@test "renew and release act on one of several shared holds" {
	local one two before

	one=$("$FAIRLOCK" acquire --shared job)
	two=$("$FAIRLOCK" acquire --shared job)
	before=$(ends_of "$two")
	"$FAIRLOCK" renew -l 5m --owner "$one" job
	ends_after "$one" $((before + 60000))
	assert_equal "$(ends_of "$two")" "$before"
	consistent
	"$FAIRLOCK" release --owner "$one" job
	run -76 "$FAIRLOCK" renew --owner "$one" job
	has_holders 1
	consistent # both keys live no longer than the lease that is left
	"$FAIRLOCK" release --owner "$two" job
	nothing_left
}

# is_lost PID: this wrap ends with 76, and says that somebody broke its hold
is_lost() {
	ends_with 76 "$1"
	grep -q 'lost lock job: somebody broke it by force' "said.$1"
}

@test "release --force breaks all holds, names each, and each COMMAND is stopped" {
	local option first second

	for option in '--slots 3' --shared; do
		join_holders $option job
		first=$HOLDER
		join_holders $option job
		second=$HOLDER
		run -0 "$FAIRLOCK" release --force job
		assert_equal "${#lines[@]}" 2
		assert_line --regexp "^lock job was held by sleep 600 \(pid $first, .*\) as [0-9a-f-]{36}:$first$"
		assert_line --regexp "^lock job was held by sleep 600 \(pid $second, .*\) as [0-9a-f-]{36}:$second$"
		is_free job
		is_lost "$first"
		is_lost "$second"
	done
	nothing_left
}

@test "release --force with --slot or --owner breaks this hold and no other, and what holds nothing was free" {
	local first words

	join_holders --slots red,blue job
	first=$HOLDER
	join_holders --slots red,blue job
	run -0 "$FAIRLOCK" release --force --slot blue job
	assert_output --regexp "^lock job was held by sleep 600 \(pid $HOLDER, .*\) as .*:$HOLDER$"
	is_lost "$HOLDER"
	hold exclusive
	for words in '--slot blue job' '--slot x job' '--owner 1:1 job' '--slot 1 exclusive' '--owner 1:1 exclusive'; do
		run -0 "$FAIRLOCK" release --force $words
		assert_output "lock ${words##* } was free"
	done
	assert_equal "$(slot_held_by "$first")" red
	consistent
	[ ! -s "said.$first" ]
	"$FAIRLOCK" status -q exclusive
	run -0 "$FAIRLOCK" release --force --owner "$(id_of "$first")" job
	is_lost "$first"
	run -0 "$FAIRLOCK" release --force --owner "$(cli HKEYS exclusive)" exclusive
	assert_output --partial 'lock exclusive was held by sleep 600'
	is_free exclusive
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
	assert_equal "$(cli DBSIZE)" 0
}

@test "-n leaves no trace when no slot is free" {
	join_holders --slots 2 job
	join_holders --slots 2 job
	cli DEL 'fairlock_log:{job}' >/dev/null
	for kind in '--slots 2' --shared; do run -75 "$FAIRLOCK" wrap -n $kind job true; done
	assert_equal "$(cli EXISTS 'redisson_lock_queue:{job}' 'redisson_lock_timeout:{job}' 'fairlock_log:{job}')" 0
}

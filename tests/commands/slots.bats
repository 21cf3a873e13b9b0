# wrap and acquire --slots and --shared: N holders at a time, each with a slot, or any number that share; in order.

load ../lib/one_server
load ../lib/holders

# ---- Who may hold ----

@test "--slots N lets N hold at a time, the rest wait in order, and each slot is used" {
	local i wrappers=()

	write_section
	hold job
	for i in {1..16}; do
		join_queue --slots 4 job ./section "$i" 0.05 slot
		wrappers+=("$WAITER")
	done
	all_in_order 16 "${wrappers[@]}"
	assert_equal "$(cut -d ' ' -f 4 trace | sort -u | xargs)" '1 2 3 4'
	nothing_left
}

@test "shared holds stand beside each other, and an exclusive one waits until the last of them is gone" {
	join_two --shared job
	consistent
	run -75 "$FAIRLOCK" wrap -n job true
	join_queue job touch written
	let_go "$FIRST"
	in_queue job 1
	has_holders 1
	let_go "$HOLDER"
	ends_with 0 "$WAITER"
	[ -e written ]
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
		--slots licence-ä/7:x=%n,y job|licence-ä/7:x=%n
		job|unset
		--shared job|unset
		--slots 7 job $FAIRLOCK wrap other|unset
		job $FAIRLOCK wrap --slots 2 job|unset
		--slots=2 job $FAIRLOCK wrap --slots=5 job|1
		--shared job $FAIRLOCK wrap --shared job|unset
	END
	run -0 "$FAIRLOCK" wrap --slots 2 job -c '"$FAIRLOCK" acquire --slots 5 job && "$FAIRLOCK" release job && echo "$FAIRLOCK_OWNER $FAIRLOCK_SLOT"'
	assert_equal "${lines[0]}" "${lines[1]}"
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
	"$FAIRLOCK" renew -l 5m --owner "$owner" job
	ends_after "$owner" $(($(now_ms) + 60000))
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

# is_lost PID: this wrap ends with 76, and says that somebody broke its hold
is_lost() {
	ends_with 76 "$1"
	grep -q 'lost lock job: somebody broke it by force' "said.$1"
}

@test "release --force breaks all holds, names each, and each COMMAND is stopped" {
	local option second

	for option in '--slots 3' --shared; do
		join_two $option job
		second=$HOLDER
		run -0 "$FAIRLOCK" release --force job
		assert_equal "${#lines[@]}" 2
		assert_line --regexp "^lock job was held by sleep 600 \(pid $FIRST, .*\) as [0-9a-f-]{36}:$FIRST$"
		assert_line --regexp "^lock job was held by sleep 600 \(pid $second, .*\) as [0-9a-f-]{36}:$second$"
		is_free job
		is_lost "$FIRST"
		is_lost "$second"
	done
	nothing_left
}

@test "release --force with --slot or --owner breaks this hold and no other, and says if there is none" {
	local words

	join_two --slots red,blue job
	run -0 "$FAIRLOCK" release --force --slot blue job
	assert_output --regexp "^lock job was held by sleep 600 \(pid $HOLDER, .*\) as .*:$HOLDER$"
	is_lost "$HOLDER"
	hold exclusive
	for words in '--slot blue job' '--slot x job' '--owner 00000000-0000-4000-8000-000000000000:1 job' '--slot 1 exclusive' '--owner 00000000-0000-4000-8000-000000000000:1 exclusive'; do
		run -0 "$FAIRLOCK" release --force $words
		assert_output "lock ${words##* } has no such hold"
	done
	assert_equal "$(slot_held_by "$FIRST")" red
	consistent
	[ ! -s "said.$FIRST" ]
	"$FAIRLOCK" status -q exclusive
	run -0 "$FAIRLOCK" release --force --owner "$(id_of "$FIRST")" job
	is_lost "$FIRST"
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
	join_two --slots 2 job
	cli DEL 'fairlock_log:{job}' >/dev/null
	for kind in '--slots 2' --shared ''; do run -75 "$FAIRLOCK" wrap -n $kind job true; done
	assert_equal "$(cli EXISTS 'redisson_lock_queue:{job}' 'redisson_lock_timeout:{job}' 'fairlock_log:{job}')" 0
}

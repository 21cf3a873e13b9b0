#!/usr/bin/env bats
# release --force of a lock with several holders: all of them, or one that is named.

load ../lib/helpers
load ../lib/one_server
load ../lib/holders

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

@test "--slot needs --force, goes not with --owner, and takes a word that can be a slot" {
	run -64 "$FAIRLOCK" release --slot 1 job
	assert_line --index 0 "fairlock: cannot use option '--slot': it needs --stop or --force, too"
	run -64 "$FAIRLOCK" release --force --slot 1 --owner 1:1 job
	run -64 "$FAIRLOCK" release --force --slot '' job
	run -64 "$FAIRLOCK" release --force --slot "$(printf 'x%064d' 1)" job
	run -64 "$FAIRLOCK" release --force --slot 03 job
	run -64 "$FAIRLOCK" release --force --slot 'a b' job
	run -64 "$FAIRLOCK" release --force --slot a,b job
	assert_line --index 0 "fairlock: cannot use option '--slot': 'a,b' is not one slot"
}

#!/usr/bin/env bats
# The token of a hold that is taken up after a loss of data: a new one if COMMAND has not begun, else that of COMMAND.

load ../lib/helpers
load ../lib/scripts

# grown_token: anna, a wrap whose COMMAND has not begun, was answered a newer token than it had,
grown_token() {
	answered renewed 30000
	assert_equal "${reply[3]}" "$1"
	[ "${reply[2]}" -gt "${token[anna]}" ]
}

@test "a hold whose COMMAND has not begun is taken up under a new token, also by a renewal that says that it begins" {
	local how

	for how in kind=v 'kind=w start=1'; do
		granted_to_anna kind=v
		cli FLUSHALL
		# shellcheck disable=SC2086
		renew anna $how
		grown_token 1
		assert_equal "$(owner)" anna
		# shellcheck disable=SC2086
		renew anna $how
		grown_token 0
		cli FLUSHALL
	done
}

@test "such a hold has a newer token than all that held the lock since the loss of data, also after a second one" {
	local mode

	for mode in x =1; do
		granted_to_anna kind=v want="${mode/=1/#2}"
		cli FLUSHALL
		acquire ben want="${mode/=1/#2}"
		later 10
		release ben want="${mode/=1/#2}"
		[ "$mode" = =1 ] || cli FLUSHALL # of an exclusive hold it is lost, else
		renew anna kind=v hold_mode="$mode"
		grown_token 1
		[ "${reply[2]}" -gt "${token[ben]}" ]
		cli FLUSHALL
	done
}

@test "a hold whose COMMAND has not begun keeps its new token if the server goes back to an old copy of the data" {
	granted_to_anna kind=v
	copy_data
	lose_data
	renew anna kind=v
	grown_token 1
	token[anna]=${reply[2]}
	old_data
	renew anna kind=v is="renewed 30000 ${token[anna]} 0"
}

@test "a process that goes into the hold of a running COMMAND changes no token" {
	granted_to_anna
	acquire inner inherited=anna kind=v
	cli FLUSHALL
	renew anna request=inner kind=v is="renewed 30000 ${token[anna]} 1"
	renew anna is="renewed 30000 ${token[anna]} 1"
}

@test "a hold that was taken up under a new token, and broken, is not taken up under the old one" {
	granted_to_anna kind=v want='#2'
	cli FLUSHALL
	renew anna kind=v hold_mode='=1'
	grown_token 1
	release x mode=force request=breaker want='#2' is=forced
	renew anna kind=v hold_mode='=1' is='lost forced'
}

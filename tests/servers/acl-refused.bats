#!/usr/bin/env bats
# Users of the server that lack one permission: what they lack is named, and no hold stays behind.

load ../lib/helpers
load ../lib/permissions

# only_without COMMAND: the user backup may do everything but this
only_without() { permit backup on '>SECRET' '~*' '&*' +@all "-${1/info|server/info}"; } # INFO has no subcommands

# never_left NAME: there is no lock, or one that has a time to live
never_left() { [ "$(cli PTTL "$1")" != -1 ]; }

@test "a user that lacks one command, and may do all else, leaves no hold behind, and doctor names the command" {
	local command words

	start_on system
	mapfile -t words < <(rule backup | sed -n 's/^+//p')
	[ "${#words[@]}" -gt 30 ] || fail 'there is no rule for backup'
	become backup
	for command in "${words[@]}"; do
		only_without "$command"
		cli FLUSHALL >/dev/null
		cli SCRIPT FLUSH >/dev/null
		run timeout 20 "$FAIRLOCK" wrap job true
		[ "$status" = 0 ] || [ "$status" = 77 ] || fail "without $command, wrap ends with $status: $output"
		[ "$(cli EXISTS job)" = 0 ] || fail "without $command, wrap leaves its hold"
		FAIRLOCK_URL=unix:$SERVER_SOCKET "$FAIRLOCK" acquire job >/dev/null
		run timeout 20 "$FAIRLOCK" release --force job
		[ "$status" = 0 ] || [ "$status" = 77 ] || fail "without $command, release ends with $status: $output"
		never_left job || fail "without $command, release leaves a lock without a time to live"
		run -2 "$FAIRLOCK" doctor job
		assert_line --regexp "error +permissions +user backup lacks \+$(sed 's/[|]/\\|/' <<<"$command")\$| for lock job\$"
	done
}

# What each grant and release needs is asked before anything is changed.
@test "a user that lacks what each grant and release needs, or the channels, is refused before a grant" {
	local command

	start_on system
	become backup
	for command in pexpire del hset hdel publish subscribe; do
		only_without "$command"
		run -77 timeout 20 "$FAIRLOCK" wrap job true
		named "+$command" || fail "without $command: $output"
		[ "$(cli EXISTS job 'fairlock_log:{job}')" = 0 ] || fail "without $command, a grant was made"
		[ "$(cli HEXISTS 'fairlock:{job}' n:granted)" = 0 ] || fail "without $command, a grant was counted"
	done
	permit backup on '>SECRET' '~*' resetchannels +@all
	run -77 timeout 20 "$FAIRLOCK" wrap job true
	assert_output --partial 'it denies channel redisson_lock__channel:{job}:'
	[ "$(cli EXISTS job 'fairlock_log:{job}')" = 0 ]
	[ "$(cli HEXISTS 'fairlock:{job}' n:granted)" = 0 ]
	run -2 "$FAIRLOCK" doctor job
	assert_output --partial 'lacks &redisson_lock__channel:{job}*'
}

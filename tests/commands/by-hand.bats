#!/usr/bin/env bats
# Locks by hand: acquire without --while-pid, with leases of up to 30 days, and how others see such a hold.
load ../lib/helpers
load ../lib/one_server

# me: prints the user and the host, as messages show them
me() { echo "$(id -un)@$(uname -n)"; }

DAY=86400000

# ends_at NAME: prints when the lease ends, in seconds since the epoch
ends_at() { echo $((($(now_ms) + $(cli PTTL "$1")) / 1000)); }

# until_when NAME: succeeds if the message in $output has the time at which the lease ends, as 14:00 or Nov 21 14:00
until_when() {
	local at

	for at in "$(ends_at "$1")" $(($(ends_at "$1") + 1)) $(($(ends_at "$1") - 1)); do
		if [ "$(date -d "@$at" +%F)" = "$(date +%F)" ]; then
			[[ $output != *"until $(date -d "@$at" +%H:%M)"[!:]* ]] || return 0
		else
			[[ $output != *"until $(LC_ALL=C date -d "@$at" '+%b %e %H:%M')"[!:]* ]] || return 0
		fi
	done
	fail "wrong time: $output"
}

# ---- Leases ----

@test "acquire by hand takes a lease of up to 30d, and with --while-pid of up to 1d" {
	"$FAIRLOCK" acquire -l 30d job
	[ "$(cli PTTL job)" -gt $((29 * DAY)) ]
	# our own keys outlive it
	[ "$(cli PTTL 'fairlock:{job}')" -gt $((30 * DAY + DAY / 2)) ]
	run -64 "$FAIRLOCK" acquire -l 31d other
	assert_line --index 0 "fairlock: cannot use option '--lease': '31d' is not a duration from 1s to 30d"
	run -64 "$FAIRLOCK" acquire -l 25h --while-pid $$ other
	assert_line --index 0 "fairlock: cannot use option '--lease': it is at most 1d with --while-pid"
	"$FAIRLOCK" acquire -l 1d --while-pid $$ other
	run -64 "$FAIRLOCK" wrap -l 25h other true
	assert_line --index 0 "fairlock: cannot use option '--lease': '25h' is not a duration from 1s to 1d"
}

@test "renew gives a hold by hand a lease of up to 30d, again and again, and our keys outlive it" {
	local owner

	owner=$("$FAIRLOCK" acquire job)
	"$FAIRLOCK" renew -l 30d --owner "$owner" job
	[ "$(cli PTTL job)" -gt $((29 * DAY)) ]
	[ "$(cli PTTL 'fairlock:{job}')" -gt $((30 * DAY + DAY / 2)) ]
	run -64 "$FAIRLOCK" renew -l 31d --owner "$owner" job
	assert_line --index 0 "fairlock: cannot use option '--lease': '31d' is not a duration from 1s to 30d"
	"$FAIRLOCK" release --owner "$owner" job
	owner=$("$FAIRLOCK" acquire -l 20d job)
	cli PEXPIRE job 1000 >/dev/null
	"$FAIRLOCK" renew --owner "$owner" job # with the lease that acquire took
	[ "$(cli PTTL job)" -gt $((19 * DAY)) ]
}

# ---- What others see ----

@test "the message of a busy lock says until when who holds it by hand, and why" {
	"$FAIRLOCK" acquire -l 2h --reason 'postgres 17 upgrade' job
	run -75 "$FAIRLOCK" wrap -n job true
	assert_output --regexp "^fairlock: cannot get lock job: held by hand until .*[0-9]:[0-9]{2}, $(me): postgres 17 upgrade\$"
	until_when job
	run -75 "$FAIRLOCK" acquire -w 100ms job
	assert_output --regexp "^fairlock: cannot get lock job: .*; held by hand until .*[0-9]:[0-9]{2}, $(me): postgres 17 upgrade\$"
}

@test "in a script, release and renew without an owner change nothing, and the message has the command with the id" {
	local owner name verb

	for name in job "it's" -n "$(printf '%040d' 7)"; do
		owner=$("$FAIRLOCK" acquire -l 10s -- "$name")
		for verb in release renew; do
			run -64 "$FAIRLOCK" "$verb" -- "$name" </dev/null
			[ "${#lines[0]}" -le 160 ] || fail "${#lines[0]}: ${lines[0]}"
			[[ ${lines[0]} = "fairlock: cannot $verb without an owner: fairlock $verb --owner $owner "* ]] || fail "$output"
		done
		[ "$(cli PTTL "$name")" -le 10000 ]
		ln -sf "$FAIRLOCK" fairlock
		PATH=$PWD:$PATH bash -c "${lines[0]#*owner: }"
		"$FAIRLOCK" release --owner "$owner" -- "$name"
		is_free "$name"
	done
}

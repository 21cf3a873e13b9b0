#!/usr/bin/env bats
# The recipes of the README, word for word. Those of man/examples have tests in tests/recipes.

load ../lib/helpers
load ../lib/one_server
load ../lib/recipes

@test "the recipe for a job on many hosts runs it once, and passes over a host that does not have it" {
	run -127 cron "$(recipe nightly)" # on a host without the program
	program report "echo ran >>'$PWD/ran'"
	for _ in 1 2 3; do
		run -0 cron "$(recipe nightly)"
		refute_output
	done
	[ "$(wc -l <ran)" = 1 ]
}

@test "the recipe for one running and one waiting job ends a third one silently" {
	local pids=()

	program sync-shop "echo ran >>'$PWD/ran'; until test -e '$PWD/go'; do sleep 0.05; done"
	as_cron background "$(recipe sync)" >said 2>&1
	pids+=($!)
	wait_until test -s ran
	as_cron background "$(recipe sync)" >>said 2>&1
	pids+=($!)
	wait_until in_queue sync 1
	run -0 cron "$(recipe sync)"
	refute_output
	touch go
	ends_with 0 "${pids[0]}"
	ends_with 0 "${pids[1]}"
	[ "$(wc -l <ran)" = 2 ]
	[ ! -s said ]
}

@test "the recipe with --max-hold stops a job that hangs, and says why" {
	local line

	program import 'exec sleep 600'
	line=$(recipe import)
	[[ $line = *'--max-hold 2h --jitter 20s '* ]]
	line=${line/2h/200ms}
	run -124 cron "${line/20s/20ms}"
	assert_output "fairlock: lock import was held for 200ms, as long as --max-hold allows; stopping $PWD/bin/import"
}

@test "the recipe for a migration runs it once, and all pods go on when it has succeeded" {
	local pids=()

	printf '#!/bin/sh\necho ran >>ran\nsleep 0.5\ntouch migrated\n' >migrate
	printf '#!/bin/sh\ntest -e migrated && echo serves >>served\n' >serve
	chmod +x migrate serve
	for _ in 1 2 3 4; do
		as_cron background "VERSION=7; $(code 'A migration at each start')"
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		ends_with 0 "$pid"
	done
	assert_equal "$(wc -l <ran) $(wc -l <served)" '1 4'
	run -0 "$FAIRLOCK" release --forget-run migrate-7
}

@test "the recipe for a deploy script has the deploy stopped, and waits for its end" {
	local job

	printf '#!/bin/sh\ntrap "sleep 0.5; touch ended; exit" TERM\ntouch runs; while :; do sleep 0.05; done\n' >deploy.sh
	chmod +x deploy.sh
	as_cron background "$(code 'A deploy script' | head -n 1)" 2>said
	job=$!
	wait_until test -e runs
	run -0 cron "$(code 'A deploy script' | tail -n 1)"
	assert_output --partial 'lock deploy was held by ./deploy.sh production'
	[ -e ended ]
	ends_with 124 "$job"
}

# wait_for_go: the text of a program that writes a line with its arguments, and ends when there is a file `go`
wait_for_go() {
	echo "echo \"\$@\" >>'$PWD/ran'; until test -e '$PWD/go'; do sleep 0.05; done"
}

has_lines() { [ "$(wc -l <"$2")" = "$1" ]; }

@test "the recipe for three at a time runs three builds beside each other, and then the fourth" {
	local pids=()

	program make "$(wait_for_go)"
	for _ in 1 2 3 4; do
		as_cron background "$(code 'Three at a time' | head -n 1)"
		pids+=($!)
	done
	wait_until in_queue build 1
	wait_until has_lines 3 ran
	touch go
	for pid in "${pids[@]}"; do
		ends_with 0 "$pid"
	done
	has_lines 4 ran
	is_free build
}

@test "the recipe by hand keeps deploys out, says until when and why, and goes back by the owner id" {
	local owner

	code 'By hand.' >script
	owner=$(PATH=$PWD/bin:$PATH sh script)
	run -75 bin/fairlock wrap -n deploy true
	assert_output --regexp "^fairlock: cannot get lock deploy: held by hand until .*, $(id -un)@$(uname -n): postgres 17 upgrade\$"
	bin/fairlock release --owner "$owner" deploy
	bin/fairlock wrap -n deploy true
}

#!/usr/bin/env bats
# The first screen of the README, its table "From flock", its links and its length.

load ../lib/helpers
load ../lib/one_server
load ../lib/recipes

# first_command WORD: prints the command on the first screen whose comment begins so
first_command() {
	sed -n "/^## /q; s/^\(fairlock .*[^ ]\)  *# $1: .*/\1/p" "$README"
}

@test "the README's first screen runs deploys in the order in which they were started" {
	printf '#!/bin/sh\necho "$1" >>deployed; until [ -e go ]; do sleep 0.05; done\n' >deploy.sh
	chmod +x deploy.sh
	line=$(first_command deploy)
	as_cron background "${line/production/one}"
	wait_until test -s deployed
	as_cron background "${line/production/two}"
	wait_until in_queue deploy 1
	as_cron background "${line/production/three}"
	wait_until in_queue deploy 2
	touch go
	all() { [ "$(wc -l <deployed)" = 3 ]; }
	wait_until all
	assert_equal "$(<deployed)" $'one\ntwo\nthree'
}

# from_flock: prints the rows of the table, a tab between the two commands, with our lock and command
from_flock() {
	sed -n '/^## From flock/,/^## Recipes/s/^| `\(flock .*\)` | `\(fairlock .*\)` |$/\1\t\2/p' "$README" |
		sed "s,/tmp/x,$PWD/x,; s, cmd, echo ran,g; s,-c 'one; two',-c 'echo one; echo two',g"
}

@test "each fairlock command of the table From flock prints the same as its flock command if the lock is free" {
	local theirs ours

	[ "$(from_flock | wc -l)" = 5 ]
	while IFS=$'\t' read -r theirs ours; do
		run -0 cron "$theirs"
		expected=$output
		[[ $expected = ran || $expected = $'one\ntwo' ]] || fail "$theirs: $expected"
		run -0 cron "$ours"
		assert_output "$expected"
	done < <(from_flock)
}

@test "each command of the table From flock ends with the status that the README says if the lock is busy" {
	local theirs ours status

	hold x
	background flock --no-fork x sleep 600
	taken() { ! flock -n x true; }
	wait_until taken
	while IFS=$'\t' read -r theirs ours; do
		[[ $theirs = *' -n '* || $theirs = *' -w 10 '* ]] || continue
		status=1
		[[ $theirs != *' -E 75 '* ]] || status=75
		run -$status cron "${theirs/-w 10/-w 0.1}"
		refute_output
		run -75 cron "${ours/-w 10/-w 0.1}"
		assert_output --partial 'fairlock: cannot get lock x: '
	done < <(from_flock)
}

@test "the shell lines of the table From flock keep the lock until the shell ends" {
	local theirs ours

	IFS=$'\t' read -r theirs ours < <(sed -n 's/^| `\(exec 9.*\)` | `\(owner=.*\)` |$/\1\t\2/p' "$README")
	run -0 cron "${theirs/\/tmp/$PWD}; flock -n '$PWD/x' true || echo taken"
	assert_output taken
	run -0 cron "$ours; fairlock wrap -nq x true || echo taken"
	assert_output taken
	wait_until is_free x
}

@test "the README has 150 lines at most, its first screen 40, and its numbers are those of RESULTS.md" {
	[ "$(sed '/^## /Q' "$README" | wc -l)" -le 40 ]
	[ "$(wc -l <"$README")" -le 150 ]
	numbers=$(sed -nE 's/^\*\*Speed\*\*: .* takes ([0-9.]+) ms .* ([0-9.]+) ms with flock\..*/\1 \2/p' "$README")
	[ -n "$numbers" ]
	assert_equal "$numbers" "$(for tool in fairlock flock; do
		sed -nE "s/^\| $tool \| ([0-9.]+) \|.*/\1/p" "$TESTS_DIR/bench/RESULTS.md" | head -n 1 # of the first table
	done | paste -sd ' ')"
}

@test "the README's links lead to files and headings that exist" {
	local link file

	for link in $(grep -oE '\]\([^)]+\)' "$README" | tr -d '])(' | sort -u); do
		file=${link%%#*}
		file=$TESTS_DIR/../${file:-README.md}
		[ -e "$file" ] || fail "there is no $link"
		[[ $link != *'#'* ]] || sed -n 's/^## //p' "$file" | tr 'A-Z ' 'a-z-' | grep -qx -e "${link##*#}" || fail "there is no $link"
	done
}

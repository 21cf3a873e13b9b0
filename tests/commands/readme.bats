# The README: its first screen, its table "From flock" and its recipes, word for word, its links and its length. The recipes of
# man/examples have tests in tests/recipes.

load ../lib/recipes

# first_command WORD: prints the command on the first screen whose comment begins so
first_command() { sed -n "/^## /q; s/^\(fairlock .*[^ ]\)  *# $1: .*/\1/p" "$README"; }

@test "the README's first screen runs deploys in the order in which they were started" {
	in_folder deploy.sh 'echo "$1" >>deployed; until [ -e go ]; do sleep 0.05; done'
	line=$(first_command deploy)
	as_cron background "${line/production/one}"
	wait_until test -s deployed
	as_cron background "${line/production/two}"
	wait_until in_queue deploy 1
	as_cron background "${line/production/three}"
	wait_until in_queue deploy 2
	touch go
	wait_until has_lines 3 deployed
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

	in_folder migrate 'echo ran >>ran; sleep 0.5; touch migrated'
	in_folder serve 'test -e migrated && echo serves >>served'
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

	in_folder deploy.sh 'trap "sleep 0.5; touch ended; exit" TERM; touch runs; while :; do sleep 0.05; done'
	as_cron background "$(code 'A deploy script' | head -n 1)" 2>said
	job=$!
	wait_until test -e runs
	run -0 cron "$(code 'A deploy script' | tail -n 1)"
	assert_output --partial 'lock deploy was held by ./deploy.sh production'
	[ -e ended ]
	ends_with 124 "$job"
}

@test "the recipe for three at a time runs three builds beside each other, and then the fourth" {
	local pids=()

	program make "echo ran >>'$PWD/ran'; until test -e '$PWD/go'; do sleep 0.05; done"
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
	local owner by

	code 'By hand.' >script
	owner=$(PATH=$PWD/bin:$PATH sh script)
	by=$(LC_ALL=C date -d "$(lock deploy .until | jq -r .)" '+([A-Z][a-z]{2} .. )?%H:%M')
	by="held by hand until $by, $(id -un)@$(uname -n): postgres 17 upgrade"
	run -75 bin/fairlock wrap -n deploy true
	assert_output --regexp "^fairlock: cannot get lock deploy: $by\$"
	run -75 bin/fairlock acquire -w 100ms deploy
	assert_output --regexp "^fairlock: cannot get lock deploy: .*; $by\$"
	bin/fairlock release --owner "$owner" deploy
	bin/fairlock wrap -n deploy true
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

#!/usr/bin/env bats
# The permissions that users of the server need: those that `fairlock doctor --acl` prints
# are enough, and each word of them is needed. On the system's server and on those of .ci/servers.

load ../lib/helpers
load ../lib/permissions

# The rule for users that lock has one part for names like the second.
NAMES=(backup-db 'backup-{db}1')

waiting() {
	[ "$(cli ZCARD "${1/redisson_lock_queue/fairlock_queue}")" = "$2" ]
}

# use_all NAME QUEUE: every command does its work on the lock NAME, whose queue is QUEUE.
use_all() {
	local name=$1 queue=$2 owner waiter other

	"$FAIRLOCK" wrap "$name" "$FAIRLOCK" wrap "$name" true
	"$FAIRLOCK" wrap --also "$name-2" "$name" "$FAIRLOCK" wrap "$name-2" true
	owner=$("$FAIRLOCK" acquire --lease 1m "$name")
	"$FAIRLOCK" renew --owner "$owner" "$name"
	run -75 "$FAIRLOCK" wrap -n "$name" true
	background "$FAIRLOCK" wrap "$name" true
	waiter=$!
	wait_until waiting "$queue" 1
	background "$FAIRLOCK" acquire --while-pid $$ "$name" >/dev/null
	other=$!
	wait_until waiting "$queue" 2
	"$FAIRLOCK" status "$name"
	"$FAIRLOCK" log --plot "$name"
	run -0 "$FAIRLOCK" queue --raw --noheadings -o OWNER "$name"
	assert_equal "${#lines[@]}" 2
	"$FAIRLOCK" queue --remove "${lines[1]}" "$name"
	run -76 "$FAIRLOCK" queue --remove "${owner%:*}:1" "$name"
	ends_with 75 "$other"
	run -0 "$FAIRLOCK" release --owner "$owner" "$name"
	ends_with 0 "$waiter"
	"$FAIRLOCK" acquire "$name"
	"$FAIRLOCK" release --force "$name"
	background "$FAIRLOCK" wrap -l 1h "$name" sleep 600
	waiter=$!
	wait_until "$FAIRLOCK" status -q "$name"
	"$FAIRLOCK" release --stop --wait 5s "$name" # it is told, or would not hear of the end
	ends_with 124 "$waiter"
	run -1 "$FAIRLOCK" status -q "$name"
}

# use_slots NAME QUEUE: the same with slots and shared holds.
use_slots() {
	local name=$1 queue=$2 owner waiter slot

	read -r owner slot < <("$FAIRLOCK" acquire --slots 2 --lease 1m "$name")
	"$FAIRLOCK" wrap --slots 2 --min-hold 10s "$name" true
	background "$FAIRLOCK" wrap --slots 2 "$name" true
	waiter=$!
	wait_until waiting "$queue" 1
	"$FAIRLOCK" renew --owner "$owner" "$name"
	"$FAIRLOCK" status "$name"
	"$FAIRLOCK" queue "$name"
	"$FAIRLOCK" log --plot "$name"
	"$FAIRLOCK" release --owner "$owner" "$name"
	ends_with 0 "$waiter"
	"$FAIRLOCK" release --force --slot 2 "$name"
	"$FAIRLOCK" wrap --shared "$name" "$FAIRLOCK" wrap --shared "$name" true
	"$FAIRLOCK" acquire --shared --lease 1m "$name"
	"$FAIRLOCK" acquire --shared --lease 1s "$name"
	wait_until holders_are 1 "$name"
	background "$FAIRLOCK" wrap -l 1h --shared "$name" sleep 600
	waiter=$!
	wait_until holders_are 2 "$name"
	run -75 "$FAIRLOCK" release --stop "$name"
	ends_with 124 "$waiter"
	"$FAIRLOCK" release --force "$name"
	run -1 "$FAIRLOCK" status -q "$name"
}

# holders_are COUNT NAME: so many hold the lock
holders_are() { [ "$("$FAIRLOCK" status --raw --noheadings -o HOLDS "$2" | wc -l)" = "$1" ]; }

@test "a user that locks names under a prefix may use every command on them, and no other name" {
	local name queue

	start_on system
	permit_as_told backup
	become backup
	for name in "${NAMES[@]}"; do
		[[ $name = *{* ]] && queue=$name || queue="{$name}"
		queue=redisson_lock_queue:$queue
		use_all "$name" "$queue"
		use_slots "$name" "$queue"
	done
	nothing_was_denied
	run -77 "$FAIRLOCK" wrap other true
	run -77 "$FAIRLOCK" wrap 'fairlock' true
	[ "$(cli EXISTS other fairlock)" = 0 ]
}

# All that the server keeps, without times to live.
contents() {
	local key

	for key in $(cli --raw KEYS '*' | sort); do
		echo "$key $(cli DUMP "$key")"
	done
}

# changes_nothing USER OWNER: neither a command of fairlock nor a script of USER changes anything
changes_nothing() {
	local before command

	before=$(contents)
	for command in wrap 'wrap -n' acquire 'release --force' "release --owner $2" "renew --owner $2" \
		"queue --remove $2"; do
		# shellcheck disable=SC2086
		run -77 timeout 20 "$FAIRLOCK" $command backup-db $([[ $command != wrap* ]] || echo true)
		assert_output --partial 'this user may not run'
	done
	run cli --user "$1" --pass SECRET --no-auth-warning EVAL "redis.call('DEL', KEYS[1])" 1 backup-db
	assert_output --regexp "can't run this command|no permissions to run the 'del' command"
	assert_equal "$(contents)" "$before"
}

@test "a user that only looks sees holder and waiters, and can change nothing" {
	local owner user

	start_on system
	permit_as_told watcher
	permit_as_told monitor
	owner=$("$FAIRLOCK" acquire --lease 1m backup-db)
	background "$FAIRLOCK" wrap backup-db true
	wait_until in_queue backup-db 1
	background "$FAIRLOCK" wrap other sleep 100
	wait_until "$FAIRLOCK" status -q other
	for user in watcher monitor; do
		become "$user"
		run -0 "$FAIRLOCK" status --raw --noheadings -o OWNER,WAITERS backup-db
		assert_output "$owner 1"
		run -0 "$FAIRLOCK" status --prometheus backup-db
		assert_line 'fairlock_grants_total{lock="backup-db"} 1'
		run -0 "$FAIRLOCK" queue --raw --noheadings -o PRESENT backup-db
		assert_output yes
		changes_nothing "$user" "$owner"
	done
	run -0 "$FAIRLOCK" status --raw --noheadings -o NAME
	assert_output $'backup-db\nother'
	FAIRLOCK_URL=unix:$SERVER_SOCKET "$FAIRLOCK" acquire --shared backup-shared
	become watcher
	run -0 "$FAIRLOCK" status --raw --noheadings -o STATE backup-shared
	assert_output held
	run -0 "$FAIRLOCK" log --raw --noheadings -o EVENT,OWNER backup-db
	assert_output "granted $owner"
	run -0 "$FAIRLOCK" log --stats backup-db
	run -77 "$FAIRLOCK" log other
	run -77 "$FAIRLOCK" status
	assert_output --partial "'scan'"
	run -77 "$FAIRLOCK" status other
}

# The rule for locking: the commands of the scripts, and those that the client sends itself.
@test "the rule for locking permits the commands of the scripts and the client, and no others" {
	local scripts client='eval evalsha subscribe' end='lpush' # at one end of the list, or the other

	scripts=$(cat "$TESTS_DIR"/../lua/*/*.lua | grep -oE "(call|note|run|pcall_server)\('[A-Z]+'" | grep -oE '[A-Z]+' | tr A-Z a-z)
	assert_equal "$(rule backup | sed -n 's/^+\([a-z]*\).*/\1/p' | sort -u)" \
		"$(printf '%s\n' $scripts $client $end | sort -u)"
}

# Redis from 8.6 on needs the right number of words; other servers do not mind it.
@test "the scripts ask for permission with as many words as each command takes" {
	local command words arity

	start_on system
	while read -r words command; do
		arity=$(cli --raw COMMAND INFO "$command" | sed -n 2p)
		[ "$arity" = "$words" ] || { [ "$arity" -lt 0 ] && [ "$words" -ge "${arity#-}" ]; } ||
			fail "$command takes $arity words, and is asked about with $words"
	done < <(sed -nE 's/^\t+([a-z]+): (.*)/\1 \2/p' "$TESTS_DIR/../lua/parts/permissions.lua" | tr -d ';' |
		awk '{ for (i = 2; i <= NF; i++) {
			more = $i ~ /[0-9]$/ ? substr($i, length($i)) : 0
			words = 1 + more + ($1 != "nothing" || $i ~ /\|/)
			sub(/[|0-9].*/, "", $i)
			print words, $i
		} }' | sort -u | tee "$BATS_TEST_TMPDIR/asked")
	[ "$(wc -l <"$BATS_TEST_TMPDIR/asked")" -gt 30 ]
}

# follows USER [NAME]: with the rule for USER, log --follow prints what happens
follows() {
	local words

	start_on system
	mapfile -t words < <(rule "$1")
	permit "$1" "${words[@]}"
	"$FAIRLOCK" wrap backup-db true
	become "$1"
	background "$FAIRLOCK" log --follow --raw --noheadings -o EVENT "${@:2}" >"$BATS_TEST_TMPDIR/followed"
	wait_until grep -q released "$BATS_TEST_TMPDIR/followed"
	FAIRLOCK_URL=unix:$SERVER_SOCKET "$FAIRLOCK" acquire backup-db
	wait_until lines_in "$BATS_TEST_TMPDIR/followed" 3
	assert_equal "$(cat "$BATS_TEST_TMPDIR/followed")" $'granted\nreleased\ngranted'
	nothing_was_denied
}

@test "a user that only looks can follow a log" {
	follows watcher backup-db
}

@test "a user made from the lines of doctor --acl may do all with the lock, and nothing with others" {
	local name owner pair

	start_on system
	for pair in 'job|job2' 'a b|ab' "it's|its" 'x*y|xzy' '[ab]?|ac' 'in-{b}races|in-{b}' 'back\slash|backslash'; do
		name=${pair%|*}
		cli ACL DELUSER fairlock >/dev/null
		"$FAIRLOCK" doctor --acl "$name" | cli | grep -vx OK && fail "the server does not take the lines for $name"
		cli ACL SETUSER fairlock '>SECRET'
		(
			become fairlock
			"$FAIRLOCK" wrap "$name" true
			owner=$("$FAIRLOCK" acquire --lease 1m "$name")
			"$FAIRLOCK" renew --owner "$owner" "$name"
			"$FAIRLOCK" status "$name"
			"$FAIRLOCK" queue "$name"
			"$FAIRLOCK" release --owner "$owner" "$name"
			"$FAIRLOCK" log "$name"
			run -0 "$FAIRLOCK" doctor "$name"
			assert_output --partial 'user fairlock may do all that is needed for lock'
			for words in "wrap -n ${pair#*|} true" "acquire ${pair#*|}" "status ${pair#*|}" "log ${pair#*|}"; do
				# shellcheck disable=SC2086
				run -77 "$FAIRLOCK" $words
			done
			run -77 "$FAIRLOCK" status
		)
	done
}

@test "doctor --acl names the user of the URL, takes several locks, and adds what settings need" {
	run -0 "$FAIRLOCK" doctor --acl a b -u redis://jobs:x@lock.example.com/2
	assert_line --regexp '^ACL SETUSER jobs on ~a ~fairlock:\{a\} '
	assert_line --regexp '^ACL SETUSER jobs on ~b ~fairlock:\{b\} '
	assert_line --regexp '^ACL SETUSER jobs .* \+select '
	refute_output --partial '+wait'
	run -0 "$FAIRLOCK" doctor --acl a -u redis://h1,h2,h3 --replicas 1
	assert_output --regexp ' \+ssubscribe .*\+asking \+cluster\|slots \+wait$'
	run -64 "$FAIRLOCK" doctor --acl 'a}b{' --json
	run -64 "$FAIRLOCK" doctor --acl 'a}b{'
	run -64 "$FAIRLOCK" doctor --acl ''
}

#!/usr/bin/env bats
# The permissions that users of the server need: those of the manual, from which the rules are read,
# are enough, and each word of them is needed. On the system's server and on those of .ci/servers.

load ../lib/helpers

# The manual's rule for users that lock has one part for names like the second.
NAMES=(backup-db 'backup-{db}1')

# rule USER: the words of the manual's rule for USER, one a line
rule() {
	mandoc -T ascii "$TESTS_DIR/../man/fairlock.1" | col -b |
		sed -n "s/^ *ACL SETUSER $1 //p" | tr -s ' ' '\n'
}

# start_on NAME: starts a server of this kind
start_on() {
	[ "$1" = system ] || use_server "$1"
	start_server
	cli --raw EVAL 'return redis.acl_check_cmd and 1 or 0' 0 | grep -qx 1 ||
		skip 'this server cannot be asked what a user may do: it is older than Redis 7'
}

# permit USER WORD...: gives USER these permissions and no others
permit() {
	local user=$1

	shift
	cli ACL DELUSER "$user" >/dev/null
	assert_equal "$(cli ACL SETUSER "$user" "$@")" OK
}

# permit_as_told USER: gives USER the permissions of the manual
permit_as_told() {
	local words

	mapfile -t words < <(rule "$1")
	[ "${#words[@]}" -gt 10 ] || fail "the manual has no rule for $1"
	permit "$1" "${words[@]}"
}

# become USER: fairlock runs as this user from now on
become() {
	export FAIRLOCK_URL="unix:$SERVER_SOCKET?user=$1" FAIRLOCK_PASSWORD=SECRET
}

nothing_was_denied() {
	assert_equal "$(cli ACL LOG)" ''
}

waiting() {
	[ "$(cli LLEN "$1")" = "$2" ]
}

# use_several NAME QUEUE: slots and shared holds are taken, given back and broken, and waiters get them.
use_several() {
	local name=$1 queue=$2 owner slot waiter

	read -r owner slot < <("$FAIRLOCK" acquire --slots 2 --lease 1m "$name")
	"$FAIRLOCK" wrap --slots 2 "$name" true
	"$FAIRLOCK" acquire --slots 2 --lease 1m "$name"
	background "$FAIRLOCK" wrap --slots 2 "$name" true
	waiter=$!
	wait_until waiting "$queue" 1
	"$FAIRLOCK" status "$name"
	"$FAIRLOCK" log --stats "$name"
	"$FAIRLOCK" renew --owner "$owner" "$name"
	"$FAIRLOCK" release --owner "$owner" "$name"
	ends_with 0 "$waiter"
	"$FAIRLOCK" release --force --slot 2 "$name"
	"$FAIRLOCK" acquire --shared --lease 1m "$name"
	"$FAIRLOCK" acquire --shared --lease 1m "$name"
	run -75 "$FAIRLOCK" wrap -n "$name" true
	"$FAIRLOCK" release --force "$name"
}

# use_all NAME QUEUE: every command does its work on the lock NAME, whose queue is QUEUE.
use_all() {
	local name=$1 queue=$2 owner waiter other

	"$FAIRLOCK" wrap "$name" "$FAIRLOCK" wrap "$name" true
	use_several "$name" "$queue"
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
	"$FAIRLOCK" release --force "$name"
	run -1 "$FAIRLOCK" status -q "$name"
}

# holders_are COUNT NAME: so many hold the lock
holders_are() { [ "$("$FAIRLOCK" status --raw --noheadings -o HOLDS "$2" | wc -l)" = "$1" ]; }

# use_disorder NAME QUEUE: others change the queue, and a waiter dies in it.
use_disorder() {
	local name=$1 queue=$2 timeouts=${2/queue/timeout} owner waiter

	owner=$("$FAIRLOCK" acquire --lease 1m "$name")
	background "$FAIRLOCK" wrap "$name" true
	waiter=$!
	wait_until waiting "$queue" 1
	background "$FAIRLOCK" wrap "$name" true
	wait_until waiting "$queue" 2
	kill -s KILL "$waiter"
	cli RPUSH "$queue" redisson:1 redisson:1 >/dev/null
	cli ZADD "$timeouts" 1 redisson:2 >/dev/null
	"$FAIRLOCK" renew --owner "$owner" "$name"
	cli DEL "$queue" >/dev/null
	"$FAIRLOCK" release --owner "$owner" "$name"
	"$FAIRLOCK" release --force "$name"
}

# check_locker SERVER: the user that locks may use every command on its names.
check_locker() {
	local name queue

	start_on "$1"
	permit_as_told backup
	become backup
	for name in "${NAMES[@]}"; do
		[[ $name = *{* ]] && queue=$name || queue="{$name}"
		queue=redisson_lock_queue:$queue
		use_all "$name" "$queue"
		use_disorder "$name" "$queue"
		use_slots "$name" "$queue"
	done
	nothing_was_denied
	run -77 "$FAIRLOCK" wrap other true
	run -77 "$FAIRLOCK" wrap 'fairlock' true
	[ "$(cli EXISTS other fairlock)" = 0 ]
}

@test "a user that locks names under a prefix may use every command on them, and no other name" {
	check_locker system
}

@test "on Valkey a user that locks may use every command on its names, and no other name" {
	check_locker valkey
}

@test "on Redis 8 a user that locks may use every command on its names, and no other name" {
	check_locker redis
}

# named WORD: the message in $output names what this word of a rule permits
named() {
	case $1 in
	on | '>'*) grep -q 'it refuses this user' <<<"$output" ;;
	+*'|'*) grep -qiE "'${1:1:1}[a-z]*'|'$(tr '|' ' ' <<<"${1#+}")'|'${1#+}'" <<<"${output//|/ }" ;;
	+*) grep -qiE "'${1#+}[' ]" <<<"$output" ;;
	'~*') grep -q ' key' <<<"$output" ;;
	# with -v there is a list of the keys, without it there are patterns
	'~'*) grep -qF "$(sed -e 's/^~//' -e 's/\*.*//' <<<"$1")" <<<"${output#*needed:}" ||
		grep -qE "one of the keys .*, ${1:1:8}[a-z_]*\*:" <<<"$output" ||
		grep -qE "may not run '[A-Z]+ $(sed -e 's/^~//' -e 's/:.*//' <<<"$1"):" <<<"$output" ;;
	'&'*) grep -qF "redisson_lock__channel:" <<<"$output" ;;
	esac
}

# refused_without WORD COMMAND...: a command is refused and names WORD; none fails in another way
refused_without() {
	local word=$1 command name found=

	shift
	for command; do
		for name in "${NAMES[@]}"; do
			# shellcheck disable=SC2086
			run timeout 20 "$FAIRLOCK" ${command/NAME/"$name"}
			[ "$status" -ne 77 ] || ! named "$word" || found=yes
			[ "$status" = 0 ] || [ "$status" = 77 ] ||
				fail "without $word, $command ends with $status: $output"
		done
	done
	[ -n "$found" ] || fail "without $word, nothing is refused that names it; the last said: $output"
}

# check_each USER COMMAND...: for each word of the rule, one of the commands is refused without it. HELD: so many
# of the locks are held before.
check_each() {
	local user=$1 words rest i

	shift
	mapfile -t words < <(rule "$user")
	[ "${#words[@]}" -gt 10 ] || fail "the manual has no rule for $user"
	become "$user"
	for i in "${!words[@]}"; do
		rest=("${words[@]}")
		unset "rest[$i]"
		permit "$user" "${rest[@]}"
		cli SCRIPT FLUSH >/dev/null
		refused_without "${words[i]}" "$@"
		[ "$(cli EXISTS "${NAMES[@]}")" = "${HELD:-0}" ] || fail "without ${words[i]}, a lock is left behind"
	done
}

check_each_of_locker() {
	start_on "$1"
	check_each backup 'release -v --force NAME' 'wrap -v NAME true' 'wrap -v --slots 2 NAME true'
}

@test "a user that locks without a word of the rule gets status 77, which names the word, and leaves no lock" {
	check_each_of_locker system
}

@test "on Valkey a user that locks without a word of the rule gets status 77 and leaves no lock" {
	check_each_of_locker valkey
}

@test "on Redis 8 a user that locks without a word of the rule gets status 77 and leaves no lock" {
	check_each_of_locker redis
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

# no_writing USER: its rule has no command that the server counts as writing or publishing
no_writing() {
	local writing

	writing=$(comm -12 <(rule "$1" | sed -n 's/^+//p' | sort) \
		<({ cli --raw ACL CAT write && echo publish && echo spublish; } | sort))
	[ -z "$writing" ] || fail "$1 may $writing"
}

check_watcher() {
	local owner user

	start_on "$1"
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
		no_writing "$user"
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
	run -77 timeout 20 "$FAIRLOCK" log --follow backup-db
	assert_output --partial "'xread'"
	run -77 "$FAIRLOCK" log other
	run -77 "$FAIRLOCK" status
	assert_output --partial "'scan'"
	run -77 "$FAIRLOCK" status other
}

@test "a user that only looks sees holder and waiters, and can change nothing" {
	check_watcher system
}

@test "on Valkey a user that only looks can change nothing" {
	check_watcher valkey
}

@test "on Redis 8 a user that only looks can change nothing" {
	check_watcher redis
}

check_each_of_watcher() {
	start_on "$1"
	NAMES=(backup-db) HELD=1
	"$FAIRLOCK" acquire --slots 2 --lease 1h backup-db
	check_each watcher 'status NAME' 'queue NAME' 'log NAME'
	check_each monitor status log
}

@test "a user that only looks without a word of the rule gets status 77, which names the word" {
	check_each_of_watcher system
}

@test "on Valkey a user that only looks without a word of the rule gets status 77" {
	check_each_of_watcher valkey
}

@test "on Redis 8 a user that only looks without a word of the rule gets status 77" {
	check_each_of_watcher redis
}

# The rule for locking: the commands of the scripts, and those that the client sends itself.
@test "the rule for locking permits the commands of the scripts and the client, and no others" {
	local scripts client='eval evalsha subscribe'

	scripts=$(cat "$TESTS_DIR"/../lua/*/*.lua | grep -oE "(call|note|run|pcall_server)\('[A-Z]+'" | grep -oE '[A-Z]+' | tr A-Z a-z)
	assert_equal "$(rule backup | sed -n 's/^+\([a-z]*\).*/\1/p' | sort -u)" \
		"$(printf '%s\n' $scripts $client | sort -u)"
}

# Redis from 8.6 on needs the right number of words; other servers do not mind it.
@test "the scripts ask for permission with as many words as each command takes" {
	local command more arity

	start_on system
	while read -r command more; do
		arity=$(cli --raw COMMAND INFO "$command" | sed -n 2p)
		[ "$arity" = $((2 + more)) ] || { [ "$arity" -lt 0 ] && [ $((2 + more)) -ge "${arity#-}" ]; } ||
			fail "$command takes $arity words, and is asked about with $((2 + more))"
	done < <(cat "$TESTS_DIR"/../lua/*/*.lua | grep -o "denied([^)]*')" | sed "s/.*'\([^']*\)')/\1/" |
		tr ' ' '\n' | sed -E 's/[A-Z]$/& 0/; s/[0-9]$/ &/' | sort -u | tee "$BATS_TEST_TMPDIR/asked")
	[ "$(wc -l <"$BATS_TEST_TMPDIR/asked")" -gt 30 ]
}

@test "a user that only looks and may also use XREAD can follow a log" {
	local words

	start_on system
	mapfile -t words < <(rule watcher)
	permit watcher "${words[@]}" +xread
	become watcher
	background "$FAIRLOCK" log --follow --raw --noheadings -o EVENT backup-db >"$BATS_TEST_TMPDIR/followed"
	wait_until is_followed
	FAIRLOCK_URL=unix:$SERVER_SOCKET "$FAIRLOCK" wrap backup-db true
	wait_until grep -q released "$BATS_TEST_TMPDIR/followed"
	assert_equal "$(cat "$BATS_TEST_TMPDIR/followed")" $'granted\nreleased'
	nothing_was_denied
}

is_followed() {
	cli CLIENT LIST | grep -q 'cmd=xread'
}

@test "doctor misses the keys and channels of the manual's rule, and no others" {
	local patterns

	start_on system
	patterns=$(rule backup | sed -n '/:backup-/d; s/^\([~&].*\)backup-\*/\1backup-db/p' | sort)
	permit backup on '>SECRET' +@all
	become backup
	run -2 "$FAIRLOCK" doctor --json backup-db
	assert_equal "$(jq -r '.findings[] | select(.check == "permissions").finding' <<<"$output" | tr ' ' '\n' |
		grep '^[~&+]' | sort)" "$patterns"
}

# only_without COMMAND: the user backup may do everything but this
only_without() { permit backup on '>SECRET' '~*' '&*' +@all "-${1/info|server/info}"; } # INFO has no subcommands

# never_left NAME: there is no lock, or one that has a time to live
never_left() { [ "$(cli PTTL "$1")" != -1 ]; }

check_all_but_one() {
	local command words

	start_on "$1"
	mapfile -t words < <(rule backup | sed -n 's/^+//p')
	[ "${#words[@]}" -gt 30 ] || fail 'the manual has no rule for backup'
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

@test "a user that lacks one command, and may do all else, leaves no hold behind, and doctor names the command" {
	check_all_but_one system
}

@test "on Valkey a user that lacks one command, and may do all else, leaves no hold behind" {
	check_all_but_one valkey
}

@test "on Redis 8 a user that lacks one command, and may do all else, leaves no hold behind" {
	check_all_but_one redis
}

# What each grant and release needs is asked before anything is changed.
check_refused_before() {
	local command

	start_on "$1"
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

@test "a user that lacks what each grant and release needs, or the channels, is refused before a grant" {
	check_refused_before system
}

@test "on Valkey a user that lacks what each grant and release needs is refused before a grant" {
	check_refused_before valkey
}

@test "on Redis 8 a user that lacks what each grant and release needs is refused before a grant" {
	check_refused_before redis
}

# The permissions that users of the server need: those that `fairlock doctor --acl` prints
# are enough, and each word of them is needed.
load ../lib/helpers
load ../lib/permissions

setup() {
	start_server
	cli --raw EVAL 'return redis.acl_check_cmd and 1 or 0' 0 | grep -qx 1 ||
		skip 'this server cannot be asked what a user may do: it is older than Redis 7'
}

# The rule for users that lock has one part for names like the second.
NAMES=(backup-db 'backup-{db}1')

@test "a user that locks names under a prefix may use every command on them, and no other name" {
	permit_as_told backup
	become backup
	for name in "${NAMES[@]}"; do use_all "$name"; done
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

@test "a user that only looks sees holder and waiters, and can change nothing" {
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
		before=$(contents)
		for command in wrap 'wrap -n' acquire 'release --force' "release --owner $owner" "renew --owner $owner" "queue --remove $owner"; do
			run -77 timeout 20 "$FAIRLOCK" $command backup-db $([[ $command != wrap* ]] || echo true)
			assert_output --partial 'this user may not run'
		done
		run cli --user "$user" --pass SECRET --no-auth-warning EVAL "redis.call('DEL', KEYS[1])" 1 backup-db
		assert_output --regexp "can't run this command|no permissions to run the 'del' command"
		assert_equal "$(contents)" "$before"
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
	client='eval evalsha subscribe' end='lpush' # at one end of the list, or the other
	scripts=$(cat "$TESTS_DIR"/../lua/*/*.lua | grep -oE "(call|note|run|pcall_server)\('[A-Z]+'" | grep -oE '[A-Z]+' | tr A-Z a-z)
	assert_equal "$(rule backup | sed -n 's/^+\([a-z]*\).*/\1/p' | sort -u)" \
		"$(printf '%s\n' $scripts $client $end | sort -u)"
}

# Redis from 8.6 on needs the right number of words; other servers do not mind it.
@test "the scripts ask for permission with as many words as each command takes" {
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

@test "a user that only looks can follow a log" {
	followed=$BATS_TEST_TMPDIR/followed
	permit_as_told watcher
	"$FAIRLOCK" wrap backup-db true
	become watcher
	background "$FAIRLOCK" log --follow --raw --noheadings -o EVENT backup-db >"$followed"
	wait_until grep -q released "$followed"
	FAIRLOCK_URL=unix:$SERVER_SOCKET "$FAIRLOCK" acquire backup-db
	wait_until lines_in "$followed" 3
	assert_equal "$(cat "$followed")" $'granted\nreleased\ngranted'
	nothing_was_denied
}

@test "a user made from the lines of doctor --acl may do all with the lock, and nothing with others" {
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

# ---- Users that lack one permission: what they lack is named, and no hold stays behind ----

# only_without COMMAND: the user backup may do everything but this
only_without() { permit backup on '>SECRET' '~*' '&*' +@all "-${1/info|server/info}"; } # INFO has no subcommands

@test "a user that lacks one command, and may do all else, leaves no hold behind, and doctor names the command" {
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
		[ "$(cli PTTL job)" != -1 ] || fail "without $command, release leaves a lock without a time to live"
		run -2 "$FAIRLOCK" doctor job
		assert_line --regexp "error +permissions +user backup lacks \+$(sed 's/[|]/\\|/' <<<"$command")\$| for lock job\$"
	done
}

# What each grant and release needs is asked before anything is changed.
@test "a user that lacks what each grant and release needs, or the channels, is refused before a grant" {
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

# fairlock status: what it says of each lock, which locks it shows in which order, and -q.

load ../lib/one_server

# names WORD...: prints the names that `status WORD...` shows, on one line
names() { "$FAIRLOCK" status --raw --noheadings -o NAME "$@" | xargs; }

# rows NAME COLUMNS: prints these columns of each row of a lock
rows() { "$FAIRLOCK" status --raw --noheadings -o "$2" "$1"; }

# ---- A lock ----

@test "status --json has the keys that the manual names, the holder's owner id, host, user, process and command, and null for what is not" {
	local keys='name state mode slot owner host pid user command reason client held_ms lease_ms until holds token waiters last_start last_ok'

	assert_equal "$(lock job '|keys_unsorted|join(" ")')" "\"$keys\""
	assert_equal "$(lock job '|[.name, .state, .waiters, ([.[] | select(. == null)] | length)]')" '["job","free",0,16]'
	owner=$(LOGNAME=alice "$FAIRLOCK" acquire job)
	run -0 "$FAIRLOCK" status --json job
	jq -e --arg owner "$owner" --arg host "$(uname -n)" '.locks[0] | .name == "job"
		and .state == "held" and .mode == "exclusive" and .slot == null and .owner == $owner and .host == $host and .user == "alice"
		and "\(.pid)" == ($owner | split(":")[1]) and .command == "fairlock acquire"
		and .client == "fairlock" and .holds == 1' <<<"$output"
}

@test "status shows until when the lease lasts; a lock without a time to live is held, with a lease of null" {
	"$FAIRLOCK" acquire -l 1h job
	left=$(($(date -d "$(lock job .until | jq -r .)" +%s) - $(date +%s)))
	[ "$left" -gt 3000 ]
	[ "$left" -le 3601 ]
	cli PERSIST job
	assert_equal "$(lock job '|[.state, .lease_ms, .until]')" '["held",null,null]'
	assert_equal "$(rows job LEASE)" none
}

@test "status shows a lock that --min-hold keeps as kept, until when, and without its holder that is gone" {
	local until

	run -3 "$FAIRLOCK" wrap --min-hold 20s -l 5s job sh -c 'exit 3'
	refute_output
	[ "$(lock job '|[.state, .owner, .host, .pid, .user, .command, .reason, .holds]')" = '["kept",null,null,null,null,null,null,null]' ]
	[ "$(lock job '|[.client, .token > 0, .held_ms >= 0, .lease_ms > 5000 and .lease_ms <= 20000]')" = '["fairlock",true,true,true]' ]
	until=$(lock job .until | jq -r .)
	[[ $until =~ ^20..-..-..T..:..:..\.[0-9]{3}Z$ ]]
	run -0 "$FAIRLOCK" status --noheadings job
	[[ $output =~ ^job\ +kept\ until\ ([A-Z][a-z]+\ +[0-9]+\ )?$(date -d "$until" +%H:%M:%S)\ +[0-9]+m?s\ +[0-9]+s\ +0$ ]]
	"$FAIRLOCK" status -q job
	"$FAIRLOCK" wrap --slots 2 --min-hold 1h slots true
	"$FAIRLOCK" acquire --slots 2 slots >/dev/null
	assert_equal "$(rows slots STATE,SLOT,HOLDS)" $'kept 1 -\nheld 2 1'
	run -0 "$FAIRLOCK" status --noheadings -o STATE,SLOT slots
	assert_line --index 0 --regexp '^kept until .* 1$'
	assert_line --index 1 --regexp '^by hand until .* 2$'
}

@test "status shows when a COMMAND of wrap was last started, and when one last ended with 0; acquire starts none" {
	local before started ok

	"$FAIRLOCK" acquire job
	assert_equal "$(lock job '|[.last_start, .last_ok]')" '[null,null]'
	"$FAIRLOCK" release --force job
	before=$(date +%s)
	run -3 "$FAIRLOCK" wrap job sh -c 'exit 3'
	started=$(lock job .last_start | jq -r .)
	[[ $started =~ ^20..-..-..T..:..:..\.[0-9]{3}Z$ ]]
	[ "$(date -d "$started" +%s)" -ge "$before" ]
	"$FAIRLOCK" acquire job
	assert_equal "$(lock job '|[.state, .last_start, .last_ok]')" "[\"held\",\"$started\",null]"
	run -0 "$FAIRLOCK" status --noheadings -o LAST_START job
	assert_output "$(date -d "$started" '+%b %e %H:%M:%S')"
	before=$(date +%s)
	"$FAIRLOCK" wrap other sleep 1.5
	ok=$(lock other .last_ok | jq -r .)
	[ "$(date -d "$ok" +%s)" -gt "$before" ]
	assert_equal "$(rows other LAST_OK)" "$ok"
	"$FAIRLOCK" release -q --forget-run other
	assert_equal "$(lock other '|[.last_start, .last_ok]')" '[null,null]'
}

@test "status shows a holder's reason, and the column only if there is one" {
	"$FAIRLOCK" acquire job
	run -0 "$FAIRLOCK" status
	refute_output --partial REASON
	describe_holder job $'web1\t7\tann\tdeploy\tnew shop'
	run -0 "$FAIRLOCK" status
	assert_line --partial ' COMMAND REASON '
	assert_line --partial ' deploy  new shop '
	assert_equal "$(lock job '|[.command, .reason]')" '["deploy","new shop"]'
}

@test "status -q ends with 0 if any of the locks is held, and quiet as a default changes nothing" {
	echo 'quiet = yes' >conf
	"$FAIRLOCK" wrap other true
	"$FAIRLOCK" acquire job
	run -0 "$FAIRLOCK" status -q other job free
	refute_output
	for words in 'FAIRLOCK_QUIET=yes' 'FAIRLOCK_CONFIG=conf'; do
		run -0 env "$words" "$FAIRLOCK" status --raw --noheadings -o NAME,STATE other job
		assert_output $'other free\njob held'
		run -1 env "$words" "$FAIRLOCK" status -q other
		refute_output
	done
}

@test "status has a row for each slot that is held, in the order of their grants, and shows MODE and SLOT if there are some" {
	local db2 db1 rest

	"$FAIRLOCK" acquire alone >/dev/null
	run -0 "$FAIRLOCK" status
	assert_line --index 0 --regexp '^NAME +STATE +USER +HOST'
	"$FAIRLOCK" acquire --shared books >/dev/null
	run -0 "$FAIRLOCK" status
	assert_line --index 0 --regexp '^NAME +STATE +MODE +USER +HOST'
	assert_line --regexp '^alone +by hand until [^ ]+ +exclusive +'
	assert_line --regexp '^books +by hand until [^ ]+ +shared +'
	read -r db2 rest < <("$FAIRLOCK" acquire --slots db2 job)
	read -r db1 rest < <("$FAIRLOCK" acquire --slots db1,db2 job)
	"$FAIRLOCK" acquire --slots 2 numbered >/dev/null
	join_queue job true
	assert_equal "$(rows job NAME,STATE,MODE,SLOT,OWNER,HOLDS,WAITERS)" \
		"job held slots db2 $db2 1 1"$'\n'"job held slots db1 $db1 1 1"
	[ "$(rows job TOKEN)" = "$(rows job TOKEN | sort -n)" ]
	run -0 "$FAIRLOCK" status
	assert_line --index 0 --regexp '^NAME +STATE +MODE +SLOT +USER +HOST'
	assert_line --regexp '^numbered +by hand until [^ ]+ +slots +1 +'
	assert_equal "$("$FAIRLOCK" status --json | jq -c '[.locks[] | [.name, .mode, .slot]]')" \
		'[["alone","exclusive",null],["books","shared",null],["job","slots","db2"],["job","slots","db1"],["numbered","slots","1"]]'
}

# ---- Which locks, in which order ----

@test "status shows what is held first, then what is waited for, then free locks if they are named or with --all, and job2 before job10" {
	local name

	for name in job10 job2 a10 a2 z10 z2; do
		"$FAIRLOCK" acquire $name
	done
	for name in z10 z2; do
		background "$FAIRLOCK" wrap $name sleep 600
		wait_until in_queue $name 1
		cli DEL $name # nobody holds it for a moment: the waiter stands first
		kill -STOP $!
	done
	"$FAIRLOCK" release --force a10
	"$FAIRLOCK" release --force a2
	[ "$(names)" = 'job2 job10 z2 z10' ]
	[ "$(names --all)" = 'job2 job10 z2 z10 a2 a10' ]
	[ "$(names a2 job2)" = 'a2 job2' ]
	[ "$("$FAIRLOCK" status --json | jq -r '.locks[].name' | xargs)" = 'job2 job10 z2 z10' ]
	[ "$("$FAIRLOCK" status -a --json | jq -r '.locks[].name' | xargs)" = 'job2 job10 z2 z10 a2 a10' ]
	assert_equal "$("$FAIRLOCK" status --prometheus --all | grep -c .)" "$("$FAIRLOCK" status --prometheus | grep -c .)"
}

@test "status --sort sorts by a column, also one that is not shown, numbers as numbers, unknown ones first" {
	"$FAIRLOCK" acquire -l 9s a
	"$FAIRLOCK" acquire -l 100s b
	"$FAIRLOCK" acquire -l 20s c
	"$FAIRLOCK" acquire d
	cli PERSIST d
	"$FAIRLOCK" acquire e
	"$FAIRLOCK" release --force e
	[ "$(names --all --sort LEASE_MS)" = 'd e a c b' ]
	[ "$(names --all --sort lease)" = 'e a c b d' ] # "none" is more than any number
	[ "$(names --sort NAME d c a)" = 'a c d' ]
	[ "$("$FAIRLOCK" status --all --json --sort LEASE_MS -o NAME | jq -c .)" = '{"locks":[{"name":"d"},{"name":"e"},{"name":"a"},{"name":"c"},{"name":"b"}]}' ]
	run -64 "$FAIRLOCK" status --sort COLOUR
	[[ ${lines[0]} == "fairlock: cannot sort by column 'COLOUR': "* ]]
}

@test "status and its metrics show the other locks if something else uses a name, and end with 78" {
	"$FAIRLOCK" acquire a
	"$FAIRLOCK" acquire b
	cli DEL a
	cli SET a x
	run -78 "$FAIRLOCK" status --noheadings -o NAME
	assert_output $'fairlock: cannot use the name a: it is in use by something that is no lock\nb'
	run -78 --separate-stderr "$FAIRLOCK" status --prometheus
	assert_line 'fairlock_held{lock="b"} 1'
	refute_output --partial '"a"'
	[[ $stderr == 'fairlock: cannot use the name a: '* ]]
}

@test "a name that shares keys with a name in use is refused" {
	"$FAIRLOCK" acquire '{job}'
	for words in 'wrap -n job true' 'acquire -n job' 'status job'; do
		run -64 "$FAIRLOCK" $words
		assert_line --index 0 --regexp 'it shares keys with lock \{job\}, which is in use$'
	done
}

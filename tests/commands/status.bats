#!/usr/bin/env bats
# fairlock status: what it says of each lock, its forms, and -q.

load ../lib/helpers
load ../lib/one_server

# lock NAME .FILTER: prints this part of the lock's status as JSON
lock() {
	"$FAIRLOCK" status --json -- "$1" | jq -c ".locks[0]$2"
}

redisson=0a1b2c3d-0000-4000-8000-000000000009:42

@test "status shows an unused lock as free, and writes nothing to the server" {
	[ "$(lock job .state)" = '"free"' ]
	[ "$(cli DBSIZE)" = 0 ]
}

@test "status shows the holder's owner id, host, user, process and command" {
	owner=$(LOGNAME=alice "$FAIRLOCK" acquire job)
	run -0 "$FAIRLOCK" status --json job
	jq -e --arg owner "$owner" --arg host "$(uname -n)" '.locks[0] | .name == "job"
		and .state == "held" and .owner == $owner and .host == $host and .user == "alice"
		and "\(.pid)" == ($owner | split(":")[1]) and .command == "fairlock acquire"
		and .client == "fairlock"' <<<"$output"
}

@test "status shows the command of a wrap as it was given" {
	# shellcheck disable=SC2016
	run -0 "$FAIRLOCK" wrap job -- sh -c '"$FAIRLOCK" status --json job' 'two words'
	# shellcheck disable=SC2016
	[ "$(jq -r '.locks[0].command' <<<"$output")" = 'sh -c "$FAIRLOCK" status --json job two words' ]
}

@test "status shows a command that is too long without half a character at its end" {
	local letters

	letters=$(printf 'é%.0s' {1..300})
	for begin in a aa; do
		# shellcheck disable=SC2016
		run -0 "$FAIRLOCK" wrap job -- sh -c '"$FAIRLOCK" status --json job' "$begin$letters" more
		jq -e '.locks[0].command | test("^sh -c .* a+é{100,} ?$")' <<<"$output"
		# shellcheck disable=SC2016
		run -0 "$FAIRLOCK" wrap --reason why job -- sh -c '"$FAIRLOCK" status --json job' "$begin"
		jq -e '.locks[0] | .command == "sh" and .reason == "why"' <<<"$output"
	done
}

@test "the JSON of status, queue, log and doctor ends with one newline" {
	for words in 'status job' 'queue job' 'log job' 'log --stats job' status doctor; do
		# shellcheck disable=SC2086
		"$FAIRLOCK" $words --json >json || [ "$words" = doctor ]
		assert_equal "$(tail -c 2 json | od -An -tx1 | tr -d " ")" 7d0a
	done
}

@test "status --json has the keys that the manual names, in this order" {
	[ "$(lock job '|keys_unsorted|join(" ")')" = '"name state mode slot owner host pid user command reason client held_ms lease_ms until holds token waiters last_start"' ]
}

@test "status --json of a free lock has null for all but name, state and waiters" {
	[ "$(lock job '|del(.name)')" = '{"state":"free","mode":null,"slot":null,"owner":null,"host":null,"pid":null,"user":null,"command":null,"reason":null,"client":null,"held_ms":null,"lease_ms":null,"until":null,"holds":null,"token":null,"waiters":0,"last_start":null}' ]
}

@test "status shows the token of the grant" {
	token=$("$FAIRLOCK" acquire --json job | jq .token)
	[ "$token" -gt 0 ]
	[ "$(lock job .token)" = "$token" ]
}

@test "status shows a hold count that grows when the owner acquires again" {
	owner=$("$FAIRLOCK" acquire job)
	[ "$(lock job .holds)" = 1 ]
	"$FAIRLOCK" acquire --owner "$owner" job
	[ "$(lock job .holds)" = 2 ]
}

@test "status shows the rest of the lease as lease_ms" {
	"$FAIRLOCK" acquire --lease 1h job
	cli PEXPIRE job 50000
	left=$(lock job .lease_ms)
	[ "$left" -gt 40000 ]
	[ "$left" -le 50000 ]
}

@test "status counts held_ms from the grant" {
	held_for_300_ms() {
		[ "$(lock job .held_ms)" -ge 300 ]
	}
	start=$(date +%s%3N)
	"$FAIRLOCK" acquire job
	[ "$(lock job .held_ms)" -le $(($(date +%s%3N) - start)) ]
	wait_until held_for_300_ms
}

@test "status shows a lock without a time to live as held, with a lease of null" {
	"$FAIRLOCK" acquire job
	cli PERSIST job
	[ "$(lock job '|[.state, .lease_ms]')" = '["held",null]' ]
	[ "$("$FAIRLOCK" status --noheadings --raw -o LEASE job)" = none ]
}

@test "status shows only the owner id and the hold count of Redisson's holder" {
	cli HSET job $redisson 3
	cli PEXPIRE job 30000
	[ "$(lock job '|[.state, .owner, .client, .holds]')" = "[\"held\",\"$redisson\",\"redisson\",3]" ]
	[ "$(lock job '|[.host, .pid, .user, .command, .held_ms, .token]')" = '[null,null,null,null,null,null]' ]
}

@test "status does not mix data of a former fairlock holder into those of Redisson's holder" {
	"$FAIRLOCK" acquire job
	cli DEL job
	cli HSET job $redisson 1
	[ "$(lock job '|[.client, .user, .token]')" = '["redisson",null,null]' ]
}

@test "status counts the waiters that are alive" {
	waiters() {
		[ "$(lock job .waiters)" = "$1" ]
	}
	"$FAIRLOCK" acquire job
	background "$FAIRLOCK" acquire job
	first=$!
	background "$FAIRLOCK" acquire job
	wait_until waiters 2
	kill -KILL "$first"
	wait_until waiters 1
	kill $!
	wait_until waiters 0
}

@test "status shows all of 2,500 locks, which take several steps of a scan" {
	for i in {1..2500}; do
		echo "HSET fairlock:{job$i} name job$i"
	done | cli >/dev/null
	[ "$("$FAIRLOCK" status --json | jq '[.locks[].name] | unique | length')" = 2500 ]
}

@test "status of a server without locks is an empty list" {
	run -0 "$FAIRLOCK" status --json
	[ "$(jq -c . <<<"$output")" = '{"locks":[]}' ]
	run -0 "$FAIRLOCK" status
	refute_output
}

@test "status does not take similar keys of other programs for locks" {
	cli SET fairlock:string x
	cli HSET fairlock:foreign name job
	cli HSET 'fairlock:{nameless}' field x
	cli HSET 'fairlock:{wrong}' name right
	[ "$("$FAIRLOCK" status --json | jq '.locks | length')" = 0 ]
}

@test "status shows a name in braces as it was given" {
	"$FAIRLOCK" acquire '{job}'
	[ "$("$FAIRLOCK" status --json | jq -c '[.locks[] | [.name, .state]]')" = '[["{job}","held"]]' ]
}

@test "status refuses a name that shares keys with a name in use" {
	"$FAIRLOCK" acquire '{job}'
	run -64 "$FAIRLOCK" status job
	assert_line --index 0 "fairlock: cannot use the name job: it shares keys with lock {job}, which is in use"
}

@test "status finds names with blanks, quotes, glob characters and non-ASCII letters" {
	name='a "b" \ *[c]? ünï'
	"$FAIRLOCK" acquire "$name"
	[ "$("$FAIRLOCK" status --json | jq -r '.locks[0].name')" = "$name" ]
}

@test "status shows a lock that --min-hold keeps as kept, until when, and without its holder that is gone" {
	local until

	"$FAIRLOCK" wrap --min-hold 20s job true
	[ "$(lock job '|[.state, .owner, .host, .pid, .user, .command, .reason, .holds]')" = '["kept",null,null,null,null,null,null,null]' ]
	[ "$(lock job '|[.client, .token > 0, .held_ms >= 0, .lease_ms <= 20000]')" = '["fairlock",true,true,true]' ]
	until=$(lock job .until | jq -r .)
	[[ $until =~ ^20..-..-..T..:..:..\.[0-9]{3}Z$ ]]
	run -0 "$FAIRLOCK" status --noheadings job
	[[ $output =~ ^job\ +kept\ until\ ([A-Z][a-z]+\ +[0-9]+\ )?$(date -d "$until" +%H:%M:%S)\ +[0-9]+m?s\ +[0-9]+s\ +0$ ]]
	[ "$("$FAIRLOCK" status --raw --noheadings -o STATE job)" = kept ]
	"$FAIRLOCK" status -q job
}

@test "a kept lock shows the date too if it is not kept until today" {
	"$FAIRLOCK" wrap --min-hold 2d job true
	run -0 "$FAIRLOCK" status --noheadings -o STATE job
	[[ $output =~ ^kept\ until\ [A-Z][a-z]+\ [\ 0-9][0-9]\ [0-9:]{8}$ ]]
}

@test "status shows until when the lease of a held lock lasts" {
	"$FAIRLOCK" acquire -l 1h job
	until=$(lock job .until | jq -r .)
	left=$((($(date -d "$until" +%s) - $(date +%s))))
	[ "$left" -gt 3000 ]
	[ "$left" -le 3601 ]
	cli PERSIST job
	[ "$(lock job .until)" = null ]
}

@test "status shows when a COMMAND of wrap was last started, and no start of acquire" {
	"$FAIRLOCK" acquire job
	[ "$(lock job .last_start)" = null ]
	"$FAIRLOCK" release --force job
	before=$(date +%s)
	"$FAIRLOCK" wrap job true
	started=$(lock job .last_start | jq -r .)
	[[ $started =~ ^20..-..-..T..:..:..\.[0-9]{3}Z$ ]]
	[ "$(date -d "$started" +%s)" -ge "$before" ]
	"$FAIRLOCK" acquire job
	[ "$(lock job '|[.state, .last_start]')" = "[\"held\",\"$started\"]" ]
	run -0 "$FAIRLOCK" status --noheadings -o LAST_START job
	[ "$output" = "$(date -d "$started" '+%b %e %H:%M:%S')" ]
}

@test "status shows a holder's reason, and the column only if there is one" {
	"$FAIRLOCK" acquire job
	run -0 "$FAIRLOCK" status
	refute_output --partial REASON
	run -0 "$FAIRLOCK" status -o NAME,REASON
	assert_line --partial REASON
	describe_holder job $'web1\t7\tann\tdeploy\tnew shop'
	run -0 "$FAIRLOCK" status
	assert_line --partial ' COMMAND REASON '
	assert_line --partial ' deploy  new shop '
	[ "$(lock job '|[.command, .reason]')" = '["deploy","new shop"]' ]
}

@test "status -q ends with 0 if any of the locks is held" {
	"$FAIRLOCK" acquire b
	run -0 "$FAIRLOCK" status -q a b c
	refute_output
}

@test "status -q ends with 1 if all of the locks are free" {
	"$FAIRLOCK" acquire c
	run -1 "$FAIRLOCK" status -q a b
	refute_output
}

@test "quiet as a default, in a file or a variable, does not empty status, nor turn its exit status into an answer" {
	echo 'quiet = yes' >conf
	"$FAIRLOCK" acquire job
	for words in 'FAIRLOCK_QUIET=yes' 'FAIRLOCK_CONFIG=conf'; do
		for names in '' 'job other' other; do
			# shellcheck disable=SC2086
			run -0 env "$words" "$FAIRLOCK" status --raw --noheadings -o NAME,STATE,PID $names
			assert_equal "$output" "$("$FAIRLOCK" status --raw --noheadings -o NAME,STATE,PID $names)"
		done
		run -0 env "$words" "$FAIRLOCK" status --json other
		assert_output --partial '"free"'
		run -1 env "$words" "$FAIRLOCK" status -q other
		refute_output
	done
}

@test "status -q ends with 69 and a message if the server is out of reach" {
	run -69 "$FAIRLOCK" status --url unix:"$BATS_TEST_TMPDIR/none" -q job
	[[ $output == "fairlock: cannot "* ]]
}

@test "status refuses a name that something else uses, and leaves that alone" {
	cli SET job precious
	run -78 "$FAIRLOCK" status job
	[ "$(cli GET job)" = precious ]
}

@test "status shows the other locks if something else uses a name, and ends with 78" {
	"$FAIRLOCK" acquire a
	"$FAIRLOCK" acquire b
	cli DEL a
	cli SET a x
	run -78 "$FAIRLOCK" status --noheadings -o NAME
	[ "${lines[0]}" = "fairlock: cannot use the name a: it is in use by something that is no lock" ]
	[ "${lines[1]}" = b ]
}

@test "status reports a mistake in a name before it asks the server" {
	run -64 "$FAIRLOCK" status --url "unix:$BATS_TEST_TMPDIR/none" good ''
	[[ ${lines[0]} == "fairlock: cannot use NAME: "* ]]
}

@test "status prints a table with headings, one line per lock, and times in units" {
	"$FAIRLOCK" acquire --lease 90s job
	lock=job change "$(lock=job holder_field)" "since=$(($(now_ms) - 3725000))"
	run -0 "$FAIRLOCK" status
	[ "${#lines[@]}" -eq 2 ]
	read -r -a headings <<<"${lines[0]}"
	[ "${headings[*]}" = "NAME STATE USER HOST PID COMMAND HELD LEASE WAITERS" ]
	[[ ${lines[1]} =~ ^job\ +held\ .*\ 1h2m\ +1m([1-9]|[12][0-9])s\ +0$ ]]
}

@test "status --raw prints words with single blanks between them, and milliseconds" {
	"$FAIRLOCK" acquire 'my job'
	run -0 "$FAIRLOCK" status --raw
	[ "${lines[0]}" = "NAME STATE USER HOST PID COMMAND HELD_MS LEASE_MS WAITERS" ]
	[[ ${lines[1]} =~ ^my\\x20job\ held\ [^\ ]+\ [^\ ]+\ [0-9]+\ fairlock\\x20acquire\ [0-9]+\ (30000|[12][0-9]{4})\ 0$ ]]
}

@test "status --raw leaves UTF-8 as it is, escapes blanks, control characters and bytes that are none, and prints - for nothing" {
	"$FAIRLOCK" acquire 'ünï 備份'
	describe_holder 'ünï 備份' $'-\t7\ta\\b\tx\x1b\xc2\x9b\xff y'
	LC_ALL=C run -0 "$FAIRLOCK" status --raw --noheadings -o NAME,HOST,USER,COMMAND,REASON
	assert_output 'ünï\x20備份 \x2d a\x5cb x\x1b\xc2\x9b\xff\x20y -'
	[ "$("$FAIRLOCK" status --raw --noheadings free)" = 'free free - - - - - - 0' ]
}

@test "status --color=always colours headings and states, never and a pipe do not" {
	"$FAIRLOCK" acquire job
	"$FAIRLOCK" wrap --min-hold 60s keep true
	run -0 "$FAIRLOCK" status --color=always job keep free
	assert_line --index 0 --partial $'\e[1mNAME'
	assert_line --index 1 --partial $'\e[35mheld'
	assert_line --index 2 --regexp $'\e\\[[0-9;]*33mkept until '
	assert_line --index 3 --partial $'\e[32mfree'
	for words in '--color=never' '' '--color' '--color=auto' '--color=always --raw' '--color=always --json'; do
		# shellcheck disable=SC2086
		run -0 "$FAIRLOCK" status $words
		refute_output --partial $'\e'
	done
	run -64 "$FAIRLOCK" status --color=red
	assert_line --index 0 "fairlock: cannot use option '--color': 'red' is not auto, always or never"
}

@test "doctor and log --plot use colours if --color=always, and not with never" {
	"$FAIRLOCK" wrap job true
	run "$FAIRLOCK" doctor --color=always
	assert_output --partial $'\e[3'
	run "$FAIRLOCK" doctor
	refute_output --partial $'\e'
	run -0 "$FAIRLOCK" log --plot --color=always job
	assert_output --partial $'\e['
	run -0 "$FAIRLOCK" log --plot --color=never job
	refute_output --partial $'\e'
}

@test "status, queue and log cut what other people wrote in their messages" {
	long=$(printf '%.0slong-' {1..30})
	"$FAIRLOCK" acquire "{$long}"
	run -64 "$FAIRLOCK" status "$long"
	[ "${#lines[0]}" -lt 160 ]
	run -76 "$FAIRLOCK" queue --remove $redisson "other-$long"
	[ "${#lines[0]}" -lt 160 ]
	run -64 "$FAIRLOCK" queue --remove "$long" "$long"
	[ "${#lines[0]}" -lt 160 ]
}

@test "status --noheadings prints no headings" {
	run -0 "$FAIRLOCK" status --noheadings -o NAME,STATE job
	[ "${#lines[@]}" -eq 1 ]
	[[ ${lines[0]} =~ ^job\ +free\ *$ ]]
}

@test "status -o takes names of columns in either case, and shows them in the given order" {
	[ "$("$FAIRLOCK" status --raw -o state,NAME job)" = $'STATE NAME\nfree job' ]
}

@test "status -o +COLUMN adds a column to the default ones" {
	[ "$("$FAIRLOCK" status --raw -o +HOLDS,TOKEN job | head -n 1)" = "NAME STATE USER HOST PID COMMAND HELD_MS LEASE_MS WAITERS HOLDS TOKEN" ]
}

@test "status --json -o has only the given columns" {
	[ "$("$FAIRLOCK" status --json -o WAITERS,NAME job | jq -c .)" = '{"locks":[{"waiters":0,"name":"job"}]}' ]
}

@test "status refuses an unknown column as a usage error, and -o help lists the known ones" {
	run -64 "$FAIRLOCK" status -o NAME,COLOUR job
	assert_line --index 0 "fairlock: cannot show column 'COLOUR': there is no such column, '-o help' lists them"
	[ "$("$FAIRLOCK" status -o help | cut -d ' ' -f 1 | paste -s -d ' ')" = "NAME STATE MODE SLOT OWNER HOST PID USER COMMAND REASON CLIENT HELD_MS LEASE_MS UNTIL HOLDS TOKEN WAITERS LAST_START HELD LEASE" ]
}

@test "status refuses --json with --raw as a usage error" {
	run -64 "$FAIRLOCK" status --json --raw job
}

@test "status --json is valid JSON whatever bytes other programs have written" {
	"$FAIRLOCK" acquire job
	describe_holder job $'h"o\\st\t007\tu\xff\xc3\ts\x01\x1b[31m\x7f\xc2\x9b'
	[ "$(lock job '|[.host, .pid, .user]')" = '["h\"o\\st",null,"u��"]' ]
	[ "$(lock job '|.command == "s\u0001\u001b[31m\u007f\u009b"')" = true ]
	describe_holder job $'h\t1\tu\ta\u202eb\u2066c'
	run -0 "$FAIRLOCK" status --json job
	assert_output --partial 'a\u202eb\u2066c'
}

@test "status prints no control characters whatever bytes other programs have written" {
	"$FAIRLOCK" acquire job
	describe_holder job $'h\t1\tu\t\x1b[31m\nred\xc2\x9b'
	run -0 "$FAIRLOCK" status
	[ "${#lines[@]}" -eq 2 ]
	[[ $output != *$'\x1b'* && $output != *$'\xc2\x9b'* ]]
}

@test "messages, status, queue and log show no characters that cannot be seen; JSON escapes them" {
	local hidden=$'a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg\U000e0041h' shown='a?b?c?d?e?f?g?h'

	"$FAIRLOCK" acquire job
	background "$FAIRLOCK" wrap job true "$hidden"
	wait_until in_queue job 1
	describe_holder job $'h\t1\tu\t'"$hidden" >/dev/null
	cli XADD 'fairlock_log:{job}' '*' event granted by $'h\t1\tu\t'"$hidden" >/dev/null
	run -75 "$FAIRLOCK" wrap -n job true
	assert_output --partial "held by $shown (pid 1, u@h)"
	for command in status queue log; do
		run -0 "$FAIRLOCK" $command job
		assert_output --partial "$shown"
		run -0 "$FAIRLOCK" $command --raw job
		assert_output --partial 'a\xe2\x80\x8bb\xe2\x80\x8cc\xe2\x80\x8dd\xe2\x81\xa0e\xef\xbb\xbff\xc2\xadg\xf3\xa0\x81\x81h'
		run -0 "$FAIRLOCK" $command --json job
		assert_output --partial 'a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg'
		run -0 jq -r '.. | .command? // empty' <<<"$output"
		assert_output --partial "$hidden"
	done
}

@test "status, queue and log show no control characters of Latin-1, and none that turn the direction of writing" {
	local shown='a?b?c?d?e'

	"$FAIRLOCK" acquire job
	background "$FAIRLOCK" wrap job true $'a\u202eb\u2066c\u200fd\u009be'
	wait_until in_queue job 1
	describe_holder job $'h\t1\tu\ta\u202eb\u2066c\u200fd\u009be'
	cli XADD 'fairlock_log:{job}' '*' event granted by $'h\t1\tu\ta\u202eb\u2066c\u200fd\u009be' >/dev/null
	for form in '' --raw; do
		for command in status queue log; do
			run -0 "$FAIRLOCK" $command $form job
			assert_output --partial "$shown"
		done
		shown='a\xe2\x80\xaeb\xe2\x81\xa6c\xe2\x80\x8fd\xc2\x9be'
	done
}

@test "status refuses a list of columns with a comma at its end, at its start, or twice" {
	local list

	for list in 'NAME,' ',NAME' ',' 'NAME,,PID' '+USER,'; do
		run -64 "$FAIRLOCK" status -o "$list"
		assert_line --index 0 "fairlock: cannot show column '': there is no such column, '-o help' lists them"
	done
	run -0 "$FAIRLOCK" status -o NAME,STATE job
}

@test "at 60 columns status shows until when a lock is kept, to the second" {
	"$FAIRLOCK" wrap --min-hold 10m nightly-database-backup true
	run -0 script -qec 'stty cols 60; "$FAIRLOCK" status --color=never' /dev/null
	assert_output --regexp 'kept until ([A-Z][a-z]+ [0-9]+ )?[0-9]{2}:[0-9]{2}:[0-9]{2} '
}

# ---- Several holders ----

# rows NAME COLUMNS: prints these columns of each row of a lock
rows() {
	"$FAIRLOCK" status --raw --noheadings -o "$2" "$1"
}

@test "status has a row for each slot that is held, in the order of their grants" {
	local db2 db1 rest

	read -r db2 rest < <("$FAIRLOCK" acquire --slots db2 job)
	read -r db1 rest < <("$FAIRLOCK" acquire --slots db1,db2 job)
	background "$FAIRLOCK" wrap job true
	wait_until in_queue job 1
	assert_equal "$(rows job NAME,STATE,MODE,SLOT,OWNER,HOLDS,WAITERS)" \
		"job held slots db2 $db2 1 1"$'\n'"job held slots db1 $db1 1 1"
	assert_equal "$("$FAIRLOCK" status --json job | jq -c '[.locks[] | [.state, .mode, .slot, .owner, .client]]')" \
		"[[\"held\",\"slots\",\"db2\",\"$db2\",\"fairlock\"],[\"held\",\"slots\",\"db1\",\"$db1\",\"fairlock\"]]"
	[ "$(rows job TOKEN)" = "$(rows job TOKEN | sort -n)" ]
	assert_equal "$(lock job .slot)" '"db2"'
}

@test "status --json has a numbered slot as a string, and no slot of a shared or an exclusive hold" {
	"$FAIRLOCK" acquire --slots 2 job >/dev/null
	"$FAIRLOCK" acquire --shared books >/dev/null
	"$FAIRLOCK" acquire alone >/dev/null
	assert_equal "$("$FAIRLOCK" status --json | jq -c '[.locks[] | [.name, .mode, .slot]]')" \
		'[["alone","exclusive",null],["books","shared",null],["job","slots","1"]]'
}

@test "status shows MODE and SLOT to people only if a lock is shared or has slots" {
	"$FAIRLOCK" acquire alone >/dev/null
	run -0 "$FAIRLOCK" status
	assert_line --index 0 --regexp '^NAME +STATE +USER +HOST'
	"$FAIRLOCK" acquire --shared books >/dev/null
	run -0 "$FAIRLOCK" status
	assert_line --index 0 --regexp '^NAME +STATE +MODE +USER +HOST'
	assert_line --regexp '^alone +held +exclusive +'
	assert_line --regexp '^books +held +shared +'
	"$FAIRLOCK" acquire --slots 2 job >/dev/null
	run -0 "$FAIRLOCK" status
	assert_line --index 0 --regexp '^NAME +STATE +MODE +SLOT +USER +HOST'
	assert_line --regexp '^job +held +slots +1 +'
	run -0 "$FAIRLOCK" status -o NAME,MODE,SLOT alone
	assert_line --index 0 --regexp '^NAME +MODE +SLOT$'
}

@test "status sorts the rows of one lock by --sort" {
	for _ in $(seq 11); do "$FAIRLOCK" acquire --slots 11 job >/dev/null; done
	"$FAIRLOCK" release --force -q --slot 2 job
	"$FAIRLOCK" acquire --slots 11 job >/dev/null
	assert_equal "$(rows job SLOT | paste -sd ' ')" '1 3 4 5 6 7 8 9 10 11 2'
	assert_equal "$("$FAIRLOCK" status --raw --noheadings --sort slot -o SLOT job | paste -sd ' ')" \
		'1 2 3 4 5 6 7 8 9 10 11'
}

@test "status shows a kept slot as kept beside one that is held, and --held shows both" {
	"$FAIRLOCK" wrap --slots 2 --min-hold 1h job true
	"$FAIRLOCK" acquire --slots 2 job >/dev/null
	"$FAIRLOCK" wrap free true
	assert_equal "$(rows job STATE,SLOT,HOLDS)" $'kept 1 -\nheld 2 1'
	run -0 "$FAIRLOCK" status --held --noheadings -o STATE,SLOT
	assert_line --index 0 --regexp '^kept until .* 1$'
	assert_line --index 1 --regexp '^held +2$'
	assert_equal "${#lines[@]}" 2
}

@test "status -q says that a lock is held while one of several holds it" {
	local anna ben

	read -r anna _ < <("$FAIRLOCK" acquire --slots 2 job)
	read -r ben _ < <("$FAIRLOCK" acquire --slots 2 job)
	run -0 "$FAIRLOCK" status -q job
	"$FAIRLOCK" release --owner "$anna" job
	run -0 "$FAIRLOCK" status -q job
	"$FAIRLOCK" release --owner "$ben" job
	run -1 "$FAIRLOCK" status -q job
}

@test "status lists a lock with several holders once, although it has one more key" {
	"$FAIRLOCK" acquire --shared job >/dev/null
	[ "$(cli EXISTS 'fairlock_holders:{job}')" = 1 ]
	assert_equal "$("$FAIRLOCK" status --raw --noheadings -o NAME)" job
	assert_equal "$("$FAIRLOCK" log --raw --noheadings -o NAME)" job
	run -0 "$FAIRLOCK" queue
	refute_output --partial fairlock_holders
}

@test "status shows each of 1,000 holders" {
	"$FAIRLOCK" acquire --shared -l 1h job >/dev/null
	cli --raw EVAL 'local ends = redis.call("ZRANGE", KEYS[1], 0, 0, "WITHSCORES")
		local record = redis.call("HGET", KEYS[2], "h:" .. ends[1])
		for i = 1, 999 do
			redis.call("ZADD", KEYS[1], ends[2], "a:" .. i)
			redis.call("HSET", KEYS[2], "h:a:" .. i, record)
		end' 2 'fairlock_holders:{job}' 'fairlock:{job}' >/dev/null
	assert_equal "$(rows job OWNER | sort -u | wc -l)" 1000
	assert_equal "$("$FAIRLOCK" status --json job | jq '[.locks[] | select(.state == "held" and .mode == "shared" and .holds == 1)] | length')" 1000
	assert_equal "$("$FAIRLOCK" status --noheadings job | awk '{ print NF }' | sort -u | wc -l)" 1
}

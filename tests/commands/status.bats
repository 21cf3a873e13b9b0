#!/usr/bin/env bats
# fairlock status: what it says of each lock, its forms, and -q.

load ../lib/helpers
load ../lib/one_server

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
	[ "$(lock job '|keys_unsorted|join(" ")')" = '"name state mode slot owner host pid user command reason client held_ms lease_ms until holds token waiters last_start last_ok"' ]
}

@test "status --json of a free lock has null for all but name, state and waiters" {
	[ "$(lock job '|del(.name)')" = '{"state":"free","mode":null,"slot":null,"owner":null,"host":null,"pid":null,"user":null,"command":null,"reason":null,"client":null,"held_ms":null,"lease_ms":null,"until":null,"holds":null,"token":null,"waiters":0,"last_start":null,"last_ok":null}' ]
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
	[ "$("$FAIRLOCK" status --all --json | jq '[.locks[].name] | unique | length')" = 2500 ]
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
	[ "$("$FAIRLOCK" status --all --json | jq '.locks | length')" = 0 ]
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
	"$FAIRLOCK" wrap other true
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

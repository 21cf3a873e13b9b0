#!/usr/bin/env bats
# fairlock status: what it says of each lock, its forms, and -q.

load ../lib/helpers
load ../lib/one_server

@test "status shows the holder's owner id, host, user, process and command" {
	owner=$(LOGNAME=alice "$FAIRLOCK" acquire job)
	run -0 "$FAIRLOCK" status --json job
	jq -e --arg owner "$owner" --arg host "$(uname -n)" '.locks[0] | .name == "job"
		and .state == "held" and .owner == $owner and .host == $host and .user == "alice"
		and "\(.pid)" == ($owner | split(":")[1]) and .command == "fairlock acquire"
		and .client == "fairlock"' <<<"$output"
}

@test "status --json has the keys that the manual names, in this order" {
	[ "$(lock job '|keys_unsorted|join(" ")')" = '"name state mode slot owner host pid user command reason client held_ms lease_ms until holds token waiters last_start last_ok"' ]
}

@test "status --json of a free lock has null for all but name, state and waiters" {
	[ "$(lock job '|del(.name)')" = '{"state":"free","mode":null,"slot":null,"owner":null,"host":null,"pid":null,"user":null,"command":null,"reason":null,"client":null,"held_ms":null,"lease_ms":null,"until":null,"holds":null,"token":null,"waiters":0,"last_start":null,"last_ok":null}' ]
}

@test "status shows a lock without a time to live as held, with a lease of null" {
	"$FAIRLOCK" acquire job
	cli PERSIST job
	[ "$(lock job '|[.state, .lease_ms]')" = '["held",null]' ]
	[ "$("$FAIRLOCK" status --noheadings --raw -o LEASE job)" = none ]
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

@test "status refuses a name that shares keys with a name in use" {
	"$FAIRLOCK" acquire '{job}'
	run -64 "$FAIRLOCK" status job
	assert_line --index 0 "fairlock: cannot use the name job: it shares keys with lock {job}, which is in use"
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

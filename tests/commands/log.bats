#!/usr/bin/env bats
# fairlock log: the events that it shows, and its forms.

load ../lib/helpers
load ../lib/history

logged() {
	[ "$(events '[-1].event')" = "\"$1\"" ]
}

# last_is EVENT SINCE: waits for this event; it must have happened between SINCE and now
last_is() {
	local time

	wait_until logged "$1"
	time=$(date -d "$(events '[-1].time' | tr -d '"')" +%s%3N)
	[ "$time" -ge "$2" ] && [ "$time" -le "$(now_ms)" ] || fail "$1 at $time is not in $2..$(now_ms)"
}

# ---- The events ----

@test "log shows a grant and a release with the holder, the time and the duration" {
	before=$(now_ms)
	LOGNAME=bob background "$FAIRLOCK" wrap job sleep 0.1
	wrapper=$!
	wait $wrapper
	last_is released "$before"
	"$FAIRLOCK" log --json job | jq -e --arg host "$(uname -n)" --arg pid $wrapper '.log
		| map(.event) == ["granted", "released"] and .[0].waited_ms == 0 and .[0].held_ms == null
		and .[1].held_ms >= 100 and .[0].token == .[1].token and .[0].token > 1e12
		and all(.host == $host and .user == "bob" and "\(.pid)" == $pid and .command == "sleep 0.1"
			and (.owner | endswith(":" + $pid)))'
}

@test "log --json has the keys that the manual names, in this order, and times as in RFC 3339" {
	"$FAIRLOCK" wrap job true
	assert_equal "$(events '[0]|keys_unsorted|join(" ")')" \
		'"name time event owner host pid user command slot reason token waited_ms held_ms by status cause"'
	[[ $(events '[0].time') =~ ^\"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z\"$ ]]
}

@test "the next acquire logs that a lease has expired, with the time of its end" {
	before=$(now_ms)
	"$FAIRLOCK" acquire --lease 1s job
	wait_until is_free job
	gone=$(now_ms)
	sleep 0.2
	"$FAIRLOCK" acquire job
	assert_equal "$(events '|map(.event)')" '["granted","expired","granted"]'
	events '[1]' | jq -e ".held_ms == 1000 and (.time | sub(\"[.].*\"; \"Z\") | fromdate) <= $((gone / 1000))"
	time=$(date -d "$(events '[1].time' | tr -d '"')" +%s%3N)
	[ "$time" -ge $((before + 1000)) ]
	[ "$time" -le "$gone" ]
}

@test "log shows that a lock was broken by force, with the owner who lost it" {
	owner=$("$FAIRLOCK" acquire job)
	before=$(now_ms)
	"$FAIRLOCK" release --force job
	last_is forced "$before"
	assert_equal "$(events '[-1].owner')" "\"$owner\""
}

@test "log shows that a holder lost the lock to another one when the server lost its data" {
	hold --lease 6s job
	before=$(now_ms)
	cli FLUSHALL >/dev/null
	"$FAIRLOCK" acquire job
	last_is lost "$before"
	assert_equal "$(events '[-1].pid')" "$HOLDER"
}

@test "log shows that a waiter has left the queue, and how long it had waited" {
	hold job
	before=$(now_ms)
	run -75 "$FAIRLOCK" wrap --wait 1s job true
	last_is left "$before"
	events '[-1]' | jq -e '.waited_ms >= 500 and .held_ms == null and .token == null and .command == "true"'
}

# ---- How COMMAND ended ----

# ended: prints status and cause of each release
ended() {
	events '|map(select(.event == "released") | [.status, .cause])'
}

@test "log shows with which status COMMAND ended, or which signal killed it" {
	"$FAIRLOCK" wrap job true
	run -3 "$FAIRLOCK" wrap job sh -c 'exit 3'
	run -127 "$FAIRLOCK" wrap job no-such-command
	run -126 "$FAIRLOCK" wrap job /dev/null
	"$FAIRLOCK" wrap job sh -c 'kill -KILL $$' || true
	"$FAIRLOCK" wrap job sh -c 'kill -TERM $$' || true
	assert_equal "$(ended)" \
		'[[0,"exit"],[3,"exit"],[127,"exit"],[126,"exit"],[137,"KILL"],[143,"TERM"]]'
	run -0 "$FAIRLOCK" log --raw --noheadings -o EVENT,STATUS,CAUSE job
	assert_line --index 9 'released 137 KILL'
	assert_equal "$(events '[0]|[.status, .cause]')" '[null,null]'
}

# has_command WRAPPER: its guard is there, and has started COMMAND, which is `sleep`
has_command() {
	local guard

	guard=$(pgrep -P "$1") && pgrep -x -P "$guard" sleep >/dev/null
}

@test "log shows that --max-hold stopped COMMAND" {
	run -124 "$FAIRLOCK" wrap --max-hold 100ms job sleep 60
	run -124 "$FAIRLOCK" wrap --max-hold 1s job sh -c 'trap "exit 5" TERM; while :; do sleep 0.05; done'
	assert_equal "$(ended)" '[[143,"max-hold"],[5,"max-hold"]]'
}

@test "log shows that COMMAND was stopped since the guard of its lock was lost" {
	hold job
	wait_until has_command "$HOLDER"
	pkill -KILL -P "$HOLDER"
	ends_with 76 "$HOLDER"
	assert_equal "$(ended)" '[[143,"lost"]]'
}

@test "log shows that COMMAND was stopped since its wrapper was killed" {
	hold job
	wait_until has_command "$HOLDER"
	kill -KILL "$HOLDER"
	wait_until is_free job
	assert_equal "$(ended)" '[[143,"wrap died"]]'
}

@test "log knows no status of a lock of acquire that a wrap went into and gave back last" {
	owner=$("$FAIRLOCK" acquire job)
	FAIRLOCK_OWNER=$owner run -3 "$FAIRLOCK" wrap job sh -c '"$0" release --owner "$1" job; exit 3' "$FAIRLOCK" "$owner"
	is_free job
	assert_equal "$(ended)" '[[null,null]]'
	owner=$("$FAIRLOCK" acquire job)
	FAIRLOCK_OWNER=$owner run -3 "$FAIRLOCK" wrap --min-hold 500ms job sh -c '"$0" release --owner "$1" job; exit 3' "$FAIRLOCK" "$owner"
	wait_until is_free job
	"$FAIRLOCK" wrap job true
	assert_equal "$(ended)" '[[null,null],[null,null],[0,"exit"]]'
}

# ---- The table ----

@test "log --sort sorts the events by a column" {
	"$FAIRLOCK" wrap job true
	[ "$("$FAIRLOCK" log --raw --noheadings -o EVENT --sort EVENT job | xargs)" = 'granted released' ]
	[ "$("$FAIRLOCK" log --raw --noheadings -o EVENT --sort WAITED_MS job | wc -l)" = 2 ]
}

# ---- All locks ----

# use NAME [COMMAND]: a wrap takes the lock, and gives it back, perhaps after its own end
use() {
	"$FAIRLOCK" wrap "$1" "${2-true}" || true
	wait_until is_free "$1"
}

# shows_others CAUSE: log without NAME ends with 78 for this cause, and shows the events of the lock "other"
shows_others() {
	run --separate-stderr -78 "$FAIRLOCK" log
	assert_output --partial other
	# shellcheck disable=SC2154 # stderr comes from run
	assert_equal "$stderr" "fairlock: $1"
	run --separate-stderr -78 "$FAIRLOCK" log --json
	assert_equal "$(jq -c '[.log[].name] | unique' <<<"$output")" '["other"]'
}

@test "log without NAME names a lock whose data are damaged, shows the other locks, and ends with 78" {
	use job
	use other
	cli HSET 'fairlock:{job}' name nonsense >/dev/null
	shows_others 'cannot show the log of lock job: its name on the server is nonsense'
	cli SET 'fairlock:{job}' 1 >/dev/null
	shows_others 'cannot use the name job: it is in use by something that is no lock'
	cli DEL 'fairlock:{job}' >/dev/null
	run -0 "$FAIRLOCK" log
	assert_output --partial job
	cli SET 'fairlock_log:{job}' 1 >/dev/null
	shows_others 'cannot use the name job: it is in use by something that is no lock'
}

@test "log without NAME merges the logs of all nodes of a cluster, and ends with 69 if a part cannot be seen" {
	local names=(job a b c d) owners owner

	load ../lib/nodes
	start_cluster --cluster-require-full-coverage no
	FAIRLOCK_URL=redis://127.0.0.1:${CLUSTER_PORTS%% *}
	for name in "${names[@]}"; do
		"$FAIRLOCK" wrap "$name" true
	done
	owners=$(for name in "${names[@]}"; do owner_of "$(slot_of "$name")"; done | sort -u)
	[ "$(wc -l <<<"$owners")" -gt 1 ]
	run -0 "$FAIRLOCK" log --raw --noheadings -o NAME,EVENT
	assert_output "$(printf '%s granted\n' "${names[@]}" | sed 'p; s/granted/released/')"
	owner=$(grep -vx "${CLUSTER_PORTS%% *}" <<<"$owners" | head -n 1)
	kill_node "$(replica_of "$owner")"
	kill_node "$owner"
	run -69 --separate-stderr timeout 60 "$FAIRLOCK" log --connect-timeout 1s --raw --noheadings -o NAME,EVENT
	assert_equal "${#stderr_lines[@]}" 1
	[ "${#lines[@]}" -lt 10 ]
}

# ---- Slots ----

@test "log shows the slot of each event of a hold: grant, release, expiry, and break by force" {
	local owner slot

	"$FAIRLOCK" wrap --slots db1,db2 job true
	"$FAIRLOCK" acquire --slots db1,db2 --lease 1s job >/dev/null
	wait_until is_free job
	read -r owner slot < <("$FAIRLOCK" acquire --slots 3 job)
	"$FAIRLOCK" release --force -q --slot 1 job
	"$FAIRLOCK" wrap --shared job true
	assert_equal "$(events '|map([.event, .slot])')" "$(jq -nc '[["granted", "db1"], ["released", "db1"], ["granted", "db1"],
		["expired", "db1"], ["granted", "1"], ["forced", "1"], ["granted", null], ["released", null]]')"
	run -0 "$FAIRLOCK" log job
	assert_line --index 0 --regexp '^TIME +EVENT +SLOT +WAITED '
	assert_line --index 1 --regexp ' granted +db1 '
	run -0 "$FAIRLOCK" log
	assert_line --index 1 --regexp ' granted +db1 '
	run -0 "$FAIRLOCK" log --raw --noheadings -o EVENT,SLOT job
	assert_line --index 4 'granted 1'
}

@test "log shows the reason for which a lock was wanted" {
	cli XADD $key '*' event granted time ${base}000 by $'db1\t100\tann\tpsql\tmigrate the table' >/dev/null
	run -0 "$FAIRLOCK" log --noheadings -o COMMAND,REASON job
	assert_output 'psql    migrate the table'
	assert_equal "$(events '|map([.command, .reason])')" '[["psql","migrate the table"]]'
	run -0 "$FAIRLOCK" log job
	refute_output --partial migrate
}

# fairlock log: the events that it shows, which of them, and in which form.

load ../lib/helpers
load ../lib/history

# ended: prints status and cause of each release
ended() { events '|map(select(.event == "released") | [.status, .cause])'; }

# columns COLUMNS WORD...: prints these columns, without headings
columns() { "$FAIRLOCK" log --raw --noheadings -o "$1" "${@:2}"; }

# ---- The events ----

@test "log shows a grant and a release with the holder, the time and the duration; --json has the keys of the manual" {
	before=$(now_ms)
	LOGNAME=bob background "$FAIRLOCK" wrap job sleep 0.1
	wrapper=$!
	wait $wrapper
	time=$(date -d "$(events '[-1].time' | tr -d '"')" +%s%3N)
	[ "$time" -ge "$before" ]
	[ "$time" -le "$(now_ms)" ]
	"$FAIRLOCK" log --json job | jq -e --arg host "$(uname -n)" --arg pid $wrapper '.log
		| map(.event) == ["granted", "released"] and .[0].waited_ms == 0 and .[0].held_ms == null
		and .[1].held_ms >= 100 and .[0].token == .[1].token and .[0].token > 1e12
		and all(.host == $host and .user == "bob" and "\(.pid)" == $pid and .command == "sleep 0.1"
			and (.owner | endswith(":" + $pid)))'
	assert_equal "$(events '[0]|keys_unsorted|join(" ")')" \
		'"name time event owner host pid user command slot reason token waited_ms held_ms by status cause"'
	[[ $(events '[0].time') =~ ^\"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z\"$ ]]
}

@test "log shows with which status COMMAND ended, which signal killed it, and that --max-hold stopped it" {
	local command

	for command in true 'exit 3' 'kill -KILL $$' 'kill -TERM $$'; do
		"$FAIRLOCK" wrap job sh -c "$command" || true
	done
	run -127 "$FAIRLOCK" wrap job no-such-command
	run -126 "$FAIRLOCK" wrap job /dev/null
	run -124 "$FAIRLOCK" wrap --max-hold 100ms job sleep 60
	run -124 "$FAIRLOCK" wrap --max-hold 1s job sh -c 'trap "exit 5" TERM; while :; do sleep 0.05; done'
	assert_equal "$(ended)" \
		'[[0,"exit"],[3,"exit"],[137,"KILL"],[143,"TERM"],[127,"exit"],[126,"exit"],[143,"max-hold"],[5,"max-hold"]]'
	assert_equal "$(columns EVENT,STATUS,CAUSE job | sed -n '5,6p')" $'granted - -\nreleased 137 KILL'
}

@test "log shows the reason for which a lock was wanted, and its slot, and sorts by a column" {
	cli XADD "$key" '*' event granted slot db1 time ${base}000 by $'db1\t100\tann\tpsql\tmigrate the table' >/dev/null
	cli XADD "$key" '*' event expired time ${base}001 by $'db1\t100\tann\tpsql' >/dev/null
	run -0 "$FAIRLOCK" log --noheadings -o COMMAND,REASON -n 1 --sort EVENT job
	assert_equal "$(events '[0]|[.command, .reason, .slot]')" '["psql","migrate the table","db1"]'
	assert_equal "$(columns EVENT,SLOT,REASON --sort EVENT job)" $'expired - -\ngranted db1 migrate\\x20the\\x20table'
	run -0 "$FAIRLOCK" log job
	assert_line --index 0 --regexp '^TIME +EVENT +SLOT +WAITED '
	refute_output --partial migrate
}

# ---- All locks ----

# shows_others CAUSE: log without NAME ends with 78 for this cause, and shows the events of the lock "other"
shows_others() {
	run --separate-stderr -78 "$FAIRLOCK" log --json
	assert_equal "$(jq -c '[.log[].name] | unique' <<<"$output")" '["other"]'
	assert_equal "$stderr" "fairlock: $1"
}

@test "log without NAME names a lock whose data are damaged, shows the other locks, and ends with 78" {
	"$FAIRLOCK" wrap job true
	"$FAIRLOCK" wrap other true
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
	assert_equal "$(columns NAME,EVENT)" "$(printf '%s granted\n' "${names[@]}" | sed 'p; s/granted/released/')"
	owner=$(grep -vx "${CLUSTER_PORTS%% *}" <<<"$owners" | head -n 1)
	kill_node "$(replica_of "$owner")"
	kill_node "$owner"
	run -69 --separate-stderr timeout 60 "$FAIRLOCK" log --connect-timeout 1s --raw --noheadings -o NAME,EVENT
	assert_equal "${#stderr_lines[@]}" 1
	[ "${#lines[@]}" -lt 10 ]
}

# ---- --lines and --since ----

@test "log --lines N shows the last N events, also all that there are, and none; it takes a number" {
	local words last option

	for status in 1 2 3; do
		"$FAIRLOCK" wrap job sh -c "exit $status" || true
	done
	while IFS='|' read -r words last; do
		assert_equal "$(columns EVENT,STATUS $words job | paste -sd ' ')" "$last"
	done <<-'END'
		-n 3|released 2 granted - released 3
		--lines=1|released 3
		-n 5|released 1 granted - released 2 granted - released 3
		-n 0|
	END
	assert_equal "$(columns EVENT -n6 job)" "$(columns EVENT -n 100 job)"
	assert_equal "$("$FAIRLOCK" log --json -n 2 job | jq -c '[.log[].event]')" '["granted","released"]'
	for option in --stats --plot; do
		run -64 "$FAIRLOCK" log -n 3 $option job
		assert_line --index 0 "fairlock: cannot use option '--lines': it does not go with $option"
	done
	for option in x -1; do
		run -64 "$FAIRLOCK" log -n "$option" job
		assert_line --index 0 "fairlock: cannot use option '--lines': '$option' is not a number"
	done
}

@test "log --since takes a day, a time of a day, seconds since the epoch, and a time of another zone" {
	local since minutes

	export TZ=Asia/Tokyo # nine hours ahead of UTC
	printf '%s granted - - - -\n' 0 60 120 180 | entries
	while IFS='|' read -r since minutes; do
		assert_equal "$(columns TIME --since "$since" job | sed 's/.*T03:0\(.\):00.000Z/\1/' | paste -sd ' ')" "$minutes"
	done <<-END
		2026-11-21|0 1 2 3
		2026-11-22|
		2026-11-21 12:01|1 2 3
		2026-11-21 12:01:00.001|2 3
		2026-11-21T12:02:00|2 3
		2026-11-21T03:03:00Z|3
		2026-11-21 04:03:00+01:00|3
		2026-11-20 22:03:00-0500|3
		@$((base + 120))|2 3
		@$((base + 120)).5|3
	END
}

@test "log --since knows yesterday and today, which begin at midnight, and times of them" {
	local midnight since tokens

	midnight=$(date -d 'today 0:00' +%s)
	for second in -86401 -86400 -1 0 1; do
		cli XADD "$key" "$((midnight + second))000-*" event granted time "$((midnight + second))000" token "$((second + 90000))" >/dev/null
	done
	while IFS='|' read -r since tokens; do
		assert_equal "$(columns TOKEN --since "$since" job | paste -sd ' ')" "$tokens"
	done <<-'END'
		yesterday|3600 89999 90000 90001
		today|90000 90001
		00:00|90000 90001
		yesterday 00:00:01|89999 90000 90001
		now|
	END
}

@test "log --since refuses the future, and other words with an example of each form" {
	for text in foo '2026-11-23 03' 03:00Z yesterdayy '@' '@1x' -1 ' 03:00' 2026-11-23T 2026-2-3 3:0 003:00 12:345 \
		'yesterday T03:00' 99999-01-01; do
		run -64 "$FAIRLOCK" log --since="$text" job
		assert_line --index 0 "fairlock: cannot use --since '$text': write 2h, 1w, yesterday, 03:00, '2026-11-23 03:00' or @SECONDS"
		assert_line --index 1 "Try 'fairlock log --help'."
	done
	run -64 "$FAIRLOCK" log --since="$(printf 'x%.0s' {1..500})" job
	[ "${#lines[0]}" -lt 160 ]
	run -64 "$FAIRLOCK" log --since 2126-11-23 job
	assert_line --index 0 "fairlock: cannot use --since '2126-11-23': it is in the future"
}

@test "log --since shows only events that have happened since then, whenever they were written" {
	local since shown

	ago 7200 granted
	ago 3000 released
	ago 7000 expired 100
	ago 10 granted 0
	while IFS='|' read -r since shown; do
		assert_equal "$(columns EVENT --since "$since" job | paste -sd ' ')" "$shown"
	done <<-'END'
		1h|released granted
		5|
		0|
		100000d|granted released expired granted
	END
	run -0 "$FAIRLOCK" log --since 1h --json --stats job
	assert_equal "$(jq -c '.stats|[.granted, .released, .expired]' <<<"$output")" '[1,1,0]'
}

# ---- What others have written ----

@test "every form of log bears texts that are huge, not UTF-8, or meant to drive a terminal" {
	local form width huge

	huge=$(printf 'x%.0s' {1..100000})
	cli XADD "$key" '*' event granted by "h	1	u	$huge" owner "$huge" token "$huge" >/dev/null
	cli XADD "$key" '*' event "$huge" time "$huge" >/dev/null
	printf 'XADD %s * event "\\x1b[2J" by "\\x1b]0;x\\x07\\t\\x9b\\t\\xff\\xfe\\t\\r\\n\\x00 \\xe2\\x80\\xae x" token "\\x00"\n' \
		"$key" | cli >/dev/null
	printf 'XADD %s * event granted by "a\\tb\\tc\\t\\xc2\\x9b31m\\xc3" time 1795230000000\n' "$key" | cli >/dev/null
	for form in '' --raw --json --stats '--stats --json' --plot '--since 1h' '--plot --since 1000000d' '--stats --since 1000000d'; do
		for width in 30 80 900; do
			COLUMNS=$width run -0 timeout 20 "$FAIRLOCK" log $form job
			[[ $form != *json* ]] || jq -e . <<<"$output" >/dev/null || fail "$form: $output"
			! LC_ALL=C tr -d '\n' <<<"$output" | LC_ALL=C grep -q '[[:cntrl:]]' || fail "$form: $output"
			iconv -f UTF-8 -t UTF-8 <<<"$output" >/dev/null || fail "$form: $output"
		done
	done
}

@test "log knows no status of a lock of acquire that a wrap went into and gave back last" {
	owner=$("$FAIRLOCK" acquire job)
	FAIRLOCK_OWNER=$owner run -3 "$FAIRLOCK" wrap job sh -c '"$0" release --owner "$1" job; exit 3' "$FAIRLOCK" "$owner"
	assert_equal "$(ended)" '[[null,null]]'
}

# The log: the events that the scripts write, the counters beside it, and the script that reads it.

load ../lib/scripts

@test "each event is logged with its time, owner, token and command, how long it waited and held, and how COMMAND ended" {
	acquire anna 'by=host 7 root make'
	from=$(now_ms)
	later 3000
	release anna status=137 cause=KILL
	acquire ben lease=5000
	later 60000 # the next script logs the end of a lease, with its time
	acquire cleo
	queue_up dora
	later 2000
	leave dora
	release cleo mode=unused status=127 cause=exit
	run log_lines
	assert_output "event=granted|time=$from|owner=anna|token=${token[anna]}|by=host 7 root make|waited=0|held=|status=|cause=
event=released|time=$((from + 3000))|owner=anna|token=${token[anna]}|by=host 7 root make|waited=0|held=3000|status=137|cause=KILL
event=granted|time=$((from + 3000))|owner=ben|token=${token[ben]}|by=by ben|waited=0|held=|status=|cause=
event=expired|time=$((from + 8000))|owner=ben|token=${token[ben]}|by=by ben|waited=0|held=5000|status=|cause=
event=granted|time=$((from + 63000))|owner=cleo|token=${token[cleo]}|by=by cleo|waited=0|held=|status=|cause=
event=left|time=$((from + 65000))|owner=dora|token=|by=by dora|waited=2000|held=|status=|cause=
event=released|time=$((from + 65000))|owner=cleo|token=${token[cleo]}|by=by cleo|waited=0|held=2000|status=127|cause=exit"
}

# counts GRANTS EXPIRIES BREAKS LOSSES
counts() { assert_equal "$(shown counts)" "$*"; }

@test "grants, ends of leases and breaks count once, also if a request is repeated; going in again and renewals do not count" {
	acquire anna lease=1000
	acquire anna again=1 lease=1000
	acquire inner inherited=anna lease=1000
	renew anna lease=1000
	counts 1 0 0 0
	later 1001
	counts 1 1 0 0 # also before a script notices it
	renew anna is='lost gone'
	renew anna
	counts 1 1 0 0
	acquire ben
	acquire ben again=1
	release ben
	release ben again=1
	counts 2 1 0 0
	assert_equal "$(the_events)" 'granted expired granted released'
	release any mode=force request=bob is=free
	acquire carl
	release any mode=force request=ann
	release any mode=force request=ann again=1
	renew carl is='lost forced'
	counts 3 1 1 0
	redisson_takes r1
	release any mode=force request=dan
	counts 3 1 2 0
}

@test "the log keeps about a thousand events" {
	for ((i = 1; i <= 700; i++)); do
		script_line acquire "w$i" "w$i" w 30000 wait '' 0 '' ''
		script_line release "w$i" "w$i" own '' 0
	done | cli >/dev/null
	between 1000 "$(cli XLEN "$(key_log)")" 1199
}

# Reading it

# look [AFTER [SINCE [NOW]]]: the answer is in `reply`, one word a line
look() {
	script log "${1-}" "${2-}" "${3-0}"
}

# gives IDS [AFTER [SINCE]]: the entries that the script gives, in its order
gives() {
	look "${@:2}"
	assert_equal "$(printf '%s\n' "${reply[@]:2}" | grep -E '^[0-9]+-[0-9]+$' | paste -sd ' ')" "$1"
}

@test "the log script gives the entries behind the one that it is given, and not older than the time asked for" {
	now=$(now_ms) old=$(($(now_ms) - 20000))-1 new=$(($(now_ms) - 1000))-1
	for id in "$old" "$new"; do
		cli XADD "$(key_log)" "$id" event granted time "${id%-*}" >/dev/null
	done
	gives "$new" "$old"
	gives "$new" $((now - 1500))-1 # a log may have lost it
	gives '' "$new"
	gives "$new" '' 10000
	gives '' '' 0
	gives "$new $old" '' "@$((now - 20001))"
	gives "$new" '' "@$((now - 1000))"
	gives '' '' "@$((now - 999))"
	gives "$new $old" '' 4611686018427387903
}

@test "the log script gives the latest 2,000 entries of a longer log" {
	for ((i = 1; i <= 2100; i++)); do
		echo "XADD $(key_log) $i-1 event granted"
	done | cli >/dev/null
	gives "$(seq -f %g-1 -s ' ' 2100 -1 101)"
}

# rest: the end of the answer, behind the entries
rest() { printf '%s|' "${reply[@]: -$1}"; }

@test "the log script gives the holder, its hold and the present waiters if asked for them, and an end that nobody noticed" {
	acquire anna by=$'host\t1\tann\tjob'
	hold="anna|${token[anna]}|${token[anna]}|$((token[anna] + 30000))|0|host	1	ann	job|x||"
	queue_up ben
	queue_up_dead cleo
	redisson_waits mallory
	present mallory
	look '' '' 1
	assert_equal "$(rest 13)" "anna|$((ticket[ben] / 1000))|by ben|||$hold"
	look '' '' 0
	refute_regex "${reply[*]}" 'by ben'
	absent ben mallory
	later 30001
	look '' '' 1
	assert_equal "$(rest 10)" "||$hold"
	assert_equal "$(cli XLEN "$(key_log)")" 1
}

@test "the log script gives the holds of several holders" {
	acquire anna want='#2' lease=60000
	later 10
	acquire ben want='#2' lease=40000
	cli DEL "$(key_log)"
	look '' '' 1
	anna="anna|${token[anna]}|${token[anna]}|$((token[anna] + 60000))|0|by anna|=|1|"
	ben="ben|${token[ben]}|${token[ben]}|$((token[ben] + 40000))|0|by ben|=|2|"
	assert_equal "$(printf '%s|' "${reply[@]:2}")" "|ben||$anna$ben"
	cli DEL job
	look '' '' 1
	[[ $(rest 16) = "$anna$ben" || $(rest 16) = "$ben$anna" ]]
}

# logged: the events in the log, with owner and slot
logged() {
	cli --json XRANGE "$(key_log)" - + | jq -r '.[][1] | [.[1], .[5], (index("slot") as $at | if $at then .[$at + 1] else "-" end)] |
		join(" ")' | paste -sd ,
}

@test "the log has the slot of each event of a hold" {
	acquire anna want='#2' lease=60000
	acquire ben want='#2' lease=600000
	release ben
	acquire ben want='=x' lease=600000
	release zoe mode=force only==x
	later 60001
	acquire cleo want='=1'
	assert_equal "$(logged)" 'granted anna 1,granted ben 2,released ben 2,granted ben x,forced ben x,expired anna 1,granted cleo 1'
	later 10
	release cleo
	cli FLUSHALL
	acquire dora
	renew cleo hold_mode='=1' is='lost taken'
	assert_equal "$(logged)" 'granted dora -,lost cleo 1'
}

# What a waiter without a terminal tells meanwhile (--report, outages), and why it waits (--reason).

load ../lib/one_server

# ---- --report ----

@test "--report tells place, waiters, time waited, and who holds the lock, at first and every DUR" {
	local waiter ann='\./job \(pid 12, ann@db1\)'

	hold job
	held_by $'db1\t12\tann\t./job' 180000
	join_queue job true
	background "$FAIRLOCK" wrap --report 1 job echo mine >out 2>said
	waiter=$!
	wait_until lines_in said 3
	assert_regex "$(sed -n 1p said)" "^fairlock: waiting for lock job: place 2 of 2, waited 0s, held by $ann for 3m[0-9s]*$"
	assert_regex "$(sed -n 3p said)" "^fairlock: waiting for lock job: place 2 of 2, waited [2-9]s, held by $ann for 3m[0-9s]*$"
	kill "$HOLDER"
	wait "$waiter"
	assert_equal "$(cat out)" mine
	run ! grep -vE "^fairlock: waiting for lock job: place [12] of [12], waited [0-9]+s(, |$)" said
}

@test "a waiter without a terminal is silent but with --report, or where CI is true, and there unless -q is given" {
	local variable count words first='^fairlock: waiting for lock job: place 1 of 1, waited 0s, held by sleep 600 '

	hold job
	# how many lines a waiter prints; the last one is that it has timed out
	while read -r variable count words; do
		run -75 env "$variable" "$FAIRLOCK" $words
		assert_equal "${#lines[@]}" "$count"
		[ "$count" -lt 2 ] || assert_line --index 0 --regexp "$first"
	done <<-'END'
		CI= 1 wrap -w 300ms job true
		CI= 0 wrap -q --report 1 -w 300ms job true
		CI=true 2 wrap -w 1.2 job true
		CI=true 2 acquire -w 100ms job
		CI=true 3 wrap --report 1 -w 1.5 job true
		CI=true 0 wrap -q -w 100ms job true
		CI=true 1 wrap -n job true
		CI=false 1 wrap -w 100ms job true
		CI=1 1 wrap -w 100ms job true
		FAIRLOCK_REPORT=1s 3 acquire -w 1.5s job
	END
}

# ---- Outages ----

# go_away: nobody reaches the server from now on; come_back: everybody does
go_away() {
	mv "$SERVER_SOCKET" "$SERVER_SOCKET.away"
	"$CLI" -s "$SERVER_SOCKET.away" CLIENT KILL TYPE normal >/dev/null 2>&1 || true
	"$CLI" -s "$SERVER_SOCKET.away" CLIENT KILL TYPE pubsub >/dev/null
}

come_back() { mv "$SERVER_SOCKET.away" "$SERVER_SOCKET"; }

outage='fairlock: waiting for lock job: cannot reach unix:.*; trying again'

# outages COUNT: succeeds if `said` has so many lines about outages, and no other
outages() { [ "$(grep -cE "^$outage$" said)" = "$1" ] && [ "$(wc -l <said)" = "$1" ]; }

# subscribed COUNT: succeeds if so many waiters listen
subscribed() {
	[ "$(cli --raw PUBSUB CHANNELS 'redisson_lock__channel:{job}:*' | wc -l)" -ge "$1" ]
}

@test "a waiter without a terminal tells each outage once, also with --quiet, and nothing when it is over" {
	local number

	hold -l 5m job
	join_queue -q --connect-timeout 300ms job touch ran
	for number in 1 2; do
		go_away
		wait_until outages "$number"
		sleep 1 # it tries again all the time
		outages "$number"
		come_back
		wait_until subscribed 2
		outages "$number"
	done
	waiter_is_next
	outages 2
	[ -e ran ]
}

# ---- --reason ----

@test "with --reason only COMMAND's first word and the reason go to the server" {
	hold --reason 'nightly copy' job
	assert_regex "$(holder_column job by)" $'^[^\t]+\t'"$HOLDER"$'\t[^\t]+\tsleep\tnightly copy$'
	background "$FAIRLOCK" acquire --reason 'after it' job
	wait_until in_queue job 1
	assert_regex "$(cli HVALS 'fairlock:{job}' | grep 'after it')" $'\tfairlock acquire\tafter it$'
	join_queue --reason '' job true SECRET
	assert_regex "$(cli HVALS 'fairlock:{job}' | grep $'\ttrue')" $'\ttrue$'
	run ! grep -q SECRET <(cli HGETALL 'fairlock:{job}')
}

@test "a reason that is too long, or has control or bidi characters or broken UTF-8, is a usage error" {
	local text shown

	while IFS='|' read -r text shown; do
		run -64 "$FAIRLOCK" wrap --reason "$(printf %b "$text")" job true
		assert_output "fairlock: cannot use option '--reason': '$shown' is not at most 200 bytes of UTF-8 without control characters
Try 'fairlock wrap --help'."
		[ "${#lines[0]}" -lt 160 ]
	done <<-END
		$(printf '%0201d' 1)|0000000000000000000000000000000000000...
		a\\nb|a?b
		a\\tb|a?b
		\\e[2J|?[2J
		\\u9b|?
		a\\u202eb|a?b
		a\\u2066b|a?b
		a\\u200fb|a?b
		a\\u2028b|a?b
		\\xff|?
	END
	run -0 "$FAIRLOCK" wrap --reason 'Übertrag, 日本, naïve' job true
	run -0 "$FAIRLOCK" wrap --reason $'می\u200cخواهم' job true # Persian needs this character
}

@test "FAIRLOCK_REASON and the key reason set a reason" {
	echo 'reason = of the host' >conf
	hold --config conf job
	assert_equal "$(holder_column job by | cut -f 5)" 'of the host'
	FAIRLOCK_REASON='of the user' hold other
	assert_equal "$(holder_column other by | cut -f 5)" 'of the user'
}

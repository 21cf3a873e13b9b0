# Waiters that are present, by their subscriptions, and what they are told: part of scripts.bash.
#
# way   SUBSCRIBE or SSUBSCRIBE: how a waiter that is made present from now on listens

declare -gA subscriber=() subscribed=() marker=()
declare -ga ids=()
declare -g way=SUBSCRIBE

nobody_listens() {
	[ "$(cli PUBSUB CHANNELS)$(cli PUBSUB NUMPAT)" = 0 ] || return
	! knows_sharded || [ -z "$(cli PUBSUB SHARDCHANNELS)" ]
}

# subscribers CHANNEL: how many listen to it in the present `way`
subscribers() {
	local count=NUMSUB

	[ "$way" = SUBSCRIBE ] || count=SHARDNUMSUB
	cli PUBSUB "$count" "$1" | tail -n 1
}

listens() {
	[ "$(subscribers "$(channel):$1")" = 1 ]
}

listens_not() {
	[ "$(subscribers "$(channel):$1")" = 0 ]
}

# listen ID CHANNEL...: writes down what comes in on these channels
listen() {
	background "$CLI" -s "$SERVER_SOCKET" "$way" "${@:2}" >"$BATS_TEST_TMPDIR/heard.$1"
	subscriber[$1]=$!
	subscribed[$1]=$way
}

# listen_too ID TICKET: a waiter that was told of a marker listens to its channel, too, as clients do
listen_too() {
	local way=${subscribed[$1]-}

	[ -n "$2" ] && [ -n "$way" ] && [ "${marker[$1]-}" != "$2" ] || return 0
	marker[$1]=$2
	heard "$1" >/dev/null # all of it is written
	kill "${subscriber[$1]}"
	wait "${subscriber[$1]}" 2>/dev/null || true
	wait_until listens_not "$1"
	background "$CLI" -s "$SERVER_SOCKET" "$way" "$(channel):fairlock:$2" "$(channel):$1" >>"$BATS_TEST_TMPDIR/heard.$1"
	subscriber[$1]=$!
	wait_until listens "$1"
}

# listen_by_pattern PATTERN: writes down what comes in on channels like this, in `heard.pattern`
listen_by_pattern() {
	background "$CLI" -s "$SERVER_SOCKET" PSUBSCRIBE "$1" >"$BATS_TEST_TMPDIR/heard.pattern"
	subscriber[pattern]=$!
	wait_until has_pattern
}

has_pattern() {
	[ "$(cli PUBSUB NUMPAT)" = 1 ]
}

# present ID...: each listens to its own channel
present() {
	local id

	for id; do
		listen "$id" "$(channel):$id"
	done
	for id; do
		wait_until listens "$id"
	done
}

# present_together ID...: the same over one connection, which `absent together` ends
present_together() {
	listen together "${@/#/$(channel):}"
	wait_until listens "${!#}"
}

# absent ID...: they listen no more, and the server has seen it
absent() {
	local id way

	for id; do
		way=${subscribed[$id]}
		kill "${subscriber[$id]}"
		wait "${subscriber[$id]}" 2>/dev/null || true
		unset "subscriber[$id]" "subscribed[$id]" "marker[$id]"
		wait_until listens_not "$id"
	done
}

# heard ID: the messages that it got, in order, one a line
heard() {
	local publish=PUBLISH marks

	[ "${subscribed[$1]}" = SUBSCRIBE ] || publish=SPUBLISH
	marks=$(marks_of "$1")
	cli "$publish" "$(channel):$1" 'end of messages' >/dev/null
	wait_until has_more_marks "$1" "$marks"
	awk 'previous ~ /^s?message$/ { name = NR }
		name && NR == name + 1 && $0 != "end of messages"
		{ previous = $0 }' "$BATS_TEST_TMPDIR/heard.$1"
}

# marks_of ID: how often it has heard that a test reads its messages
marks_of() {
	grep -cx 'end of messages' "$BATS_TEST_TMPDIR/heard.$1" || true
}

has_more_marks() {
	[ "$(marks_of "$1")" -gt "$2" ]
}

# told ID MESSAGES: it got these, joined by commas, and no others
told() {
	assert_equal "$(heard "$1" | paste -sd ,)" "$2"
}

# is_told ID MESSAGE: the last one that it got is this
is_told() {
	assert_equal "$(heard "$1" | tail -n 1)" "$2"
}

# queue_up ID...: each is present and queues
queue_up() {
	local id

	present "$@"
	for id; do
		acquire "$id"
		answered queued
	done
}

# queue_up_dead ID...: each queues and is absent
queue_up_dead() {
	local id

	for id; do
		acquire "$id"
		answered queued
	done
}

# crowd COUNT: waiters w1 to wCOUNT, in the array `ids`, are present and queue in this order
crowd() {
	local id

	mapfile -t ids < <(seq -f w%g "$1")
	present_together "${ids[@]}"
	for id in "${ids[@]}"; do
		script_line acquire "$id" "$id" w 30000 wait '' 0 '' ''
	done | cli >/dev/null
}

# A connection that is made and then breaks behind a request, though the server is well. fairlock
# connects again and repeats the request, until the connect timeout is over.
load ../lib/jobs
load ../lib/proxy

setup() {
	start_in_folder
	start_proxy "$SERVER_SOCKET"
	DIRECT=$FAIRLOCK_URL
	export FAIRLOCK_URL=redis://$PROXY_ADDRESS
}

# Ways to break the next connection: before the server reads anything, before it answers anything,
# behind its greeting, and twice.
ways=('snap up' 'snap down' 'snap down 180' 'snap up;snap down')

# break_next WAY
break_next() {
	local part

	while IFS= read -r -d ';' part; do
		proxy $part
	done <<<"$1;"
}

# behind_break STATUS ARG...: fairlock ends with STATUS and says nothing, each way of breaking
behind_break() {
	local way

	for way in "${ways[@]}"; do
		break_next "$way"
		run --separate-stderr -"$1" timeout 20 "$FAIRLOCK" "${@:2}"
		assert_equal "$stderr" ''
		none_to_break
	done
}

# All connections that were to break have broken.
none_to_break() { assert_equal "$(proxy snaps)" 0; }

@test "wrap runs its command once" {
	behind_break 7 wrap job sh -c 'echo "$FAIRLOCK_TOKEN" >>ran; exit 7'
	assert_equal "$(wc -l <ran)" "${#ways[@]}"
	assert_equal "$(sort -nu ran | wc -l)" "${#ways[@]}"
	nothing_left
}

@test "wrap finds a busy lock busy, and waits for it" {
	FAIRLOCK_URL=$DIRECT hold job
	for way in "${ways[@]}"; do
		break_next "$way"
		run -75 "$FAIRLOCK" wrap -n job true
		assert_output --partial 'held by'
	done
	break_next 'snap down'
	join_queue job touch ran
	waiter=$WAITER
	FAIRLOCK_URL=$DIRECT "$FAIRLOCK" release --force job
	wait "$waiter"
	[ -e ran ]
}

@test "acquire, renew and release change the lock once" {
	for way in "${ways[@]}"; do
		break_next "$way"
		owner=$("$FAIRLOCK" acquire job)
		assert_equal "$(cli HGET job "$owner")" 1
		break_next "$way"
		"$FAIRLOCK" renew --lease 1m --owner "$owner" job
		[ "$(cli PTTL job)" -gt 30000 ]
		break_next "$way"
		"$FAIRLOCK" release --owner "$owner" job
		none_to_break
		nothing_left
		assert_equal "$(cli EXISTS job)" 0
	done
}

@test "status, queue and log show the lock" {
	FAIRLOCK_URL=$DIRECT hold job
	behind_break 0 status --noheadings -o NAME,STATE
	assert_output --regexp '^job +held$'
	behind_break 0 status --noheadings -o STATE job
	assert_output held
	behind_break 0 status -q job
	behind_break 0 status --prometheus
	assert_line 'fairlock_locks 1'
	behind_break 0 queue --noheadings job
	assert_output ''
	behind_break 0 log --noheadings -o EVENT job
	assert_output granted
	behind_break 0 log --json --stats job
}

@test "status of all locks connects again in the middle of many requests" {
	for name in a b c d e f; do
		FAIRLOCK_URL=$DIRECT "$FAIRLOCK" wrap "$name" true
	done
	for bytes in 400 800 1200; do
		proxy snap down "$bytes"
		run -0 --separate-stderr "$FAIRLOCK" status --all --noheadings -o NAME
		assert_equal "$(xargs <<<"$output")" 'a b c d e f'
		none_to_break
	done
}

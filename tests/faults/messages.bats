# What a message may do. A waiter starts COMMAND without asking only for the server's own grant,
# heard in time. Any other message, even a forged one, only makes it ask.
load ../lib/jobs

setup() { start_in_folder; }

# The id of the only waiter
waiter_id() { cli ZRANGE 'fairlock_queue:{job}' 0 0; }

# What the server keeps of the waiter's last request
entry() { cli HGET 'fairlock:{job}' "w:$(waiter_id)"; }

# The secret of that request
secret() { entry | cut -d ' ' -f 3; }

# The waiter took a grant. The server knows nothing of a forged grant, so the guard may have stopped
# COMMAND before COMMAND made its file.
is_taken() { [ -e started ] || grep -q 'lost lock job' said; }

# asked_since ENTRY: the waiter has asked since the server kept ENTRY, or took a grant
asked_since() {
	local now

	now=$(entry)
	is_taken || { [ -n "$now" ] && [ "$now" != "$1" ]; }
}

# refuses [CHANNEL] MESSAGE: the waiter hears MESSAGE, and asks instead of starting COMMAND. SECRET
# in it stands for the secret of the waiter's last request.
refuses() {
	local channel before message secret

	channel="redisson_lock__channel:{job}:$(waiter_id)"
	[ $# -eq 1 ] || channel=$1
	before=$(entry)
	secret=$(secret)
	message=${*: -1}
	assert_equal "$(cli PUBLISH "$channel" "${message//SECRET/$secret}")" 1
	wait_until asked_since "$before"
	! is_taken || fail "started by: $message"
}

# The waiter takes a true grant. A busy machine may deliver it too late: then it needs another.
grants() {
	cli PUBLISH "redisson_lock__channel:{job}:$(waiter_id)" "granted 1795261602123 5000 $(now_ms) $(secret)"
	is_taken
}

@test "a forged grant makes the waiter ask, also on the channel of plain locks or with an earlier secret, and it has its turn" {
	plain='redisson_lock__channel:{job}'
	wait_behind_holder job touch started
	wait_until eval 'cli PUBSUB NUMSUB "$plain" | grep -qx 1'
	token=$(now_ms)
	before=$(secret)
	[[ $before =~ ^[0-9a-f]{16}$ ]]
	for now in $(($(now_ms) + 20)) 1 99999999999999999999; do
		refuses "granted $token 5000 $now"
		refuses "granted $token 5000 $now 0000000000000000"
	done
	for channel in "$plain" "$plain:$(waiter_id)"; do
		refuses "$channel" 'granted 99999999999999999999999 1125899906842624 1'
	done
	refuses "granted $token 5000 $(now_ms)"$'\n'SECRET
	refuses "granted $token 5000 $(now_ms) $before"
	refuses "$plain" "granted $token 5000 $(now_ms) SECRET"
	[[ $(secret) =~ ^[0-9a-f]{16}$ ]]
	waiter_is_next
	[ -e started ]
}

@test "a message with the secret starts COMMAND only if it has exactly the form of a grant" {
	wait_behind_holder job touch started
	for form in 'TOKEN 5000 NOW SECRET0' 'TOKEN 5000 NOW SECRET ' ' TOKEN 5000 NOW SECRET' 'TOKEN  5000 NOW SECRET' \
		'TOKEN 5000 NOW' 'TOKEN 5000 SECRET' 'TOKEN -5000 NOW SECRET' 'TOKEN +5000 NOW SECRET' 'TOKEN 5e3 NOW SECRET' \
		'TOKEN 0x100 NOW SECRET' 'TOKEN 30001 NOW SECRET' 'TOKEN 5000 LATER SECRET' 'TOKEN 0 NOW SECRET' '00000000000000001 5000 NOW SECRET' \
		'-1 5000 NOW SECRET' 'TOKEN 5000 0000000NOW SECRET' 'TOKEN 5000 NOW SECRET granted TOKEN 5000 NOW SECRET'; do
		form=${form//TOKEN/1795261602123}
		form=${form//LATER/$(($(now_ms) + 1000))}
		refuses "granted ${form//NOW/$(now_ms)}"
	done
	wait_until grants
}

scripts_run() { cli INFO commandstats | sed -n 's/^cmdstat_evalsha:calls=\([0-9]*\).*/\1/p'; }

# flood ID: this process hears 20,000 untrue messages, and runs a script for each tenth of a second at most
flood() {
	local channel="redisson_lock__channel:{job}:$1" before from run most i

	before=$(scripts_run)
	from=$(ms)
	for ((i = 0; i < 5000; i++)); do
		printf 'PUBLISH "%s" "%s"\n' "$channel" 0 "$channel" 'first 1' "$channel" 'second 1' "$channel" 'granted 1 5000 1 0000000000000000'
	done | cli | grep -c 1 >sent
	run=$(($(scripts_run) - before))
	most=$((20 + ($(ms) - from) / 100))
	assert_equal "$(cat sent)" 20000
	[ "$run" -le "$most" ] || fail "$run scripts, $most at most"
	[ "$run" -ge 10 ]
}

@test "a flood of messages makes a waiter ask ten times a second at most, and it is handed the lock" {
	wait_behind_holder job touch started
	flood "$(waiter_id)"
	waiter_is_next
	[ -e started ]
}

@test "a flood of messages makes a holder renew ten times a second at most, and it notices a release" {
	hold job
	flood "$(cli HKEYS job)"
	run -0 "$FAIRLOCK" release --force job
	ends_with 76 "$HOLDER"
}

@test "a waiter that has listened to three markers of Redisson's list, and is first, does not ask all the time" {
	local list='redisson_lock_queue:{job}' times='redisson_lock_timeout:{job}' channel='redisson_lock__channel:{job}'
	local ticket before number marker

	wait_behind_holder job true
	ticket=$(cli ZSCORE 'fairlock_queue:{job}' "$(waiter_id)")
	first=$WAITER
	join_queue job true
	cli RPUSH "$list" redisson
	cli ZADD "$times" 9999999999999 redisson
	for number in 1 2 3; do
		marker=fairlock:$((ticket - number))
		cli ZREM "$times" "$(cli LINDEX "$list" 0)"
		cli LSET "$list" 0 "$marker"
		cli ZADD "$times" 9999999999999 "$marker"
		cli PUBLISH "$channel:$(waiter_id)" 0
		wait_until server_says 1 --raw EVAL "return redis.call('PUBSUB', 'NUMSUB', '$channel:$marker')[2] > 1" 0
	done
	kill "$first"
	wait_until in_queue job 2 # it, and Redisson's
	before=$(scripts_run)
	sleep 1
	asked=$(($(scripts_run) - before))
	[ "$asked" -le 5 ] || fail "$asked times"
	kill "$HOLDER" "$WAITER"
}

@test "a waiter whose machine and its clock were paused during the handover asks first" {
	need_clock
	hold job
	signal_server STOP # the answer to its question takes as long as the pause, and a little longer
	background env "${CLOCKED[@]}" "$DYNAMIC" wrap job sh -c '[ -e ended ] && echo first >>order || echo beside >>order' 2>said
	paused=$!
	sleep 1.4
	signal_server CONT
	wait_until in_queue job 1
	join_queue job sh -c 'echo next >>order; until [ -e end ]; do sleep 0.05; done; touch ended'
	next=$WAITER
	wait_until pgrep -P "$paused"
	echo "$paused" $(pgrep -P "$paused") >stopped # its guard
	for pid in $(cat stopped); do
		stop "$pid"
	done
	from=$(ms)
	# More than clocks may differ, and longer than a busy machine takes to continue these.
	sleep 1
	kill "$HOLDER"
	wait_until test -e order
	assert_equal "$(cat order)" next
	set_clock "$from"
	for pid in $(cat stopped); do
		kill -CONT "$pid" 2>/dev/null || true # the first one may end the others
	done
	wait_until in_queue job 1
	assert_equal "$(cat order)" next
	touch end
	ends_with 0 "$next"
	ends_with 0 "$paused"
	assert_equal "$(cat order)" $'next\nfirst'
}

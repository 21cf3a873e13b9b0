# Handing over, seen from the shell: the holder that gives the lock back grants it to the first
# waiter, which hears so. A waiter must not rely on a grant that it heard too late, or that it could
# not renew.
load ../lib/jobs
load ../lib/proxy

setup() { start_in_folder; }

@test "each holder's release grants the lock to the next of ten waiters, before it asks" {
	hold job
	for _ in {1..10}; do
		join_queue job true
		last=$WAITER
	done
	kill "$HOLDER"
	ends_with 0 "$last"
	wait_until nothing_left
	# Within one script the server's clock stands still.
	"$FAIRLOCK" log --json job | jq -r '.log[] | "\(.event) \(.time)"' >log
	awk '$1 == "granted" && released && $2 == released { handed++ } { released = $1 == "released" ? $2 : "" }
		END { print handed + 0 }' log >handed
	assert_equal "$(cat handed)" 10
}

@test "a COMMAND that lasts longer than the lease of a handover keeps the lock" {
	hold job
	join_queue job sh -c 'echo "$FAIRLOCK_TOKEN" >token; sleep 7; "$FAIRLOCK" status --raw --noheadings -o TOKEN,OWNER job >after'
	waiter_is_next
	[[ $(cat after) == "$(cat token)"*":$WAITER" ]]
	assert_equal "$(cat said)" ''
}

@test "a waiter that is stopped during its handover runs COMMAND once under that grant, if it still has the lock" {
	hold job
	join_queue job sh -c 'echo "$FAIRLOCK_TOKEN" >>tokens'
	stop "$WAITER"
	kill "$HOLDER"
	wait_until holds_lock "$WAITER"
	token=$(cli HGET 'fairlock:{job}' token)
	sleep 1 # the message is too old now
	kill -CONT "$WAITER"
	ends_with 0 "$WAITER"
	assert_equal "$(cat tokens)" "$token"
}

@test "a waiter that is stopped until the next one has the lock runs COMMAND after that one, and before the third" {
	hold job
	join_queue job sh -c '[ -e ended ] && echo first >>order'
	first=$WAITER
	join_queue job sh -c 'echo next >>order; until [ -e end ]; do sleep 0.05; done; touch ended'
	next=$WAITER
	join_queue job sh -c 'echo third >>order'
	stop "$first"
	kill "$HOLDER"
	wait_until holds_lock "$first"
	wait_until test -e order
	assert_equal "$(cat order)" next
	kill -CONT "$first"
	wait_until in_queue job 2
	assert_equal "$(cat order)" next
	touch end
	ends_with 0 "$next"
	ends_with 0 "$first"
	wait "$WAITER"
	assert_equal "$(cat order)" $'next\nfirst\nthird'
}

@test "a signal that comes with the grant ends the waiter's job, and the lock is free" {
	wait_behind_holder job sleep 600
	stop "$WAITER"
	kill "$HOLDER"
	wait_until holds_lock "$WAITER"
	kill -TERM "$WAITER"
	kill -CONT "$WAITER"
	ends_with 143 "$WAITER"
	wait_until nothing_left
}

@test "if a waiter hears of its grant and cannot renew, all of COMMAND is dead before the next waiter has the lock" {
	write_job
	start_proxy "$SERVER_SOCKET"
	hold job
	FAIRLOCK_URL=redis://$PROXY_ADDRESS join_queue job sh job
	cut=$WAITER
	join_queue job sh -c 'cut -d " " -f 1 /proc/uptime >next'
	next=$WAITER
	proxy delay 60000 up
	kill "$HOLDER"
	wait_until job_runs
	wait_until all_dead
	ends_with 0 "$next"
	cat beats.* | awk -v next_one="$(cat next)" '$1 > next_one { exit 1 }'
	ends_with 76 "$cut"
	grep -q 'lost lock job' said
}

@test "COMMAND keeps the lock if the server stands still for 2 s right after the handover" {
	hold job
	join_queue job sh -c 'kill -STOP "$1"; sleep 2; kill -CONT "$1"; sleep 4; echo done >ended' - "$SERVER_PID"
	waiter_is_next
	assert_equal "$(cat ended)" done
}

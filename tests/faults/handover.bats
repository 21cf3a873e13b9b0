#!/usr/bin/env bats
# Handing over, seen from the shell: who waits is granted the lock by whoever gives it back, and hears of it. It must not
# rely on what it heard too late, nor on a grant that it could not renew.

load ../lib/helpers
load ../lib/jobs
load ../lib/proxy

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	start_server
}

# wait_in_line WORD...: `wrap job WORD...` waits behind the others; its process id is in WAITER
wait_in_line() {
	local before

	before=$(cli LLEN 'redisson_lock_queue:{job}')
	background "$FAIRLOCK" wrap "$@" 2>>said
	WAITER=$!
	wait_until in_queue job $((before + 1))
}

# owner_is_of PID: the wrapper whose process id this is holds the lock
owner_is_of() {
	[[ $(cli HKEYS job) == *:"$1" ]]
}

# Of each hold: when it was granted, and when it was given back. In the same script the clock stands still.
log_times() {
	"$FAIRLOCK" log --json job | jq -r '.log[] | "\(.event) \(.time)"'
}

@test "the lock is granted to each in the queue by whoever gives it back, not when it asks" {
	local last

	hold job
	for _ in {1..10}; do
		wait_in_line job true
		last=$WAITER
	done
	kill "$HOLDER"
	status_of "$last"
	assert_equal "$STATUS" 0
	wait_until nothing_left
	log_times >log
	awk '$1 == "granted" && released && $2 == released { handed++ } { released = $1 == "released" ? $2 : "" }
		END { print handed + 0 }' log >handed
	assert_equal "$(cat handed)" 10
}

@test "a COMMAND that works for longer than the lock was handed over for keeps it" {
	hold job
	wait_in_line job sh -c 'echo "$FAIRLOCK_TOKEN" >token; sleep 7; "$FAIRLOCK" status --raw --noheadings -o TOKEN,OWNER job >after'
	kill "$HOLDER"
	status_of "$WAITER"
	assert_equal "$STATUS" 0
	[[ $(cat after) == "$(cat token)"*":$WAITER" ]]
	assert_equal "$(cat said)" ''
}

@test "stopped, and continued while the lock is still its own: COMMAND runs under that grant, once" {
	hold job
	wait_in_line job sh -c 'echo "$FAIRLOCK_TOKEN" >>tokens'
	stop "$WAITER"
	kill "$HOLDER"
	wait_until owner_is_of "$WAITER"
	token=$(cli HGET 'fairlock:{job}' token)
	sleep 1 # what it heard is too old now
	kill -CONT "$WAITER"
	status_of "$WAITER"
	assert_equal "$STATUS" 0
	assert_equal "$(cat tokens)" "$token"
}

@test "stopped until the next has the lock: what it heard counts no more, and it has its turn afterwards" {
	local first next

	hold job
	wait_in_line job sh -c '[ -e ended ] && echo first >>order'
	first=$WAITER
	wait_in_line job sh -c 'echo next >>order; until [ -e end ]; do sleep 0.05; done; touch ended'
	next=$WAITER
	stop "$first"
	kill "$HOLDER"
	wait_until owner_is_of "$first"
	wait_until test -e order
	assert_equal "$(cat order)" next
	kill -CONT "$first"
	wait_until in_queue job 1
	assert_equal "$(cat order)" next
	touch end
	status_of "$next"
	assert_equal "$STATUS" 0
	status_of "$first"
	assert_equal "$STATUS" 0
	assert_equal "$(cat order)" $'next\nfirst'
}

@test "it hears of it and cannot renew: all of COMMAND is dead before the next one has the lock" {
	local cut next

	write_job
	start_proxy "$SERVER_SOCKET"
	hold job
	FAIRLOCK_URL=redis://$PROXY_ADDRESS background "$FAIRLOCK" wrap job sh job 2>said
	cut=$!
	wait_until in_queue job 1
	wait_in_line job sh -c 'cut -d " " -f 1 /proc/uptime >next'
	next=$WAITER
	proxy delay 60000 up
	kill "$HOLDER"
	wait_until job_runs
	wait_until all_dead
	status_of "$next"
	assert_equal "$STATUS" 0
	cat beats.* | awk -v next_one="$(cat next)" '$1 > next_one { exit 1 }'
	status_of "$cut"
	assert_equal "$STATUS" 76
	grep -q 'lost lock job' said
}

@test "the server stands still for 2 s right after it: COMMAND goes on, and keeps the lock" {
	hold job
	wait_in_line job sh -c 'kill -STOP "$1"; sleep 2; kill -CONT "$1"; sleep 4; echo done >ended' - "$SERVER_PID"
	kill "$HOLDER"
	status_of "$WAITER"
	assert_equal "$STATUS" 0
	assert_equal "$(cat ended)" done
}

@test "COMMAND ends while its first renewal is under way: the lock is given back over the same connection" {
	local far

	start_proxy "$SERVER_SOCKET"
	hold job
	FAIRLOCK_URL=redis://$PROXY_ADDRESS background "$FAIRLOCK" wrap -v job sleep 0.15 2>said
	far=$!
	wait_until in_queue job 1
	proxy delay 200 up
	kill "$HOLDER"
	status_of "$far"
	assert_equal "$STATUS" 0
	assert_equal "$(grep -c 'connected to' said)" 1
	grep -q 'gave lock job back' said
}

@test "--replicas, --once-per and acquire ask for themselves" {
	run -0 "$FAIRLOCK" acquire job
	wait_in_line --once-per 1s job true
	background "$FAIRLOCK" acquire job >owner
	wait_until in_queue job 2
	cli --raw HGETALL 'fairlock:{job}' | grep -E '^[0-9]{16} ' >entries
	run -1 grep -E '^[0-9]+ [0-9]+ [0-9]' entries
	wait_in_line job true
	cli --raw HGETALL 'fairlock:{job}' | grep -E '^[0-9]{16} [0-9]{13} 30000'
}

#!/usr/bin/env bats
# The connect timeout bounds all attempts to reach a server together: names, addresses, seeds, sentinels, redirections,
# TLS. The far host swallows what is sent to it, or somebody there listens and says nothing.
load ../lib/helpers
load ../lib/network
load ../lib/jobs

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# swallow: two hosts, and the far one, with addresses to 10.77.0.9, answers nothing
swallow() {
	local last

	new_network
	for last in 3 4 5 6 7 8 9; do
		"$NEAR" ip neighbour replace "10.77.0.$last" lladdr "$no_card" nud permanent dev wire
	done
	cut_wire
}

# takes MS MOST COMMAND...: the command ends with 69, after MS to MOST milliseconds
takes() {
	local from

	from=$(ms)
	run -69 "$NEAR" timeout 60 "${@:3}"
	took=$(($(ms) - from))
	echo "took $took ms" >&2
	[ "$took" -ge "$1" ] && [ "$took" -lt "$2" ]
}

# seeds [TAIL]: five addresses that swallow everything
seeds() { printf '10.77.0.3:1,10.77.0.4:1,10.77.0.5:1,10.77.0.6:1,10.77.0.7:1%s' "${1-}"; }

# On a quiet machine each takes 2 s; attempts that had 2 s each would take 10 s.
@test "five seeds that swallow everything: 69 after the connect timeout" {
	local command

	swallow
	for command in 'wrap -n job true' 'wrap job true' 'acquire -w 30s job' status 'release --force job'; do
		# shellcheck disable=SC2086
		takes 1900 7000 "$FAIRLOCK" ${command%% *} --connect-timeout 2s -u "redis://$(seeds)" ${command#* }
		assert_output --partial 'timed out'
	done
}

@test "five sentinels that swallow everything: 69 after the connect timeout" {
	swallow
	takes 1900 7000 "$FAIRLOCK" wrap -n --connect-timeout 2s -u "redis+sentinel://$(seeds /main)" job true
}

@test "five servers with TLS that swallow everything: 69 after the connect timeout" {
	swallow
	takes 1900 7000 "$FAIRLOCK" wrap -n --connect-timeout 2s -u "rediss://$(seeds)" job true
}

@test "a name with five addresses that swallow everything: 69 after the connect timeout" {
	swallow
	new_names
	printf '10.77.0.%d lock.example\n' 3 4 5 6 7 >hosts
	takes 1900 7000 "$NAMED" "$FAIRLOCK" wrap -n --connect-timeout 2s -u redis://lock.example job true
	assert_output --partial 'timed out'
}

sentinel_is_up() { "$NEAR" "$CLI" -p 7003 PING | grep -q PONG; }

@test "a sentinel that names a master that swallows everything: 69 after the connect timeout" {
	swallow
	printf '%s\n' 'port 7003' "dir $PWD" 'sentinel monitor main 10.77.0.3 6379 1' >sentinel.conf
	background "$NEAR" "$SERVER" sentinel.conf --sentinel >/dev/null
	wait_until sentinel_is_up
	takes 2900 5500 "$FAIRLOCK" wrap -n --connect-timeout 3s -u redis+sentinel://127.0.0.1:7003/main job true
	assert_output --partial 'timed out'
}

@test "the first seed swallows everything and the second serves: half of the connect timeout passes" {
	new_network
	start_far_server
	"$NEAR" ip neighbour replace 10.77.0.3 lladdr "$no_card" nud permanent dev wire
	local from

	from=$(ms)
	run -7 "$NEAR" timeout 60 "$FAIRLOCK" wrap --connect-timeout 8s -u "redis://10.77.0.3:1,${FAR_URL#*://}" job sh -c 'exit 7'
	[ $(($(ms) - from)) -ge 3900 ]
	[ $(($(ms) - from)) -lt 8000 ]
}

# An outage is not told as a busy lock.
@test "a server that swallows everything gives 69 although --wait is shorter than the connect timeout" {
	local words

	swallow
	for words in 'wrap -w 500ms job true' 'wrap -q -E 0 -w 500ms job true' 'acquire -q -E 0 -w 500ms job'; do
		# shellcheck disable=SC2086
		run -69 "$NEAR" timeout 60 "$FAIRLOCK" ${words%% *} --connect-timeout 20s -u redis://10.77.0.3:1 ${words#* }
		assert_output 'fairlock: cannot reach redis://10.77.0.3:1: no reply in time'
	done
	background sleep 1
	run -69 "$NEAR" timeout 60 "$FAIRLOCK" acquire -q -E 0 --connect-timeout 20s -u redis://10.77.0.3:1 --while-pid $! job
	assert_output 'fairlock: cannot reach redis://10.77.0.3:1: no reply in time'
}

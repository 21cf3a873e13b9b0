#!/usr/bin/env bats
# wrap --supersede: of the waiters with it only the newest goes on waiting, in the place of the one before.

load ../lib/helpers
load ../lib/one_server
load ../lib/history

setup_file() { start_server; }
setup() { begin; }

# waits NAME [OPTION...]: `wrap OPTION... job` waits, and writes its NAME into `order` when it runs. Sets WAITER; its
# messages come into `said.NAME`.
waits() {
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap "${@:2}" job sh -c 'echo "$1" >>order' sh "$1" 2>"said.$1"
	WAITER=$!
	wait_until stands_last "$WAITER"
}

# stands_last PID: the newest of all that wait is this process
stands_last() {
	cli ZRANGE 'fairlock_queue:{job}' 0 -1 | grep -q ":$1\$"
}

has_lines() { [ -e order ] && [ "$(wc -l <order)" = "$1" ]; }

# place PID: prints its place in the queue
place() {
	"$FAIRLOCK" queue --raw --noheadings -o POSITION,PID job | sed -n "s/ $1\$//p"
}

@test "a new waiter takes over the place of the one before, which ends with 75 and says what superseded it" {
	hold job
	waits plain
	waits old --supersede
	old=$WAITER
	waits behind
	waits new --supersede
	ends_with 75 "$old"
	run -0 cat said.old
	assert_output --regexp '^fairlock: cannot get lock job: superseded by sh -c .*\(pid '$WAITER', [^ ]+@[^ ]+\) after [0-9]+m?s; held by .*$'
	assert_equal "${#lines[@]}" 1
	assert_equal "$(place "$WAITER")" 2
	# shellcheck disable=SC2153 # hold sets HOLDER
	kill "$HOLDER"
	wait_until has_lines 3
	assert_equal "$(paste -sd ' ' order)" 'plain new behind'
	wait_until is_free job
	nothing_left
	assert_equal "$(cli HKEYS 'fairlock:{job}' | grep -c '^w:')" 0
}

@test "a stream of 50 runs: the last one in the place of the first, between waiters without --supersede" {
	local i pids=()

	hold job
	waits before
	waits 1 --supersede
	pids+=("$WAITER")
	waits behind
	for ((i = 2; i <= 50; i++)); do
		# shellcheck disable=SC2016
		background "$FAIRLOCK" wrap --supersede job sh -c 'echo "$1" >>order' sh "$i" 2>"said.$i"
		pids+=($!)
		wait_until stands_last "${pids[-1]}" # one that came behind a newer one would have no place, and be in no log
	done
	wait_until in_queue job 3
	for ((i = 0; i < 49; i++)); do ends_with 75 "${pids[i]}"; done
	kill "$HOLDER"
	ends_with 0 "${pids[49]}"
	wait_until has_lines 3
	assert_equal "$(paste -sd ' ' order)" 'before 50 behind'
	assert_equal "$(cat said.* | grep -c 'superseded by')" 49
	assert_equal "$(events '|map(select(.event == "superseded")) | [length, (map(.pid) | unique | length)] | join(" ")')" '"49 49"'
}

# live_on COUNT PID...: so many of these processes have not ended
live_on() {
	local pid count=0

	for pid in "${@:2}"; do
		ended "$pid" || count=$((count + 1))
	done
	[ "$count" = "$1" ]
}

@test "a stream that goes on keeps no lock idle: one of it runs, and the newest waits behind it" {
	local i pids=() stop=$((SECONDS + 20))

	hold job
	for ((i = 1; i <= 10 || SECONDS < stop; i++)); do
		# shellcheck disable=SC2016
		background "$FAIRLOCK" wrap --supersede job sh -c 'echo "$1" >>order; sleep 600' sh "$i" 2>/dev/null
		pids+=($!)
		[ "$i" != 10 ] || kill "$HOLDER"
		[ ! -e order ] || [ "$i" -lt 30 ] || break
		sleep 0.01
	done
	wait_until live_on 2 "${pids[@]}"
	wait_until in_queue job 1
	assert_equal "$(wc -l <order)" 1
}

@test "a holder with --supersede goes on, and a new one waits for it" {
	background "$FAIRLOCK" wrap --supersede job sh -c 'until [ -e go ]; do sleep 0.05; done; echo holder >>order'
	holder=$!
	wait_until "$FAIRLOCK" status -q job
	waits new --supersede
	touch go
	ends_with 0 "$holder"
	ends_with 0 "$WAITER"
	assert_equal "$(paste -sd ' ' order)" 'holder new'
}

@test "-E changes the status of a superseded waiter, and -q its message" {
	hold job
	waits loud --supersede -E 7
	loud=$WAITER
	waits quiet --supersede -q
	ends_with 7 "$loud"
	quiet=$WAITER
	waits last --supersede
	ends_with 75 "$quiet"
	assert_equal "$(cat said.quiet)" ''
}

@test "--supersede goes with --wait, --report, --once-per, --reason, --jitter and --max-queue" {
	hold job
	waits plain
	waits old --supersede --report 1m --reason 'pull request 7'
	old=$WAITER
	run -75 "$FAIRLOCK" wrap --supersede --wait 100ms --once-per 1h job true
	assert_output --partial 'its command started'
	waits new --supersede --wait 10m --report 1m --reason 'pull request 8' --jitter 10ms --max-queue 2
	ends_with 75 "$old"
	grep -q 'superseded by sh: pull request 8 (pid' said.old
	run -75 "$FAIRLOCK" wrap --max-queue 2 job true
	run -75 "$FAIRLOCK" wrap --supersede --wait 100ms job true
	assert_output --partial 'timed out after 100ms'
	ends_with 75 "$WAITER"
	wait_until in_queue job 1
}

@test "--supersede goes neither with --no-wait, --skip, --slots and --shared nor into variables and files" {
	local option

	for option in --no-wait --skip '--slots 2' --shared; do
		# shellcheck disable=SC2086
		run -64 "$FAIRLOCK" wrap --supersede $option job touch ran
		assert_line --index 0 "fairlock: cannot use option '${option% 2}': it does not go with --supersede"
	done
	run -64 "$FAIRLOCK" wrap -w 0 --supersede job touch ran
	assert_line --index 0 "fairlock: cannot use option '--supersede': it does not go with --wait 0"
	FAIRLOCK_WAIT=0 run -64 "$FAIRLOCK" wrap --supersede job touch ran
	run -64 "$FAIRLOCK" acquire --supersede job
	assert_line --index 0 "fairlock: cannot use option '--supersede': only wrap has it"
	FAIRLOCK_SUPERSEDE=yes run -0 "$FAIRLOCK" wrap --shared job true
	echo supersede = yes >conf
	run -78 "$FAIRLOCK" wrap --config conf job touch ran
	assert_output --partial 'a file cannot set --supersede'
	assert [ ! -e ran ]
}

@test "the message stays short, whatever the names are, and tells what is unknown as a newer waiter" {
	local long

	long=$(printf 'n%.0s' {1..80})
	"$FAIRLOCK" acquire -l 1h "$long" >/dev/null
	mkdir "$long"
	cp /bin/true "$long/$long"
	for _ in 1 2; do
		[ -z "${WAITER-}" ] || old=$WAITER
		background "$FAIRLOCK" wrap --supersede --reason "$long" "$long" "$long/$long" 2>>said
		WAITER=$!
		wait_until in_queue "$long" 1
	done
	ends_with 75 "$old"
	assert_equal "$(awk '{ print (length < 160) }' said)" 1
	grep -qE 'superseded by .* after [0-9]+m?s' said

	hold job
	waits old --supersede
	sleep 0.1 # of two that come within 20 ms, each may count as the newer one
	cli HSET 'fairlock:{job}' newest "gone:1 $(now_ms) -" >/dev/null
	cli PUBLISH "redisson_lock__channel:{job}:$(cli ZRANGE 'fairlock_queue:{job}' 0 0)" 0 >/dev/null
	ends_with 75 "$WAITER"
	grep -q 'cannot get lock job: superseded by a newer waiter after' said.old
	wait_until in_queue job 0
}

@test "the log tells of a superseded waiter, also with --follow, --stats and --plot" {
	hold job
	background "$FAIRLOCK" log --follow --raw --noheadings -o EVENT,PID job >follow
	waits old --supersede
	old=$WAITER
	waits new --supersede
	ends_with 75 "$old"
	assert_equal "$(events "|map(select(.event == \"superseded\")) | [length, .[0].pid, .[0].waited_ms < 60000, .[0].held_ms] | @csv")" \
		"\"1,$old,true,\""
	wait_until grep -qx "superseded $old" follow
	assert_equal "$("$FAIRLOCK" log --stats --json job | jq -c '.stats | [.granted, .left, .superseded, .waiting]')" '[1,0,1,1]'
	COLUMNS=80 run -0 "$FAIRLOCK" log --plot job
	assert_output --partial '×'
}

@test "log --stats has a column for superseded waiters if there were any" {
	entries <<-END
		0 granted 1 ann 0 -
		10 superseded - bob 5 -
		20 released 1 ann 0 20
	END
	run -0 "$FAIRLOCK" log --stats job
	assert_line --index 1 ' busy  granted released  expired   forced     lost     left superseded   failed'
	assert_line --index 2 '100 %        1        1        0        0        0        0          1        0'
	assert_line --regexp '^waited +0ms +0ms +0ms$'
	assert_line --regexp '^held +20s +20s +20s$'
}

# wrap --supersede: of the waiters with it only the newest goes on waiting, in the place of the one before.

load ../lib/one_server

# waits NAME [OPTION...]: `wrap OPTION... job` waits, and writes its NAME into `order` when it runs. Sets WAITER; its
# messages come into `said.NAME`.
waits() {
	background "$FAIRLOCK" wrap "${@:2}" job sh -c 'echo "$1" >>order' sh "$1" 2>"said.$1"
	WAITER=$!
	wait_until stands_last "$WAITER"
}

# stands_last PID: the newest of all that wait is this process
stands_last() { cli ZRANGE 'fairlock_queue:{job}' 0 -1 | grep -q ":$1\$"; }

# place PID: prints its place in the queue
place() { "$FAIRLOCK" queue --raw --noheadings -o POSITION,PID job | sed -n "s/ $1\$//p"; }

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
	kill "$HOLDER"
	wait_until lines_in order 3
	assert_equal "$(paste -sd ' ' order)" 'plain new behind'
	wait_until is_free job
	nothing_left
	assert_equal "$(cli HKEYS 'fairlock:{job}' | grep -c '^w:')" 0
	assert_equal "$("$FAIRLOCK" log --json job | jq -r '.log[] | select(.event == "superseded").pid')" "$old"
}

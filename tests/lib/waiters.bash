# Waiters for the lock `job`, and their processes: `load helpers`, then `load waiters`.
#
#   setup() { start_in_folder; }
#
#   @test "..." {
#       wait_behind_holder job true    # HOLDER holds the lock, WAITER waits for it
#       kill "$HOLDER"
#       wait_until holds_lock "$WAITER"
#   }

# start_in_folder [OPTION...]: the test runs in its folder, with a server of its own
start_in_folder() {
	cd "$BATS_TEST_TMPDIR" || return
	start_server "$@"
}

# join_queue WORD...: `wrap WORD...` waits for `job` behind the others. Sets WAITER, its process id.
# Its output is added to `out`, its messages to `said`.
join_queue() {
	local before

	before=$(all_waiting job)
	background "$FAIRLOCK" wrap "$@" >>out 2>>said
	WAITER=$!
	wait_until in_queue job $((before + 1))
}

# wait_behind_holder WORD...: HOLDER holds `job`, and `wrap WORD...` is the first waiter
wait_behind_holder() {
	hold job
	join_queue "$@"
}

# has_guard WAITER: it has its guard, GUARD
has_guard() {
	GUARD=$(pgrep -P "$1")
}

# holds_lock PID [NAME]: the wrapper with this process id holds the lock
holds_lock() {
	[[ $(cli HKEYS "${2-job}") == *:"$1" ]]
}

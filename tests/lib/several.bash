# A wrap that takes several locks: `load helpers`, then `load several`.

# waits_under WORD...: `wrap WORD...` has lock a, and waits for b, which HOLDER holds. Sets WAITER; its messages are in `said`.
waits_under() {
	hold b
	background "$FAIRLOCK" wrap -v "$@" 2>said
	# shellcheck disable=SC2034 # for the test
	WAITER=$!
	wait_until in_queue b 1
	run -0 "$FAIRLOCK" status -q a
}

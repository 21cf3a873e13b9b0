# Another clock for some processes of the program: `load helpers`, then `load clocks`.

# set_clock [MS]: makes the file `clock`; the clocks of the processes that use it show from now on what ms() printed as MS
# shellcheck disable=SC2120
set_clock() {
	python3 "$BATS_TEST_DIRNAME/../torture/clockwork.py" clock "$@"
}

# need_clock: makes the file `clock`, and sets CLOCKED, the environment in which a program shows this clock, and DYNAMIC, the program
# that does: the static one loads no libraries.
need_clock() {
	set_clock
	# shellcheck disable=SC2034
	CLOCKED=(CLOCKWORK_FILE="$PWD/clock" LD_PRELOAD="$BUILD/programs/clockwork.so"
		ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0")
	DYNAMIC=$FAIRLOCK
	! is_static || DYNAMIC=$BUILD/dynamic/fairlock
}

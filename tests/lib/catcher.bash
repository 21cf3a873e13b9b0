# A COMMAND that writes down which signals reach it, in wraps inside each other: `load helpers`, `waiters`, then `catcher`.

# write_catcher: writes COMMAND into catcher.py. It adds a line to `got` for each signal, its number. It waits for signals, and has
# no handlers: so each one counts.
write_catcher() {
	cat >catcher.py <<'END_OF_PYTHON'
import os, signal, sys, time
taken = signal.valid_signals() - {signal.SIGCHLD}
signal.pthread_sigmask(signal.SIG_BLOCK, taken)
with open("pid", "w") as pid:
    print(os.getpid(), file=pid)
exec(sys.argv[1] if len(sys.argv) > 1 else "")
with open("got", "a", buffering=1) as got:
    while not os.path.exists("go"):
        info = signal.sigtimedwait(taken, 0.02)
        if info:
            print(info.si_signo, file=got)
END_OF_PYTHON
}

# in_wraps N WORD...: sets WORDS to a command that runs this in N wraps of different locks
in_wraps() {
	local n

	WORDS=("${@:2}")
	for ((n = $1; n > 0; n--)); do
		WORDS=("$FAIRLOCK" wrap "job$n" -- "${WORDS[@]}")
	done
}

# start_catcher N [PYTHON]: in N wraps, COMMAND runs PYTHON and waits for signals. Its process group is its own. Sets WRAPPER, the outermost one.
start_catcher() {
	in_wraps "$1" python3 catcher.py "${2-}"
	background setsid "$BUILD/programs/defaults" "${WORDS[@]}" 2>said
	WRAPPER=$!
	wait_until test -s pid
}

# got_only SIGNAL...: COMMAND has got these signals, each as often as it is named here. A last one, which WRAPPER passes on behind
# all that has come to it, shows that no more are under way; then COMMAND ends.
got_only() {
	local signo want=()

	kill -s 64 "$WRAPPER"
	wait_until grep -qx 64 got
	touch go
	ends_with 0 "$WRAPPER"
	for signo; do
		[[ $signo = [0-9]* ]] || signo=$(kill -l "$signo")
		want+=("$signo")
	done
	assert_equal "$(grep -vx 64 got | sort | paste -sd ' ')" "$(printf '%s\n' "${want[@]}" | sort | paste -sd ' ')"
}

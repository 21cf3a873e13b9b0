# A real terminal whose screen a test can read: `load helpers`, then `load screens`. tmux is the
# terminal. It dies with the test, which hangs up the processes in it.

# terminal [COLUMNS [NAME=VALUE...]]: starts an interactive shell on a terminal of 24 lines
terminal() {
	local -a words=(env LC_ALL=C.UTF-8 TERM=tmux-256color PS1='> ' "${@:2}" bash --norc --noprofile -i)

	TERMINAL=$BATS_TEST_TMPDIR/tmux
	background tmux -D -S "$TERMINAL" -f /dev/null
	wait_until on_terminal list-sessions -F '' || wait_until test -S "$TERMINAL"
	on_terminal new-session -d -x "${1-80}" -y 24 "$(printf '%q ' "${words[@]}")"
	wait_until shows '^> *$'
}

on_terminal() { tmux -S "$TERMINAL" "$@" 3>&- 4>&-; }

# type_line TEXT: types it and Enter
type_line() {
	on_terminal send-keys -l "$1"
	on_terminal send-keys Enter
}

# press KEY: presses the key that tmux calls so, such as C-c
press() { on_terminal send-keys "$1"; }

# screen: prints the screen's text
screen() { on_terminal capture-pane -p; }

# shows REGEX: succeeds if a line of the screen matches
shows() { screen | grep -qE "$1"; }

# shows_not REGEX: succeeds if no line of the screen matches
shows_not() { ! shows "$1"; }

# pane_child: prints the process id of the program that the shell on the terminal has started
pane_child() { ps -o pid= --ppid "$(on_terminal display-message -p '#{pane_pid}')" | tr -d ' '; }

# keep_bytes FILE: copies the bytes that go to the terminal from now on into FILE
keep_bytes() { on_terminal pipe-pane "cat >'$1'"; }

# resize COLUMNS
resize() { on_terminal resize-window -x "$1"; }

# ---- A waiter on a terminal, and what it draws there: `load one_server`, too

# find_view: sets VIEW to the script that the line asks with
find_view() {
	VIEW=$(sed -n '/script_look = {/,/}/s/.*sha1 = "\(.*\)".*/\1/p' "$BUILD/scripts.c")
	[ -n "$VIEW" ]
}

# wait_on_terminal: starts a wrap of `job` on the terminal, whose COMMAND prints "got it"
wait_on_terminal() { type_line 'clear; "$FAIRLOCK" wrap job echo got it'; }

backup=$'web1\t4711\tada\tbackup.sh --all'

# monitor_requests: writes each request that the server gets from now on into `monitor`
monitor_requests() {
	background "$CLI" -s "$SERVER_SOCKET" MONITOR >monitor
	wait_until grep -q OK monitor
}

# the_line: prints the waiting line on the screen
the_line() { screen | grep 'waited'; }

# pieces COUNT: succeeds if so many lines of the screen have part of the waiting line
pieces() { [ "$(screen | grep -cE 'waited|held|backup')" = "$1" ]; }

# A real terminal whose screen can be read: `load helpers`, then `load screens`. tmux is the terminal; it dies with
# the test, and what runs in it is hung up then.

# Starts an interactive shell on a terminal of COLUMNS and 24 lines.
# terminal [COLUMNS [NAME=VALUE...]]
terminal() {
	local -a words=(env LC_ALL=C.UTF-8 TERM=tmux-256color PS1='> ' "${@:2}" bash --norc --noprofile -i)

	TERMINAL=$BATS_TEST_TMPDIR/tmux
	background tmux -D -S "$TERMINAL" -f /dev/null
	wait_until on_terminal list-sessions -F '' || wait_until test -S "$TERMINAL"
	on_terminal new-session -d -x "${1-80}" -y 24 "$(printf '%q ' "${words[@]}")"
	wait_until shows '^> *$'
}

on_terminal() {
	tmux -S "$TERMINAL" "$@" 3>&- 4>&-
}

# Types a line.
type_line() {
	on_terminal send-keys -l "$1"
	on_terminal send-keys Enter
}

# press KEY, as tmux names it: C-c
press() {
	on_terminal send-keys "$1"
}

# All that stands on the screen.
screen() {
	on_terminal capture-pane -p
}

# shows REGEX: some line of the screen matches
shows() {
	screen | grep -qE "$1"
}

# shows_not REGEX
shows_not() {
	! shows "$1"
}

# What goes to the terminal from now on, byte for byte, is kept in FILE.
keep_bytes() {
	on_terminal pipe-pane "cat >'$1'"
}

resize() {
	on_terminal resize-window -x "$1"
}

# A waiter on a terminal, and what it draws there: `load helpers`, `load one_server`, `load screens`, then this.

setup() {
	begin
	VIEW=$(sed -n '/script_look = {/,/}/s/.*sha1 = "\(.*\)".*/\1/p' "$BUILD/scripts.c")
	[ -n "$VIEW" ]
}

# wait_on_terminal: starts a wrap of `job` on the terminal, whose COMMAND prints "got it"
wait_on_terminal() {
	# shellcheck disable=SC2016
	type_line 'clear; "$FAIRLOCK" wrap job echo got it'
}

# shellcheck disable=SC2034 # tests read it
backup=$'web1\t4711\tada\tbackup.sh --all'

# monitor_requests: writes each request that the server gets from now on into `monitor`
monitor_requests() {
	background "$CLI" -s "$SERVER_SOCKET" MONITOR >monitor
	wait_until grep -q OK monitor
}

# the_line: prints the waiting line on the screen
the_line() {
	screen | grep 'waited'
}

# pieces COUNT: succeeds if so many lines of the screen have part of the waiting line
pieces() {
	[ "$(screen | grep -cE 'waited|held|backup')" = "$1" ]
}

# tests/demo, which make demo runs after it has installed and built the programs.

load ../lib/helpers

DEMO=$TESTS_DIR/demo

setup() {
	new_home
	cd "$BATS_TEST_TMPDIR" || return
}

# servers: prints the process ids of servers that run, without zombies, which no process reaps there
servers() { at_home pgrep -r S,R,D -x 'redis-server|valkey-server' || true; }

# everything: prints all files below the home, and the servers
everything() { find "$HOME_DIR" -mindepth 1 | sort && servers; }

nothing_is_left() { [ -z "$(everything)" ]; }
no_server_runs() { [ -z "$(servers)" ]; }

@test "the demo runs three jobs in turn, says how to go on and how to end the server, and leaves nothing, but data that were there, also when interrupted" {
	local order

	run -0 at_home "$DEMO"
	order=$(grep -oE 'job [123] (has the lock|is done)' <<<"$output")
	assert_equal "$order" "$(printf 'job %s has the lock\njob %s is done\n' 1 1 2 2 3 3)"
	assert_line --regexp '^    .*fairlock wrap -u local: try sleep 30$'
	assert_line --regexp '^    .*fairlock status -u local: --watch$'
	nothing_is_left
	# start the server again, and end it as the demo says
	at_home "$FAIRLOCK" wrap try true
	[ -n "$(servers)" ]
	at_home sh -c "$(sed -n "s/^    \(cd .*shutdown\)$/\1/p" <<<"$output")"
	wait_until no_server_runs
	at_home "$DEMO" >said &
	wait_until grep -q 'job 3 asks' said
	at_home kill "$(at_home pgrep -xo demo)"
	wait_until no_server_runs
	run -0 at_home "$FAIRLOCK" log --noheadings -o EVENT try
	assert_output $'granted\nreleased'
	at_home sh -c 'cd "$1" && "$2" -s socket SHUTDOWN' sh "$HOME_DIR"/.local/state/fairlock/* "$CLI"
	wait_until no_server_runs
	rm -r "$HOME_DIR/.local" # in a fresh home
	at_home "$DEMO" >said &
	wait_until grep -q 'job 3 asks' said
	at_home kill "$(at_home pgrep -xo demo)"
	wait_until nothing_is_left
}

@test "the demo leaves a private server that ran before running, with its own locks only" {
	local before

	at_home "$FAIRLOCK" acquire --lease 1h mine
	before=$(everything)
	run -0 at_home "$DEMO"
	assert_equal "$(everything)" "$before"
	run -0 at_home "$FAIRLOCK" status --all --raw --noheadings -o NAME,STATE
	assert_output 'mine held'
}

# While its command runs and the server is away, wrap says at what time it will stop the command, and later that the server is back.
load ../lib/jobs

setup() { cd "$BATS_TEST_TMPDIR" || return; }

README=$TESTS_DIR/../README.md
# if the time is tomorrow, wrap says the day, too
away='does not answer; sh is stopped at ([A-Z][a-z]{2} .. )?[0-9:]{8} unless it does'

# says REGEX: the last line of `said` is `fairlock: lock job: ` and this
says() { tail -n 1 said | grep -qE "^fairlock: lock job: $1\$"; }

# seconds_left: prints in how many seconds the command is stopped, as `said` has it
seconds_left() {
	local at

	at=$(date -d "$(sed -nE 's/.* is stopped at (.* )?([0-9:]{8}) unless.*/\2/p' said)" +%s)
	echo $(((at - $(stat -c %Y said) + 86400) % 86400))
}

@test "wrap says that a server which takes no writes does not renew the lock" {
	start_server
	run_until_go -l 12s -k 1s
	cli REPLICAOF 127.0.0.1 1 >/dev/null
	wait_until says "unix:$SERVER_SOCKET does not renew it; sh is stopped at ([A-Z][a-z]{2} .. )?[0-9:]{8} unless it does"
	cli REPLICAOF NO ONE >/dev/null
	wait_until says "the server answers again; sh goes on"
	touch go
	ends_with 3 "$WRAPPER"
}

@test "wrap says that the server does not answer, in how many seconds its command is stopped, those of the README, and that it answers again" {
	start_server --appendonly yes
	while read -r lease least most; do
		run_until_go -q -l "$lease"
		stop_server
		wait_until says "unix:$SERVER_SOCKET $away"
		# a second has passed before the message, and there are no fractions of a second in it
		[ "$(seconds_left)" -ge $((least - 4)) ]
		[ "$(seconds_left)" -le "$most" ]
		start_server --appendonly yes
		wait_until says "the server answers again; sh goes on"
		touch go
		ends_with 3 "$WRAPPER"
		assert_equal "$(wc -l <said)" 2
		echo "$lease" >>leases
	done < <(sed -nE 's/^\| (30s|1m|5m) \| ([0-9]+) to ([0-9]+) s \|$/\1 \2 \3/p' "$README")
	assert_equal "$(xargs <leases)" '30s 1m 5m'
}

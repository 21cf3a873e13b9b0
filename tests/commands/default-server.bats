# Nothing names a server: locks are then on the private server of this user on this host, and a job that should run
# once for many hosts would run on this one, too. So wrap, acquire and doctor say so.

load ../lib/helpers

setup() {
	new_home
	job="no url is set, so lock job is for root on $(uname -n | cut -c 1-14) only"
	remedy="set url in /etc/fairlock.conf ('url = local:' if that is meant)"
}

# fairlock WORD...: runs it as root logs in, without a configuration
fairlock() { at_home env -u LOGNAME -u USER HOME="$HOME_DIR" "$FAIRLOCK" "$@"; }

# users: prints what doctor finds about them
users() {
	fairlock doctor --json | jq -r '.findings[] | select(.check == "users") | .severity, .finding' | paste -sd ' '
}

@test "wrap, acquire and doctor say that the lock is for this user on this host only, whatever options say; what only shows does not" {
	local words

	run --separate-stderr -3 fairlock wrap job sh -c 'echo out; exit 3'
	assert_output out
	assert_equal "$stderr" "fairlock: $job: $remedy"
	fairlock release --forget-run job
	for words in 'wrap -q job true' 'wrap --skip --once-per 1d job true' 'wrap --jitter=1ms job true' 'acquire -q job' 'wrap --skip job true'; do
		run --separate-stderr -0 fairlock $words
		assert_equal "$stderr" "fairlock: $job: $remedy"
	done
	assert_equal "$(users)" 'warning no url is set, and local: is for this user on this host alone'
	for words in status queue log; do
		run -0 fairlock $words
		refute_output --partial 'no url'
	done
}

@test "COMMAND finds the private server in FAIRLOCK_URL, so inner calls are silent" {
	run --separate-stderr -0 fairlock wrap job "$FAIRLOCK" wrap -v inner sh -c 'echo "$FAIRLOCK_URL"'
	assert_output local:
	assert_equal "$(grep -c 'no url is set' <<<"$stderr")" 1
	[[ $stderr = "fairlock: $job"* && $stderr = *'the server is local: (FAIRLOCK_URL)'* ]]
}

@test "a server that is named, local: among them, is no default: nothing is said" {
	run -0 fairlock wrap -u local: job true
	refute_output
	run -0 at_home env FAIRLOCK_URL=local: HOME="$HOME_DIR" "$FAIRLOCK" wrap job true
	refute_output
	mkdir "$HOME_DIR/.config"
	echo 'url = local:' >"$HOME_DIR/.config/fairlock.conf"
	run -0 fairlock wrap job true
	refute_output
	assert_equal "$(users)" 'note local: is for this user on this host alone'
}

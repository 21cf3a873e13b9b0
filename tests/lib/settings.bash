# A home without settings, for tests without a server: a failure names the URL that won.

setup() {
	unset "${!FAIRLOCK_@}" REDISCLI_AUTH
	export HOME=$BATS_TEST_TMPDIR/home
	mkdir -p "$HOME/.config"
	conf=$HOME/.config/fairlock.conf
	export gone=$BATS_TEST_TMPDIR/gone
}

# configure LINE...: writes the user's configuration file
configure() { printf '%s\n' "$@" >"$conf"; }

# wrong CAUSE: fairlock refuses the configuration file for this cause
wrong() {
	run "$FAIRLOCK" status
	assert_failure 78
	assert_output "fairlock: cannot read $conf$1"
}

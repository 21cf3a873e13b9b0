# Two locks, and a home with the program in its PATH, for the tests of completion.

setup_file() {
	start_server
	"$FAIRLOCK" acquire --lease 1h nightly:backup
	"$FAIRLOCK" acquire --lease 1h 'two words'
}

setup() {
	SHIMS=$TESTS_DIR/../completions
	export HOME=$BATS_TEST_TMPDIR
	mkdir "$HOME/bin"
	ln -s "$FAIRLOCK" "$HOME/bin/fairlock"
	PATH=$HOME/bin:$PATH
	touch "$HOME/settings.one" "$HOME/settings.two"
}

# ask WORD...: sets $output to the words that fairlock offers, without their descriptions
ask() {
	run "$FAIRLOCK" --complete "$@"
	assert_success
	output=$(cut -f1 <<<"$output")
}

commands='acquire
doctor
help
log
queue
release
renew
status
version
wrap'

#!/usr/bin/env bats
# Completion: what fairlock offers, and what bash, zsh and fish make of it through their shims.

load ../lib/helpers

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
	# shellcheck disable=SC2154
	output=$(cut -f1 <<<"$output")
}

# in_bash LINE WORD...: sets $output to the words that bash offers; see complete.bash
in_bash() {
	run --separate-stderr bash "$TESTS_DIR/lib/complete.bash" "$SHIMS" "$@"
	# shellcheck disable=SC2154
	assert_equal "$stderr" ''
}

# in_zsh LINE: sets $output to the sorted words that zsh offers, and to the completed line
in_zsh() {
	command -v zsh >/dev/null || skip 'no zsh here'
	run timeout 60 zsh -f "$TESTS_DIR/lib/complete.zsh" "$SHIMS" "$1"
	assert_success
}

# in_fish LINE: sets $output to the words that fish offers
in_fish() {
	command -v fish >/dev/null || skip 'no fish here'
	# shellcheck disable=SC2016
	run fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$SHIMS/fairlock.fish" "$1"
	assert_success
	output=$(cut -f1 <<<"$output")
	mapfile -t lines <<<"$output"
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

# ---- The program ----

@test "completion offers the commands, and behind a dash the options of all commands" {
	ask ''
	assert_equal "$(sort <<<"$output")" "$commands"
	ask --ver
	assert_output $'--verbose\n--version'
	ask -
	output=$(sort <<<"$output")
	shown=$("$FAIRLOCK" --help | sed -nE 's/^  (-.,|   ) (--[a-z-]+).*/\2/p' | sort)
	assert_equal "$output" "$shown"
}

@test "completion offers the command and its options behind options that stand before it" {
	ask -v ''
	assert_equal "$(sort <<<"$output")" "$commands"
	ask -v --url unix:/nowhere wrap --on-l
	assert_output --on-lost
	ask --nonsense wrap --on-lost ''
	assert_output $'kill\nwarn'
	run "$FAIRLOCK" --complete -v --config ''
	assert_output $'\tfiles 0'
	run "$FAIRLOCK" --complete -v -q wrap x ''
	assert_output $'\tcommand 4'
	run "$FAIRLOCK" --complete -v wrap x -- git --ver
	assert_output $'\tcommand 4'
}

@test "completion offers the commands behind help" {
	ask help ''
	assert_equal "$(sort <<<"$output")" "$commands"
	ask help wr
	assert_output wrap
}

@test "completion prints each offer with a tab and a description" {
	run "$FAIRLOCK" --complete wrap --on-l
	assert_output --regexp $'^--on-lost\tkill\\|warn: .+'
}

@test "completion offers exactly the options that a command's --help shows" {
	for command in wrap acquire renew release status queue log; do
		ask "$command" -
		output=$(sort <<<"$output")
		shown=$("$FAIRLOCK" "$command" --help | sed -nE 's/^  (-.,|   ) (--[a-z-]+).*/\2/p' | sort)
		assert_equal "$output" "$shown"
	done
}

@test "completion offers options behind NAME, and none behind --" {
	ask acquire x --no
	assert_output --no-wait
	ask acquire -- --no
	assert_output ''
}

@test "completion offers an option's values in the next word, behind = and behind the option's letter" {
	ask wrap --on-lost ''
	assert_output $'kill\nwarn'
	ask wrap --on-lost=w
	assert_output --on-lost=warn
	ask wrap --on-l=w
	assert_output --on-l=warn
	ask wrap -nqsTER
	assert_output -nqsTERM
	ask wrap -s SIGTER
	assert_output SIGTERM
}

@test "completion offers nothing for a value that it cannot guess" {
	ask wrap --wait ''
	assert_output ''
	ask acquire --max-queue ''
	assert_output ''
}

@test "completion offers columns, also behind others, behind a plus, and in small letters" {
	ask status -o ST
	assert_output STATE
	ask status -o st
	assert_output state
	ask queue -o +PO
	assert_output +POSITION
	ask queue --output=USER,PO
	assert_output --output=USER,POSITION
	ask log -oTIME,TO
	assert_output -oTIME,TOKEN
	ask status -o h
	assert_output $'host\nheld_ms\nholds\nheld\nhelp'
	run "$FAIRLOCK" --complete status -o STA
	assert_output $'STATE\tfree, held or kept'
}

@test "completion offers a column for --sort, one only, and the words of --color" {
	ask status --sort WAI
	assert_output WAITERS
	ask log --sort=ti
	assert_output --sort=time
	ask queue --sort +PO
	assert_output ''
	ask queue --sort hel
	assert_output ''
	ask queue --sort USER,PO
	assert_output ''
	ask status --color=
	assert_output $'--color=auto\n--color=always\n--color=never'
	ask doctor --color=n
	assert_output --color=never
}

@test "completion offers for --owner the holder of the lock on the line, else all holders" {
	local holder other
	holder=$("$FAIRLOCK" status --noheadings -o OWNER nightly:backup)
	other=$("$FAIRLOCK" status --noheadings -o OWNER 'two words')
	offering : ask renew nightly:backup --owner ''
	assert_output "$holder"
	offering : ask release nightly:backup "--owner=${holder:0:4}"
	assert_output "--owner=$holder"
	offering "$other" ask release --owner ''
	assert_equal "$(sort <<<"$output")" "$(printf '%s\n' "$holder" "$other" | sort)"
	run "$FAIRLOCK" --complete renew nightly:backup --owner ''
	assert_output --regexp $'^[0-9a-f-]+:[0-9]+\tfairlock acquire .*pid'
	ask renew no-such-lock --owner ''
	assert_output ''
	ask renew -u unix:/nowhere nightly:backup --owner ''
	assert_output ''
}

@test "completion offers for --remove the waiters of the lock on the line" {
	local waiter
	background "$FAIRLOCK" acquire nightly:backup
	wait_until in_queue nightly:backup 1
	waiter=$("$FAIRLOCK" queue --noheadings -o OWNER nightly:backup)
	offering : ask queue nightly:backup --remove ''
	assert_output "$waiter"
	offering : ask queue --remove ''
	assert_output "$waiter"
	ask queue 'two words' --remove ''
	assert_output ''
	"$FAIRLOCK" queue --remove "$waiter" nightly:backup
}

@test "completion leaves files and commands to the shell" {
	run "$FAIRLOCK" --complete wrap --config /etc/
	assert_output $'\tfiles 0'
	run "$FAIRLOCK" --complete wrap --config=/etc/
	assert_output $'\tfiles 9'
	run "$FAIRLOCK" --complete wrap -n x ''
	assert_output $'\tcommand 3'
	run "$FAIRLOCK" --complete wrap x -n -- git --ver
	assert_output $'\tcommand 4'
	run "$FAIRLOCK" --complete wrap -c true x ''
	assert_output ''
}

@test "completion offers the names of locks where a NAME may stand" {
	offering nightly:backup ask wrap ''
	assert_output $'nightly:backup\ntwo words'
	offering nightly:backup ask release --force n
	assert_output nightly:backup
	offering two ask status nightly:backup t
	assert_output 'two words'
	ask acquire nightly:backup ''
	assert_output ''
}

@test "completion takes names of locks from the server that the command line gives" {
	ask status --url "unix:$BATS_TEST_TMPDIR/nowhere" ''
	assert_output ''
	FAIRLOCK_URL=unix:/nowhere ask status --url "unix:$SERVER_SOCKET" n
	assert_output nightly:backup
	FAIRLOCK_URL=unix:/nowhere ask --url "unix:$SERVER_SOCKET" status n
	assert_output nightly:backup
}

@test "completion passes over mistakes in the command line, without a message" {
	for words in 'lock x' 'wrap --bogus x' 'wrap -w nonsense --o' 'status --url http://x n'; do
		# shellcheck disable=SC2086
		run --separate-stderr "$FAIRLOCK" --complete $words
		assert_success
		assert_equal "$stderr" ''
	done
}

@test "completion offers for --slot the slots that are held, of the lock on the line, else of all locks" {
	"$FAIRLOCK" acquire --lease 1h --slots db1,db2,dc dbs >/dev/null
	"$FAIRLOCK" acquire --lease 1h --slots db1,db2,dc dbs >/dev/null
	"$FAIRLOCK" acquire --lease 1h --slots 3 build >/dev/null
	"$FAIRLOCK" acquire --lease 1h --shared books >/dev/null
	offering $'db1\ndb2' ask release --force dbs --slot ''
	offering $'db1\ndb2' ask release dbs --force --slot=d
	assert_output $'--slot=db1\n--slot=db2'
	offering $'1\ndb1\ndb2' ask release --force --slot ''
	run "$FAIRLOCK" --complete release --force dbs --slot db2
	assert_output --regexp $'^db2\tfairlock acquire \\(pid [0-9]+, .*\\)$'
	ask release --force nightly:backup --slot ''
	refute_output
	ask release --force books --slot ''
	refute_output
	"$FAIRLOCK" release --force -q dbs
	"$FAIRLOCK" release --force -q build
	"$FAIRLOCK" release --force -q books
}

@test "completion offers for --owner each of several holders" {
	local anna ben

	anna=$("$FAIRLOCK" acquire --lease 1h --shared readers)
	ben=$("$FAIRLOCK" acquire --lease 1h --shared readers)
	offering "$anna"$'\n'"$ben" ask release --force readers --owner ''
	"$FAIRLOCK" release --force -q readers
}

# ---- The shells ----

@test "bash offers commands, options and values" {
	in_bash 'fairlock ' fairlock ''
	assert_equal "$(sort <<<"$output")" "$commands"
	in_bash 'fairlock wrap --on-l' fairlock wrap --on-l
	assert_output --on-lost
	in_bash 'fairlock wrap --on-lost ' fairlock wrap --on-lost ''
	assert_output $'kill\nwarn'
	in_bash 'fairlock wrap --on-lost=' fairlock wrap --on-lost =
	assert_output $'kill\nwarn'
	in_bash 'fairlock wrap --on-lost=w' fairlock wrap --on-lost = w
	assert_output warn
}

@test "bash offers names with a colon or a blank" {
	offering nightly:backup in_bash 'fairlock wrap n' fairlock wrap n
	assert_output nightly:backup
	offering backup in_bash 'fairlock wrap nightly:b' fairlock wrap nightly : b
	assert_output backup
	offering two in_bash 'fairlock status tw' fairlock status tw
	assert_output 'two\ words'
}

@test "bash offers columns and owner ids" {
	local holder
	holder=$("$FAIRLOCK" status --noheadings -o OWNER nightly:backup)
	in_bash 'fairlock status -o NAME,ST' fairlock status -o NAME,ST
	assert_output NAME,STATE
	in_bash 'fairlock status --output=+tok' fairlock status --output = +tok
	assert_output +token
	offering "${holder##*:}" in_bash 'fairlock renew --owner ' fairlock renew --owner ''
	assert_line "$holder"
	offering "${holder##*:}" in_bash "fairlock renew --owner ${holder%:*}:" fairlock renew --owner "${holder%:*}" :
	assert_output "${holder##*:}"
}

@test "bash completes files for --config" {
	in_bash "fairlock wrap --config $HOME/sett" fairlock wrap --config "$HOME/sett"
	assert_equal "$(sort <<<"$output")" "$HOME/settings.one"$'\n'"$HOME/settings.two"
	in_bash "fairlock wrap --config=$HOME/settings.o" fairlock wrap --config = "$HOME/settings.o"
	assert_output "$HOME/settings.one"
}

@test "bash completes COMMAND and its words" {
	in_bash 'fairlock wrap x xarg' fairlock wrap x xarg
	assert_line xargs
	in_bash "fairlock wrap x cat $HOME/settings.o" fairlock wrap x cat "$HOME/settings.o"
	assert_output "$HOME/settings.one"
}

@test "zsh offers commands, options and values" {
	in_zsh 'fairlock '
	assert_equal "$(sed '$d' <<<"$output" | sort)" "$commands"
	in_zsh 'fairlock wrap --on-l'
	assert_line 'line: fairlock wrap --on-lost '
	in_zsh 'fairlock wrap --on-lost='
	assert_output --partial $'--on-lost=kill\n--on-lost=warn'
	in_zsh 'fairlock wrap -sTER'
	assert_line 'line: fairlock wrap -sTERM '
}

@test "zsh offers names with a colon or a blank" {
	offering nightly:backup in_zsh 'fairlock wrap nightly:b'
	assert_line 'line: fairlock wrap nightly:backup '
	offering two in_zsh 'fairlock status tw'
	assert_line 'line: fairlock status two\ words '
}

@test "zsh completes files for --config" {
	in_zsh "fairlock wrap --config $HOME/settings.o"
	assert_line "line: fairlock wrap --config $HOME/settings.one "
	in_zsh "fairlock wrap --config=$HOME/settings.o"
	assert_line "line: fairlock wrap --config=$HOME/settings.one "
}

@test "zsh completes COMMAND and its words" {
	in_zsh 'fairlock wrap x -- xarg'
	assert_line xargs
	in_zsh "fairlock wrap x cat $HOME/settings.o"
	assert_line "line: fairlock wrap x cat $HOME/settings.one "
}

@test "fish offers commands, options and values" {
	in_fish 'fairlock '
	assert_equal "$(sort <<<"$output")" "$commands"
	in_fish 'fairlock wrap --on-l'
	assert_output --on-lost
	in_fish 'fairlock wrap --on-lost='
	assert_output $'--on-lost=kill\n--on-lost=warn'
	in_fish 'fairlock wrap -sTER'
	assert_output -sTERM
}

@test "fish offers names with a colon or a blank" {
	offering nightly:backup in_fish 'fairlock wrap nightly:b'
	assert_output nightly:backup
	offering two in_fish 'fairlock status tw'
	assert_output 'two words'
}

@test "fish completes files for --config" {
	in_fish "fairlock wrap --config $HOME/settings.o"
	assert_output "$HOME/settings.one"
	in_fish "fairlock wrap --config=$HOME/settings.o"
	assert_output "--config=$HOME/settings.one"
}

@test "fish completes COMMAND and its words" {
	in_fish 'fairlock wrap x -- xarg'
	assert_line xargs
	in_fish "fairlock wrap x cat $HOME/settings.o"
	assert_output "$HOME/settings.one"
}

@test "the shells offer --slots, --shared and --slot, and the slots that are held" {
	ask wrap --sl
	assert_output --slots
	ask acquire --sha
	assert_output --shared
	ask release --sl
	assert_output --slot
	"$FAIRLOCK" acquire --lease 1h --slots db1,db2 dbs >/dev/null
	in_bash 'fairlock wrap --sl' fairlock wrap --sl
	assert_output --slots
	offering db1 in_bash 'fairlock release --force dbs --slot ' fairlock release --force dbs --slot ''
	assert_output db1
	if command -v zsh >/dev/null; then
		offering db1 in_zsh 'fairlock release --force dbs --slot '
		in_zsh 'fairlock acquire --sha'
		assert_output --partial -- --shared
	fi
	if command -v fish >/dev/null; then
		offering db1 in_fish 'fairlock release --force dbs --slot '
		in_fish 'fairlock acquire --sha'
		assert_line -- --shared
	fi
	"$FAIRLOCK" release --force -q dbs
}

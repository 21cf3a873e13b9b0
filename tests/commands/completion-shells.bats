#!/usr/bin/env bats
# What bash, zsh and fish make of the completion through their shims.

load ../lib/helpers
load ../lib/completion

# in_bash LINE WORD...: sets $output to the words that bash offers; see complete.bash
in_bash() {
	run --separate-stderr bash "$TESTS_DIR/commands/complete.bash" "$SHIMS" "$@"
	# shellcheck disable=SC2154
	assert_equal "$stderr" ''
}

# in_zsh LINE: sets $output to the sorted words that zsh offers, and to the completed line
in_zsh() {
	command -v zsh >/dev/null || skip 'no zsh here'
	run timeout 60 zsh -f "$TESTS_DIR/commands/complete.zsh" "$SHIMS" "$1"
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

@test "bash offers commands, options and values" {
	in_bash 'fairlock ' fairlock ''
	assert_equal "$(sort <<<"$output")" "$commands"
	in_bash 'fairlock wrap --sig' fairlock wrap --sig
	assert_output --signal
	in_bash 'fairlock status --sort WAI' fairlock status --sort WAI
	assert_output WAITERS
	in_bash 'fairlock status --color=' fairlock status --color =
	assert_output $'auto\nalways\nnever'
	in_bash 'fairlock status --sort=WAI' fairlock status --sort = WAI
	assert_output WAITERS
}

@test "bash offers names with a colon or a blank" {
	offering nightly:backup in_bash 'fairlock wrap n' fairlock wrap n
	assert_output nightly:backup
	offering backup in_bash 'fairlock wrap nightly:b' fairlock wrap nightly : b
	assert_output backup
	offering two in_bash 'fairlock status tw' fairlock status tw
	assert_output 'two\ words'
}

@test "bash offers columns" {
	in_bash 'fairlock status -o NAME,ST' fairlock status -o NAME,ST
	assert_output NAME,STATE
	in_bash 'fairlock status --output=+tok' fairlock status --output = +tok
	assert_output +token
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
	in_zsh 'fairlock wrap --sig'
	assert_line 'line: fairlock wrap --signal '
	in_zsh 'fairlock status --color='
	assert_output --partial $'--color=auto\n--color=always\n--color=never'
	in_zsh 'fairlock status -oWAI'
	assert_line 'line: fairlock status -oWAITERS '
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
	in_fish 'fairlock wrap --sig'
	assert_output --signal
	in_fish 'fairlock status --color=a'
	assert_equal "$(sort <<<"$output")" $'--color=always\n--color=auto'
	in_fish 'fairlock status -oWAI'
	assert_output -oWAITERS
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

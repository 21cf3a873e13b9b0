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

# offers_in SHELL: reads lines "LINE | OFFER"; LINE is completed to OFFER, or OFFER is among what is offered
offers_in() {
	local line offer

	while IFS='|' read -r line offer; do
		"in_$1" "${line% }"
		assert_line --partial "${offer# }"
	done
}

@test "bash offers commands, options, values, columns, names with a colon or a blank, files and COMMAND" {
	in_bash 'fairlock ' fairlock ''
	assert_equal "$(sort <<<"$output")" "$commands"
	in_bash 'fairlock wrap --sig' fairlock wrap --sig
	assert_output --signal
	in_bash 'fairlock status --color=' fairlock status --color =
	assert_output $'auto\nalways\nnever'
	in_bash 'fairlock status --output=+tok' fairlock status --output = +tok
	assert_output +token
	offering backup in_bash 'fairlock wrap nightly:b' fairlock wrap nightly : b
	assert_output backup
	offering two in_bash 'fairlock status tw' fairlock status tw
	assert_output 'two\ words'
	in_bash "fairlock wrap --config=$HOME/settings.o" fairlock wrap --config = "$HOME/settings.o"
	assert_output "$HOME/settings.one"
	in_bash 'fairlock wrap x xarg' fairlock wrap x xarg
	assert_line xargs
	in_bash "fairlock wrap x cat $HOME/settings.o" fairlock wrap x cat "$HOME/settings.o"
	assert_output "$HOME/settings.one"
}

@test "zsh offers commands, options, values, names with a colon or a blank, files and COMMAND" {
	in_zsh 'fairlock '
	assert_equal "$(sed '$d' <<<"$output" | sort)" "$commands"
	in_zsh 'fairlock status --color='
	assert_output --partial $'--color=auto\n--color=always\n--color=never'
	offers_in zsh <<-END
		fairlock wrap --sig | line: fairlock wrap --signal
		fairlock status -oWAI | line: fairlock status -oWAITERS
		fairlock wrap nightly:b | line: fairlock wrap nightly:backup
		fairlock status tw | line: fairlock status two\ words
		fairlock wrap --config $HOME/settings.o | line: fairlock wrap --config $HOME/settings.one
		fairlock wrap --config=$HOME/settings.o | line: fairlock wrap --config=$HOME/settings.one
		fairlock wrap x -- xarg | xargs
		fairlock wrap x cat $HOME/settings.o | line: fairlock wrap x cat $HOME/settings.one
	END
}

@test "fish offers commands, options, values, names with a colon or a blank, files and COMMAND" {
	in_fish 'fairlock '
	assert_equal "$(sort <<<"$output")" "$commands"
	in_fish 'fairlock status --color=a'
	assert_equal "$(sort <<<"$output")" $'--color=always\n--color=auto'
	offers_in fish <<-END
		fairlock wrap --sig | --signal
		fairlock status -oWAI | -oWAITERS
		fairlock wrap nightly:b | nightly:backup
		fairlock status tw | two words
		fairlock wrap --config $HOME/settings.o | $HOME/settings.one
		fairlock wrap --config=$HOME/settings.o | --config=$HOME/settings.one
		fairlock wrap x -- xarg | xargs
		fairlock wrap x cat $HOME/settings.o | $HOME/settings.one
	END
}

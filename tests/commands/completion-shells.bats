# A person types on a terminal, and bash, zsh and fish complete the words.

load ../lib/helpers
load ../lib/completion
load ../lib/screens

# completed LINE: the line on the terminal is this now
completed() { screen | grep -qxF -e "> $1"; }

# offered: the screen has all commands
offered() {
	local command

	for command in $commands; do
		screen | grep -qw "$command" || return
	done
}

# types LINE TEST...: types LINE and a tab on a clear screen, until the TEST succeeds: completion waits for a server for 0.3 s only,
# and a slow machine may take longer
types() {
	local tries

	for tries in 1 2 3 4 5 6; do
		press C-u
		press C-l
		on_terminal send-keys -l "$1"
		press Tab
		WAIT_S=3 wait_until "${@:2}" && return
	done
	screen
	return 1
}

# completes COMMAND...: a shell for which these commands set the completion up completes lines
completes() {
	local words begin whole command

	terminal 200
	for command; do
		type_line "$command"
		sleep 0.5
	done
	types 'fairlock ' offered
	while IFS='|' read -r words begin whole; do
		types "fairlock $words$begin" completed "fairlock $words$whole"
	done <<-END
		wrap |--sig|--signal
		status --color=|n|never
		status -o|WAI|WAITERS
		status --output=|+tok|+token
		wrap |nightly:b|nightly:backup
		status |tw|two\\ words
		wrap --config=|$HOME/settings.o|$HOME/settings.one
		wrap --config |$HOME/settings.o|$HOME/settings.one
		wrap x cat |$HOME/settings.o|$HOME/settings.one
		wrap x -- |xarg|xargs
	END
}

@test "bash completes commands, options, values, columns, names with a colon or a blank, files and COMMAND" {
	completes "bind 'set show-all-if-ambiguous on'; source '$SHIMS/fairlock.bash'"
}

@test "zsh completes commands, options, values, columns, names with a colon or a blank, files and COMMAND" {
	command -v zsh >/dev/null || skip 'no zsh here'
	completes 'exec zsh -f' "PS1='> '; fpath=('$SHIMS' \$fpath); autoload -Uz compinit; compinit -u -D"
}

@test "fish completes commands, options, values, columns, names with a colon or a blank, files and COMMAND" {
	command -v fish >/dev/null || skip 'no fish here'
	completes 'exec fish --no-config' "function fish_prompt; printf '> '; end; set -g fish_autosuggestion_enabled 0; source '$SHIMS/fairlock.fish'"
}

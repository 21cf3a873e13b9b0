#!/usr/bin/env bats
# What fairlock offers as completion.

load ../lib/helpers
load ../lib/completion

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
	ask -v --url unix:/nowhere wrap --sig
	assert_output --signal
	ask --nonsense status --color=n
	assert_output --color=never
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
	run "$FAIRLOCK" --complete wrap --sig
	assert_output --regexp $'^--signal\tSIG: .+'
}

@test "completion offers exactly the options that a command's --help shows, and those of the server" {
	for command in wrap acquire renew release status queue log; do
		ask "$command" -
		output=$(sort <<<"$output")
		shown=$({ "$FAIRLOCK" "$command" --help && "$FAIRLOCK" --help | sed -n '/^The server, for all/,/^$/p'; } | sed -nE 's/^  (-.,|   ) (--[a-z-]+).*/\2/p' | sort)
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
	ask status --sort WAI
	assert_output WAITERS
	ask status --sort=WAI
	assert_output --sort=WAITERS
	ask status --so=WAI
	assert_output --so=WAITERS
	ask status -vaoWAI
	assert_output -vaoWAITERS
}

@test "completion offers nothing for a value that it cannot guess" {
	ask wrap --wait ''
	assert_output ''
	ask acquire --max-queue ''
	assert_output ''
	ask wrap --signal ''
	assert_output ''
	ask renew nightly:backup --owner ''
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

@test "completion offers the names of locks for each --also" {
	offering nightly:backup ask wrap --also n
	assert_output nightly:backup
	offering two ask wrap --also nightly:backup job --also=t
	assert_output '--also=two words'
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

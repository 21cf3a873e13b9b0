#!/usr/bin/env bats
# The option table, --help, completion, the manual and the README say the same.
# Nothing here needs a server.

load helpers

COMMANDS='wrap acquire renew release status queue log doctor'

setup() {
	PROJECT=$TESTS_DIR/..
	MANUAL=$PROJECT/man/fairlock.1
	export HOME=$BATS_TEST_TMPDIR
	export FAIRLOCK_URL=unix:$BATS_TEST_TMPDIR/no-server
}

# same WHAT LIST OTHER: both have the same lines, in whatever order, and there are some.
same() {
	local difference

	[ -n "$2" ] || fail "$1: there are none"
	difference=$(diff --label left --label right -U 0 <(sort -u <<<"$2") <(sort -u <<<"$3")) ||
		fail "$1: $difference"
}

# section NAME [FILE]: the text of a section of the manual, without its heading
section() {
	awk -v name="$1" '/^\.Sh / { on = substr($0, 5) == name; next } on' "${2:-$MANUAL}"
}

# Options are compared as lines "COMMAND -x --long ARG", the letter and ARG where there is one.

help_options() {
	for command in $COMMANDS; do
		"$FAIRLOCK" "$command" --help |
			sed -E 's/\[=([A-Z]+)\]/ \1 /' | sed -nE "s/^  (-.,|   ) (--[a-z-]+)( [^ ]+)? .*/$command \1 \2\3/p" | tr -d , | tr -s ' '
	done
}

# manual_options [FILE]: the headings of OPTIONS say whose they are
manual_options() {
	section OPTIONS "${1:-}" | awk -v all="$COMMANDS" '
		/^\.Ss / {
			title = substr($0, 5)
			gsub(/,| and/, "", title)
			count = split(title == "All commands" ? all : title, whose, " ")
		}
		/^\.It Fl / {
			line = $0
			sub(/^\.It Fl /, "", line)
			letter = ""
			if (line ~ /^[^-] , /) {
				letter = " -" substr(line, 1, 1)
				line = substr(line, 5)
			}
			sub(/ Ns Op = Ns Ar /, " =", line)
			sub(/ (Ar|Cm) /, " =", line)
			gsub(/ \| /, "|", line)
			sub(/ =/, " ", line)
			for (i = 1; i <= count; i++)
				print whose[i] letter " -" line
		}'
}

completed_options() {
	for command in $COMMANDS; do
		"$FAIRLOCK" --complete "$command" - | sed -nE \
			-e "s/^(--[a-z-]+)\t([^ ]+): .*/$command \1 \2/p; t" -e "s/^(--[a-z-]+)\t.*/$command \1/p"
	done
}

# table_rows SOURCE: the names of the rows that may be set there
table_rows() {
	awk '/option_row rows\[\] = \{/ { on = 1; next } /^};/ { on = 0 } on' "$PROJECT/src/options.c" |
		tr '\n' ' ' | sed -E "s/\{ *('.'|0), *\"/\n\"/g" |
		sed -nE "/SOURCE_ALL|SOURCE_$1/s/^\"([a-z-]+)\".*/\1/p"
}

@test "every option in --help is in the manual for the same commands, and the other way round" {
	same options "$(help_options)" "$(manual_options)"
}

@test "an option that only one side has is noticed" {
	sed '/^\.It Fl -max-queue/s/max/most/' "$MANUAL" >"$BATS_TEST_TMPDIR/other.1"
	run same options "$(help_options)" "$(manual_options "$BATS_TEST_TMPDIR/other.1")"
	assert_failure
	assert_line --partial '-acquire --max-queue N'
	assert_line --partial '+acquire --most-queue N'
}

@test "every option in --help is completed, and the other way round" {
	same options "$(help_options | sed -E 's/ -[^-]( |$)/\1/')" "$(completed_options)"
}

@test "every option of the table that is a flag is in --help, and the other way round" {
	same options "$(table_rows FLAG)" "$(help_options | sed -E 's/.* --([a-z-]+).*/\1/')"
}

@test "every option that a variable may set is in the manual, and the other way round" {
	own='FAIRLOCK_(NAME|OWNER|TOKEN|HELD)$'
	same variables "$(table_rows ENVIRONMENT | tr 'a-z-' 'A-Z_' | sed 's/^/FAIRLOCK_/')" \
		"$(section ENVIRONMENT | grep -oE 'FAIRLOCK_[A-Z_]+' | grep -vE "$own")"
}

@test "every option that a configuration file may set is in the manual, and the other way round" {
	same keys "$(table_rows FILE)" "$(section FILES |
		awk '/^The keys are/ { on = 1 } /^A line/ { on = 0 } on && /^\.Ql/ { print $2 }')"
}

@test "every command in --help is in the manual, and the other way round" {
	commands=$("$FAIRLOCK" --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p')
	same 'commands of this test' "$commands" "${COMMANDS// /$'\n'}"
	same synopsis "$commands" "$(section SYNOPSIS | sed -n 's/^\.Cm //p')"
	same description "$commands" "$(section DESCRIPTION | sed -n 's/^\.It Cm //p')"
	same completion "$commands" "$("$FAIRLOCK" --complete '' | cut -f1)"
}

@test "--help and the manual name the same operands" {
	# The manual has a second line for wrap with -c.
	same operands "$(for command in $COMMANDS; do
		"$FAIRLOCK" "$command" --help | sed -n 's/^Usage: //p'
	done)" "$(mandoc -T ascii "$MANUAL" | col -b | expand |
		sed -nE '/^SYNOPSIS/,/^DESCRIPTION/s/^ +(fairlock [a-z].*)/\1/p' |
		sed -e 's/ \.\.\./.../g' -e '/ -c STR$/d')"
}

@test "every exit status of the source is in the manual and the README, and the other way round" {
	statuses=$(sed -nE 's/^\s*STATUS_[A-Z_]+ = ([0-9]+),.*/\1/p' "$PROJECT/src/error.h")
	# What status -q and doctor say is no failure, so no part of that enum.
	same manual "$statuses"$'\n1\n2' "$(section 'EXIT STATUS' | sed -nE 's/^\.It ([0-9]+)$/\1/p')"
	same README "$statuses"$'\n1\n2' "$(sed -n '/^## Exit status/,/^## Hacking/p' "$PROJECT/README.md" |
		sed -nE 's/^\| ([0-9, ]+) \|.*/\1/p' | tr -d ' ' | tr ',' '\n')"
}

@test "the manual names the columns that there are" {
	for command in status queue log; do
		known=$("$FAIRLOCK" "$command" -o nonsense x 2>&1 | sed -n 's/.* known are //p' | tr -d ' ' | tr , '\n')
		same "columns of $command" "$known" "$(section OPTIONS | awk -v command="$command" '
			/^\.Cm / { on = $2 == command }
			/^\.El/ { on = 0 }
			on && /^[A-Z_]+(,| and|[.;]|$)/' | grep -oE '[A-Z]{2,}(_[A-Z]+)?')"
	done
}

# Prints what follows "fairlock " in FILE where it is a command line, up to COMMAND.
command_lines() {
	grep -oE "fairlock (${COMMANDS// /|}) .*" "$1" | sed -E -e 's/^fairlock //' -e 's/ -- .*//'
}

# The options of a command line as it is meant for people: -qnE0 counts as -q -n -E.
options_of() {
	local command=$1 word row letters

	shift
	for word; do
		case $word in
		--*) echo "$command ${word%%=*}" ;;
		-*)
			letters=${word#-}
			while [ -n "$letters" ]; do
				echo "$command -${letters:0:1}"
				row=$(help_options | grep "^$command -${letters:0:1} ") || return 0
				[ "$(wc -w <<<"$row")" -eq 3 ] || break
				letters=${letters:1}
			done
			;;
		esac
	done
}

@test "the examples of manual and README use options that there are" {
	known=$(help_options | awk '{ for (i = 2; i <= NF && i < 4; i++) print $1, $i }')
	for file in "$MANUAL" "$PROJECT/README.md"; do
		used=0
		while read -r -a words; do
			while read -r option; do
				used=$((used + 1))
				grep -qxF -e "$option" <<<"$known" || fail "$file: fairlock ${words[*]}: there is no $option"
			done < <(options_of "${words[@]}")
		done < <(command_lines "$file")
		[ "$used" -gt 5 ] || fail "$file: only $used options were found"
	done
}

@test "the manual is free of mistakes that mandoc finds" {
	run mandoc -T lint -W warning "$MANUAL"
	assert_success
}

@test "every fault of the manual's table has a test that begins with its name" {
	local fault

	section FAULTS | sed -nE '/^\.It Em/d; s/^\.It (.*)/\1/p' | sed -n 's/ Ta .*//p' >"$BATS_TEST_TMPDIR/faults"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/faults")" -gt 20 ]
	while read -r fault; do
		grep -qE "^@test \"${fault}[:,]" "$TESTS_DIR"/*.bats || fail "there is none for $fault"
	done <"$BATS_TEST_TMPDIR/faults"
}

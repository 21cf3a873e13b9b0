# The option table, --help, completion and the manual say the same, and the links in the manual lead somewhere.

load ../lib/helpers

COMMANDS='wrap acquire renew release status queue log doctor'

setup() {
	PROJECT=$TESTS_DIR/..
	MANUAL=$PROJECT/man
	export HOME=$BATS_TEST_TMPDIR
	export FAIRLOCK_URL=unix:$BATS_TEST_TMPDIR/no-server
	cd "$BATS_TEST_TMPDIR" || return
}

# same WHAT LIST OTHER: fails unless both have the same lines, in any order, and at least one
same() {
	local difference

	[ -n "$2" ] || fail "$1: there are none"
	difference=$(diff --label left --label right -U 0 <(sort -u <<<"$2") <(sort -u <<<"$3")) ||
		fail "$1: $difference"
}

# section NAME FILE: prints the text of a section of a page, without its heading
section() { awk -v name="$1" '/^\.Sh / { on = substr($0, 5) == name; next } on' "$2"; }

# The tests compare options as lines "COMMAND -x --long ARG", without -x or ARG if there is none.

# Each command has the options of its own help, and those of the server, which `fairlock --help` has.
help_options() {
	for command in $COMMANDS; do
		{ "$FAIRLOCK" "$command" --help && "$FAIRLOCK" --help | sed -n '/^The server, for all/,/^$/p'; } |
			sed -E 's/\[=([A-Z]+)\]/ \1 /' | sed -nE "s/^  (-.,|   ) (--[a-z-]+)( [^ ]+)?( .*|)$/$command \1 \2\3/p" |
			sed -E "s/^([a-z]+ -.),/\1/" | tr -s ' '
	done
}

# page_options FILE: prints the options of a page, without a command in front
page_options() {
	section OPTIONS "$1" | sed -nE '/^\.It Fl /{
		s/^\.It Fl ([^-]) , /-\1 /
		s/^\.It Fl //
		s/(^| )-([^ ]{2})/\1--\2/
		s/ Ns Op = Ns (Ar|Cm) / /
		s/ (Ar|Cm) / /
		s/ \| /|/g
		p
	}'
}

# manual_options: prints each command's options, of its own page and of fairlock(1)
manual_options() {
	local command

	for command in $COMMANDS; do
		page_options "$MANUAL/fairlock.1" | sed "s/^/$command /"
		page_options "$MANUAL/fairlock-$command.1" | sed "s/^/$command /"
	done
}

completed_options() {
	for command in $COMMANDS; do
		"$FAIRLOCK" --complete "$command" - | sed -nE \
			-e "s/^(--[a-z-]+)\t([^ ]+): .*/$command \1 \2/p; t" -e "s/^(--[a-z-]+)\t.*/$command \1/p"
	done
}

# table_rows WORDS: prints the names of the option table's rows that have one of the words (A|B)
table_rows() {
	awk '/option_row option_rows\[\] = \{/ { on = 1; next } /^};/ { on = 0 } on' "$PROJECT/src/cli/options.c" |
		tr '\n' ' ' | sed -E "s/\{ *('.'|0), *\"/\n\"/g" |
		sed -nE "/$1/s/^\"([a-z-]+)\".*/\1/p"
}

@test "the option table, --help, the manual and completion have the same options for each command" {
	same table "$(table_rows '"' | grep -vx password)" "$(help_options | sed -E 's/.* --([a-z-]+).*/\1/')"
	same manual "$(help_options)" "$(manual_options)"
	same completion "$(help_options | sed -E 's/ -[^-]( |$)/\1/')" "$(completed_options)"
}

@test "fairlock(1) lists exactly the variables, and fairlock.conf(5) exactly the keys, that the option table has" {
	own='FAIRLOCK_(NAME|OWNER|TOKEN|HELD)$'
	same variables "$(table_rows 'DEFAULTS|SOURCE_ENVIRONMENT' | tr 'a-z-' 'A-Z_' | sed 's/^/FAIRLOCK_/')" \
		"$(section ENVIRONMENT "$MANUAL/fairlock.1" | grep -oE 'FAIRLOCK_[A-Z_]+' | grep -vE "$own")"
	same keys "$(table_rows 'DEFAULTS|SOURCE_FILE')" "$(section KEYS "$MANUAL/fairlock.conf.5" | sed -nE 's/^\.It Ic ([a-z-]+) = .*/\1/p')"
}

@test "--help, fairlock(1), the pages and completion name the same commands" {
	commands=$("$FAIRLOCK" --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p')
	same 'commands of this test' "$commands" "${COMMANDS// /$'\n'}"
	same description "$commands" "$(section DESCRIPTION "$MANUAL/fairlock.1" | sed -n 's/^\.It Cm //p')"
	same pages "$commands" "$(ls "$MANUAL" | sed -n 's/^fairlock-\(.*\)\.1$/\1/p')"
	same completion "$commands"$'\nhelp\nversion' "$("$FAIRLOCK" --complete '' | cut -f1)"
}

@test "--help and the manual name the same operands" {
	for command in $COMMANDS; do
		# The manual has a second line for wrap with -c.
		same "operands of $command" "$("$FAIRLOCK" "$command" --help | sed -n 's/^Usage: //p')" \
			"$(mandoc -T ascii "$MANUAL/fairlock-$command.1" | col -b | expand |
				sed -nE '/^SYNOPSIS/,/^DESCRIPTION/s/^ +(fairlock [a-z].*)/\1/p' | sed 's/ \.\.\./.../g; / -c STR$/d')"
	done
}

# statuses PAGE: prints the exit statuses that it lists
statuses() { section 'EXIT STATUS' "$MANUAL/$1" | sed -nE 's/^\.It ([0-9]+)$/\1/p'; }

@test "the source and the manual list the same exit statuses" {
	# 1 and 2 are answers of status -q and doctor, not failures: the enum does not have them.
	known=$(sed -nE 's/^\s*STATUS_[A-Z_]+ = ([0-9]+),.*/\1/p' "$PROJECT/src/base/error.h")$'\n1\n2'
	same manual "$known" "$(statuses fairlock.1)"
	for command in $COMMANDS; do
		for status in $(statuses "fairlock-$command.1"); do
			grep -qx "$status" <<<"$known" || fail "fairlock-$command.1: there is no status $status"
		done
	done
}

@test "-o help says what each column is; the manual, --help and completion name the same columns" {
	for command in status queue log; do
		run -0 "$FAIRLOCK" "$command" -o help
		run ! grep -vE '^[A-Z_]+ +[a-z]' <<<"$output"
		[ "$(wc -L <<<"$output")" -lt 80 ]
		known=$("$FAIRLOCK" "$command" -o help | cut -d ' ' -f 1)
		same "manual of $command" "$known" "$(section COLUMNS "$MANUAL/fairlock-$command.1" |
			grep '^\.It ' | grep -oE '[A-Z]{2,}(_[A-Z]+)?')"
		same "help of $command" "$known" "$("$FAIRLOCK" "$command" --help |
			sed -nE '/^Columns /,/^DUR: /{/^DUR: /,$d; s/^Columns .*: //; p}' | tr -d ' ' | tr , '\n' | grep .)"
		same "completion of $command" "$known" "$("$FAIRLOCK" --complete "$command" -o '' | cut -f 1 | grep -vx help)"
	done
}

@test "mandoc finds no mistake in the manual" {
	run -0 mandoc -T lint -W warning "$MANUAL"/*.[1-9]
}

@test "the pages and sections that --help and messages refer to exist" {
	for command in $COMMANDS; do
		"$FAIRLOCK" "$command" --help | grep -oE 'fairlock[a-z.-]*\([1-9]\)' | tr '()' '. ' >pages
		grep -qx "fairlock-$command\.1 *" pages || fail "$command --help does not name its page"
		while read -r page; do
			[ -e "$MANUAL/$page" ] || fail "$command --help: there is no $page"
		done <pages
	done
	cat "$PROJECT"/src/*.c "$PROJECT"/src/*/*.c | tr -d '\n' | sed 's/"[[:space:]]*"//g' | grep -oE '[A-Z]+ in fairlock\([17]\)' |
		sed -E 's/(.*) in fairlock\((.)\)/\1 \2/' | sort -u >sections
	[ -s sections ]
	while read -r name number; do
		grep -qx "\.Sh $name" "$MANUAL/fairlock.$number" || fail "fairlock($number) has no $name"
	done <sections
}

@test "each fault in the table of fairlock(7) has a test that begins with the fault's name" {
	local fault

	section FAULTS "$MANUAL/fairlock.7" | sed -n '/^\.Bd/,/^\.Ed/p' | sed -E '/^(\.|Fault )/d; s/  .*//' >faults
	[ "$(wc -l <faults)" -gt 20 ]
	while read -r fault; do
		grep -qE "^@test \"${fault}[:,]" "$TESTS_DIR"/*/*.bats || fail "there is none for $fault"
	done <faults
}

@test "every link in the pages in HTML leads to a page and a place that exist" {
	local page link target anchor count=0

	command -v mandoc >/dev/null || skip 'there is no mandoc here'
	"$MANUAL/html" html >/dev/null
	cd html
	for page in *.html; do
		for link in $(grep -oE '(href|src|srcset)="[^"]*"' "$page" | cut -d '"' -f 2 | sort -u); do
			count=$((count + 1))
			# Pages of other projects, such as "crontab.5".
			[[ ! $link =~ ^https://manpages\.debian\.org/[a-z-]+\.[1-8]$ || $link = */fairlock* ]] || continue
			target=${link%%#*}
			[ -e "${target:-$page}" ] || fail "$page: $link leads nowhere"
			[[ $link = *'#'* ]] || continue
			anchor=${link#*#}
			grep -qF " id=\"$anchor\"" "${target:-$page}" || fail "$page: $link leads nowhere"
		done
	done
	[ "$count" -gt 150 ] || fail "only $count"
}

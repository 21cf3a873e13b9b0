#!/usr/bin/env bats
# The option table, --help, completion, the manual and the README say the same. No server is needed.

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
section() {
	awk -v name="$1" '/^\.Sh / { on = substr($0, 5) == name; next } on' "$2"
}

# pages: prints the names of the pages, such as fairlock.1
pages() {
	(cd "$MANUAL" && printf '%s\n' ./*.[1-9] | cut -c 3-)
}

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

# manual_options [FOLDER]: prints each command's options, of its own page and of fairlock(1)
manual_options() {
	local folder=${1:-$MANUAL} command

	for command in $COMMANDS; do
		page_options "$folder/fairlock.1" | sed "s/^/$command /"
		page_options "$folder/fairlock-$command.1" | sed "s/^/$command /"
	done
}

completed_options() {
	for command in $COMMANDS; do
		"$FAIRLOCK" --complete "$command" - | sed -nE \
			-e "s/^(--[a-z-]+)\t([^ ]+): .*/$command \1 \2/p; t" -e "s/^(--[a-z-]+)\t.*/$command \1/p"
	done
}

# table_rows SOURCE: prints the names of the option table's rows that SOURCE may set
table_rows() {
	awk '/option_row option_rows\[\] = \{/ { on = 1; next } /^};/ { on = 0 } on' "$PROJECT/src/cli/options.c" |
		tr '\n' ' ' | sed -E "s/\{ *('.'|0), *\"/\n\"/g" |
		sed -nE "/SOURCE_ALL|SOURCE_$1/s/^\"([a-z-]+)\".*/\1/p"
}

@test "--help and the manual list the same options for each command" {
	same options "$(help_options)" "$(manual_options)"
}

@test "the comparison with the manual finds an option that only one side has" {
	mkdir other
	cp "$MANUAL"/*.[1-9] other
	sed -i '/^\.It Fl -max-queue/s/max/most/' other/fairlock-acquire.1
	run same options "$(help_options)" "$(manual_options other)"
	assert_failure
	assert_line --partial '-acquire --max-queue N'
	assert_line --partial '+acquire --most-queue N'
	refute_line --partial 'wrap'
}

@test "--help and completion list the same options for each command" {
	same options "$(help_options | sed -E 's/ -[^-]( |$)/\1/')" "$(completed_options)"
}

@test "--help lists exactly the options that the option table has as flags" {
	same options "$(table_rows FLAG)" "$(help_options | sed -E 's/.* --([a-z-]+).*/\1/')"
}

@test "fairlock(1) lists exactly the variables that the option table has" {
	own='FAIRLOCK_(NAME|OWNER|TOKEN|HELD)$'
	same variables "$(table_rows ENVIRONMENT | tr 'a-z-' 'A-Z_' | sed 's/^/FAIRLOCK_/')" \
		"$(section ENVIRONMENT "$MANUAL/fairlock.1" | grep -oE 'FAIRLOCK_[A-Z_]+' | grep -vE "$own")"
}

@test "fairlock.conf(5) lists exactly the keys that the option table has" {
	same keys "$(table_rows FILE)" "$(section KEYS "$MANUAL/fairlock.conf.5" | sed -nE 's/^\.It Ic ([a-z-]+) = .*/\1/p')"
}

@test "fairlock.conf(5) and --help name the same arguments" {
	same arguments "$(help_options | sed -nE 's/.* --([a-z-]+)/\1/p' |
		awk '{ print $1, NF == 1 ? "yes|no" : $2 }' | sort -u |
		join - <(table_rows FILE | sort -u))" \
		"$(section KEYS "$MANUAL/fairlock.conf.5" | sed -nE 's/^\.It Ic ([a-z-]+) = (Ar|Cm) /\1 /p' |
			sed 's/ | /|/' | grep -v '^password ')"
}

@test "--help, fairlock(1), the pages and completion name the same commands" {
	commands=$("$FAIRLOCK" --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p')
	same 'commands of this test' "$commands" "${COMMANDS// /$'\n'}"
	same description "$commands" "$(section DESCRIPTION "$MANUAL/fairlock.1" | sed -n 's/^\.It Cm //p')"
	same pages "$commands" "$(pages | sed -n 's/^fairlock-\(.*\)\.1$/\1/p')"
	same completion "$commands"$'\nhelp\nversion' "$("$FAIRLOCK" --complete '' | cut -f1)"
}

# synopsis COMMAND: prints the lines of its page's SYNOPSIS
synopsis() {
	mandoc -T ascii "$MANUAL/fairlock-$1.1" | col -b | expand |
		sed -nE '/^SYNOPSIS/,/^DESCRIPTION/s/^ +(fairlock [a-z].*)/\1/p' | sed 's/ \.\.\./.../g'
}

@test "--help and the manual name the same operands" {
	for command in $COMMANDS; do
		# The manual has a second line for wrap with -c.
		same "operands of $command" "$("$FAIRLOCK" "$command" --help | sed -n 's/^Usage: //p')" \
			"$(synopsis "$command" | sed '/ -c STR$/d')"
	done
}

# statuses PAGE: prints the exit statuses that it lists
statuses() {
	section 'EXIT STATUS' "$MANUAL/$1" | sed -nE 's/^\.It ([0-9]+)$/\1/p'
}

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

@test "each command's page has all sections, and an example" {
	for command in $COMMANDS; do
		same "sections of fairlock-$command.1" "$(grep -vE '^\.Sh (COLUMNS|ENVIRONMENT|METRICS)$' \
			"$MANUAL/fairlock-$command.1" | sed -n 's/^\.Sh //p')" \
			$'NAME\nSYNOPSIS\nDESCRIPTION\nOPTIONS\nEXIT STATUS\nEXAMPLES\nSEE ALSO'
		section EXAMPLES "$MANUAL/fairlock-$command.1" | grep -q "fairlock $command " ||
			fail "fairlock-$command.1 has no example"
	done
}

@test "the manual names exactly the columns that each command knows" {
	for command in status queue log; do
		known=$("$FAIRLOCK" "$command" -o help | cut -d ' ' -f 1)
		same "columns of $command" "$known" "$(section COLUMNS "$MANUAL/fairlock-$command.1" |
			grep '^\.It ' | grep -oE '[A-Z]{2,}(_[A-Z]+)?')"
	done
}

@test "-o help says what each column is, and --help and completion name the same columns" {
	for command in status queue log; do
		run -0 "$FAIRLOCK" "$command" -o help
		run ! grep -vE '^[A-Z_]+ +[a-z]' <<<"$output"
		[ "$(wc -L <<<"$output")" -lt 80 ]
		known=$("$FAIRLOCK" "$command" -o help | cut -d ' ' -f 1)
		same "help of $command" "$known" "$("$FAIRLOCK" "$command" --help |
			sed -nE '/^Columns /,/^DUR: /{/^DUR: /,$d; s/^Columns .*: //; p}' | tr -d ' ' | tr , '\n' | grep .)"
		same "completion of $command" "$known" "$("$FAIRLOCK" --complete "$command" -o '' | cut -f 1 | grep -vx help)"
	done
}

# command_lines FILE: prints the command lines of fairlock in it, without "fairlock", up to COMMAND
# or a pipe
command_lines() {
	grep -oE "fairlock (${COMMANDS// /|}) .*" "$1" | sed -E -e 's/^fairlock //' -e 's/( (--|\|)( |$)|`).*//'
}

# options_of COMMAND WORD...: prints the options among the words; -qnE0 counts as -q, -n and -E
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

@test "the examples of the manual, its recipes and the README use only options that exist" {
	known=$(help_options | awk '{ for (i = 2; i <= NF && i < 4; i++) print $1, $i }')
	used=0
	for file in "$MANUAL"/*.[1-9] "$MANUAL"/examples/* "$PROJECT/README.md"; do
		while read -r -a words; do
			while read -r option; do
				used=$((used + 1))
				grep -qxF -e "$option" <<<"$known" || fail "$file: fairlock ${words[*]}: there is no $option"
			done < <(options_of "${words[@]}")
		done < <(command_lines "$file")
	done
	[ "$used" -gt 60 ] || fail "only $used options were found"
}

@test "mandoc finds no mistake in the manual" {
	run mandoc -T lint -W warning "$MANUAL"/*.[1-9]
	assert_success
}

@test "the manual has at most 12,000 words" {
	local words

	words=$(mandoc -T ascii "$MANUAL"/*.[1-9] | col -b | wc -w)
	[ "$words" -gt 5000 ]
	[ "$words" -le 12000 ] || fail "it has $words: say each thing once"
}

@test "each page that a page refers to exists, and fairlock(1) refers to every page" {
	while read -r name number; do
		[ -e "$MANUAL/$name.$number" ] || fail "there is no $name($number)"
	done < <(sed -nE 's/^\.Xr (fairlock[^ ]*) ([1-9]).*/\1 \2/p' "$MANUAL"/*.[1-9] | sort -u)
	same 'pages that fairlock(1) names' "$(pages | grep -vx fairlock.1)" \
		"$(sed -nE 's/^\.Xr (fairlock[^ ]*) ([1-9]).*/\1.\2/p' "$MANUAL/fairlock.1")"
}

@test "each page's title and name are those of its file" {
	for page in $(pages); do
		title=$(tr '[:lower:]' '[:upper:]' <<<"${page%.*}")
		grep -qx "\.Dt $title ${page##*.}" "$MANUAL/$page" || fail "$page has another title"
		grep -qx "\.Nm ${page%.*}" "$MANUAL/$page" || fail "$page has another name"
	done
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

@test "man finds every page after make install, and none after make uninstall" {
	command -v man >/dev/null || skip 'there is no man'
	install_to "$PWD/root"
	for page in $(pages); do
		run -0 man -M "$PWD/root/usr/share/man" -w "${page##*.}" "${page%.*}"
		assert_output "$PWD/root/usr/share/man/man${page##*.}/$page"
	done
	# man joins the two words by itself.
	run -0 man -M "$PWD/root/usr/share/man" -w fairlock wrap
	assert_line --index 0 "$PWD/root/usr/share/man/man1/fairlock-wrap.1"
	make -C "$PROJECT" uninstall DESTDIR="$PWD/root" PREFIX=/usr
	run -0 find root -type f
	assert_output ''
}

@test "the footer of each installed page names fairlock, and no system" {
	local page

	command -v man groff >/dev/null || skip 'there is no man, or no groff'
	install_to "$PWD/root"
	for page in $(pages); do
		run -0 man -l "$PWD/root/usr/share/man/man${page##*.}/$page"
		assert_line --index -1 --regexp '^fairlock +.* fairlock$'
	done
}

@test "each fault in the table of fairlock(7) has a test that begins with the fault's name" {
	local fault

	section FAULTS "$MANUAL/fairlock.7" | sed -n '/^\.Bd/,/^\.Ed/p' | sed -E '/^(\.|Fault )/d; s/  .*//' >faults
	[ "$(wc -l <faults)" -gt 20 ]
	while read -r fault; do
		grep -qE "^@test \"${fault}[:,]" "$TESTS_DIR"/*/*.bats || fail "there is none for $fault"
	done <faults
}

@test "each URL in a configuration file of the manual or the README is one that fairlock takes" {
	local url count=0

	while read -r url; do
		echo "url = $url" >one.conf
		run env -u FAIRLOCK_URL "$FAIRLOCK" status --config one.conf --connect-timeout 20ms
		[ "$status" -eq 69 ] || fail "$url: $status: $output"
		count=$((count + 1))
	done < <(sed -nE 's/\$\(openssl rand -hex 16\)/0123abcd/; s/.*\burl = ([a-z]+:[^ `"'\'']+).*/\1/p' "$MANUAL"/*.[1-9] "$PROJECT/README.md")
	[ "$count" -ge 2 ]
}

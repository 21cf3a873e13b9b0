# The commands of the README, run word for word but for the folder of the programs and the address of the server:
# `load recipes`.

source "${BASH_SOURCE[0]%/*}/one_server.bash"
README=$TESTS_DIR/../README.md

setup() { begin_example; }

# begin_example: an empty folder with fairlock in `bin`
begin_example() {
	begin
	mkdir bin
	ln -s "$FAIRLOCK" bin/fairlock
}

# code TITLE: prints the code of the recipe whose title begins so
code() {
	awk -v title="**$1" '
		/^\*\*|^## / { here = index($0, title) == 1 }
		/^```/ { fenced = !fenced; next }
		here && fenced
		here && !fenced && sub(/^    /, "")' "$README" |
		sed "s,/usr/local/bin,$BATS_TEST_TMPDIR/bin,; s,redis://lock.example.com,$FAIRLOCK_URL,"
}

# recipe NAME: prints the command of the README's crontab line for this lock
recipe() {
	local line

	line=$(sed -nE "s/^    ([^ ]+ ){5}(fairlock wrap .* $1 -- .*)/\2/p" "$README" |
		sed "s,/usr/local/bin,$BATS_TEST_TMPDIR/bin,")
	[ -n "$line" ] || fail "the README has no crontab line for $1"
	echo "$line"
}

# in_folder NAME TEXT: makes a program in this folder
in_folder() {
	printf '#!/bin/sh\n%s\n' "$2" >"$1"
	chmod +x "$1"
}

# program NAME TEXT: makes a program that a recipe finds in PATH
program() { in_folder "bin/$1" "$2"; }

# as_cron RUNNER COMMAND: runs it as cron does, without a terminal and with next to nothing in the
# environment
as_cron() {
	"$1" env -i HOME="$BATS_TEST_TMPDIR" SHELL=/bin/sh PATH="$PWD/bin:/usr/bin:/bin" \
		FAIRLOCK_URL="$FAIRLOCK_URL" setsid --wait sh -c "$2" </dev/null
}

cron() { as_cron command "$1"; }

# ---- The programs in man/examples, run as they are. The commands that a test runs find them and fairlock in `bin`.

EXAMPLES=$TESTS_DIR/../man/examples

# installs NAME [AS]: as the head of the file says
installs() { install -m 755 "$EXAMPLES/$1" "bin/${2-$1}"; }

# said_in NAME WORDS: prints the command in the head of the file that begins with these words
said_in() {
	local line

	line=$(sed -n "s/^#	\($2.*\)/\1/p" "$EXAMPLES/$1")
	[ -n "$line" ] || fail "$1 has no command that begins with $2"
	echo "$line"
}

# has_lines COUNT FILE: succeeds if the file has so many lines
has_lines() { [ "$(wc -l <"$2")" = "$1" ]; }

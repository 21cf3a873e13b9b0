# The programs in man/examples, run as they are: `load ../lib/helpers`, `load ../lib/one_server`, `load ../lib/recipes`,
# then `load ../lib/examples`. The commands that a test runs find them and fairlock in `bin`.

EXAMPLES=$TESTS_DIR/../man/examples

# begin_example: an empty folder with fairlock in `bin`
begin_example() {
	begin
	mkdir bin
	ln -s "$FAIRLOCK" bin/fairlock
}

# installs NAME [AS]: as the head of the file says
installs() {
	install -m 755 "$EXAMPLES/$1" "bin/${2-$1}"
}

# said_in NAME WORDS: prints the command in the head of the file that begins with these words
said_in() {
	local line

	line=$(sed -n "s/^#	\($2.*\)/\1/p" "$EXAMPLES/$1")
	[ -n "$line" ] || fail "$1 has no command that begins with $2"
	echo "$line"
}

# has_lines COUNT FILE: succeeds if the file has so many lines
has_lines() {
	[ "$(wc -l <"$2")" = "$1" ]
}

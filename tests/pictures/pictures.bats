#!/usr/bin/env bats
# The pictures of README and manual say what the program says.

load ../lib/helpers

PROJECT=$TESTS_DIR/..

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# check PICTURE: plays its scene anew, and compares the words with those in its files
check() {
	local status=0

	"$TESTS_DIR/pictures/run" --check "$1" 3>&- 4>&- || status=$?
	[ "$status" -ne 77 ] || skip 'this machine allows no namespaces'
	return "$status"
}

@test "the picture of a takeover has the program's words" { check takeover; }

@test "the picture of status has the program's words" { check status; }

@test "the picture of log --plot has the program's words" { check log; }

@test "the picture of doctor has the program's words" { check doctor; }

# the pictures that the README names
shown() {
	grep -oE 'man/pictures/[a-z-]+\.svg' "$PROJECT/README.md"
}

@test "the README shows each picture in both themes, and has words for readers who do not see it" {
	local name

	for name in takeover status log doctor; do
		shown | grep -qx "man/pictures/$name-light.svg" || fail "$name is not shown"
		shown | grep -qx "man/pictures/$name-dark.svg" || fail "$name is not shown on dark pages"
		grep -qE "<img [^>]*src=\"man/pictures/$name-light.svg\"[^>]* alt=\"[^\"]{20,}\"|<img [^>]*alt=\"[^\"]{20,}\"[^>]* src=\"man/pictures/$name-light.svg\"" \
			"$PROJECT/README.md" || fail "$name has no words"
	done
	for name in $(shown); do
		[ -e "$PROJECT/$name" ] || fail "there is no $name"
	done
}

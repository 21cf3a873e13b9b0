# The pictures of README and manual say what the program says.

load ../lib/helpers

NAMES='takeover status log doctor'

@test "the words of each picture are the program's, when its scene is played anew" {
	"$TESTS_DIR/pictures/run" --check $NAMES 3>&- 4>&- || status=$?
	[ "${status-0}" -ne 77 ] || skip 'this machine allows no namespaces'
	return "${status-0}"
}

@test "the README shows each picture in both themes, and has words for readers who do not see it" {
	local name shown

	cd "$TESTS_DIR/.."
	shown=$(grep -oE 'man/pictures/[a-z-]+\.svg' README.md)
	for name in $NAMES; do
		grep -qx "man/pictures/$name-dark.svg" <<<"$shown" || fail "$name is not shown on dark pages"
		grep -qE "<img src=\"man/pictures/$name-light.svg\" alt=\"[^\"]{20,}\"" README.md || fail "$name is not shown, or has no words"
	done
	for name in $shown; do
		[ -e "$name" ] || fail "there is no $name"
	done
}

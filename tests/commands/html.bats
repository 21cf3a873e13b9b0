#!/usr/bin/env bats
# man/html, which makes the manual's pages in HTML, and the links in them.

load ../lib/helpers

@test "every link in the pages leads to a page and a place that exist" {
	local page link target anchor count=0

	command -v mandoc >/dev/null || skip 'there is no mandoc here'
	"$TESTS_DIR/../man/html" "$BATS_TEST_TMPDIR/html" >/dev/null
	cd "$BATS_TEST_TMPDIR/html"
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

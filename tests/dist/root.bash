# An empty root with the tarball of "make dist" in it: `load root`.

load ../lib/empty-root

# find_tarball: sets TARBALL
find_tarball() {
	TARBALL=$(echo "$BUILD"/dist/fairlock-*.tar.gz)
	[ -e "$TARBALL" ] || {
		echo 'there is no tarball here: run "make dist"' >&2
		return 1
	}
	export TARBALL
}

# new_root: makes ROOT, and unpacks the tarball there
new_root() {
	empty_root
	tar -xzf "$TARBALL" --strip-components 1 -C "$ROOT"
}

# An empty root with the tarball of "make dist" in it: `load root`.

load ../lib/empty-root

# find_tarball: sets TARBALL, beside BUILD=build/static
find_tarball() {
	TARBALL=$(echo "${BUILD%/*}"/dist/fairlock-*.tar.gz)
	if [ "$(division)" != one ] || [ ! -e "$TARBALL" ]; then
		echo 'there is no tarball of the one file here: run "make check-static", or set BUILD=build/static' >&2
		return 1
	fi
	export TARBALL
}

# new_root: makes ROOT, and unpacks the tarball there
new_root() {
	empty_root
	tar -xzf "$TARBALL" --strip-components 1 -C "$ROOT"
}

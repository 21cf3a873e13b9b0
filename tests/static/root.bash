# An empty root with the tarball of "make dist" in it: `load root`. All else that is there are /proc, /dev, and the
# socket of the test's server.

# find_tarball: sets TARBALL, beside BUILD=build/static
find_tarball() {
	TARBALL=$(echo "${BUILD%/*}"/dist/fairlock-*.tar.gz)
	if [ "$(division)" != one ] || [ ! -e "$TARBALL" ]; then
		echo 'there is no tarball of the one file here: run "make check-static", or set BUILD=build/static' >&2
		return 1
	fi
	export TARBALL
}

# new_root: unpacks the tarball into a new folder, ROOT, or skips the test
new_root() {
	ENTER=(unshare --mount --pid --fork --kill-child)
	[ "$(id -u)" = 0 ] || ENTER+=(--user --map-root-user)
	"${ENTER[@]}" true 2>/dev/null || skip 'this machine allows no namespaces'
	ROOT=$BATS_TEST_TMPDIR/root
	mkdir "$ROOT"
	tar -xzf "$TARBALL" --strip-components 1 -C "$ROOT"
	mkdir "$ROOT/proc" "$ROOT/dev"
	: >"$ROOT/socket"
}

# put_in_root PATH: writes the standard input into this file there
put_in_root() {
	mkdir -p "$(dirname "$ROOT/$1")"
	cat >"$ROOT/$1"
}

# in_root [VARIABLE=VALUE...] COMMAND...: runs it there as the first process, as in a container, and without our
# variables. What it mounts and starts ends with it.
in_root() {
	local variables=()

	while [[ $1 = *=* ]]; do
		variables+=("$1")
		shift
	done
	# shellcheck disable=SC2016
	setpriv --pdeathsig KILL "${ENTER[@]}" sh -c '
		mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount --bind "$2" "$1/socket" &&
		shift 2 && exec "$@"
	' sh "$ROOT" "$SERVER_SOCKET" env -i PATH=/bin FAIRLOCK_URL=unix:/socket "${variables[@]}" \
		"$(command -v chroot)" "$ROOT" "$@" 3>&- 4>&-
}

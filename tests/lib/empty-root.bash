# An empty root, into which a test puts a tarball or package: `load empty-root`. All else that is there are /proc, /dev,
# and the socket of the test's server.

source "${BASH_SOURCE[0]%/*}/helpers.bash"

# empty_root: makes a new folder, ROOT, or skips the test if this machine allows no namespaces
empty_root() {
	ENTER=(unshare --mount --pid --fork --kill-child)
	[ "$(id -u)" = 0 ] || ENTER+=(--user --map-root-user)
	"${ENTER[@]}" true 2>/dev/null || skip 'this machine allows no namespaces'
	ROOT=$BATS_TEST_TMPDIR/root
	mkdir "$ROOT" "$ROOT/proc" "$ROOT/dev"
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
	setpriv --pdeathsig KILL "${ENTER[@]}" sh -c '
		mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount --bind "$2" "$1/socket" &&
		shift 2 && exec "$@"
	' sh "$ROOT" "$SERVER_SOCKET" env -i PATH=/bin:/usr/bin FAIRLOCK_URL=unix:/socket "${variables[@]}" \
		"$(command -v chroot)" "$ROOT" "$@" 3>&- 4>&-
}

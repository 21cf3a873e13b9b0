# A server whose disk can be full: `load helpers`, then `load small-disk`.
#
#   start_server_on_small_disk    # in the current folder; it may skip the test
#   fill_disk                     # the server refuses every change: MISCONF
#   empty_disk

# The disk is in a mount namespace, which ends with the server.
start_server_on_small_disk() {
	local user=() program=$BATS_TEST_TMPDIR/server

	[ "$(id -u)" = 0 ] || user=(--user --map-root-user)
	unshare "${user[@]}" --mount true 2>/dev/null || skip 'this machine allows no namespaces'
	mkdir disk
	echo '#!/bin/sh' >"$program"
	cat >>"$program" <<END
exec unshare ${user[*]} --mount -- sh -c 'mount -t tmpfs -o size=1m disk disk && exec "\$0" "\$@"' \
	setpriv --pdeathsig KILL "$SERVER" "\$@"
END
	chmod +x "$program"
	SERVER=$program start_server --unixsocket "$PWD/redis.sock" --dir "$PWD/disk" --appendonly yes
}

on_disk() {
	local user=()

	[ "$(id -u)" = 0 ] || user=(--user --preserve-credentials)
	nsenter --target "$SERVER_PID" "${user[@]}" --mount -- "$@" 3>&- 4>&-
}

fill_disk() {
	on_disk dd if=/dev/zero of="$PWD/disk/fill" bs=4k 2>/dev/null || true
	wait_until write_is_refused # the last block of the file still had room
}

write_is_refused() { cli SET filler "$(printf '%5000s' x)" | grep -q MISCONF; }

empty_disk() { on_disk rm "$PWD/disk/fill"; }

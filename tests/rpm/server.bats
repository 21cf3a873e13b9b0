# The rpm package and fairlock-server.service under a real systemd, in the Debian root of "make check-deb".
load ../deb/root

setup_file() {
	[ -z "$(why_no_root)" ] || return 0 # setup skips
	new_root
	apt --no-install-recommends install systemd redis-server rpm
	[ -e "$ROOT_FOLDER/no-groups" ] || boot_root
}

setup() {
	[ -n "$ROOT_PID" ] || skip "$(why_no_root)"
	cd "$BATS_TEST_TMPDIR" || return
	boot_root
	! rpm_there -q fairlock || rpm_there --erase fairlock
	put_in_root /fairlock.rpm <"$(echo "$BUILD"/fairlock-*.rpm)"
	rpm_there --install /fairlock.rpm
}

# rpm_there ARGUMENT...: runs rpm in the root. Debian's says that it should not install packages on a Debian system.
rpm_there() {
	in_root rpm "$@" 2> >(grep -v '^rpm: ' >&2)
}

@test "rpm makes user and group, and neither starts nor enables fairlock-server" {
	run -0 in_root getent passwd fairlock
	assert_output --partial :/var/lib/fairlock-server:
	in_root getent group fairlock
	run -3 is_active
	run -1 in_root systemctl is-enabled fairlock-server
	assert_output disabled
}

@test "an update of the package, or of the server's, restarts fairlock-server if it runs" {
	in_root systemctl start fairlock-server
	restarts rpm_there --upgrade --replacepkgs /fairlock.rpm
	make_package valkey
	put_in_root /valkey.rpm <valkey.rpm
	restarts rpm_there --install --replacepkgs /valkey.rpm
	in_root systemctl stop fairlock-server
	rpm_there --install --replacepkgs /valkey.rpm
	run -3 is_active
}

# make_package NAME: makes an empty package NAME.rpm
make_package() {
	printf '%s\n' "Name: $1" 'Version: 1' 'Release: 1' 'Summary: none' 'License: MIT' '%description' '%files' >"$1.spec"
	rpmbuild -bb --quiet --define "_topdir $PWD" --define "_rpmdir $PWD" --define "_dbpath $PWD/database" \
		--define "_rpmfilename $1.rpm" "$1.spec"
}

@test "rpm -e stops and disables fairlock-server, and leaves no file of the package" {
	local pid

	in_root systemctl enable --now fairlock-server
	pid=$(main_pid)
	rpm_there --erase fairlock
	in_root test ! -e "/proc/$pid"
	run -0 in_root find /usr /etc -xdev -name '*fairlock*'
	refute_output
	run in_root systemctl show -p LoadState --value fairlock-server
	assert_output not-found
}

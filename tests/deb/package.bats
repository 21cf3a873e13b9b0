# The Debian package, alone and in a clean Debian root; "make check-deb" makes both first. There is
# no network: apt installs from the cache of the root.
load root

# works_for USER: wrap takes a lock on the private server of this user, and status shows it
works_for() {
	run -0 in_root su - "$1" -c 'fairlock wrap -u local: job -- echo "hi, $USER"'
	assert_output "hi, $1"
	run -0 in_root su - "$1" -c 'fairlock wrap -u local: job -- fairlock status --noheadings --raw -o NAME,STATE,USER job'
	assert_output "job held $1"
}

@test "two builds of the package have the same bytes, whatever folder, umask and time zone are" {
	local version

	version=$(dpkg-deb -f "$PACKAGE" Version)
	( # MAKEFLAGS replaces those of an outer make
		umask 077
		TZ=Asia/Tokyo MAKEFLAGS=-j$(nproc) BUILD=$BATS_TEST_TMPDIR VERSION=${version%-*} "$TESTS_DIR/../.ci/deb"
	)
	cmp "$PACKAGE" "$BATS_TEST_TMPDIR/${PACKAGE##*/}"
}

@test "the package has the program's version, depends on nothing, suggests a server, and names what is built in; root owns all its files" {
	run -0 dpkg-deb -f "$PACKAGE" Version
	assert_equal "fairlock ${output%-*}" "$("$FAIRLOCK" --version)"
	run -0 dpkg-deb -f "$PACKAGE" Depends Recommends
	refute_output
	run -0 dpkg-deb -f "$PACKAGE" Suggests
	assert_output 'redis-server | valkey-server'
	run -0 dpkg-deb -f "$PACKAGE" Built-Using
	assert_output --regexp '^hiredis \(= [0-9][^ ]*\), musl \(= [0-9][^ ]*\), openssl \(= [0-9][^ ]*\)$'
	run -0 dpkg-deb -c "$PACKAGE"
	assert_line --regexp ' \./usr/share/man/man1/fairlock\.1\.gz$'
	run awk '$2 != "root/root" || $1 !~ /^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--)$/' <<<"$output"
	refute_output
}

@test "apt installs the package without a server, and with one that the administrator adds it works for every user" {
	new_root
	install_package --install-recommends
	run ! in_root sh -c 'command -v redis-server || command -v valkey-server'
	apt install redis-server
	works_for root
	in_root useradd --create-home --shell /bin/sh ann
	works_for ann
}

@test "the package has manual, completions, license and examples where Debian looks for them, and purging it leaves no file" {
	new_root
	install_package
	apt --no-install-recommends install man-db
	run -0 in_root man -w fairlock
	assert_output /usr/share/man/man1/fairlock.1.gz
	run -0 in_root bash -c 'source /usr/share/bash-completion/completions/fairlock && complete -p fairlock'
	run -0 in_root sed -n 1p /usr/share/zsh/vendor-completions/_fairlock
	assert_output '#compdef fairlock'
	in_root test -s /usr/share/fish/vendor_completions.d/fairlock.fish
	run -0 in_root cat /usr/share/doc/fairlock/copyright
	assert_line 'MIT License'
	assert_equal "$(grep -cE '^/usr/bin/fairlock contains (hiredis|musl|openssl) [0-9]' <<<"$output")" 3
	assert_line --partial 'Apache License'
	run -0 in_root zcat /usr/share/doc/fairlock/changelog.gz
	assert_line '# Changelog'
	run -0 in_root ls /usr/share/doc/fairlock/examples
	assert_output "$(ls "$TESTS_DIR/../man/examples")"
	in_root dpkg -P fairlock
	run -1 in_root dpkg-query -W fairlock
	run -0 in_root find / -xdev -name '*fairlock*'
	assert_output /fairlock.deb
}

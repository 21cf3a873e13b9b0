#!/usr/bin/env bats
# The Debian package, alone and in a clean Debian root; "make check-deb" makes both before. Here is no network: what
# apt installs is in the cache of the root.
load ../lib/helpers
load root

setup_file() {
	PACKAGE=$(realpath "$BUILD"/fairlock_*.deb)
	export PACKAGE
}

# The private server starts in a moment, and the list has columns.
works_for() {
	run -0 in_root su - "$1" -c 'fairlock wrap job -- echo "hi, $USER"'
	assert_output "hi, $1"
	run -0 in_root su - "$1" -c 'fairlock wrap job -- fairlock status --noheadings --raw -o NAME,STATE,USER job'
	assert_output "job held $1"
}

@test "two builds have the same bytes, whatever the folder, the umask and the time zone" {
	local version

	version=$(dpkg-deb -f "$PACKAGE" Version)
	( # what an outer make tells is not for this one
		umask 077
		TZ=Asia/Tokyo MAKEFLAGS=-j$(nproc) BUILD=$BATS_TEST_TMPDIR VERSION=${version%-*} "$TESTS_DIR/../.ci/deb"
	)
	cmp "$PACKAGE" "$BATS_TEST_TMPDIR/${PACKAGE##*/}"
}

@test "the package has the version of the program, and all in it belongs to root" {
	run -0 dpkg-deb -f "$PACKAGE" Version
	assert_equal "fairlock ${output%-*}" "$("$FAIRLOCK" --version)"
	run -0 dpkg-deb -c "$PACKAGE"
	assert_line --regexp ' \./usr/share/man/man1/fairlock\.1\.gz$'
	run awk '$2 != "root/root" || $1 !~ /^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--)$/' <<<"$output"
	refute_output
}

@test "apt installs it with what it needs and with a server, and it works for everybody" {
	new_root
	install_package --install-recommends
	works_for root
	in_root useradd --create-home --shell /bin/sh ann
	works_for ann
}

@test "manual, completions, license and examples are where Debian looks for them" {
	new_root
	install_package --no-install-recommends
	apt --no-install-recommends install man-db
	run -0 in_root man -w fairlock
	assert_output /usr/share/man/man1/fairlock.1.gz
	# shellcheck disable=SC2016
	run -0 in_root bash -c 'source /usr/share/bash-completion/completions/fairlock && complete -p fairlock'
	run -0 in_root sed -n 1p /usr/share/zsh/vendor-completions/_fairlock
	assert_output '#compdef fairlock'
	in_root test -s /usr/share/fish/vendor_completions.d/fairlock.fish
	run -0 in_root cat /usr/share/doc/fairlock/copyright
	assert_line 'MIT License'
	run -0 in_root zcat /usr/share/doc/fairlock/changelog.gz
	assert_line '# Changelog'
	run -0 in_root ls /usr/share/doc/fairlock/examples
	assert_output "$(ls "$TESTS_DIR/../man/examples")"
}

@test "without a server it says so, and works with one that is elsewhere" {
	new_root
	install_package --no-install-recommends
	run -69 in_root fairlock wrap job -- true
	assert_output --partial 'redis-server'
	# Both full programs find their libraries, and nobody at that address.
	run -69 in_root fairlock status --url redis://127.0.0.1:1
	run -69 in_root fairlock status --url rediss://127.0.0.1:1
}

@test "removed, nothing of it is left" {
	local file

	new_root
	install_package --no-install-recommends
	mapfile -t files < <(in_root dpkg -L fairlock)
	in_root dpkg -r fairlock
	run -1 in_root dpkg-query -W fairlock # no settings of it are kept either
	for file in "${files[@]}"; do
		[[ $file != *fairlock* ]] || run -1 in_root test -e "$file"
	done
	run -0 in_root find / -xdev -name '*fairlock*'
	assert_output /fairlock.deb
}

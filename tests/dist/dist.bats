# The tarball of "make dist", and the program in it as a file; "make check-dist" makes it first.
load ../lib/helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	TARBALL=$(echo "$BUILD"/dist/fairlock-*.tar.gz)
}

# unpack: unpacks the tarball; `root` is the folder in it
unpack() {
	tar -xzf "$TARBALL"
	mv fairlock-* root
}

@test "two tarballs of one commit have the same bytes, whatever folder, umask and time zone are" {
	local version

	version=$("$FAIRLOCK" --version)
	( # MAKEFLAGS replaces those of an outer make
		umask 077
		TZ=Asia/Tokyo MAKEFLAGS=-j$(nproc) BUILD=$PWD VERSION=${version#fairlock } "$TESTS_DIR/../.ci/dist"
	)
	cmp "$TARBALL" "dist/${TARBALL##*/}"
}

@test "the tarball has one folder, named after version and machine, and root owns all in it" {
	local name

	name=${TARBALL##*/}
	assert_equal "${name%.tar.gz}" "$("$FAIRLOCK" --version | tr ' ' -)-linux-$(uname -m)"
	run -0 tar -tvzf "$TARBALL"
	run awk -v name="${name%.tar.gz}/" '
		index($6, name) != 1 || $2 != "0/0" || $1 !~ /^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--)$/' <<<"$output"
	refute_output
}

@test "the tarball has what make install installs, and licenses" {
	local file

	unpack
	install_to "$PWD/installed"
	assert_equal "$(find installed -type f -perm -u+x -printf '%f\n' | sort)" "$(printf '%s\n' fairlock fairlock-server)"
	while read -r file; do
		[ -e "root/$file" ]
	done < <(cd installed/usr && find . -type f)
	run -0 ls root/share/doc/fairlock/licenses
	assert_output "$(printf '%s\n' SOURCES hiredis musl openssl)"
	run -0 head -n 1 root/share/doc/fairlock/LICENSE
	assert_output 'MIT License'
	run -0 grep -E '^(musl|hiredis|openssl) [0-9]' root/share/doc/fairlock/licenses/SOURCES
	assert_equal "${#lines[@]}" 3
	grep -q 'Apache License' root/share/doc/fairlock/licenses/openssl
}

@test "the program is one static file of less than 6 MB, and has no path of the machine that built it" {
	unpack
	[ "$(stat -c %s root/bin/fairlock)" -lt 6000000 ]
	run -1 grep -aF -e "$(realpath "$TESTS_DIR/..")" -e /tmp/ root/bin/fairlock
	run -0 readelf -lW root/bin/fairlock
	refute_output --partial INTERP
	refute_output --partial DYNAMIC
	refute_line --regexp ' (RWE|WE) '
	assert_line --regexp '^ *GNU_STACK .* RW '
}

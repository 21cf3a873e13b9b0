# The rpm package, alone and in an empty root; "make check-rpm" makes it first.
load ../lib/empty-root

setup_file() {
	PACKAGE=$(realpath "$BUILD"/fairlock-*.rpm)
	export PACKAGE
	start_server
}

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# rpm_there ARGUMENT...: runs rpm on the packages of the root. Its database is not in there, so that only the package is.
# Debian's rpm says that it should not install packages on a Debian system.
rpm_there() {
	"${ENTER[@]}" rpm --root "$ROOT" --dbpath /database "$@" 2> >(grep -v '^rpm: ' >&2)
}

# query FORMAT: prints what the package says of itself
query() {
	rpm -qp --dbpath "$PWD/database" --qf "$1" "$PACKAGE"
}

# install_package: installs it into a new root, with all that it requires, which is nothing
install_package() {
	empty_root
	rpm_there --install "$PACKAGE"
}

@test "the package has the program's version and licenses, and names no host and no folder of the machine that built it" {
	assert_equal "fairlock $(query '%{VERSION}')" "$("$FAIRLOCK" --version)"
	assert_equal "$(query '%{LICENSE}')" 'MIT AND Apache-2.0 AND BSD-3-Clause'
	assert_equal "$(query '%{BUILDHOST}')" localhost
	assert_equal "$(query '[%{PROVIDES} %{PROVIDEVERSION}\n]' | grep -cE '^bundled\((hiredis|musl|openssl)\) [0-9.]+$')" 3
	query '%{CHANGELOGTEXT}' | grep -q 'make rpm'
	run -0 rpm -qp --dbpath "$PWD/database" --xml "$PACKAGE"
	refute_output --partial "$(realpath "$TESTS_DIR/..")"
	refute_output --partial "<string>$(hostname)</string>"
	refute_output --partial ://
}

@test "the package requires only what every rpm of the last ten years can do, and suggests a server" {
	run -0 rpm -qp --dbpath "$PWD/database" --requires "$PACKAGE"
	assert_output
	refute_line --regexp '^([^r]|r[^p])' # nothing but rpmlib(...)
	refute_line --regexp '^rpmlib\(.*\) <= ([5-9]|4\.1[4-9]|4\.[2-9][0-9])'
	assert_equal "$(query '%{PAYLOADCOMPRESSOR}')" gzip
	assert_equal "$(query '%{RECOMMENDS} %{SUGGESTS}')" '(none) (valkey or redis)'
}

@test "the package has what make install installs, where rpm distributions look for it; root owns all of it" {
	local file

	install_to "$PWD/installed"
	install_package
	while read -r file; do
		case $file in
		/usr/bin/fairlock) ;;
		/usr/share/man/*) zcmp "installed$file" "$ROOT$file.gz" ;;
		/usr/share/zsh/*) cmp "installed$file" "$ROOT/usr/share/zsh/site-functions/_fairlock" ;;
		*) cmp "installed$file" "$ROOT$file" ;;
		esac
	done < <(cd installed && find . -type f -printf '/%P\n')
	run -0 rpm -qp --dbpath "$PWD/database" --list "$PACKAGE"
	assert_line /usr/share/zsh/site-functions/_fairlock
	run -0 query '[%{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILENAMES}\n]'
	run awk '!/^(drwxr-xr-x|-rw-r--r--) root root / && !/^-rwxr-xr-x root root \/usr\/(bin\/fairlock|libexec\/fairlock-server)$/' <<<"$output"
	refute_output
}

@test "in an empty root, rpm installs the package, and fairlock takes a lock and shows it" {
	install_package
	run -0 in_root fairlock wrap job -- fairlock status --noheadings --raw -o NAME,STATE job
	assert_output 'job held'
	hold job
	run -75 in_root fairlock wrap -n job -- fairlock version
	assert_output --partial 'cannot get lock job: held by sleep 600'
	# It has TLS, and finds no server at that address.
	run -69 in_root fairlock status --url rediss://127.0.0.1:1
	assert_output --partial 'Connection refused'
}

@test "rpm -e leaves no file, and no folder but those that all packages share" {
	install_package
	rpm_there --erase fairlock
	run -1 rpm_there -q fairlock
	rm -r "$ROOT/database"
	run -0 find "$ROOT" -mindepth 1 -printf '/%P\n'
	run sort <<<"$output"
	assert_output "$(printf '%s\n' /dev /proc /socket /usr /usr/bin /usr/lib /usr/libexec /usr/share /usr/share/doc /usr/share/licenses \
		/usr/share/man /usr/share/man/man1 /usr/share/man/man5 /usr/share/man/man7 /usr/share/man/man8)"
}

# One server for all tests of a file; each test begins without a key, in a folder of its own:
# `load helpers`, then `load one_server`. A file that needs more defines setup(), which calls begin.

setup_file() { start_server; }
setup() { begin; }

begin() {
	cli FLUSHALL >/dev/null
	cd "$BATS_TEST_TMPDIR" || return
}

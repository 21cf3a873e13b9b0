# One server for all tests of a file; each test begins without a key, in a folder of its own.
# A file that needs more defines setup(), which calls begin.

source "${BASH_SOURCE[0]%/*}/helpers.bash"

setup_file() { start_server; }
setup() { begin; }

begin() {
	cli FLUSHALL >/dev/null
	cd "$BATS_TEST_TMPDIR" || return
}

# lock NAME .FILTER: prints this part of the lock's status as JSON
lock() { "$FAIRLOCK" status --json -- "$1" | jq -c ".locks[0]$2"; }

redisson=0a1b2c3d-0000-4000-8000-000000000009:42

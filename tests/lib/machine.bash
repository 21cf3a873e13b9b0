# A host on which the recipes of man/examples run word for word: `load ../lib/machine`.
#
#   "$HOST" COMMAND...       runs COMMAND there, in the same process, in this folder and with this environment
#   program NAME TEXT        makes the program /usr/local/bin/NAME, a shell script; fairlock is there already
#   put PATH [MODE]          writes the standard input into this file
#
# The host has a network, a name, /etc, /run and /usr/sbin of its own; what a test changes there, only the tests of the
# file see. lock.example.com is the host itself, where the server of the file listens on the usual port. `cli` reaches
# the server from the test. The kernel ends all processes of the host with the file.

source "${BASH_SOURCE[0]%/*}/helpers.bash"
EXAMPLES=$TESTS_DIR/../man/examples

setup_file() { new_machine; }
setup() { begin; }

begin() {
	[ -n "${HOST:-}" ] || skip 'only root can make a host, and only where namespaces are allowed'
	cli FLUSHALL >/dev/null
	"$HOST" rm -f /etc/fairlock.conf
	find "$BIN" -mindepth 1 ! -name 'fairlock*' -delete
	cd "$BATS_TEST_TMPDIR" || return
}

# new_machine: makes the host and its server. Sets HOST, or leaves it empty if that is not possible.
new_machine() {
	local folder=$BATS_FILE_TMPDIR/machine

	export HOST='' BIN=$folder/bin
	[ "$(id -u)" = 0 ] || return 0
	unshare --mount --net --uts sh -c 'mount -t tmpfs tmpfs /run' 2>/dev/null || return 0
	mkdir -p "$BIN"
	cp "$FAIRLOCK" "$BIN/fairlock" # users of the host may not reach the folder of the build
	echo '127.0.0.1 localhost lock.example.com' >"$folder/hosts"
	background unshare --mount --net --uts sh -ec '
		ip link set lo up
		hostname host1
		mount --bind "$1/bin" /usr/local/bin
		mount -t tmpfs -o mode=755 tmpfs /mnt
		for folder in etc usr/sbin; do
			mkdir -p "/mnt/changed/$folder" "/mnt/scratch/$folder"
			mount -t overlay -o "lowerdir=/$folder,upperdir=/mnt/changed/$folder,workdir=/mnt/scratch/$folder" overlay "/$folder"
		done
		cat "$1/hosts" >/etc/hosts
		mount -t tmpfs -o mode=755 tmpfs /run
		: >"$1/ready"
		exec sleep infinity' sh "$folder" 2>"$folder/log"
	printf '#!/bin/sh\nexec nsenter --target %s --mount --net --uts --wdns="$PWD" -- "$@"\n' $! >"$folder/host"
	printf '#!/bin/sh\nexec "%s" setpriv --pdeathsig KILL "%s" "$@"\n' "$folder/host" "$SERVER" >"$folder/server"
	chmod +x "$folder/host" "$folder/server"
	wait_until test -e "$folder/ready" || {
		cat "$folder/log" >&2
		return 1
	}
	SERVER=$folder/server start_server --port 6379 --bind 127.0.0.1
	HOST=$folder/host
}

program() {
	printf '#!/bin/sh\n%s\n' "$2" >"$BIN/$1"
	chmod +x "$BIN/$1"
}

put() { "$HOST" install -D -m "${2:-644}" /dev/stdin "$1" 3>&- 4>&-; }

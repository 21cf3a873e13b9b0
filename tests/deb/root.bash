# A clean Debian root in which a test installs the package: `load root`.
#
# SUITE     the suite of Debian, whose root .ci/deb-root has made

source "${BASH_SOURCE[0]%/*}/../lib/helpers.bash"
if [ -z "${SUITE:-}" ]; then
	SUITE=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
fi
DEBIAN_ROOT=$BUILDROOT/deb-root/$SUITE/root
PACKAGE=$(echo "$BUILD"/fairlock_*.deb)

# enter_own_groups: moves this shell into a new control group below its own, in each hierarchy,
# because systemd takes over the group in which it is started
enter_own_groups() {
	local groups line type path mount group

	groups=$(</proc/self/cgroup) # the loop changes that file
	while IFS=: read -r line type path; do
		# the hierarchy without controllers is that of version 2
		mount=$(awk -v type="${type#name=}" '
			type == "" ? $3 == "cgroup2" : $3 == "cgroup" && $4 ~ "(,|=)" type "(,|$)" { print $2; exit }
		' /proc/self/mounts)
		[ -n "$mount" ] || continue
		group=$mount${path%/}/fairlock-test-$BASHPID
		mkdir "$group" || return
		# version 1 lets no process into a group with an empty set of processors
		if [ "$type" = cpuset ]; then
			cat "${group%/*}/cpuset.cpus" >"$group/cpuset.cpus"
			cat "${group%/*}/cpuset.mems" >"$group/cpuset.mems"
		fi
		echo "$BASHPID" >"$group/cgroup.procs" || return
	done <<<"$groups"
}

# remove_groups_after PID: starts the only process that outlives the test, for a second. It waits
# only for PID, which the kernel kills with us.
remove_groups_after() {
	setsid sh -c '
		tail --pid="$1" -f /dev/null
		for try in 1 2 3 4 5 6 7 8 9 10; do
			find /sys/fs/cgroup -depth -path "*/fairlock-test-$1*" -type d -exec rmdir {} + && break
			sleep 1
		done' sh "$1" </dev/null >/dev/null 2>&1 3>&- 4>&- &
}

# why_no_root: prints the reason if this machine cannot have a root
why_no_root() {
	if [ "$(id -u)" != 0 ]; then
		echo 'only root can have a Debian root'
	elif ! unshare --mount --net --cgroup true 2>/dev/null; then
		echo 'this machine allows no namespaces'
	elif [ ! -d "$DEBIAN_ROOT" ]; then
		echo "there is no $DEBIAN_ROOT, which \"make check-deb\" makes"
	fi
}

# new_root: makes a root. Its processes, mounts and changes end with this shell. Sets ROOT_PID, its
# first process.
new_root() {
	local reason folder unshare

	reason=$(why_no_root)
	[ -z "$reason" ] || skip "$reason"
	folder=$(mktemp -d "$(server_dir)/root.XXXXXX")
	(
		enter_own_groups 2>"$folder/no-groups" && rm "$folder/no-groups"
		exec setpriv --pdeathsig KILL unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child \
			"$TESTS_DIR/deb/init" "$(realpath "$DEBIAN_ROOT")" "$folder" >"$folder/log" 2>&1
	) 3>&- 4>&- &
	unshare=$!
	remove_groups_after "$unshare"
	wait_until test -s "$folder/ready" || {
		cat "$folder/log" >&2
		return 1
	}
	ROOT_PID=$(pgrep -P "$unshare")
	ROOT_FOLDER=$folder
	export ROOT_PID ROOT_FOLDER
}

# in_root COMMAND...: runs it there like a login of root, without any of our variables
in_root() {
	nsenter --target "$ROOT_PID" --mount --pid --net --uts --ipc --cgroup --root --wd -- \
		env -i HOME=/root USER=root LOGNAME=root DEBIAN_FRONTEND=noninteractive \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@" 3>&- 4>&-
}

# put_in_root PATH: writes the standard input into this file there
put_in_root() {
	in_root install -D -m 755 /dev/stdin "$1"
}

# apt ARGUMENT...: runs apt-get there, without a network
apt() {
	in_root apt-get -qq --yes -o Dpkg::Use-Pty=0 -o APT::Sandbox::User=root "$@" 2>&1
}

# install_package [OPTION...]: installs $PACKAGE there, with its dependencies
install_package() {
	put_in_root /fairlock.deb <"$PACKAGE"
	apt "$@" install /fairlock.deb
}

# boot_root: has the root's first process become systemd
boot_root() {
	[ ! -e "$ROOT_FOLDER/no-groups" ] || skip "systemd cannot run here: $(<"$ROOT_FOLDER/no-groups")"
	! in_root test -d /run/systemd/system || return 0
	in_root touch /run/boot
	wait_until in_root sh -c '[ "$(systemctl is-system-running)" = running ]' || {
		in_root systemctl --no-pager --failed
		in_root journalctl --no-pager -b
		return 1
	} >&2
}

# begin_journal: what units say from now on is of this test
begin_journal() { in_root sh -c 'rm -f /run/cursor; journalctl --sync; journalctl --cursor-file=/run/cursor >/dev/null'; }

# said UNIT: prints the journal's lines by it and about it, of this test
said() { in_root sh -c 'journalctl --sync; journalctl --after-cursor="$(cat /run/cursor)" -o cat -u "$1"' sh "$1"; }

main_pid() { in_root systemctl show -p MainPID --value fairlock-server; }

is_active() { in_root systemctl is-active fairlock-server; }

# restarts COMMAND...: succeeds if this restarts fairlock-server
restarts() {
	local before

	before=$(main_pid)
	"$@" && is_active && [ "$(main_pid)" != "$before" ]
}

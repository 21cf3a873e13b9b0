# A clean Debian root to install the package in: `load root`.
#
# SUITE     which of those that .ci/deb-root has made

if [ -z "${SUITE:-}" ]; then
	SUITE=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
fi

# Puts this shell in a control group below its own, in each hierarchy: systemd takes for its own the one that it is
# started in.
enter_own_groups() {
	local groups line type path mount group

	groups=$(</proc/self/cgroup) # which changes as we go
	while IFS=: read -r line type path; do
		# The one without controllers is that of version 2.
		mount=$(awk -v type="${type#name=}" '
			type == "" ? $3 == "cgroup2" : $3 == "cgroup" && $4 ~ "(,|=)" type "(,|$)" { print $2; exit }
		' /proc/self/mounts)
		[ -n "$mount" ] || continue
		group=$mount${path%/}/fairlock-test-$BASHPID
		mkdir "$group" || return
		# An empty set of processors takes nobody in (version 1).
		if [ "$type" = cpuset ]; then
			cat "${group%/*}/cpuset.cpus" >"$group/cpuset.cpus"
			cat "${group%/*}/cpuset.mems" >"$group/cpuset.mems"
		fi
		echo "$BASHPID" >"$group/cgroup.procs" || return
	done <<<"$groups"
}

# remove_groups_after PID: the only one who outlives the test, for a second. It waits for nothing but PID, which the
# kernel kills with us.
remove_groups_after() {
	# shellcheck disable=SC2016
	setsid sh -c '
		tail --pid="$1" -f /dev/null
		for try in 1 2 3 4 5 6 7 8 9 10; do
			find /sys/fs/cgroup -depth -path "*/fairlock-test-$1*" -type d -exec rmdir {} + && break
			sleep 1
		done' sh "$1" </dev/null >/dev/null 2>&1 3>&- 4>&- &
}

# Why there is no root to be had here, if so.
why_no_root() {
	local root=$BUILDROOT/deb-root/$SUITE/root

	if [ "$(id -u)" != 0 ]; then
		echo 'only root can have a Debian root'
	elif ! unshare --mount --net --cgroup true 2>/dev/null; then
		echo 'this machine allows no namespaces'
	elif [ ! -d "$root" ]; then
		echo "there is no $root, which \"make check-deb\" makes"
	fi
}

# new_root: what is started in it, mounted or changed there ends with this shell. Sets ROOT_PID, its first process.
new_root() {
	local root=$BUILDROOT/deb-root/$SUITE/root reason folder unshare

	reason=$(why_no_root)
	[ -z "$reason" ] || skip "$reason"
	folder=$(mktemp -d "$(server_dir)/root.XXXXXX")
	(
		enter_own_groups 2>"$folder/no-groups" && rm "$folder/no-groups"
		exec setpriv --pdeathsig KILL unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child \
			"$TESTS_DIR/deb/init" "$(realpath "$root")" "$folder" >"$folder/log" 2>&1
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

# in_root COMMAND...: as a login of root there, without any of our variables
in_root() {
	nsenter --target "$ROOT_PID" --mount --pid --net --uts --ipc --cgroup --root --wd -- \
		env -i HOME=/root USER=root LOGNAME=root DEBIAN_FRONTEND=noninteractive \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@" 3>&- 4>&-
}

# put_in_root PATH: standard input becomes this file
put_in_root() {
	# shellcheck disable=SC2016
	in_root install -D -m 755 /dev/stdin "$1"
}


# apt ARGUMENT...: apt-get there, which has no network
apt() {
	in_root apt-get -qq --yes -o Dpkg::Use-Pty=0 -o APT::Sandbox::User=root "$@" 2>&1
}

# install_package [OPTION...]: $PACKAGE, with what it depends on
install_package() {
	put_in_root /fairlock.deb <"$PACKAGE"
	apt "$@" install /fairlock.deb
}

booted() {
	in_root test -d /run/systemd/system
}

# boot_root: its first process becomes systemd
boot_root() {
	[ ! -e "$ROOT_FOLDER/no-groups" ] || skip "systemd cannot run here: $(<"$ROOT_FOLDER/no-groups")"
	! booted || return 0
	in_root touch /run/boot
	# shellcheck disable=SC2016
	wait_until in_root sh -c '[ "$(systemctl is-system-running)" = running ]' || {
		in_root systemctl --no-pager --failed
		in_root journalctl --no-pager -b
		return 1
	} >&2
}

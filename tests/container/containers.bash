# Images and containers of podman, in memory: `load ../deb/root`, then `load containers`. No registry is asked. Containers have the
# network of the machine, for a server on it, and builds have none.

# write_settings FOLDER: for a podman whose images are in /mnt
write_settings() {
	cat >"$1/storage.conf" <<-END
		[storage]
		driver = "overlay"
		graphroot = "/mnt/images"
		runroot = "/mnt/run"
	END
	# Who runs the tests need not have the right to make control groups or to raise limits.
	cat >"$1/containers.conf" <<-END
		[containers]
		cgroups = "disabled"
		default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
		netns = "host"
		[engine]
		cgroup_manager = "cgroupfs"
		events_logger = "none"
		tmp_dir = "/mnt/tmp"
	END
}

# start_containers: makes namespaces for podman. All containers end with this shell. Sets CONTAINERS_PID.
start_containers() {
	local folder

	folder=$(mktemp -d "$(server_dir)/containers.XXXXXX")
	write_settings "$folder"
	# The file system of the tests may itself be an overlay, on which none can be laid. crun refuses machines that have
	# control groups of both versions. podman leaves children to the first process: bash reaps them.
	background unshare --mount --pid --fork --kill-child --mount-proc bash -c '
		for folder in /mnt /run /dev/shm /var/lib/containers; do
			mkdir -p $folder && mount -t tmpfs tmpfs $folder || exit
		done
		! grep -q " /sys/fs/cgroup/unified " /proc/mounts || umount -l /sys/fs/cgroup/unified
		echo >"$1/ready"
		sleep infinity &
		wait' bash "$folder" >"$folder/log" 2>&1
	wait_until test -s "$folder/ready" || {
		cat "$folder/log" >&2
		return 1
	}
	CONTAINERS_PID=$(pgrep -P $!)
	CONTAINERS_CONF=$folder/containers.conf
	CONTAINERS_STORAGE_CONF=$folder/storage.conf
	export CONTAINERS_PID CONTAINERS_CONF CONTAINERS_STORAGE_CONF
}

# there COMMAND...: runs it in the namespaces
there() {
	nsenter --target "$CONTAINERS_PID" --mount --pid --wd="$PWD" -- "$@" 3>&- 4>&-
}

podman() { there podman "$@"; }

# build [OPTION...] FOLDER: builds an image there, without a network. Isolation by chroot needs fewer rights than another.
build() {
	there unshare --net podman build --isolation chroot --pull=never --layers=false "$@"
}

# import_debian: makes an image of the Debian root of "make check-deb", with the name that the files ask for
import_debian() {
	tar -C "$DEBIAN_ROOT" --one-file-system -c . | podman import --quiet - debian:bookworm
}

# build_fairlock: builds the image "fairlock" as .ci/Containerfile says. The libraries are those that this machine has built; a
# minute would be too long.
build_fairlock() {
	build --volume "$(realpath "$BUILDROOT/deps"):/fairlock/build/deps" --file "$TESTS_DIR/../.ci/Containerfile" --tag fairlock "$TESTS_DIR/.."
}

# in_container [OPTION...] IMAGE [ARGUMENT...]: runs a container with the test's server at unix:/socket
in_container() {
	podman run --rm --volume "$SERVER_SOCKET:/socket" --env FAIRLOCK_URL=unix:/socket "$@"
}

# A COMMAND with a child in places where fairlock cannot see processes, or may open few files: `load helpers`, then `load ground`.
# None of this has a terminal, so COMMAND leads a process group of its own where /proc cannot be used.

# Each place is a kind of /proc:
#   outer      that of the process namespace around the one of fairlock, as `unshare --pid --fork` leaves it
#   inner      that of another process namespace, in which fairlock has no number
#   hidden     an empty folder is mounted on it
#   unmounted  there is none
GROUNDS='outer inner hidden unmounted'

# needs_namespaces: skips the test if it cannot have any
needs_namespaces() {
	unshare --mount --pid --fork --mount-proc true 2>/dev/null || skip 'this machine allows no namespaces of processes and mounts'
}

# on_ground GROUND WORD...: runs WORD... there in the background, and writes its exit status into `status`. Its messages
# come into `said`. Sets GROUND_PID to the parent of WORD.... All of it dies with the test.
on_ground() {
	local way=() begin=:
	local script='cd "$1"; eval "$2"; shift 2; "$@" 2>said; echo $? >status.new; mv status.new status; exec sleep 600'

	case $1 in
	own) way=(--mount-proc) ;;
	outer) ;;
	inner)
		way=(--mount)
		begin='unshare --pid --fork sh -c "mount -t proc proc /proc && exec sleep 600" & while [ -e /proc/self ]; do sleep 0.02; done'
		;;
	hidden) way=(--mount) begin='mount -t tmpfs none /proc' ;;
	unmounted) way=(--mount) begin='umount -l /proc' ;;
	*) return 64 ;;
	esac
	background setsid unshare --pid --fork --kill-child "${way[@]}" sh -c "$script" sh "$PWD" "$begin" "${@:2}"
	wait_until pgrep -P $!
	GROUND_PID=$(pgrep -P $!)
}

# open_alive: makes the fifo `alive`. COMMAND's processes have it open for as long as they live, and write into it. What they
# have written comes into `beats`. The process ALIVE ends when nobody is left who has it open.
open_alive() {
	mkfifo alive
	background cat alive >beats
	ALIVE=$!
}

# write_group: writes COMMAND into `group`. It has a child in its process group; both take no notice of TERM, and write the
# time in µs into `alive`.
write_group() {
	cat >group <<'END'
trap '' TERM
exec 8<>nothing 9>alive
beat() { while :; do echo "$1 ${EPOCHREALTIME/[.,]/}" >&9; read -rt 0.05 -u 8; done; }
beat child &
beat command
END
	mkfifo nothing
	open_alive
}

# group_runs: COMMAND and its child do
group_runs() { grep -q child beats && grep -q command beats; }

# us: prints this machine's time in microseconds
us() { echo "${EPOCHREALTIME/[.,]/}"; }

# A shell function that runs a command under a lock, for scripts that do more than one thing under it. Copy it into a script
# for sh, bash or another POSIX shell. Change the name of the lock.
#
# A process in the background renews the lock while the shell lives, and gives it back when the shell ends, even if it is
# killed. Unlike `fairlock wrap`, it stops nothing when the lock is lost; the function then says so, and keeps the status.
# shellcheck shell=sh
with_backup_lock() {
	owner=$(fairlock acquire --while-pid $$ backup) || return
	status=0
	"$@" || status=$?
	fairlock release --owner "$owner" backup || true # it says why
	return "$status"
}

# Use it so:
#	with_backup_lock pg_dump -f shop.sql shop

# Gives the mount namespace in which it runs a /dev whose log is a link to SOCKET, and stays there.
# The other devices are the machine's.
#
# usage: bash dev.bash FOLDER SOCKET    FOLDER becomes the new /dev
set -eu

mount -t tmpfs none "$1"
for node in null zero full random urandom tty; do
	: >"$1/$node"
	mount --bind "/dev/$node" "$1/$node"
done
ln -s /proc/self/fd "$1/fd"
ln -s "$2" "$1/log"
mount --bind "$1" /dev
: >"${2%/*}/dev.ready"
exec sleep infinity

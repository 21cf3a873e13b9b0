# Two hosts and a wire between them that can be cut: `load helpers`, then `load network`.
#
# The hosts are network namespaces. They share files, processes and the clock with the test.
#
# NEAR, FAR            programs: "$NEAR" COMMAND... runs COMMAND on that host, in the same process
# NEAR_ADDRESS, ...    10.77.0.1 and 10.77.0.2; also fd77::1 and fd77::2 (NEAR_ADDRESS6, ...)
# FAR_URL              the server that start_far_server started

NEAR_ADDRESS=10.77.0.1 NEAR_ADDRESS6=fd77::1 near_card=02:00:00:00:00:01
FAR_ADDRESS=10.77.0.2 FAR_ADDRESS6=fd77::2 far_card=02:00:00:00:00:02
no_card=02:00:00:00:00:99

# What the system says of a host that cannot be reached, in the words of glibc or of musl.
TIMED_OUT='(Connection|Operation) timed out'

# Not in setup_file, since it may skip the test. The kernel removes both hosts when their two processes have ended.
new_network() {
	local user=()

	NEAR=$(server_dir)/near
	FAR=$(server_dir)/far
	export NEAR FAR
	[ "$(id -u)" = 0 ] || user=(--user --map-root-user)
	command -v ip >/dev/null || skip 'there is no ip (iproute2) here'
	unshare "${user[@]}" --net ip link add name one type veth peer name other 2>/dev/null ||
		skip 'this machine allows no network namespaces'
	new_host "$NEAR" unshare "${user[@]}" --net
	new_host "$FAR" "$NEAR" unshare --net
	"$NEAR" ip link add name wire address $near_card type veth \
		peer name wire address $far_card netns "$(cat "$FAR.pid")"
	connect_host "$NEAR" "$NEAR_ADDRESS" "$NEAR_ADDRESS6"
	connect_host "$FAR" "$FAR_ADDRESS" "$FAR_ADDRESS6"
	mend_wire
}

# new_host PROGRAM COMMAND...: COMMAND enters a new namespace, and PROGRAM will run commands there.
# Entering a user namespace undoes the death signal that `background` sets; setpriv sets it again.
new_host() {
	local program=$1 enter='--net --'

	[ "$(id -u)" = 0 ] || enter='--user --preserve-credentials --net -- setpriv --pdeathsig KILL'
	background "${@:2}" setpriv --pdeathsig KILL sh -c ': >"$1.ready"; exec sleep infinity' sh "$program"
	echo $! >"$program.pid"
	printf '#!/bin/sh\nexec nsenter --target %s %s "$@"\n' $! "$enter" >"$program"
	chmod +x "$program"
	wait_until test -e "$program.ready"
}

# connect_host PROGRAM ADDRESS ADDRESS6
connect_host() {
	"$1" ip link set lo up
	"$1" ip address add "$2/24" dev wire
	"$1" ip address add "$3/64" dev wire nodad
	"$1" ip link set wire up
}

# cut_wire [near|far]: all packets of that host, or of both, vanish, and neither host is told
cut_wire() {
	[ "${1:-near}" = far ] || send_to "$NEAR" $no_card "$FAR_ADDRESS" "$FAR_ADDRESS6"
	[ "${1:-far}" = near ] || send_to "$FAR" $no_card "$NEAR_ADDRESS" "$NEAR_ADDRESS6"
}

mend_wire() {
	send_to "$NEAR" $far_card "$FAR_ADDRESS" "$FAR_ADDRESS6"
	send_to "$FAR" $near_card "$NEAR_ADDRESS" "$NEAR_ADDRESS6"
}

# send_to PROGRAM CARD ADDRESS...: the host sends packets for ADDRESS to that card. The other host
# drops frames for a card that it does not have. (Of a link that is down the sender would be told.)
send_to() {
	local address

	for address in "${@:3}"; do
		"$1" ip neighbour replace "$address" lladdr "$2" nud permanent dev wire
	done
}

# start_far_server [OPTION...]: start_server on the far host; it also listens on FAR_URL
start_far_server() {
	local program=$FAR-server

	printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$FAR" "$SERVER" >"$program"
	chmod +x "$program"
	export FAR_URL=redis://$FAR_ADDRESS:7000
	SERVER=$program start_server --port 7000 --bind "$FAR_ADDRESS" "$FAR_ADDRESS6" --protected-mode no "$@"
}

# new_names: the program NAMED runs COMMAND on the near host with its own hosts file and resolver,
# the files `hosts` and `resolv.conf`
new_names() {
	local user=()

	[ "$(id -u)" = 0 ] || user=(--user --map-root-user)
	NAMED=$PWD/named
	echo '#!/bin/sh' >"$NAMED"
	cat >>"$NAMED" <<END
exec unshare ${user[*]} --mount -- sh -c 'mount --bind "\$0/hosts" /etc/hosts &&
	mount --bind "\$0/resolv.conf" /etc/resolv.conf && exec setpriv --pdeathsig KILL "\$@"' "$PWD" "\$@"
END
	chmod +x "$NAMED"
	echo 127.0.0.1 localhost >hosts
	echo "nameserver $FAR_ADDRESS" >resolv.conf
}

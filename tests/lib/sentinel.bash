# A master with two replicas, watched by three sentinels: `load helpers`, then `load sentinel`.
#
#   setup_file() { start_sentinels; }  # all of it dies with the file
#   setup() { use_sentinels; }
#   teardown() { restore_sentinels; }
#
#   @test "..." {
#       own_sentinels                  # if the test kills servers or sentinels
#       old=$(master_port)
#       kill_node "$old"               # or stop_node, continue_node (ports.bash); also a sentinel's
#       wait_until has_new_master "$old"
#       start_node "$old"              # without data, a master until the sentinels see it
#       wait_until sentinels_are_ready
#
#       fail_over                      # a gentle failover
#   }
#
# Servers and sentinels are known by their ports of 127.0.0.1, whatever their roles.
#
# SERVER_PORTS     the servers, the first master first
# SENTINEL_PORTS   the sentinels
# SENTINELS        the sentinels as HOST:PORT,HOST:PORT,HOST:PORT
# NODES_DIR        PORT.log and PORT.pid of each
#
# Set before start_sentinels:
#
# MASTER_PASSWORD     the password of the servers
# SENTINEL_PASSWORD   the password of the sentinels
# SENTINEL_TLS=yes    all speak TLS only (`load tls`, make_certificates)
# SENTINEL_DOWN_MS    a server that is silent for so long is down (1000). Use more where a second
#                     failover would spoil the test: a busy machine may hold up the new master.

source "${BASH_SOURCE[0]%/*}/ports.bash"

# start_sentinels [OPTION...]: every server gets the OPTIONs. It takes about 3 s.
start_sentinels() {
	local port

	export MASTER_PASSWORD NODES_DIR SENTINELS SENTINEL_PASSWORD SENTINEL_PORTS SENTINEL_TLS
	export SERVER_OPTIONS SERVER_PORTS
	NODES_DIR=$(server_dir)/nodes
	mkdir "$NODES_DIR"
	SERVER_OPTIONS=${*@Q}
	read -r -d '' -a port < <(free_ports 6) || true
	SERVER_PORTS=${port[*]:0:3}
	SENTINEL_PORTS=${port[*]:3}
	printf -v SENTINELS '127.0.0.1:%s,' "${port[@]:3}"
	SENTINELS=${SENTINELS%,}
	start_node "${port[0]}" &&
		start_node "${port[1]}" --replicaof 127.0.0.1 "${port[0]}" &&
		start_node "${port[2]}" --replicaof 127.0.0.1 "${port[0]}" || return
	# A replica that a sentinel does not see at its first look is seen at the next, 10 s later.
	wait_until servers_are_ready || return
	for port in $SENTINEL_PORTS; do
		write_sentinel "$port"
		start_node "$port" || return
	done
	wait_until sentinels_are_ready || {
		tail -n 5 "$NODES_DIR"/*.log >&2
		return 1
	}
}

# write_sentinel PORT: the file that this sentinel reads at its start, and writes
write_sentinel() {
	{
		printf '%s\n' "dir $NODES_DIR" 'bind 127.0.0.1' \
			"sentinel monitor mymaster 127.0.0.1 ${SERVER_PORTS%% *} 2" \
			"sentinel down-after-milliseconds mymaster ${SENTINEL_DOWN_MS:-1000}" \
			'sentinel failover-timeout mymaster 3000' \
			'sentinel parallel-syncs mymaster 2'
		[ -z "${MASTER_PASSWORD:-}" ] || echo "sentinel auth-pass mymaster \"$MASTER_PASSWORD\""
		[ -z "${SENTINEL_PASSWORD:-}" ] || echo "requirepass \"$SENTINEL_PASSWORD\""
	} >"$NODES_DIR/$1.conf"
}

# start_node PORT [OPTION...]: starts a server without data, or a sentinel with what it knew
start_node() {
	local options=() tls=(--port "$1") passwords=()

	[ -z "${SENTINEL_TLS:-}" ] || tls=(--port 0 --tls-port "$1" --tls-replication yes --tls-auth-clients no
		--tls-cert-file "$TLS_DIR/server.crt" --tls-key-file "$TLS_DIR/server.key"
		--tls-ca-cert-file "$TLS_DIR/ca.crt")
	if [ -e "$NODES_DIR/$1.conf" ]; then
		launch "$1" "$SERVER" "$NODES_DIR/$1.conf" --sentinel "${tls[@]}"
		wait_until node_answers "$1" && hurry "$1"
		return
	fi
	[ -z "${MASTER_PASSWORD:-}" ] ||
		passwords=(--requirepass "$MASTER_PASSWORD" --masterauth "$MASTER_PASSWORD")
	eval "options=($SERVER_OPTIONS)"
	launch "$1" "$SERVER" --bind 127.0.0.1 --dir "$NODES_DIR" --save '' --appendonly no \
		--repl-diskless-sync yes --repl-diskless-sync-delay 0 --repl-diskless-load swapdb \
		"${tls[@]}" "${passwords[@]}" "${options[@]}" "${@:2}"
	wait_until node_answers "$1"
}

# hurry PORT: this sentinel looks and talks more often than its file could make it (Redis 6.2
# cannot), and is not paralysed for 30 s when the machine was busy.
hurry() {
	node_cli "$1" SENTINEL DEBUG INFO-PERIOD 500 PUBLISH-PERIOD 250 TILT-PERIOD 1000 >/dev/null
}

# node_cli PORT [COMMAND...]: asks a server or a sentinel
node_cli() {
	local password=${MASTER_PASSWORD:-}

	[[ " $SENTINEL_PORTS " != *" $1 "* ]] || password=${SENTINEL_PASSWORD:-}
	port_cli "$1" "$password" "${SENTINEL_TLS:-}" "${@:2}"
}

# asks the master
master_cli() {
	node_cli "$(master_port)" "$@"
}

node_answers() {
	[ "$(node_cli "$1" PING)" = PONG ]
}

# Ports of the sentinels that are neither dead nor stopped.
awake_sentinels() {
	local port

	for port in $SENTINEL_PORTS; do
		! is_awake "$port" || echo "$port"
	done
}

# The port of the master, as a sentinel names it.
master_port() {
	node_cli "$(awake_sentinels | head -n 1)" SENTINEL GET-MASTER-ADDR-BY-NAME mymaster | tail -n 1
}

# has_new_master PORT: all sentinels that are awake name one other master, and it is one
has_new_master() {
	local new port

	new=$(master_port)
	[ "$new" != "$1" ] && is_awake "$new" || return
	for port in $(awake_sentinels); do
		[ "$(node_cli "$port" SENTINEL GET-MASTER-ADDR-BY-NAME mymaster | tail -n 1)" = "$new" ] || return
	done
	node_cli "$new" ROLE | head -n 1 | grep -qx master
}

# One server is the master, the others are its replicas and have all its data.
servers_are_ready() {
	local port

	for port in $SERVER_PORTS; do
		is_awake "$port" && node_cli "$port" ROLE | paste -sd ' ' || return
	done | awk '
		$1 == "master" { masters++ }
		$1 == "slave" && $4 == "connected" { replicas[$3]++ }
		END { for (port in replicas) exit !(masters == 1 && replicas[port] == 2); exit 1 }'
}

# The servers are ready, and all sentinels know them and each other.
sentinels_are_ready() {
	local port master

	servers_are_ready && master=$(master_port) && is_awake "$master" || return
	for port in $(awake_sentinels); do
		printf '%s\n' 'SENTINEL CKQUORUM mymaster' 'SENTINEL MASTER mymaster' 'SENTINEL REPLICAS mymaster' |
			node_cli "$port" | paste -sd ' ' | sees_all "$master" || return
	done
}

# sees_all PORT: a sentinel's answers name the master at PORT, its replicas and the other sentinels
sees_all() {
	awk -v port="$1" '
		/^OK 3 usable Sentinels/ && $0 ~ " port " port " .* flags master .* num-slaves 2 num-other-sentinels 2 " {
			exit gsub(" flags slave ", "") != 2 || gsub(" master-link-status ok ", "") != 2 ||
				gsub(" master-port " port " ", "") != 2
		}
		{ exit 1 }'
}

# Makes a replica the master, without a loss of what is replicated. A sentinel gives up a failover that takes longer than 3 s, as on a
# busy machine, and nobody begins it anew.
fail_over() {
	local old

	old=$(master_port)
	for _ in 1 2 3; do
		[ "$(master_port)" != "$old" ] || wait_until promote || return
		! WAIT_S=10 wait_until has_new_master "$old" || break
		tail -n 5 "$NODES_DIR"/*.log >&2
	done
	wait_until has_new_master "$old" && wait_until sentinels_are_ready
}

# A sentinel that has just seen a failover waits a while before it begins another.
promote() {
	[ "$(node_cli "$(awake_sentinels | head -n 1)" SENTINEL FAILOVER mymaster)" = OK ]
}

# For the tests of a file

# fairlock finds its server through these sentinels.
use_sentinels() {
	export FAIRLOCK_URL=redis+sentinel://$SENTINELS/mymaster FAIRLOCK_CONNECT_TIMEOUT=2s
}

# own_sentinels [OPTION...]: sentinels and servers of which this test may kill some
own_sentinels() {
	OWN_SENTINELS=yes
	start_sentinels "$@"
	use_sentinels
}

# What a test stopped goes on, and the next test finds the file's servers and sentinels ready.
restore_sentinels() {
	local port

	for port in $SERVER_PORTS $SENTINEL_PORTS; do
		continue_node "$port" 2>/dev/null || true
	done
	[ "${BATS_TEST_COMPLETED:-}${OWN_SENTINELS:-}" = 1yes ] || wait_until sentinels_are_ready
}

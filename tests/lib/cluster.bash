# A cluster of three masters, each with a replica: `load helpers`, then `load cluster`.
#
#   setup_file() { start_cluster; }          # or in a test; the nodes die with it
#
#   @test "..." {
#       export FAIRLOCK_URL=redis://127.0.0.1:${CLUSTER_PORTS%% *}
#       slot=$(slot_of job)
#       old=$(owner_of "$slot")
#       kill_node "$old"                     # or stop_node, continue_node (ports.bash)
#       wait_until has_moved "$slot" "$old"
#       start_node "$old"                    # comes back without data, as a replica
#       wait_until cluster_is_ready
#
#       fail_over_to "$(replica_of "$old")"  # a gentle failover
#
#       open_slot "$slot" "$to"              # resharding in steps; or move_slot for all
#       move_keys "$slot" "$to" job          # these keys, or all of the slot
#       close_slot "$slot" "$to"
#   }
#
# A node is known by its port of 127.0.0.1, whatever its role is at the moment.
#
# CLUSTER_PORTS   all nodes, the first masters before the first replicas
# NODES_DIR       PORT.log, PORT.pid and PORT.nodes of each
#
# With TLS only (`load tls`, make_certificates): CLUSTER_TLS=yes; start_cluster
# With a password: CLUSTER_PASSWORD=x; start_cluster --requirepass x --masterauth x

source "${BASH_SOURCE[0]%/*}/ports.bash"

# start_cluster [OPTION...]: every node gets the OPTIONs. It takes about 3 s.
start_cluster() {
	local port

	export CLUSTER_OPTIONS CLUSTER_PASSWORD CLUSTER_PORTS CLUSTER_TLS NODES_DIR
	NODES_DIR=$(server_dir)/nodes
	mkdir "$NODES_DIR"
	CLUSTER_OPTIONS=${*@Q}
	launch_nodes || launch_nodes || return # another test may have taken a port just then
	join_nodes &&
		wait_until cluster_is_ready || {
		tail -n 5 "$NODES_DIR"/*.log >&2
		node_cli "${CLUSTER_PORTS%% *}" CLUSTER NODES >&2
		return 1
	}
}

# launch_nodes: sets CLUSTER_PORTS to free ports, and starts a node on each. Fails, and leaves none, if one of them does not
# come up.
launch_nodes() {
	local port

	CLUSTER_PORTS=$(free_ports 6 | paste -sd ' ')
	for port in $CLUSTER_PORTS; do
		launch_node "$port"
	done
	for port in $CLUSTER_PORTS; do
		wait_until answers_or_has_ended "$port" && is_awake "$port" && continue
		tail -n 5 "$NODES_DIR"/*.log >&2
		end_nodes
		return 1
	done
}

# end_nodes: kills those that run, and removes what they have written
end_nodes() {
	local port

	for port in $CLUSTER_PORTS; do
		! is_awake "$port" || kill_node "$port"
	done
	rm "$NODES_DIR"/*
}

answers_or_has_ended() {
	node_says "$1" PONG PING || ended "$(node_pid "$1")"
}

# launch_node PORT: starts a node that keeps nothing on disk but what it knows of the cluster
launch_node() {
	local options tls=(--port "$1")

	eval "options=($CLUSTER_OPTIONS)"
	[ -z "${CLUSTER_TLS:-}" ] || tls=(--port 0 --tls-port "$1" --tls-cluster yes --tls-replication yes
		--tls-auth-clients no --tls-cert-file "$TLS_DIR/server.crt" --tls-key-file "$TLS_DIR/server.key"
		--tls-ca-cert-file "$TLS_DIR/ca.crt")
	launch "$1" "$SERVER" "${tls[@]}" --bind 127.0.0.1 --dir "$NODES_DIR" --save '' --appendonly no \
		--repl-diskless-sync yes --repl-diskless-sync-delay 0 --repl-diskless-load swapdb \
		--cluster-enabled yes --cluster-config-file "$1.nodes" --cluster-node-timeout 1500 \
		--cluster-replica-validity-factor 0 "${options[@]}"
}

# The masters get their slots before the nodes meet, so that their first messages carry the slots.
join_nodes() {
	local -a node id
	local i j

	read -r -a node <<<"$CLUSTER_PORTS"
	for i in 0 1 2; do
		id[i]=$(node_cli "${node[i]}" CLUSTER MYID)
		node_does "${node[i]}" CLUSTER SET-CONFIG-EPOCH $((i + 1))
		# shellcheck disable=SC2046
		node_does "${node[i]}" CLUSTER ADDSLOTS $(seq $((16384 * i / 3)) $((16384 * (i + 1) / 3 - 1)))
	done
	for ((i = 1; i < 6; i++)); do
		for ((j = 0; j < i; j++)); do
			node_does "${node[i]}" CLUSTER MEET 127.0.0.1 "${node[j]}"
		done
	done
	for i in 0 1 2; do
		wait_until node_does "${node[i + 3]}" CLUSTER REPLICATE "${id[i]}"
	done
}

# Commands to nodes

# node_cli PORT [COMMAND...]: asks one node, and follows no redirection
node_cli() { port_cli "$1" "${CLUSTER_PASSWORD:-}" "${CLUSTER_TLS:-}" "${@:2}"; }

# cluster_cli [COMMAND...]: follows redirections
cluster_cli() {
	node_cli "$(awake_nodes | head -n 1)" -c "$@"
}

# node_says PORT ANSWER COMMAND...: the node's answer is ANSWER
node_says() {
	[ "$(node_cli "$1" "${@:3}")" = "$2" ]
}

# node_does PORT COMMAND...: the node's answer is OK
node_does() {
	local answer

	answer=$(node_cli "$@")
	[ "$answer" = OK ] || {
		echo "$*: $answer" >&2
		return 1
	}
}

# Nodes

node_id() {
	node_cli "$1" CLUSTER MYID
}

# Ports of the nodes that are neither dead nor stopped.
awake_nodes() {
	local port

	for port in $CLUSTER_PORTS; do
		! is_awake "$port" || echo "$port"
	done
}

# ask_nodes LINE...: the answers of each node that is awake, behind a line "node PORT"
ask_nodes() {
	local port lines

	printf -v lines '%s\n' "$@"
	for port in $(awake_nodes); do
		echo "node $port"
		node_cli "$port" <<<"${lines%$'\n'}"
	done | tr -d '\r'
}

# What each node says of itself: PORT ROLE EPOCH SLOTS...
nodes() {
	ask_nodes 'CLUSTER NODES' | awk '
		$1 == "node" { port = $2 }
		$3 ~ /myself/ {
			printf "%s %s %s", port, $3 ~ /master/ ? "master" : "replica", $7
			for (i = 9; i <= NF; i++)
				if ($i !~ /^\[/)
					printf " %s", $i
			print ""
		}'
}

# Ports of the masters that have slots.
master_nodes() {
	nodes | awk '$2 == "master" && NF > 3 { print $1 }'
}

# replica_of PORT: the port of its replica
replica_of() {
	node_cli "$(awake_nodes | head -n 1)" CLUSTER NODES | awk -v port="$1" '
		{ split($2, address, /[:@]/); port_of[$1] = address[2] }
		$3 ~ /slave/ && $3 !~ /fail/ { master_of[$1] = $4 }
		END { for (id in master_of) if (port_of[master_of[id]] == port) print port_of[id] }'
}

# All nodes that are awake say that every slot is served, agree on roles and slots, see none of them
# failing, and no replica waits for its master.
cluster_is_ready() {
	ask_nodes 'CLUSTER INFO' 'INFO replication' 'CLUSTER NODES' | awk '
		$1 == "node" { awake[$2]; count++ }
		/^cluster_state:ok/ { served++ }
		/^role:master|^master_link_status:up/ { linked++ }
		NF >= 8 {
			split($2, address, /[:@]/)
			if ($3 ~ /fail|handshake/)
				failing[address[2]]
			line = $1 " " ($3 ~ /master/) " " $4
			for (i = 9; i <= NF; i++)
				line = line " " $i
			said[line]++
		}
		END {
			for (port in awake)
				if (port in failing)
					exit 1
			for (line in said)
				if (said[line] != count)
					exit 1
			exit !(count && served == count && linked == count)
		}'
}

# Failing over

# start_node PORT: the node starts again, with what it knew of the cluster and without data
start_node() {
	launch_node "$1"
	wait_until node_says "$1" PONG PING
}

# fail_over_to PORT: makes this replica the master, without a loss of data
fail_over_to() {
	node_does "$1" CLUSTER FAILOVER
	wait_until is_master "$1" && wait_until cluster_is_ready
}

is_master() {
	node_cli "$1" ROLE | head -n 1 | grep -qx master
}

# Slots

# slot_of NAME: its slot; NAME may have braces
slot_of() {
	cluster_cli CLUSTER KEYSLOT "$1"
}

# owner_of SLOT: the port of the master that has it; if two say so, of the later one
owner_of() {
	nodes | sort -k 3n | awk -v slot="$1" '
		$2 == "master" {
			for (i = 4; i <= NF; i++) {
				split($i, range, "-")
				if (slot + 0 == range[1] || (slot >= range[1] + 0 && slot <= range[2] + 0))
					port = $1
			}
		}
		END { if (!port) exit 1; print port }'
}

# has_moved SLOT PORT: a node other than PORT has it
has_moved() {
	local owner

	owner=$(owner_of "$1") && [ "$owner" != "$2" ]
}

# open_slot SLOT PORT: the slot begins to move to PORT. From then on its old owner answers ASK if it
# has none of a request's keys, and TRYAGAIN if it has some of them.
open_slot() {
	local from

	from=$(owner_of "$1") || return
	node_does "$2" CLUSTER SETSLOT "$1" IMPORTING "$(node_id "$from")" &&
		node_does "$from" CLUSTER SETSLOT "$1" MIGRATING "$(node_id "$2")"
}

# move_keys SLOT PORT [KEY...]: moves these keys, or all keys of the slot
move_keys() {
	local from keys=("${@:3}") auth=()

	from=$(owner_of "$1") || return
	[ -z "${CLUSTER_PASSWORD:-}" ] || auth=(AUTH "$CLUSTER_PASSWORD")
	if [ $# -gt 2 ]; then
		node_does "$from" MIGRATE 127.0.0.1 "$2" '' 0 5000 "${auth[@]}" KEYS "${keys[@]}"
		return
	fi
	# A script that runs meanwhile may leave one more.
	while mapfile -t keys < <(node_cli "$from" --raw CLUSTER GETKEYSINSLOT "$1" 10000 | grep .) && [ ${#keys[@]} -gt 0 ]; do
		move_keys "$1" "$2" "${keys[@]}" || return
	done
}

# close_slot SLOT PORT: PORT is the slot's owner from now on. The owner before must have no key left: it would
# refuse, unless the new owner's message came before the command, and then lose the keys.
close_slot() {
	local id from port

	id=$(node_id "$2")
	from=$(owner_of "$1") || return
	[ "$(node_cli "$from" CLUSTER COUNTKEYSINSLOT "$1")" = 0 ] || return
	node_does "$2" CLUSTER SETSLOT "$1" NODE "$id" && node_does "$from" CLUSTER SETSLOT "$1" NODE "$id" || return
	for port in $(master_nodes); do
		node_does "$port" CLUSTER SETSLOT "$1" NODE "$id" || return
	done
	wait_until cluster_is_ready
}

move_slot() {
	open_slot "$@" && move_keys "$@" && close_slot "$@"
}

# use_cluster: sets SLOT and OWNER of `job`, and OTHER, another master, which the URL names
use_cluster() {
	export FAIRLOCK_CONNECT_TIMEOUT=2s
	SLOT=$(slot_of job)
	OWNER=$(owner_of "$SLOT")
	OTHER=$(master_nodes | grep -vx "$OWNER" | head -n 1)
	export FAIRLOCK_URL=redis://127.0.0.1:$OTHER
}

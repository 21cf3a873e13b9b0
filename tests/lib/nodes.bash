# Several servers that work together. All of them die with the test or the file that
# started them. Each is known by its port of 127.0.0.1, whatever its role is at the moment.
#
# Set before the start:
#
# NODES_TLS=yes       all speak TLS only (`load tls`, make_certificates)
# NODES_PASSWORD      the password of the servers
# SENTINEL_PASSWORD   the password of the sentinels
#
# NODES_DIR           PORT.log, PORT.pid and PORT.words, the command that starts it, of each

source "${BASH_SOURCE[0]%/*}/helpers.bash"

# new_nodes COUNT: makes NODES_DIR, and sets PORTS to free ports
new_nodes() {
	export NODES_DIR NODES_PASSWORD NODES_TLS
	NODES_DIR=$(server_dir)/nodes
	mkdir -p "$NODES_DIR"
	mapfile -t PORTS < <(free_ports "$1")
}

# new_node PORT OPTION...: a server that keeps nothing on disk but what it knows of a cluster
new_node() {
	local words=("${@:2}")

	[ -z "${NODES_PASSWORD:-}" ] || words+=(--requirepass "$NODES_PASSWORD" --masterauth "$NODES_PASSWORD")
	launch "$1" "$SERVER" --bind 127.0.0.1 --dir "$NODES_DIR" --save '' --appendonly no \
		--repl-diskless-sync yes --repl-diskless-sync-delay 0 --repl-diskless-load swapdb "${words[@]}"
}

# launch PORT COMMAND...: in the background, to be known by its PORT from now on
launch() {
	local where=(--port "$1")

	[ -z "${NODES_TLS:-}" ] || where=(--port 0 --tls-port "$1" --tls-replication yes --tls-auth-clients no
		--tls-cert-file "$TLS_DIR/server.crt" --tls-key-file "$TLS_DIR/server.key" --tls-ca-cert-file "$TLS_DIR/ca.crt")
	echo "${*@Q}" "${where[*]@Q}" | cut -d ' ' -f 2- >"$NODES_DIR/$1.words"
	start_node "$1"
}

# start_node PORT: starts it as it was started first, and waits until it answers
start_node() {
	local words

	eval "words=($(<"$NODES_DIR/$1.words"))"
	background "${words[@]}" >>"$NODES_DIR/$1.log" 2>&1
	echo $! >"$NODES_DIR/$1.pid"
	disown # the shell need not tell how it ended
	wait_until node_says "$1" PONG PING || {
		tail -n 5 "$NODES_DIR/$1.log" >&2
		return 1
	}
	[ ! -e "$NODES_DIR/$1.conf" ] || hurry "$1"
}

node_pid() { cat "$NODES_DIR/$1.pid"; }

# is_awake PORT: neither dead nor stopped
is_awake() {
	local state

	read -r _ _ state _ 2>/dev/null <"/proc/$(node_pid "$1")/stat" && [[ $state != [TZX] ]]
}

# awake PORT...: those of them that are neither dead nor stopped
awake() {
	local port

	for port; do
		! is_awake "$port" || echo "$port"
	done
}

# kill_node PORT: ends it, and waits until it has
kill_node() {
	local pid

	pid=$(node_pid "$1")
	kill -KILL "$pid"
	wait_until ended "$pid"
}

stop_node() { stop "$(node_pid "$1")"; }
stop_nodes() { stop "$(node_pid "$1")" && stop "$(node_pid "$2")"; }
continue_node() { kill -s CONT "$(node_pid "$1")"; }

# Commands to nodes

# node_cli PORT [COMMAND...]: asks one node, and follows no redirection. Without COMMAND, the lines of the standard input are
# commands, of words without quotes. Options of redis-cli may stand before COMMAND.
node_cli() {
	local client=("$CLI" -p "$1") password=${NODES_PASSWORD:-}

	[[ " ${SENTINEL_PORTS:-} " != *" $1 "* ]] || password=${SENTINEL_PASSWORD:-}
	if [ -n "${NODES_TLS:-}" ]; then
		client+=(--tls --cacert "$TLS_DIR/ca.crt")
	elif { [ $# = 1 ] && [ -n "$ASK" ]; } || ask_can "${@:2}"; then
		client=("$ASK" "$1")
	fi
	[ -z "$password" ] || local -x REDISCLI_AUTH=$password
	"${client[@]}" "${@:2}" 3>&- 4>&-
}

# node_says PORT ANSWER COMMAND...: the node's answer is ANSWER
node_says() {
	local answer

	answer=$(node_cli "$1" "${@:3}")
	[ "$answer" = "$2" ] || { echo "$*: $answer" >&2; return 1; }
}

# node_does PORT COMMAND...: the node's answer is OK
node_does() { node_says "$1" OK "${@:2}"; }

# is_master PORT
is_master() { node_cli "$1" ROLE | grep -qx master; }

# ---- A cluster

# start_cluster [OPTION...]: every node gets the OPTIONs. It takes about 3 s.
start_cluster() {
	local port PORTS

	new_nodes 6
	export CLUSTER_PORTS=${PORTS[*]}
	for port in "${PORTS[@]}"; do
		new_cluster_node "$port" "$@" || return
	done
	join_nodes && wait_until cluster_is_ready || {
		tail -n 5 "$NODES_DIR"/*.log >&2
		node_cli "${PORTS[0]}" CLUSTER NODES >&2
		return 1
	}
}

# new_cluster_node PORT [OPTION...]
new_cluster_node() {
	local tls=()

	[ -z "${NODES_TLS:-}" ] || tls=(--tls-cluster yes)
	new_node "$1" "${tls[@]}" --cluster-enabled yes --cluster-config-file "$1.nodes" --cluster-node-timeout 1500 \
		--cluster-replica-validity-factor 0 "${@:2}"
}

# The masters get their slots before the nodes meet, so that their first messages carry the slots.
join_nodes() {
	local i j id

	for i in 0 1 2; do
		node_does "${PORTS[i]}" CLUSTER SET-CONFIG-EPOCH $((i + 1))
		node_does "${PORTS[i]}" CLUSTER ADDSLOTS $(seq $((16384 * i / 3)) $((16384 * (i + 1) / 3 - 1)))
	done
	for ((i = 1; i < 6; i++)); do
		for ((j = 0; j < i; j++)); do
			node_does "${PORTS[i]}" CLUSTER MEET 127.0.0.1 "${PORTS[j]}"
		done
	done
	for i in 0 1 2; do
		id=$(node_id "${PORTS[i]}")
		wait_until node_does "${PORTS[i + 3]}" CLUSTER REPLICATE "$id"
	done
}

# cluster_cli [COMMAND...]: follows redirections
cluster_cli() { node_cli "$(awake $CLUSTER_PORTS | head -n 1)" -c "$@"; }

node_id() { node_cli "$1" CLUSTER MYID; }

# ask_nodes LINE...: the answers of each node that is awake, behind a line "node PORT"
ask_nodes() {
	local port lines

	printf -v lines '%s\n' "$@"
	for port in $(awake $CLUSTER_PORTS); do
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
master_nodes() { nodes | awk '$2 == "master" && NF > 3 { print $1 }'; }

# replica_of PORT: the port of its replica
replica_of() {
	node_cli "$(awake $CLUSTER_PORTS | head -n 1)" CLUSTER NODES | awk -v port="$1" '
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

# fail_over_to PORT: makes this replica the master, without a loss of data
fail_over_to() {
	node_does "$1" CLUSTER FAILOVER
	wait_until is_master "$1" && wait_until cluster_is_ready
}

# slot_of NAME: its slot; NAME may have braces
slot_of() { cluster_cli CLUSTER KEYSLOT "$1"; }

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
	[ -z "${NODES_PASSWORD:-}" ] || auth=(AUTH "$NODES_PASSWORD")
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

move_slot() { open_slot "$@" && move_keys "$@" && close_slot "$@"; }

# use_cluster: sets SLOT and OWNER of `job`, and OTHER, another master, which the URL names
use_cluster() {
	export FAIRLOCK_CONNECT_TIMEOUT=2s
	SLOT=$(slot_of job)
	OWNER=$(owner_of "$SLOT")
	OTHER=$(master_nodes | grep -vx "$OWNER" | head -n 1)
	export FAIRLOCK_URL=redis://127.0.0.1:$OTHER
}

# ---- A cluster of one node

# start_lone_cluster [OPTION...]
start_lone_cluster() {
	start_server --cluster-enabled yes --cluster-port "$(free_port)" "$@"
	become_lone_cluster
}

# become_lone_cluster: has the server, which is a node, take all slots
become_lone_cluster() {
	cli CLUSTER ADDSLOTSRANGE 0 16383 >/dev/null
	wait_until cluster_is_up
}

cluster_is_up() { cli CLUSTER INFO | grep -q '^cluster_state:ok'; }

# ---- Sentinels

# start_sentinels [OPTION...]: every server gets the OPTIONs. It takes about 3 s. A server that is silent for SENTINEL_DOWN_MS (1000) is
# down. Use more where a second failover would spoil the test: a busy machine may hold up the new master.
start_sentinels() {
	local port PORTS

	new_nodes 6
	export SENTINEL_PASSWORD SENTINELS SENTINEL_PORTS='' SERVER_PORTS=${PORTS[*]:0:3}
	printf -v SENTINELS '127.0.0.1:%s,' "${PORTS[@]:3}"
	SENTINELS=${SENTINELS%,}
	for port in "${PORTS[@]:0:3}"; do
		new_node "$port" "$@" || return
	done
	for port in "${PORTS[@]:1:2}"; do
		node_does "$port" REPLICAOF 127.0.0.1 "${PORTS[0]}" || return
	done
	# A replica that a sentinel does not see at its first look is seen at the next, 10 s later.
	wait_until servers_are_ready || return
	SENTINEL_PORTS=${PORTS[*]:3}
	for port in "${PORTS[@]:3}"; do
		new_sentinel "$port" || return
	done
	wait_until sentinels_are_ready || {
		tail -n 5 "$NODES_DIR"/*.log >&2
		return 1
	}
}

# new_sentinel PORT: starts it with a file that it reads and writes
new_sentinel() {
	{
		printf '%s\n' "dir $NODES_DIR" 'bind 127.0.0.1' \
			"sentinel monitor mymaster 127.0.0.1 ${SERVER_PORTS%% *} 2" \
			"sentinel down-after-milliseconds mymaster ${SENTINEL_DOWN_MS:-1000}" \
			'sentinel failover-timeout mymaster 3000' \
			'sentinel parallel-syncs mymaster 2'
		[ -z "${NODES_PASSWORD:-}" ] || echo "sentinel auth-pass mymaster \"$NODES_PASSWORD\""
		[ -z "${SENTINEL_PASSWORD:-}" ] || echo "requirepass \"$SENTINEL_PASSWORD\""
	} >"$NODES_DIR/$1.conf"
	launch "$1" "$SERVER" "$NODES_DIR/$1.conf" --sentinel
}

# hurry PORT: this sentinel looks and talks more often than its file could make it (Redis 6.2
# cannot), and is not paralysed for 30 s when the machine was busy.
hurry() { node_cli "$1" SENTINEL DEBUG INFO-PERIOD 500 PUBLISH-PERIOD 250 TILT-PERIOD 1000 >/dev/null; }

# asks the master
master_cli() { node_cli "$(master_port)" "$@"; }

# The port of the master, as a sentinel names it.
master_port() {
	node_cli "$(awake $SENTINEL_PORTS | head -n 1)" SENTINEL GET-MASTER-ADDR-BY-NAME mymaster | tail -n 1
}

# has_new_master PORT: all sentinels that are awake name one other master, and it is one
has_new_master() {
	local new port

	new=$(master_port)
	[ "$new" != "$1" ] && is_awake "$new" || return
	for port in $(awake $SENTINEL_PORTS); do
		[ "$(node_cli "$port" SENTINEL GET-MASTER-ADDR-BY-NAME mymaster | tail -n 1)" = "$new" ] || return
	done
	is_master "$new"
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
	for port in $(awake $SENTINEL_PORTS); do
		printf '%s\n' 'SENTINEL CKQUORUM mymaster' 'SENTINEL MASTER mymaster' 'SENTINEL REPLICAS mymaster' |
			node_cli "$port" | paste -sd ' ' | awk -v port="$master" '
				/^OK 3 usable Sentinels/ && $0 ~ " port " port " .* flags master .* num-slaves 2 num-other-sentinels 2 " {
					exit gsub(" flags slave ", "") != 2 || gsub(" master-link-status ok ", "") != 2 ||
						gsub(" master-port " port " ", "") != 2
				}
				{ exit 1 }' || return
	done
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
promote() { node_does "$(awake $SENTINEL_PORTS | head -n 1)" SENTINEL FAILOVER mymaster; }

# fairlock finds its server through these sentinels.
use_sentinels() { export FAIRLOCK_URL=redis+sentinel://$SENTINELS/mymaster FAIRLOCK_CONNECT_TIMEOUT=2s; }

# own_sentinels [OPTION...]: sentinels and servers of which this test may kill some
own_sentinels() {
	OWN_SENTINELS=yes
	start_sentinels "$@"
	use_sentinels
}

# For teardown: what a test stopped goes on, and the next test finds the file's servers and sentinels ready.
restore_sentinels() {
	local port

	for port in $SERVER_PORTS $SENTINEL_PORTS; do
		continue_node "$port" 2>/dev/null || true
	done
	[ "${BATS_TEST_COMPLETED:-}${OWN_SENTINELS:-}" = 1yes ] || wait_until sentinels_are_ready
}

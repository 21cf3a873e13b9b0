# Servers that go by their port of 127.0.0.1: what tls, sentinel and cluster share.
#
# NODES_DIR   PORT.log and PORT.pid of those that `launch` started

# free_ports COUNT: ports of 127.0.0.1 that nobody listens on, nor on those 10000 above them, where the
# nodes of a cluster talk. Connections going out get theirs from above both.
free_ports() {
	local port ports=' '

	for ((; $1 > $(wc -w <<<"$ports"); )); do
		port=$((10000 + (RANDOM * 32768 + RANDOM) % 10000))
		[[ $ports = *" $port "* ]] || listens "$port" || listens $((port + 10000)) || ports+="$port "
	done
	echo "${ports// /$'\n'}" | grep .
}

# listens PORT: somebody does
listens() {
	(: <>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# port_cli PORT PASSWORD TLS [COMMAND...]: asks the server at this port. PASSWORD and TLS are empty if it wants none. Without COMMAND, the
# lines of the standard input are commands, of words without quotes. Options of redis-cli may stand before COMMAND.
port_cli() {
	local client=("$CLI" -p "$1")

	if [ -n "$3" ]; then
		client+=(--tls --cacert "$TLS_DIR/ca.crt")
	elif { [ $# = 3 ] && [ -n "$ASK" ]; } || ask_can "${@:4}"; then
		client=("$ASK" "$1")
	fi
	[ -z "$2" ] || local -x REDISCLI_AUTH=$2
	"${client[@]}" "${@:4}" 3>&- 4>&-
}

# launch PORT COMMAND...: in the background, to be known by its PORT from now on
launch() {
	background "${@:2}" >>"$NODES_DIR/$1.log" 2>&1
	echo $! >"$NODES_DIR/$1.pid"
	disown # the shell need not tell how it ended
}

node_pid() {
	cat "$NODES_DIR/$1.pid"
}

# is_awake PORT: neither dead nor stopped
is_awake() {
	local state

	read -r _ _ state _ 2>/dev/null <"/proc/$(<"$NODES_DIR/$1.pid")/stat" && [[ $state != [TZX] ]]
}

# kill_node PORT [SIGNAL]: ends it (KILL unless told otherwise) and waits until it has
kill_node() {
	local pid

	pid=$(node_pid "$1")
	kill -s "${2:-KILL}" "$pid"
	kill -s CONT "$pid" 2>/dev/null || true
	wait_until ended "$pid"
}

is_asleep() { ! is_awake "$1"; }

# Returns when it is: the kernel takes its time on a busy machine, and who then asks it would wait for ever.
stop_node() { kill -s STOP "$(node_pid "$1")" && wait_until is_asleep "$1"; }
continue_node() { kill -s CONT "$(node_pid "$1")"; }

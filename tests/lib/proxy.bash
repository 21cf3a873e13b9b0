# A proxy between fairlock and a server that a test controls: `load helpers`, then `load proxy`.
#
#   @test "..." {
#       start_server --port "$port"
#       start_proxy "127.0.0.1:$port"             # or a unix socket: start_proxy "$SERVER_SOCKET"
#       export FAIRLOCK_URL=redis://$PROXY_ADDRESS
#       proxy cut                                 # a dead wire
#       proxy pass                                # until here
#       [ "$(proxy count)" = 1 ]
#   }
#
# proxy.py describes the commands. `proxy` returns when a command is done. If there are several proxies, it means
# the one that was started last, or that of PROXY_DIR:
#
#   start_proxy "127.0.0.1:$port"; first=$PROXY_DIR
#   start_proxy "127.0.0.1:$other"
#   PROXY_DIR=$first proxy cut

# start_proxy TARGET [LISTEN]: LISTEN is HOST:PORT or the path of a unix socket to be made; by
# default a free port of 127.0.0.1. Sets PROXY_ADDRESS to it, and PROXY_PORT, PROXY_PID and
# PROXY_DIR.
start_proxy() {
	PROXY_DIR=$(mktemp -d "$(server_dir)/proxy.XXXXXX")
	mkfifo "$PROXY_DIR/commands" "$PROXY_DIR/answers"
	background python3 "$TESTS_DIR/lib/proxy.py" "${2:-127.0.0.1:0}" "$1" "$PROXY_DIR" >"$PROXY_DIR/log" 2>&1
	PROXY_PID=$!
	read -r -t 20 PROXY_ADDRESS <>"$PROXY_DIR/answers" || {
		cat "$PROXY_DIR/log" >&2
		return 1
	}
	PROXY_PORT=${PROXY_ADDRESS##*:}
	export PROXY_ADDRESS PROXY_DIR PROXY_PID PROXY_PORT
}

# proxy COMMAND...: gives it the command, and prints its answer unless that is `done`
proxy() {
	local answer

	echo "$*" >"$PROXY_DIR/commands"
	read -r -t 20 answer <>"$PROXY_DIR/answers" && [[ $answer != error* ]] || {
		echo "proxy $*: ${answer:-no answer}" >&2
		return 1
	}
	[ "$answer" = 'done' ] || echo "$answer"
}

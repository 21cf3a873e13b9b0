# A proxy between fairlock and a server that a test controls: `load helpers`, then `load proxy`.
# proxy.py describes the commands.

# start_proxy TARGET [LISTEN]: LISTEN is HOST:PORT or the path of a unix socket to be made; by
# default a free port of 127.0.0.1. Sets PROXY_ADDRESS to it, and PROXY_PORT.
start_proxy() {
	PROXY_DIR=$(mktemp -d "$(server_dir)/proxy.XXXXXX")
	mkfifo "$PROXY_DIR/commands" "$PROXY_DIR/answers"
	background python3 "$TESTS_DIR/lib/proxy.py" "${2:-127.0.0.1:0}" "$1" "$PROXY_DIR" >"$PROXY_DIR/log" 2>&1
	read -r -t 20 PROXY_ADDRESS <>"$PROXY_DIR/answers" || {
		cat "$PROXY_DIR/log" >&2
		return 1
	}
	PROXY_PORT=${PROXY_ADDRESS##*:}
	export PROXY_ADDRESS PROXY_DIR PROXY_PORT
}

# proxy COMMAND...: gives it the command, returns when that is done, and prints its answer unless that is `done`
proxy() {
	local answer

	echo "$*" >"$PROXY_DIR/commands"
	read -r -t 20 answer <>"$PROXY_DIR/answers" && [[ $answer != error* ]] || {
		echo "proxy $*: ${answer:-no answer}" >&2
		return 1
	}
	[ "$answer" = 'done' ] || echo "$answer"
}

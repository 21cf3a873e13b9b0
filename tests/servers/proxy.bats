# The proxy that other tests use: what it must not do to connections.

load ../lib/helpers
load ../lib/proxy

setup() {
	start_server
	start_proxy "$SERVER_SOCKET"
}

# fillers STATE: how many connections to the proxy are in this state of the kernel, in hexadecimal
fillers() {
	awk -v port=":$(printf %04X "$PROXY_PORT")" -v state="$1" 'index($3, port) && $4 == state' /proc/net/tcp | wc -l
}

# SYN_SENT, TIME_WAIT
all_taken() {
	[ "$(fillers 02)" = 0 ] && [ "$(fillers 06)" = 4 ]
}

@test "connections that fill the queue during a cut are taken after it, and no client is taken for one of them" {
	proxy cut
	[ "$(fillers 02)" -gt 0 ]
	proxy pass
	wait_until all_taken
	assert_equal "$(proxy count)" 0
}

ping_proxy() {
	"$CLI" -h 127.0.0.1 -p "$PROXY_PORT" PING
}

@test "a connection that is to snap snaps at its first request, and later connections do not" {
	proxy snap up
	run ping_proxy
	assert_failure
	refute_output PONG
	run ping_proxy
	assert_output PONG
}

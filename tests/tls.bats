# TLS: who is trusted, who is not, and how it is told.

setup_file() {
	load helpers
	load tls
	make_certificates
}

setup() {
	load helpers
	load tls
	unset FAIRLOCK_URL
	export FAIRLOCK_CONNECT_TIMEOUT=2s
}

# fails_with STATUS TEXT [OPTION...]: acquiring at rediss://localhost:$TLS_PORT ends so, with one line
fails_with() {
	run --separate-stderr "$FAIRLOCK" acquire -n --url "${URL:-rediss://localhost:$TLS_PORT}" "${@:3}" job
	assert_failure "$1"
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr = *"$2"* ]] || { echo "$stderr"; return 1; }
}

@test "a lock is taken, renewed, shown and given back over TLS" {
	start_tls_server
	export FAIRLOCK_URL=rediss://localhost:$TLS_PORT FAIRLOCK_TLS_CA=$TLS_DIR/ca.crt

	owner=$("$FAIRLOCK" acquire job)
	"$FAIRLOCK" renew --owner "$owner" job
	run -0 "$FAIRLOCK" status -q job
	"$FAIRLOCK" release --owner "$owner" job
	run -1 "$FAIRLOCK" status -q job
	run -7 "$FAIRLOCK" wrap job -- sh -c 'exit 7'
}

@test "completion asks a server with TLS for the names of locks" {
	start_tls_server
	export FAIRLOCK_URL=rediss://localhost:$TLS_PORT FAIRLOCK_TLS_CA=$TLS_DIR/ca.crt

	"$FAIRLOCK" wrap job true
	run -0 "$FAIRLOCK" --complete status j
	assert_output job
}

# TLS between fairlock and a server: handshakes that fail, secrets that stay secret, and its cost.
# For certificates see tls-certificates.bats, for locks tls-locks.bats.
load ../lib/jobs
load ../lib/tls
load ../lib/proxy

setup_file() { make_certificates; }

setup() {
	use_certificates
	unset FAIRLOCK_URL
}

# ---- The other end ----

@test "a server without TLS under rediss:// gives status 69 within the connect timeout" {
	TLS_PORT=$(free_port)
	export FAIRLOCK_CONNECT_TIMEOUT=1s
	start_server --port "$TLS_PORT" --bind 127.0.0.1
	# For a server without TLS the random bytes of the greeting may end a line, or not.
	tls_fails 69 'speak TLS'
	tls_fails 69 "cannot reach $(tls_url 127.0.0.1): " -u "$(tls_url 127.0.0.1)"
	assert_output --partial 'speak TLS'
}

@test "a server with TLS under redis:// gives status 69 with a hint" {
	export FAIRLOCK_CONNECT_TIMEOUT=1s
	start_tls_server
	tls_fails 69 "cannot reach redis://localhost:$TLS_PORT: " -u "redis://localhost:$TLS_PORT"
	assert_output --partial TLS
	tls_fails 69 rediss:// -u "redis://127.0.0.1:$TLS_PORT"
	openssl_server server
	tls_fails 69 rediss:// -u "redis://127.0.0.1:$TLS_PORT"
}

@test "a server that stops in the middle of the handshake gives status 69 after the connect timeout" {
	export FAIRLOCK_CONNECT_TIMEOUT=500ms
	start_tls_server
	kill -s STOP "$SERVER_PID"
	tls_fails 69 'no answer to the TLS handshake in time'
	tls_fails 69 'no answer to the TLS handshake in time' -u "$(tls_url 127.0.0.1)"
	kill -s CONT "$SERVER_PID"
	start_proxy "127.0.0.1:$TLS_PORT"
	TLS_PORT=$PROXY_PORT
	for bytes in 1 5 100 600; do
		proxy only down "$bytes"
		tls_fails 69 'no answer to the TLS handshake in time'
		proxy pass
	done
	FAIRLOCK_CONNECT_TIMEOUT=10s tls_acquires
}

@test "a connection that ends after the handshake gives status 69 and the cause" {
	export FAIRLOCK_CONNECT_TIMEOUT=1s
	for way in goodbye close; do
		ending_server "$way"
		tls_fails 69 "cannot reach $(tls_url): Server closed the connection"
	done
	ending_server reset
	tls_fails 69 "cannot reach $(tls_url): Connection reset by peer"
	ending_server garbage
	tls_fails 69 "cannot reach $(tls_url): wrong version number"
}

@test "fairlock speaks TLS 1.2 and 1.3, and refuses 1.1" {
	start_tls_server
	for version in TLSv1.2 TLSv1.3; do
		[ "$(cli CONFIG SET tls-protocols "$version")" = OK ]
		tls_acquires -u "valkeys://localhost:$TLS_PORT"
		run "$FAIRLOCK" doctor -u "$(tls_url)"
		assert_line --regexp "^ *TLS +$version\$"
	done
	run "$FAIRLOCK" doctor -u "$(tls_url)" --tls-insecure
	assert_line --regexp '^ *TLS +TLSv1.3.*certificate not verified'
	openssl_server server -tls1_1 -cipher DEFAULT@SECLEVEL=0
	tls_fails 69 'the TLS handshake failed: '
	assert_output --partial version
}

# ---- What is said ----

@test "neither messages nor COMMAND's environment have a password or a line of a key in them" {
	export FAIRLOCK_TLS_CERT=$TLS_DIR/client.crt FAIRLOCK_TLS_KEY=$TLS_DIR/client.key

	start_tls_server --tls-auth-clients yes
	cli CONFIG SET requirepass sesame
	{
		"$FAIRLOCK" wrap -v -u "rediss://:sesame@localhost:$TLS_PORT" job env
		"$FAIRLOCK" status -v -u "rediss://:sesame@127.0.0.1:$TLS_PORT" job
		"$FAIRLOCK" acquire -v -u "rediss://:sesame1@localhost:$TLS_PORT" job
		"$FAIRLOCK" acquire -v -u "rediss://:sesame@localhost:$TLS_PORT" --tls-ca "$TLS_DIR/unknown-ca.crt" job
		"$FAIRLOCK" acquire -v -u "rediss://:sesame@localhost:$TLS_PORT" --tls-cert "$TLS_DIR/unknown.crt" job
		"$FAIRLOCK" acquire -v -u "rediss://:sesame@localhost:$TLS_PORT" --tls-ca "$TLS_DIR/client.key" job
		"$FAIRLOCK" acquire -v -u "rediss://:sesame@localhost:$TLS_PORT" --tls-cert "$TLS_DIR/client.key" job
	} >all 2>&1 || true
	run -0 grep -c -e 'got lock job' -e 'fairlock: cannot' -e '^FAIRLOCK_URL=' all
	assert_output 7
	run -1 grep sesame all
	while read -r secret; do
		run -1 grep -F -e "$secret" all
	done < <(grep -v -e ---- "$TLS_DIR/client.key")
}

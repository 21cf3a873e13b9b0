# The one file in an empty root: no library, no shell, no password database, no names, no time zones, no certificates.
load ../lib/empty-root
load ../lib/tls

setup_file() {
	make_certificates
	start_tls_server --appendonly yes # as doctor wants it
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	empty_root
	tar -xzf "$BUILD"/dist/fairlock-*.tar.gz --strip-components 1 -C "$ROOT"
	cli FLUSHALL >/dev/null
}

@test "wrap runs a command under the lock, and status shows it" {
	run -0 in_root fairlock wrap job -- fairlock status --noheadings --raw -o NAME,STATE,PID job
	assert_output 'job held 1'
	run -1 in_root fairlock status -q job
}

@test "help and completion work without a server" {
	run -0 in_root FAIRLOCK_URL=unix:/nowhere fairlock wrap --help
	run -0 in_root FAIRLOCK_URL=unix:/nowhere fairlock --complete st
	assert_output --regexp '^status'
}

@test "a table shows UTF-8 if the locale is one of UTF-8" {
	run -0 in_root LANG=C.UTF-8 fairlock wrap 'Aufträge 注文' -- fairlock status
	assert_output --partial 'Aufträge 注文'
}

@test "a host name is looked up in /etc/hosts" {
	local port

	port=$(free_port)
	cli CONFIG SET bind 127.0.0.1 port "$port"
	put_in_root etc/hosts <<<'127.0.0.1 lock.example.com'
	run -0 in_root FAIRLOCK_URL="redis://lock.example.com:$port" fairlock wrap job -- fairlock version
	assert_output --regexp '^fairlock [0-9]'
	run -69 in_root FAIRLOCK_URL="redis://other.example.invalid:$port" fairlock wrap job -- fairlock version
	cli CONFIG SET port 0
}

@test "a user without a home directory is told to name a server" {
	run -78 in_root FAIRLOCK_URL=local: fairlock wrap job -- fairlock version
	assert_output --partial 'user 0 has no home directory; name a server with FAIRLOCK_URL'
}

# trusts [VARIABLE=VALUE...] [--tls-ca FILE]: fairlock there accepts the certificate of the server
trusts() {
	local words=()

	while [[ ${1:-} = *=* ]]; do
		words+=("$1")
		shift
	done
	run -0 in_root "${words[@]}" fairlock wrap -u "rediss://127.0.0.1:$TLS_PORT" "$@" job -- \
		fairlock status --noheadings --raw -o STATE job
	assert_output held
}

@test "fairlock trusts --tls-ca, and SSL_CERT_FILE and SSL_CERT_DIR" {
	put_in_root ours.pem <"$TLS_DIR/ca.crt"
	put_in_root folder/ours.pem <"$TLS_DIR/ca.crt"
	openssl rehash "$ROOT/folder"
	trusts --tls-ca /ours.pem
	trusts --tls-ca /folder
	trusts SSL_CERT_FILE=/ours.pem
	trusts SSL_CERT_DIR=/folder
}

@test "fairlock finds the certificates where Debian, Alpine, Fedora and SUSE keep them, in links or in one file" {
	local place

	for place in ssl/cert.pem ssl/certs/ca-certificates.crt pki/tls/certs/ca-bundle.crt \
		pki/ca-trust/extracted/pem/tls-ca-bundle.pem ssl/ca-bundle.pem; do
		put_in_root "etc/$place" <"$TLS_DIR/ca.crt"
		trusts
		rm -r "${ROOT:?}/etc"
		run -69 in_root fairlock wrap -u "rediss://127.0.0.1:$TLS_PORT" job -- fairlock version
		assert_output --partial 'its certificate is not trusted'
	done
	put_in_root etc/ssl/certs/ours.pem <"$TLS_DIR/ca.crt"
	openssl rehash "$ROOT/etc/ssl/certs"
	trusts
}

#!/usr/bin/env bats
# Certificates of the system in an empty root: distributions keep them in different places.
load ../lib/helpers
load ../lib/tls
load root

setup_file() {
	find_tarball
	make_certificates
	start_tls_server
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	new_root
	cli FLUSHALL >/dev/null
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

distrusts() {
	run -69 in_root fairlock wrap -u "rediss://127.0.0.1:$TLS_PORT" job -- fairlock version
	assert_output --partial 'its certificate is not trusted'
}

@test "fairlock trusts --tls-ca, and SSL_CERT_FILE and SSL_CERT_DIR" {
	put_in_root ours.pem <"$TLS_DIR/ca.crt"
	put_in_root folder/ours.pem <"$TLS_DIR/ca.crt"
	trusts --tls-ca /ours.pem
	trusts SSL_CERT_FILE=/ours.pem
	openssl rehash "$ROOT/folder"
	trusts --tls-ca /folder
	trusts SSL_CERT_DIR=/folder
}

@test "fairlock finds the certificates where Debian, Alpine, Fedora and SUSE keep them, in links or in one file" {
	local place

	for place in ssl/cert.pem ssl/certs/ca-certificates.crt pki/tls/certs/ca-bundle.crt \
		pki/ca-trust/extracted/pem/tls-ca-bundle.pem ssl/ca-bundle.pem; do
		put_in_root "etc/$place" <"$TLS_DIR/ca.crt"
		trusts
		rm -r "${ROOT:?}/etc"
		distrusts
	done
	put_in_root etc/ssl/certs/ours.pem <"$TLS_DIR/ca.crt"
	openssl rehash "$ROOT/etc/ssl/certs"
	trusts
}

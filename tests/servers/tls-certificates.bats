# TLS certificates: the servers that fairlock trusts, and the certificate that it shows to them.

load ../lib/helpers
load ../lib/tls

setup_file() { make_certificates; }

setup() {
	use_certificates
	unset FAIRLOCK_URL
}

# hosts_or_skip: stands in a test that uses with_hosts
hosts_or_skip() { unshare -rm true 2>/dev/null || skip 'this machine allows no namespaces'; }

# with_hosts NAME COMMAND...: runs COMMAND where NAME is 127.0.0.1
with_hosts() {
	echo "127.0.0.1 localhost $1" >hosts
	unshare -rm sh -c 'mount --bind hosts /etc/hosts && exec "$@"' sh "${@:2}" 3>&- 4>&-
}

# ---- Which servers fairlock trusts ----

@test "fairlock looks for a name among the certificate's names, for an address among its addresses" {
	start_tls_server
	tls_acquires
	tls_acquires -u "$(tls_url 127.0.0.1)"
	tls_acquires -u "$(tls_url '[::1]')"
	# musl looks in /etc/hosts for a name as it is written.
	is_static || tls_acquires -u "$(tls_url LocalHost)"

	new_certificate only-name DNS:localhost
	cli CONFIG SET tls-cert-file "$TLS_DIR/only-name.crt" tls-key-file "$TLS_DIR/only-name.key"
	tls_acquires
	tls_fails 69 'its certificate is not trusted: IP address mismatch' -u "$(tls_url 127.0.0.1)"
	tls_fails 69 'its certificate is not trusted: IP address mismatch' -u "$(tls_url '[::1]')"

	new_certificate only-address IP:127.0.0.1,DNS:127.0.0.1
	cli CONFIG SET tls-cert-file "$TLS_DIR/only-address.crt" tls-key-file "$TLS_DIR/only-address.key"
	tls_acquires -u "$(tls_url 127.0.0.1)"
	tls_fails 69 'its certificate is not trusted: hostname mismatch'
}

@test "a certificate that has the name only in its subject gives status 69" {
	COMMON_NAME=localhost new_certificate only-subject ''
	start_tls_server only-subject
	tls_fails 69 'its certificate is not trusted: hostname mismatch'
	COMMON_NAME=127.0.0.1 new_certificate only-subject ''
	cli CONFIG SET tls-cert-file "$TLS_DIR/only-subject.crt" tls-key-file "$TLS_DIR/only-subject.key"
	tls_fails 69 'its certificate is not trusted: IP address mismatch' -u "$(tls_url 127.0.0.1)"
}

@test "a certificate that has expired, or is not valid yet, gives status 69" {
	start_tls_server expired
	tls_fails 69 'its certificate is not trusted: certificate has expired'
	new_certificate future DNS:localhost ca 20480101000000Z 20490101000000Z
	cli CONFIG SET tls-cert-file "$TLS_DIR/future.crt" tls-key-file "$TLS_DIR/future.key"
	tls_fails 69 'its certificate is not trusted: certificate is not yet valid'
}

@test "a certificate of an unknown authority gives status 69" {
	start_tls_server unknown
	tls_fails 69 'its certificate is not trusted: unable to get local issuer certificate'
	tls_acquires --tls-ca "$TLS_DIR/unknown-ca.crt"
}

@test "without --tls-ca fairlock trusts the authorities of the system" {
	unset FAIRLOCK_TLS_CA
	start_tls_server
	tls_fails 69 'its certificate is not trusted'
	SSL_CERT_FILE=$TLS_DIR/ca.crt tls_acquires
	export SSL_CERT_FILE=$TLS_DIR/ca.crt
	tls_fails 69 'its certificate is not trusted' --tls-ca "$TLS_DIR/unknown-ca.crt"
}

@test "with --tls-insecure fairlock trusts any certificate" {
	export FAIRLOCK_TLS_INSECURE=yes
	for name in wrong-name expired unknown; do
		start_tls_server "$name"
		tls_acquires
	done
	FAIRLOCK_TLS_INSECURE=no tls_fails 69 'its certificate is not trusted'
	unset FAIRLOCK_TLS_INSECURE FAIRLOCK_TLS_CA
	tls_fails 69 'its certificate is not trusted'
	tls_acquires --tls-insecure
}

@test "the server is told the host's name, and shows the certificate for it" {
	hosts_or_skip
	new_certificate other DNS:lock.example.com
	openssl_server server -servername lock.example.com -cert2 "$TLS_DIR/other.crt" -key2 "$TLS_DIR/other.key"
	# The handshake succeeds; after it this server is no Redis.
	run with_hosts lock.example.com. timeout 8 "$FAIRLOCK" acquire -u "$(tls_url lock.example.com.)" job
	refute_output --partial certificate
	run -0 grep -a -m 1 'Hostname in TLS extension' said
	assert_output 'Hostname in TLS extension: "lock.example.com"'
	run with_hosts lock.example.com timeout 8 "$FAIRLOCK" acquire -u "$(tls_url)" job
	refute_output --partial certificate
	wait_until grep -qa 'Hostname in TLS extension: "localhost"' said
	run -69 with_hosts other.example.com timeout 8 "$FAIRLOCK" acquire -u "$(tls_url other.example.com)" job
	assert_output --partial 'hostname mismatch'
	# An address is not sent as a name.
	: >said
	run timeout 8 "$FAIRLOCK" acquire -u "$(tls_url 127.0.0.1)" job
	run -1 grep -a 'Hostname in TLS extension: "127' said
}

# ---- Our certificate ----

@test "fairlock shows its certificate to a server that wants one" {
	client=(--tls-cert "$TLS_DIR/client.crt" --tls-key "$TLS_DIR/client.key")
	start_tls_server --tls-auth-clients yes
	tls_acquires "${client[@]}"
	cli CONFIG SET tls-protocols TLSv1.2
	tls_acquires "${client[@]}"
	cat "$TLS_DIR"/client.{key,crt} >both
	tls_acquires --tls-cert both
	FAIRLOCK_TLS_CERT=both tls_acquires
	FAIRLOCK_TLS_CERT=$TLS_DIR/client.crt FAIRLOCK_TLS_KEY=both tls_acquires
}

@test "without a certificate that the server trusts fairlock ends with 77" {
	new_certificate expired-client DNS:client.example ca 20200101000000Z 20210101000000Z
	start_tls_server --tls-auth-clients yes
	for version in TLSv1.2 TLSv1.3; do
		cli CONFIG SET tls-protocols "$version"
		tls_fails 77 "cannot reach $(tls_url): it wants a certificate of ours (--tls-cert)"
		tls_fails 77 'it does not accept our certificate: tlsv1 alert unknown ca' \
			--tls-cert "$TLS_DIR/unknown-client.crt" --tls-key "$TLS_DIR/unknown-client.key"
		tls_fails 77 'it does not accept our certificate: ' \
			--tls-cert "$TLS_DIR/expired-client.crt" --tls-key "$TLS_DIR/expired-client.key"
		assert_output --partial 'alert certificate expired' # OpenSSL 3.0 says sslv3, later ones ssl/tls
	done
}

@test "fairlock hears why its certificate is refused under TLS 1.3 if it cannot write any more" {
	ending_server refuse
	slowly tls_fails 77 "cannot reach $(tls_url): it wants a certificate of ours (--tls-cert)"
	grep -q ECONNRESET trace
	slowly tls_fails 77 "cannot reach $(tls_url): it does not accept our certificate: tlsv1 alert unknown ca" \
		--tls-cert "$TLS_DIR/unknown-client.crt" --tls-key "$TLS_DIR/unknown-client.key"
	grep -q ECONNRESET trace
}

@test "a TLS file that is missing or something else gives status 78 with option and file" {
	client=(--tls-cert "$TLS_DIR/client.crt")
	start_tls_server
	echo nonsense >nonsense
	: >empty
	tls_fails 78 "cannot use --tls-ca /nowhere: No such file or directory" --tls-ca /nowhere
	for file in nonsense empty "$TLS_DIR/client.key"; do
		tls_fails 78 "cannot use --tls-ca $(realpath $file): there is no certificate in it" --tls-ca "$file"
		tls_fails 78 "cannot use --tls-cert $(realpath $file): there is no certificate in it" --tls-cert "$file"
	done
	tls_fails 78 'cannot use --tls-cert /nowhere: No such file or directory' --tls-cert /nowhere
	tls_fails 78 "cannot use --tls-key $TLS_DIR/client.crt: there is no key in it" "${client[@]}"
	tls_fails 78 "cannot use --tls-key $PWD/nonsense: there is no key in it" "${client[@]}" --tls-key nonsense
	tls_fails 78 'cannot use --tls-key /nowhere: No such file or directory' "${client[@]}" --tls-key /nowhere
	tls_fails 78 "cannot use --tls-key $TLS_DIR/server.key: the key does not belong to the certificate" \
		"${client[@]}" --tls-key "$TLS_DIR/server.key"
	FAIRLOCK_TLS_CA=/nowhere tls_fails 78 'cannot use --tls-ca /nowhere: '
}

@test "a key with a password is refused, and fairlock does not ask for the password" {
	client=(--tls-cert "$TLS_DIR/client.crt")
	openssl ec -aes128 -passout pass:sesame -in "$TLS_DIR/client.key" -out old.key
	openssl pkcs8 -topk8 -passout pass:sesame -in "$TLS_DIR/client.key" -out new.key
	start_tls_server
	for key in old new; do
		tls_fails 78 "cannot use --tls-key $PWD/$key.key: the key has a password" "${client[@]}" --tls-key "$key.key"
	done
	cat >on-terminal <<END
spawn $FAIRLOCK acquire -n -u $(tls_url) ${client[*]} --tls-key new.key job
set timeout 20
expect {
	-re "(?i)pass ?phrase|password:" { exit 9 }
	timeout { exit 10 }
	eof {}
}
exit [lindex [wait] 3]
END
	run -78 timeout 60 expect on-terminal 3>&- 4>&-
	assert_output --partial 'the key has a password'
}

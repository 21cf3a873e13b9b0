# TLS certificates: the servers that fairlock trusts, and the certificate that it shows to them.
load ../lib/helpers
load ../lib/tls

setup_file() { make_certificates; }

setup() {
	use_certificates
	unset FAIRLOCK_URL
}

# with_hosts NAME COMMAND...: runs COMMAND where NAME is 127.0.0.1
with_hosts() {
	echo "127.0.0.1 localhost $1" >hosts
	unshare -rm sh -c 'mount --bind hosts /etc/hosts && exec "$@"' sh "${@:2}" 3>&- 4>&-
}

# ---- Which servers fairlock trusts ----

# shows NAME: the server shows this certificate from now on
shows() { cli CONFIG SET tls-cert-file "$TLS_DIR/$1.crt" tls-key-file "$TLS_DIR/$1.key"; }

@test "fairlock looks for a name among the certificate's names, for an address among its addresses" {
	start_tls_server
	tls_acquires
	tls_acquires -u "$(tls_url 127.0.0.1)"
	tls_acquires -u "$(tls_url '[::1]')"
	# musl looks in /etc/hosts for a name as it is written.
	is_static || tls_acquires -u "$(tls_url LocalHost)"
	new_certificate only-name DNS:localhost
	shows only-name
	tls_acquires
	new_certificate only-address IP:127.0.0.1,DNS:127.0.0.1
	shows only-address
	tls_acquires -u "$(tls_url 127.0.0.1)"
}

@test "a certificate of another name or time, or of an unknown authority, gives status 69 and says why" {
	new_certificate only-name DNS:localhost
	new_certificate only-address IP:127.0.0.1,DNS:127.0.0.1
	COMMON_NAME=localhost new_certificate only-subject ''
	COMMON_NAME=127.0.0.1 new_certificate address-in-subject ''
	new_certificate future DNS:localhost ca 20480101000000Z 20490101000000Z
	start_tls_server
	while read -r name host why; do
		echo "$name $host"
		shows "$name"
		tls_fails 69 "its certificate is not trusted: $why" -u "$(tls_url "$host")"
	done <<'END'
only-name 127.0.0.1 IP address mismatch
only-name [::1] IP address mismatch
only-address localhost hostname mismatch
only-subject localhost hostname mismatch
address-in-subject 127.0.0.1 IP address mismatch
expired localhost certificate has expired
future localhost certificate is not yet valid
unknown localhost unable to get local issuer certificate
END
	shows unknown
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
	start_tls_server
	for name in wrong-name expired unknown; do
		shows "$name"
		tls_acquires
	done
	FAIRLOCK_TLS_INSECURE=no tls_fails 69 'its certificate is not trusted'
	unset FAIRLOCK_TLS_INSECURE FAIRLOCK_TLS_CA
	tls_fails 69 'its certificate is not trusted'
	tls_acquires --tls-insecure
}

@test "the server is told the host's name, and shows the certificate for it" {
	unshare -rm true 2>/dev/null || skip 'this machine allows no namespaces'
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

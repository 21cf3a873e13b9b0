# Certificates and servers with TLS: `load helpers`, then `load tls`.
#
# In TLS_DIR are NAME.crt and NAME.key:
#
#   ca            the authority that signed the others
#   server        for localhost, 127.0.0.1 and ::1
#   wrong-name    for elsewhere.example
#   expired       for the names of `server`, until 2021
#   unknown       for the names of `server`, signed by unknown-ca
#   client        for a client; unknown-client is signed by unknown-ca
#
# A test can make more: COMMON_NAME=localhost new_certificate NAME DNS:a.example,IP:127.0.0.1

# Makes all of these, once for each file of tests.
make_certificates() {
	local here=DNS:localhost,IP:127.0.0.1,IP:::1

	export TLS_DIR=$BATS_FILE_TMPDIR/tls
	mkdir "$TLS_DIR"
	new_authority ca
	new_authority unknown-ca
	new_certificate server "$here"
	new_certificate wrong-name DNS:elsewhere.example
	new_certificate expired "$here" ca 20200101000000Z 20210101000000Z
	new_certificate unknown "$here" unknown-ca
	new_certificate client DNS:client.example
	new_certificate unknown-client DNS:client.example unknown-ca
}

# new_key NAME [OPTION of openssl req...]
new_key() {
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$TLS_DIR/$1.key" \
		-subj "/CN=${COMMON_NAME:-test $1}" -config <(printf '%s\n' '[req]' 'distinguished_name = none' '[none]') "${@:2}"
}

# new_authority NAME: an authority that signs itself
new_authority() {
	quietly new_key "$1" -x509 -days 2 -out "$TLS_DIR/$1.crt" \
		-addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
}

# new_certificate NAME ALTERNATIVE-NAMES [AUTHORITY [FROM UNTIL]]: times are YYYYMMDDHHMMSSZ; the
# ALTERNATIVE-NAMES may be ''
new_certificate() {
	local name=$1 names=$2 authority=${3:-ca} from=${4:-20200101000000Z} until=${5:-20490101000000Z}

	quietly new_key "$name" -out "$TLS_DIR/$name.csr"
	# On Debian 12 only `openssl ca` takes dates of the past.
	: >"$TLS_DIR/index"
	cat >"$TLS_DIR/ca.conf" <<-CONF
		[ca]
		default_ca = authority
		[authority]
		database = $TLS_DIR/index
		new_certs_dir = $TLS_DIR
		rand_serial = yes
		unique_subject = no
		default_md = sha256
		policy = any
		x509_extensions = extensions
		[any]
		commonName = supplied
		[extensions]
		basicConstraints = CA:FALSE
		${names:+subjectAltName = $names}
	CONF
	quietly openssl ca -batch -notext -config "$TLS_DIR/ca.conf" \
		-cert "$TLS_DIR/$authority.crt" -keyfile "$TLS_DIR/$authority.key" \
		-startdate "$from" -enddate "$until" -in "$TLS_DIR/$name.csr" -out "$TLS_DIR/$name.crt"
}

# quietly COMMAND...: prints the output of COMMAND only if that fails
quietly() {
	local said

	said=$("$@" 2>&1) || {
		echo "$said" >&2
		return 1
	}
}

# start_tls_server [CERTIFICATE] [OPTION...]: a server with TLS on a port of 127.0.0.1 and ::1, and
# on no other port unless an OPTION says so. Sets TLS_PORT, and all that start_server sets: `cli`
# reaches the server through its unix socket. It asks for no client certificate unless an OPTION
# says so (--tls-auth-clients optional or yes). Servers with different CERTIFICATEs may run in one
# test.
start_tls_server() {
	local certificate=server SERVER_DIR

	[[ ${1:---} = --* ]] || { certificate=$1; shift; }
	SERVER_DIR=$(server_dir)/tls-$certificate
	mkdir -p "$SERVER_DIR"
	start_server --bind 127.0.0.1 -::1 --tls-port "$(free_port)" --tls-auth-clients no \
		--tls-cert-file "$TLS_DIR/$certificate.crt" --tls-key-file "$TLS_DIR/$certificate.key" \
		--tls-ca-cert-file "$TLS_DIR/ca.crt" "$@" || return
	TLS_PORT=$(cli CONFIG GET tls-port | tail -n 1)
	export TLS_PORT
}

# For the tests of a file

# The test runs in its folder, and fairlock trusts the authority `ca`.
use_certificates() {
	cd "$BATS_TEST_TMPDIR" || return
	unset SSL_CERT_FILE SSL_CERT_DIR
	export FAIRLOCK_CONNECT_TIMEOUT=10s FAIRLOCK_TLS_CA=$TLS_DIR/ca.crt
}

# tls_url [HOST]: the URL of the server at TLS_PORT, for localhost unless HOST is given
tls_url() { echo "rediss://${1:-localhost}:$TLS_PORT"; }

# tls_acquires [OPTION...]: acquire gets the lock with these options
tls_acquires() {
	run -0 timeout 60 "$FAIRLOCK" acquire -n -l 1d -u "$(tls_url localhost)" "$@" job
	assert_output --regexp '^[0-9a-f-]{36}:[0-9]+$'
	[ "$(cli DEL job)" = 1 ]
}

# tls_fails STATUS TEXT [OPTION...]: acquire ends with STATUS and one message that has TEXT, long
# before a timeout for a missing answer
tls_fails() {
	run "-$1" timeout 8 "$FAIRLOCK" acquire -n -u "$(tls_url localhost)" "${@:3}" job
	[ "${#lines[@]}" = 1 ]
	assert_output --regexp '^fairlock: cannot .*: .*'
	assert_output --partial "$2"
}

# openssl_server CERTIFICATE [OPTION...]: OpenSSL's own server, which knows no Redis, at TLS_PORT;
# its output is in `said`
openssl_server() {
	TLS_PORT=$(free_port)
	[ -p in ] || mkfifo in # an input that never ends
	background sh -c 'exec "$@" <>in' sh openssl s_server -accept "127.0.0.1:$TLS_PORT" -cert "$TLS_DIR/$1.crt" -key "$TLS_DIR/$1.key" \
		"${@:2}" >said 2>&1
	wait_until grep -q ACCEPT said
}

# ending_server WAY: a server that ends each connection, at TLS_PORT; nonsense.py knows the ways
ending_server() {
	TLS_PORT=$(free_port)
	background python3 "$TESTS_DIR/lib/nonsense.py" "$TLS_PORT" "$1" "$TLS_DIR"
	wait_until is_taken "$TLS_PORT"
}

# slowly COMMAND...: runs it with a fairlock that waits for 500 ms before each of its first writes: what the server says of its
# own accord is there before. The calls are in `trace`.
slowly() {
	echo "exec strace -f -o trace -e trace=write -e inject=write:delay_enter=500000:when=1..6 ${FAIRLOCK@Q} \"\$@\"" >slow
	chmod +x slow
	# A sanitizer cannot look for leaks in a process that is traced.
	ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 FAIRLOCK=./slow "$@"
}

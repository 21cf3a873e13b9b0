# Certificates and servers with TLS: `load helpers`, then `load tls`.
#
#   setup_file() { make_certificates; }
#
#   @test "..." {
#       start_tls_server                        # with the certificate `server`
#       start_tls_server expired                # with another one
#       start_tls_server server --tls-auth-clients yes --port "$(free_port)"
#       "$FAIRLOCK" acquire -u "rediss://localhost:$TLS_PORT" --tls-ca "$TLS_DIR/ca.crt" job
#   }
#
# In TLS_DIR are NAME.crt and NAME.key:
#
#   ca            the authority that signed the others
#   server        for localhost, 127.0.0.1 and ::1
#   wrong-name    for elsewhere.example
#   expired       for localhost..., until 2021
#   unknown       for localhost..., signed by unknown-ca
#   client        for a client; unknown-client is signed by unknown-ca
#
# and what a test makes: COMMON_NAME=localhost new_certificate NAME DNS:a.example,IP:127.0.0.1

source "${BASH_SOURCE[0]%/*}/ports.bash"

# Makes them all, once for each file of tests.
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

new_authority() {
	told new_key "$1" -x509 -days 2 -out "$TLS_DIR/$1.crt" \
		-addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
}

# new_certificate NAME ALTERNATIVE-NAMES [AUTHORITY [FROM UNTIL]]: times are YYYYMMDDHHMMSSZ; the names
# may be ''
new_certificate() {
	local name=$1 names=$2 authority=${3:-ca} from=${4:-20200101000000Z} until=${5:-20490101000000Z}

	told new_key "$name" -out "$TLS_DIR/$name.csr"
	# Of all that Debian 12 has, only `openssl ca` takes dates of the past.
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
	told openssl ca -batch -notext -config "$TLS_DIR/ca.conf" \
		-cert "$TLS_DIR/$authority.crt" -keyfile "$TLS_DIR/$authority.key" \
		-startdate "$from" -enddate "$until" -in "$TLS_DIR/$name.csr" -out "$TLS_DIR/$name.crt"
}

# told COMMAND...: what it says is of interest when it fails
told() {
	local said

	said=$("$@" 2>&1) || {
		echo "$said" >&2
		return 1
	}
}

# start_tls_server [CERTIFICATE] [OPTION...]: a server with TLS on a port of 127.0.0.1 and ::1, and on
# no other unless an OPTION says so. Sets TLS_PORT, and all that start_server sets: `cli` reaches it
# through its unix socket. It asks for no client certificate (--tls-auth-clients no, optional, yes).
# Each CERTIFICATE has a folder, so several may run in one test.
start_tls_server() {
	local certificate=server SERVER_DIR

	[[ ${1:---} = --* ]] || { certificate=$1; shift; }
	SERVER_DIR=$(server_dir)/tls-$certificate
	mkdir -p "$SERVER_DIR"
	start_server --bind 127.0.0.1 -::1 --tls-port "$(free_ports 1)" --tls-auth-clients no \
		--tls-cert-file "$TLS_DIR/$certificate.crt" --tls-key-file "$TLS_DIR/$certificate.key" \
		--tls-ca-cert-file "$TLS_DIR/ca.crt" "$@" || return
	TLS_PORT=$(cli CONFIG GET tls-port | tail -n 1)
	export TLS_PORT
}

# redis-cli through TLS
tls_cli() {
	"$CLI" --tls --cacert "$TLS_DIR/ca.crt" -h localhost -p "$TLS_PORT" "$@" 3>&- 4>&-
}

# TLS: who is trusted, who is not, and how it is told.

setup_file() {
	load ../lib/helpers
	load ../lib/tls
	make_certificates
}

setup() {
	load ../lib/helpers
	load ../lib/tls
	load ../lib/proxy
	cd "$BATS_TEST_TMPDIR" || return
	unset FAIRLOCK_URL SSL_CERT_FILE SSL_CERT_DIR
	export FAIRLOCK_CONNECT_TIMEOUT=10s FAIRLOCK_TLS_CA=$TLS_DIR/ca.crt
}

# TLS_PORT of localhost, or of another HOST
url() { echo "rediss://${1:-localhost}:$TLS_PORT"; }

# gets_lock [OPTION...]
gets_lock() {
	run -0 timeout 60 "$FAIRLOCK" acquire -n -l 1d -u "$(url)" "$@" job
	assert_output --regexp '^[0-9a-f-]{36}:[0-9]+$'
	[ "$(cli DEL job)" = 1 ]
}

# fails STATUS TEXT [OPTION...]: acquiring ends so, with one line of ours that has TEXT in it, and long before
# it would for want of an answer
fails() {
	run "-$1" timeout 8 "$FAIRLOCK" acquire -n -u "$(url)" "${@:3}" job
	[ "${#lines[@]}" = 1 ]
	assert_output --regexp '^fairlock: cannot .*: .*'
	assert_output --partial "$2"
}

# hosts_or_skip: for a test that uses what follows
hosts_or_skip() {
	unshare -rm true 2>/dev/null || skip 'this machine allows no namespaces'
}

# with_hosts NAME COMMAND...: where NAME is 127.0.0.1
with_hosts() {
	echo "127.0.0.1 localhost $1" >hosts
	# shellcheck disable=SC2016
	unshare -rm sh -c 'mount --bind hosts /etc/hosts && exec "$@"' sh "${@:2}" 3>&- 4>&-
}

# openssl_server CERTIFICATE [OPTION...]: that of OpenSSL, which knows no Redis, at TLS_PORT; it talks in `said`
openssl_server() {
	TLS_PORT=$(free_ports 1)
	[ -p in ] || mkfifo in # which never ends
	# shellcheck disable=SC2016
	background sh -c 'exec "$@" <>in' sh openssl s_server -accept "127.0.0.1:$TLS_PORT" -cert "$TLS_DIR/$1.crt" -key "$TLS_DIR/$1.key" \
		"${@:2}" >said 2>&1
	wait_until grep -q ACCEPT said
}

# ---- Whom we trust ----

@test "a lock is taken, renewed, shown and given back over TLS" {
	start_tls_server
	export FAIRLOCK_URL=rediss://localhost:$TLS_PORT

	owner=$("$FAIRLOCK" acquire job)
	"$FAIRLOCK" renew --owner "$owner" job
	run -0 "$FAIRLOCK" status -q job
	"$FAIRLOCK" release --owner "$owner" job
	run -1 "$FAIRLOCK" status -q job
	run -7 "$FAIRLOCK" wrap job -- sh -c 'exit 7'
	FAIRLOCK_URL=valkeys://localhost:$TLS_PORT run -8 "$FAIRLOCK" wrap job -- sh -c 'exit 8'
}

@test "a name is looked for among the certificate's names, an address among its addresses" {
	start_tls_server
	gets_lock
	gets_lock -u "$(url 127.0.0.1)"
	gets_lock -u "$(url '[::1]')"
	gets_lock -u "$(url LocalHost)"

	new_certificate only-name DNS:localhost
	cli CONFIG SET tls-cert-file "$TLS_DIR/only-name.crt" tls-key-file "$TLS_DIR/only-name.key"
	gets_lock
	fails 69 'its certificate is not trusted: IP address mismatch' -u "$(url 127.0.0.1)"
	fails 69 'its certificate is not trusted: IP address mismatch' -u "$(url '[::1]')"

	new_certificate only-address IP:127.0.0.1,DNS:127.0.0.1
	cli CONFIG SET tls-cert-file "$TLS_DIR/only-address.crt" tls-key-file "$TLS_DIR/only-address.key"
	gets_lock -u "$(url 127.0.0.1)"
	fails 69 'its certificate is not trusted: hostname mismatch'
}

@test "a certificate for somebody else: 69" {
	start_tls_server wrong-name
	fails 69 "cannot reach $(url): its certificate is not trusted: hostname mismatch"
	fails 69 'its certificate is not trusted: IP address mismatch' -u "$(url 127.0.0.1)"
}

@test "a certificate that has the name in its subject only: 69" {
	COMMON_NAME=localhost new_certificate only-subject ''
	start_tls_server only-subject
	fails 69 'its certificate is not trusted: hostname mismatch'
	COMMON_NAME=127.0.0.1 new_certificate only-subject ''
	cli CONFIG SET tls-cert-file "$TLS_DIR/only-subject.crt" tls-key-file "$TLS_DIR/only-subject.key"
	fails 69 'its certificate is not trusted: IP address mismatch' -u "$(url 127.0.0.1)"
}

@test "a certificate that has expired, or is not valid yet: 69" {
	start_tls_server expired
	fails 69 'its certificate is not trusted: certificate has expired'
	new_certificate future DNS:localhost ca 20480101000000Z 20490101000000Z
	cli CONFIG SET tls-cert-file "$TLS_DIR/future.crt" tls-key-file "$TLS_DIR/future.key"
	fails 69 'its certificate is not trusted: certificate is not yet valid'
}

@test "an authority that is not trusted: 69" {
	start_tls_server unknown
	fails 69 'its certificate is not trusted: unable to get local issuer certificate'
	gets_lock --tls-ca "$TLS_DIR/unknown-ca.crt"
}

@test "without --tls-ca those are trusted whom the system trusts" {
	unset FAIRLOCK_TLS_CA
	start_tls_server
	fails 69 'its certificate is not trusted'
	SSL_CERT_FILE=$TLS_DIR/ca.crt gets_lock
	export SSL_CERT_FILE=$TLS_DIR/ca.crt
	fails 69 'its certificate is not trusted' --tls-ca "$TLS_DIR/unknown-ca.crt"
}

@test "--tls-ca may be a folder" {
	mkdir folder
	cp "$TLS_DIR"/{ca,unknown-ca}.crt folder
	start_tls_server
	fails 69 'its certificate is not trusted' --tls-ca folder
	openssl rehash folder
	gets_lock --tls-ca folder
	start_tls_server wrong-name
	fails 69 'hostname mismatch' --tls-ca folder
}

@test "--tls-insecure trusts anybody" {
	local name

	export FAIRLOCK_TLS_INSECURE=yes
	for name in wrong-name expired unknown; do
		start_tls_server "$name"
		gets_lock
	done
	FAIRLOCK_TLS_INSECURE=no fails 69 'its certificate is not trusted'
	unset FAIRLOCK_TLS_INSECURE FAIRLOCK_TLS_CA
	fails 69 'its certificate is not trusted'
	gets_lock --tls-insecure
}

@test "a wildcard stands for one whole label" {
	hosts_or_skip
	local name

	new_certificate wildcard 'DNS:*.example.com,DNS:lo*.example.org,DNS:*'
	start_tls_server wildcard
	run -0 with_hosts lock.example.com "$FAIRLOCK" acquire -u "$(url lock.example.com)" job
	# a dot at the end is for who looks it up
	run -0 with_hosts lock.example.com. "$FAIRLOCK" acquire -u "$(url lock.example.com.)" other
	for name in a.lock.example.com example.com lock.example.org localhost.test; do
		run -69 with_hosts "$name" "$FAIRLOCK" acquire -n -u "$(url "$name")" job
		assert_output --partial 'its certificate is not trusted: hostname mismatch'
	done
}

@test "the server hears the name that is meant, and shows the certificate for it" {
	hosts_or_skip
	new_certificate other DNS:lock.example.com
	openssl_server server -servername lock.example.com -cert2 "$TLS_DIR/other.crt" -key2 "$TLS_DIR/other.key"
	# the handshake is fine: what is said then is no Redis
	run with_hosts lock.example.com. timeout 8 "$FAIRLOCK" acquire -u "$(url lock.example.com.)" job
	refute_output --partial certificate
	run -0 grep -a -m 1 'Hostname in TLS extension' said
	assert_output 'Hostname in TLS extension: "lock.example.com"'
	run with_hosts lock.example.com timeout 8 "$FAIRLOCK" acquire -u "$(url)" job
	refute_output --partial certificate
	wait_until grep -qa 'Hostname in TLS extension: "localhost"' said
	run -69 with_hosts other.example.com timeout 8 "$FAIRLOCK" acquire -u "$(url other.example.com)" job
	assert_output --partial 'hostname mismatch'
	# an address is no name
	: >said
	run timeout 8 "$FAIRLOCK" acquire -u "$(url 127.0.0.1)" job
	run -1 grep -a 'Hostname in TLS extension: "127' said
}

# ---- What is at the other end ----

@test "a server without TLS under rediss: 69 within the connect timeout" {
	TLS_PORT=$(free_port)
	export FAIRLOCK_CONNECT_TIMEOUT=1s
	start_server --port "$TLS_PORT" --bind 127.0.0.1
	# its random bytes may be the end of a line for who speaks no TLS, or not
	fails 69 'speak TLS'
	fails 69 "cannot reach $(url 127.0.0.1): " -u "$(url 127.0.0.1)"
	assert_output --partial 'speak TLS'
}

@test "a server with TLS under redis: 69 with what may be wrong" {
	export FAIRLOCK_CONNECT_TIMEOUT=1s
	start_tls_server
	fails 69 "cannot reach redis://localhost:$TLS_PORT: " -u "redis://localhost:$TLS_PORT"
	assert_output --partial TLS
	fails 69 rediss:// -u "redis://127.0.0.1:$TLS_PORT"
	openssl_server server
	fails 69 rediss:// -u "redis://127.0.0.1:$TLS_PORT"
}

@test "a peer that stops in the middle of the handshake: 69 after the connect timeout" {
	local bytes

	export FAIRLOCK_CONNECT_TIMEOUT=500ms
	start_tls_server
	kill -s STOP "$SERVER_PID"
	fails 69 'no answer to the TLS handshake in time'
	fails 69 'no answer to the TLS handshake in time' -u "$(url 127.0.0.1)"
	kill -s CONT "$SERVER_PID"
	start_proxy "127.0.0.1:$TLS_PORT"
	TLS_PORT=$PROXY_PORT
	for bytes in 1 5 100 600; do
		proxy only "$bytes" down
		fails 69 'no answer to the TLS handshake in time'
		proxy pass
	done
	FAIRLOCK_CONNECT_TIMEOUT=10s gets_lock
}

@test "a peer that goes away in the middle of the handshake: 69" {
	export FAIRLOCK_CONNECT_TIMEOUT=1s
	start_tls_server
	start_proxy "127.0.0.1:$TLS_PORT"
	TLS_PORT=$PROXY_PORT
	proxy only 100 down
	background timeout 20 "$FAIRLOCK" acquire -u "$(url)" job 2>said
	local pid=$! status=0
	wait_until connected
	proxy reset
	wait "$pid" || status=$?
	[ "$status" = 69 ]
	run -0 cat said
	assert_output --regexp "^fairlock: cannot reach $(url): .* TLS handshake"
	# one that understands nothing, and ends the connection
	proxy refuse
	openssl_server server -cipher ECDHE-RSA-AES256-GCM-SHA384 -tls1_2
	fails 69 'the TLS handshake failed: '
}

connected() { [ "$(proxy count)" = 1 ]; }

@test "TLS 1.2 and 1.3 will do, 1.1 will not" {
	start_tls_server
	[ "$(cli CONFIG SET tls-protocols TLSv1.2)" = OK ]
	gets_lock
	[ "$(cli CONFIG SET tls-protocols TLSv1.3)" = OK ]
	gets_lock
	openssl_server server -tls1_1 -cipher DEFAULT@SECLEVEL=0
	fails 69 'the TLS handshake failed: '
	assert_output --partial version
}

# ---- Who we are ----

@test "a server that wants a certificate gets ours" {
	local client=(--tls-cert "$TLS_DIR/client.crt" --tls-key "$TLS_DIR/client.key")

	start_tls_server --tls-auth-clients yes
	gets_lock "${client[@]}"
	cli CONFIG SET tls-protocols TLSv1.2
	gets_lock "${client[@]}"
	cat "$TLS_DIR"/client.{key,crt} >both
	gets_lock --tls-cert both
	FAIRLOCK_TLS_CERT=both gets_lock
	FAIRLOCK_TLS_CERT=$TLS_DIR/client.crt FAIRLOCK_TLS_KEY=both gets_lock
}

@test "without a certificate that the server wants, or with one that it does not trust: 77" {
	local version

	new_certificate expired-client DNS:client.example ca 20200101000000Z 20210101000000Z
	start_tls_server --tls-auth-clients yes
	for version in TLSv1.2 TLSv1.3; do
		cli CONFIG SET tls-protocols "$version"
		fails 77 "cannot reach $(url): it wants a certificate of ours (--tls-cert)"
		fails 77 'it does not accept our certificate: tlsv1 alert unknown ca' \
			--tls-cert "$TLS_DIR/unknown-client.crt" --tls-key "$TLS_DIR/unknown-client.key"
		fails 77 'it does not accept our certificate: ' \
			--tls-cert "$TLS_DIR/expired-client.crt" --tls-key "$TLS_DIR/expired-client.key"
		assert_output --partial 'alert certificate expired' # OpenSSL 3.0 says sslv3, later ones ssl/tls
	done
}

@test "a file that is missing, or something else: 78, naming option and file" {
	local client=(--tls-cert "$TLS_DIR/client.crt")

	start_tls_server
	echo nonsense >nonsense
	: >empty
	fails 78 "cannot use --tls-ca /nowhere: No such file or directory" --tls-ca /nowhere
	for file in nonsense empty "$TLS_DIR/client.key"; do
		fails 78 "cannot use --tls-ca $(realpath $file): there is no certificate in it" --tls-ca "$file"
		fails 78 "cannot use --tls-cert $(realpath $file): there is no certificate in it" --tls-cert "$file"
	done
	fails 78 'cannot use --tls-cert /nowhere: No such file or directory' --tls-cert /nowhere
	fails 78 "cannot use --tls-key $TLS_DIR/client.crt: there is no key in it" "${client[@]}"
	fails 78 "cannot use --tls-key $PWD/nonsense: there is no key in it" "${client[@]}" --tls-key nonsense
	fails 78 'cannot use --tls-key /nowhere: No such file or directory' "${client[@]}" --tls-key /nowhere
	fails 78 "cannot use --tls-key $TLS_DIR/server.key: the key is not that of the certificate" \
		"${client[@]}" --tls-key "$TLS_DIR/server.key"
	FAIRLOCK_TLS_CA=/nowhere fails 78 'cannot use --tls-ca /nowhere: '
}

@test "a key with a password is refused, and nobody is asked for it" {
	local client=(--tls-cert "$TLS_DIR/client.crt")

	openssl ec -aes128 -passout pass:sesame -in "$TLS_DIR/client.key" -out old.key
	openssl pkcs8 -topk8 -passout pass:sesame -in "$TLS_DIR/client.key" -out new.key
	start_tls_server
	for key in old new; do
		fails 78 "cannot use --tls-key $PWD/$key.key: the key has a password" "${client[@]}" --tls-key "$key.key"
	done
	cat >on-terminal <<END
spawn $FAIRLOCK acquire -n -u $(url) ${client[*]} --tls-key new.key job
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

@test "completion asks a server with TLS for the names of locks" {
	start_tls_server
	export FAIRLOCK_URL=rediss://localhost:$TLS_PORT FAIRLOCK_TLS_CA=$TLS_DIR/ca.crt

	"$FAIRLOCK" wrap job true
	offering job run -0 "$FAIRLOCK" --complete status j
	assert_output job
}

# ---- What is told, and what it costs ----

@test "no message has a password or a line of a key in it, nor has what COMMAND inherits" {
	local secret
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

@test "who uses no TLS loads nothing of OpenSSL" {
	local url command

	# a sanitizer cannot look for leaks in who is traced
	export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
	start_tls_server --port "$(free_ports 1)"
	for url in "unix:$SERVER_SOCKET" "redis://127.0.0.1:$(cli CONFIG GET port | tail -n 1)"; do
		for command in 'acquire other' 'wrap job true' 'status job' 'queue job'; do
			# shellcheck disable=SC2086
			run -0 strace -f -e trace=open,openat,execve -o trace "$FAIRLOCK" ${command% *} -u "$url" ${command##* }
			run -1 grep -e libssl -e libcrypto -e openssl.cnf -e fairlock-tls trace
		done
	done
	# but this one sees it
	run -0 strace -f -e trace=open,openat,execve -o trace "$FAIRLOCK" status -u "$(url)" job
	run -0 grep -c -e 'libssl.*= [0-9]' -e 'fairlock-tls' trace
}

@test "the installed fairlock finds what it needs for TLS, and says so when that is missing" {
	start_tls_server
	install_to "$PWD/root"
	[ -x root/usr/libexec/fairlock-tls ]
	FAIRLOCK=root/usr/bin/fairlock gets_lock
	PATH=$PWD/root/usr/bin:$PATH FAIRLOCK=fairlock gets_lock
	ln -s root/usr/bin/fairlock elsewhere
	FAIRLOCK=./elsewhere gets_lock
	run -1 root/usr/bin/fairlock status -q -u "$(url)" job
	rm root/usr/libexec/fairlock-tls
	run -71 root/usr/bin/fairlock acquire -u "$(url)" job
	assert_output "fairlock: cannot run fairlock-tls, which belongs beside $(realpath root/usr/bin/fairlock): No such file or directory"
	run -71 root/usr/bin/fairlock status -u "$(url)" job
	assert_output --partial 'fairlock: cannot run fairlock-tls'
	run -0 root/usr/bin/fairlock acquire -u "unix:$SERVER_SOCKET" job
}

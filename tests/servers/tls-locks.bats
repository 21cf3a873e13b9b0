# Locks over TLS are held, waited for and handed on as without it.
load ../lib/jobs
load ../lib/tls
load ../lib/holders

setup_file() { make_certificates; }

setup() { use_certificates; }

# use_tls_server [CERTIFICATE] [OPTION...]: starts a server for all commands of the test
use_tls_server() {
	start_tls_server "$@"
	export FAIRLOCK_URL=rediss://localhost:$TLS_PORT
}

token() { cli --raw HGET "fairlock:{$1}" token; }

# With a short grace a busy machine has more of a short lease to renew it in.
@test "wrap holds, renews and releases the lock, and COMMAND has no socket" {
	use_tls_server
	cat >job <<'END'
ls -l /proc/self/fd >descriptors
: >started
while [ ! -e go ]; do sleep 0.1; done
exit 5
END
	background "$FAIRLOCK" wrap -l 1s -k 100ms job sh job
	wrapper=$!
	wait_until test -e started
	run -1 grep -e socket: -e anon_inode: descriptors
	token=$(token job)
	sleep 2.5 # more than two leases
	[ "$(cli EXISTS job)" = 1 ]
	[ "$(token job)" = "$token" ]
	touch go
	ends_with 5 "$wrapper"
	nothing_left
}

@test "the first waiter has its guard ready, which renews over a connection of its own" {
	use_tls_server
	hold job
	background "$FAIRLOCK" wrap -l 1s -k 100ms job sh -c 'echo $$ >pid; sleep 2.5; "$FAIRLOCK" status -q job; echo $? >held; exit 5' 2>said
	waiter=$!
	wait_until has_guard "$waiter"
	kill "$HOLDER"
	wait_until test -s pid
	[ "$(ps -o ppid= -p "$(cat pid)" | tr -d ' ')" = "$GUARD" ]
	ends_with 5 "$waiter"
	[ "$(cat held)" = 0 ]
	[ ! -s said ]
	wait_until nothing_left
}

# What calls of fairlock inside COMMAND find from another folder. A hold that they left would keep the lock for a lease.
inner() {
	echo 'cd / && "$FAIRLOCK" status --noheadings -o NAME,STATE job && "$FAIRLOCK" acquire -n job &&
		"$FAIRLOCK" release job && env'
}

@test "fairlock inside COMMAND finds server and TLS files that came from options" {
	use_tls_server --tls-auth-clients yes
	mkdir authority
	cp "$TLS_DIR/ca.crt" authority
	openssl rehash authority
	cp "$TLS_DIR"/client.{crt,key} .
	url=$FAIRLOCK_URL options=(--tls-ca authority --tls-cert client.crt --tls-key client.key)

	unset FAIRLOCK_URL FAIRLOCK_TLS_CA
	run -0 "$FAIRLOCK" wrap -u "$url" "${options[@]}" job sh -c "$(inner)"
	assert_line --regexp '^job +held$'
	assert_line "FAIRLOCK_URL=$url"
	assert_line "FAIRLOCK_TLS_CA=$PWD/authority"
	assert_line "FAIRLOCK_TLS_CERT=$PWD/client.crt"
	assert_line "FAIRLOCK_TLS_KEY=$PWD/client.key"
	refute_line --partial FAIRLOCK_TLS_INSECURE
	FAIRLOCK_URL=$url run -0 "$FAIRLOCK" wrap "${options[@]}" job sh -c "$(inner)"
	assert_line --regexp '^job +held$'
	printf '%s\n' "url = $url" "${options[@]}" | sed -E '/^--/{N;s/--(.*)\n/\1 = /}' >conf
	run -0 "$FAIRLOCK" wrap --config conf job sh -c "$(inner)"
	assert_line --regexp '^job +held$'
	run -0 "$FAIRLOCK" wrap -u "$url" "${options[@]:2}" --tls-insecure job sh -c "$(inner)"
	assert_line FAIRLOCK_TLS_INSECURE=yes
	# a file's name may be a link that changes
	ln -s client.crt now.crt
	run -0 "$FAIRLOCK" wrap -u "$url" "${options[@]}" --tls-cert now.crt job sh -c "$(inner)"
	assert_line "FAIRLOCK_TLS_CERT=$PWD/now.crt"
}

@test "a certificate replaced by a bad one ends no connection, but the next one is refused and the lock is lost" {
	use_tls_server
	background "$FAIRLOCK" wrap -l 9s job sh -c 'trap "touch stopped; exit" TERM; touch started; while :; do sleep 0.1; done' 2>said
	wrapper=$!
	wait_until test -e started
	cli CONFIG SET tls-cert-file "$TLS_DIR/expired.crt" tls-key-file "$TLS_DIR/expired.key"
	# More than a lease. A server whose reply is late by a sixth of the lease is asked over a new connection.
	sleep 10
	[ "$(cli EXISTS job)" = 1 ]
	[ ! -e stopped ]
	cli CLIENT KILL TYPE pubsub
	ends_with 76 "$wrapper"
	[ -e stopped ] || { cat said; return 1; }
	run -0 cat said
	assert_output --partial 'its certificate is not trusted: certificate has expired'
	[ "$(wc -l <said)" -le 3 ] # the outage, the loss, the end of the process
}

@test "sentinels and their master use TLS, also after a failover" {
	load ../lib/nodes
	NODES_TLS=yes
	start_sentinels
	export FAIRLOCK_URL=rediss+sentinel://$SENTINELS/mymaster
	background "$FAIRLOCK" wrap job sleep 600
	wait_until "$FAIRLOCK" status -q job
	token=$(master_cli --raw HGET 'fairlock:{job}' token)
	run -69 "$FAIRLOCK" acquire -n --tls-ca "$TLS_DIR/unknown-ca.crt" job
	assert_output --partial 'its certificate is not trusted'
	run -69 "$FAIRLOCK" acquire -n -u "redis+sentinel://$SENTINELS/mymaster" job
	fail_over
	wait_until renewed_at_master
	[ "$(master_cli --raw HGET 'fairlock:{job}' token)" = "$token" ]
	run -75 "$FAIRLOCK" acquire -n job
}

# The holder has subscribed there.
renewed_at_master() { [ "$(master_cli --raw PUBSUB CHANNELS 'redisson_lock__channel:{job}:*' | wc -l)" = 1 ]; }

@test "fairlock trusts a node that a cluster redirects it to by the same authority" {
	load ../lib/nodes
	NODES_TLS=yes
	start_cluster
	export FAIRLOCK_URL=rediss://127.0.0.1:${CLUSTER_PORTS%% *}
	for i in 1 2 3 4 5 6; do
		run -0 "$FAIRLOCK" wrap "job$i" "$FAIRLOCK" wrap "inner$i" true
	done
	run -69 "$FAIRLOCK" wrap --tls-ca "$TLS_DIR/unknown-ca.crt" job true
	assert_output --partial 'its certificate is not trusted'
}

# Locks over TLS are held, waited for and handed on as without it.

load ../lib/helpers
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

# show_certificate NAME: the server shows this certificate from now on
show_certificate() {
	run -0 cli CONFIG SET tls-cert-file "$TLS_DIR/$1.crt" tls-key-file "$TLS_DIR/$1.key"
	assert_output OK
}

token() { cli --raw HGET "fairlock:{$1}" token; }

# The number of connections that there have been.
greetings() { cli INFO commandstats | sed -n 's/^cmdstat_hello:calls=\([0-9]*\).*/\1/p'; }

# cut_off: the server ends the connections of its subscribers, and one has come back
cut_off() {
	local before

	before=$(greetings)
	[ "$(cli CLIENT KILL TYPE pubsub)" -gt 0 ]
	wait_until connected_after "$before"
}

connected_after() { [ "$(greetings)" -gt "$1" ]; }

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
	local wrapper=$! token
	wait_until test -e started
	run -1 grep -e socket: -e anon_inode: descriptors
	token=$(token job)
	sleep 2.5 # more than two leases
	[ "$(cli EXISTS job)" = 1 ]
	[ "$(token job)" = "$token" ]
	touch go
	status_of "$wrapper"
	[ "$STATUS" = 5 ]
	nothing_left
}

@test "a waiter is told its turn" {
	use_tls_server
	hold job
	background "$FAIRLOCK" wrap job touch done
	wait_until in_queue job 1
	run -75 "$FAIRLOCK" wrap -n job true
	kill "$HOLDER"
	wait_until test -e 'done'
	wait_until nothing_left
}

@test "the first waiter has its guard ready, which renews over a connection of its own" {
	local waiter

	use_tls_server
	hold job
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap -l 1s -k 100ms job sh -c 'echo $$ >pid; sleep 2.5; "$FAIRLOCK" status -q job; echo $? >held; exit 5' 2>said
	waiter=$!
	wait_until has_guard "$waiter"
	kill "$HOLDER"
	wait_until test -s pid
	[ "$(ps -o ppid= -p "$(cat pid)" | tr -d ' ')" = "$GUARD" ]
	status_of "$waiter"
	[ "$STATUS" = 5 ]
	[ "$(cat held)" = 0 ]
	[ ! -s said ]
	wait_until nothing_left
}

@test "several locks are waited for, renewed, and given back, each over a connection of its own" {
	local waiter

	use_tls_server
	hold b
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap -v -l 1s -k 100ms --also a --also c c sh -c 'sleep 1.5; "$FAIRLOCK" status -q a c' 2>free
	ends_with 0 $!
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap -v -l 1s -k 100ms --also a b sh -c 'sleep 2.5; "$FAIRLOCK" status -q a b; exit 5' 2>said
	waiter=$!
	wait_until has_guard "$waiter"
	kill "$HOLDER"
	ends_with 5 "$waiter"
	run ! grep -E 'lost|cannot|beginning' said free
	wait_until nothing_left
}

@test "the guard of a killed waiter ends" {
	local waiter

	use_tls_server
	hold job
	background "$FAIRLOCK" wrap job touch ran
	waiter=$!
	wait_until has_guard "$waiter"
	kill -KILL "$waiter"
	wait_until ended "$GUARD"
	wait_until nobody_present job
	[ ! -e ran ]
}

@test "the keeper of --while-pid renews and connects again, even if --tls-ca was a relative path" {
	use_tls_server
	unset FAIRLOCK_TLS_CA
	cp "$TLS_DIR/ca.crt" own.crt
	sleep 600 3>&- 4>&- &
	local pid=$! token
	"$FAIRLOCK" acquire -l 1s --tls-ca own.crt --while-pid "$pid" job
	token=$(token job)
	cut_off
	sleep 2.5 # more than two leases
	[ "$(cli EXISTS job)" = 1 ]
	[ "$(token job)" = "$token" ]
	kill "$pid"
	wait_until nothing_left
}

# What calls of fairlock inside COMMAND find from another folder. A hold that they left would keep the lock for a lease.
inner() {
	# shellcheck disable=SC2016
	echo 'cd / && "$FAIRLOCK" status --noheadings -o NAME,STATE job && "$FAIRLOCK" acquire -n job &&
		"$FAIRLOCK" release job && env'
}

@test "fairlock inside COMMAND finds server and TLS files that came from options" {
	use_tls_server --tls-auth-clients yes
	mkdir authority
	cp "$TLS_DIR/ca.crt" authority
	openssl rehash authority
	cp "$TLS_DIR"/client.{crt,key} .
	local url=$FAIRLOCK_URL options=(--tls-ca authority --tls-cert client.crt --tls-key client.key)

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
	run -0 "$FAIRLOCK" wrap -u "$url" "${options[@]:2}" --tls-insecure job sh -c "$(inner)"
	assert_line FAIRLOCK_TLS_INSECURE=yes
	# a file's name may be a link that changes
	ln -s client.crt now.crt
	run -0 "$FAIRLOCK" wrap -u "$url" "${options[@]}" --tls-cert now.crt job sh -c "$(inner)"
	assert_line "FAIRLOCK_TLS_CERT=$PWD/now.crt"
}

@test "options go before variables, and variables before the configuration file" {
	use_tls_server
	unset FAIRLOCK_URL FAIRLOCK_TLS_CA
	printf '%s\n' "url = rediss://localhost:$TLS_PORT" "tls-ca = $TLS_DIR/ca.crt" >conf
	run -0 "$FAIRLOCK" wrap --config conf job sh -c "cd / && ${FAIRLOCK@Q} status --config $PWD/conf job && env"
	refute_line --partial FAIRLOCK_TLS
	FAIRLOCK_TLS_CA=$TLS_DIR/unknown-ca.crt run -69 "$FAIRLOCK" wrap --config conf job true
	FAIRLOCK_TLS_CA=$TLS_DIR/unknown-ca.crt run -0 "$FAIRLOCK" wrap --config conf --tls-ca "$TLS_DIR/ca.crt" job true
	echo "tls-ca = $TLS_DIR/unknown-ca.crt" >>conf
	run -69 "$FAIRLOCK" wrap --config conf job true
	echo 'tls-insecure = yes' >>conf
	run -0 "$FAIRLOCK" wrap --config conf job true
	FAIRLOCK_TLS_INSECURE=no run -69 "$FAIRLOCK" wrap --config conf job true
}

@test "a password goes over TLS" {
	use_tls_server
	cli CONFIG SET requirepass sesame
	run -77 "$FAIRLOCK" acquire job
	assert_output --partial 'it wants a password: FAIRLOCK_PASSWORD or --password-file'
	FAIRLOCK_PASSWORD=guess run -77 "$FAIRLOCK" acquire job
	assert_output --partial 'the password from FAIRLOCK_PASSWORD'
	FAIRLOCK_PASSWORD=sesame run -0 "$FAIRLOCK" wrap job true
	run -0 "$FAIRLOCK" wrap -u "rediss://:sesame@localhost:$TLS_PORT" job true
}

@test "after a server has restarted without its data the holder keeps its token and the waiter its place" {
	use_tls_server
	local port=$TLS_PORT token
	# shellcheck disable=SC2016
	background "$FAIRLOCK" wrap job sh -c ': >started; while [ ! -e go ]; do sleep 0.1; done; echo "first $?" >>trace'
	wait_until test -e started
	token=$(token job)
	background "$FAIRLOCK" wrap job sh -c 'echo second >>trace'
	wait_until in_queue job 1
	stop_server
	start_tls_server --tls-port "$port"
	wait_until in_queue job 1
	wait_until has_token job "$token" # the holder may come back after the waiter
	touch go
	wait_until nothing_left
	run -0 cat trace
	assert_output $'first 0\nsecond'
}

# has_token NAME TOKEN
has_token() {
	[ "$(token "$1")" = "$2" ]
}

@test "a holder connects again to a server whose certificate was replaced by another good one" {
	use_tls_server
	new_certificate next DNS:localhost
	hold -l 6s job
	local token
	token=$(token job)
	show_certificate next
	cut_off
	sleep 7 # more than a lease
	[ "$(cli EXISTS job)" = 1 ]
	[ "$(token job)" = "$token" ]
	ended "$HOLDER" && return 1
	run -0 "$FAIRLOCK" status -q job
}

@test "a certificate replaced by a bad one ends no connection, but the next one is refused and the lock is lost" {
	use_tls_server
	background "$FAIRLOCK" wrap -l 9s job sh -c 'trap "touch stopped; exit" TERM; touch started; while :; do sleep 0.1; done' 2>said
	local wrapper=$!
	wait_until test -e started
	show_certificate expired
	# More than a lease. A server whose reply is late by a sixth of the lease is asked over a new connection.
	sleep 10
	[ "$(cli EXISTS job)" = 1 ]
	[ ! -e stopped ]
	cli CLIENT KILL TYPE pubsub
	status_of "$wrapper"
	[ "$STATUS" = 76 ]
	[ -e stopped ] || { cat said; return 1; }
	run -0 cat said
	assert_output --partial 'its certificate is not trusted: certificate has expired'
	[ "$(wc -l <said)" -le 3 ] # the outage, the loss, the end of the process
}

@test "a waiter that a bad certificate keeps away tries until its wait is over, and ends with 69" {
	use_tls_server
	hold job
	background "$FAIRLOCK" wrap -w 4s job true 2>said
	local waiter=$!
	wait_until in_queue job 1
	show_certificate expired
	cli CLIENT KILL TYPE pubsub
	status_of "$waiter"
	[ "$STATUS" = 69 ]
	run -0 cat said
	assert_output "fairlock: cannot reach $FAIRLOCK_URL: its certificate is not trusted: certificate has expired"
}

@test "a TLS file that is missing for a moment when it is needed again does not cost the lock" {
	use_tls_server
	cp "$TLS_DIR/ca.crt" own.crt
	local token
	FAIRLOCK_TLS_CA=own.crt hold -l 3s job
	token=$(token job)
	mv own.crt away
	cli CLIENT KILL TYPE pubsub
	sleep 0.5
	mv away own.crt
	sleep 4 # more than a lease
	[ "$(token job)" = "$token" ]
	[ "$(cli EXISTS job)" = 1 ]
}

@test "replies and requests may take many TLS records" {
	use_tls_server
	cli SCRIPT FLUSH >/dev/null
	hold job
	cli EVAL 'for i = 1, 3000 do
		local id = string.format("00000000-0000-4000-8000-%012d:%d", i, i)
		redis.call("RPUSH", KEYS[1], id)
		redis.call("ZADD", KEYS[2], ARGV[1] + 300000 + i, id)
	end' 2 'redisson_lock_queue:{job}' 'redisson_lock_timeout:{job}' "$(date +%s)000"
	"$FAIRLOCK" queue --noheadings -o POSITION,OWNER job >secure
	"$FAIRLOCK" queue -u "unix:$SERVER_SOCKET" --noheadings -o POSITION,OWNER job >plain
	[ "$(wc -l <secure)" = 3000 ]
	cmp secure plain
}

@test "waiters that must all connect again keep their places" {
	use_tls_server
	hold job
	local i
	# shellcheck disable=SC2016
	for i in {1..20}; do
		background "$FAIRLOCK" wrap job sh -c 'echo $0 >>trace' "$i"
		wait_until in_queue job "$i"
	done
	cut_off
	wait_until all_present
	kill "$HOLDER"
	WAIT_S=60 wait_until nothing_left
	run -0 cat trace
	assert_output "$(seq 20)"
}

all_present() { [ "$(cli --raw PUBSUB CHANNELS 'redisson_lock__channel:{job}:*' | wc -l)" = 21 ]; }

@test "sentinels and their master use TLS, also after a failover" {
	load ../lib/nodes
	local old token
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
	local i
	NODES_TLS=yes
	start_cluster
	export FAIRLOCK_URL=rediss://127.0.0.1:${CLUSTER_PORTS%% *}
	for i in 1 2 3 4 5 6; do
		run -0 "$FAIRLOCK" wrap "job$i" "$FAIRLOCK" wrap "inner$i" true
	done
	run -69 "$FAIRLOCK" wrap --tls-ca "$TLS_DIR/unknown-ca.crt" job true
	assert_output --partial 'its certificate is not trusted'
}

@test "slots and shared holds are taken, handed on, renewed and broken over TLS" {
	local first

	use_tls_server
	join_holders -l 2s --slots 2 job
	first=$HOLDER
	join_holders --slots 2 job
	# shellcheck disable=SC2016
	join_waiters -v --slots 2 job sh -c 'echo "$FAIRLOCK_SLOT" >slot'
	wait_until ends_after "$(id_of "$first")" $(($(now_ms) + 2000)) # that of a renewal
	consistent
	let_go "$HOLDER"
	ends_with 0 "$WAITER"
	assert_equal "$(<slot)" 2
	grep -q 'heard: granted' said
	run -0 "$FAIRLOCK" release --force --slot 1 job
	ends_with 76 "$first"
	run -0 "$FAIRLOCK" wrap --shared job "$FAIRLOCK" wrap --shared job echo in
	assert_output in
	nothing_left
}

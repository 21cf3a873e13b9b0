#!/usr/bin/env bats
# doctor: real servers, each set up badly in one way, and what it says of them.

load ../lib/helpers

setup() {
	unset FAIRLOCK_URL NO_COLOR
	export HOME=$BATS_TEST_TMPDIR/home
	mkdir -p "$HOME/.config"
}

# doctor STATUS [OPTION...]: its JSON is in $output, and is JSON
doctor() {
	run --separate-stderr "-$1" "$FAIRLOCK" doctor --json "${@:2}"
	jq -e 'has("server") and has("settings") and has("findings")' <<<"$output" >/dev/null
}

# finds SEVERITY CHECK [WORDS]: there is such a finding, which is explained unless all is well
finds() {
	jq -e --arg severity "$1" --arg check "$2" --arg words "${3:-}" '
		any(.findings[]; .severity == $severity and .check == $check and
			(.finding | contains($words)) and
			($severity == "ok" or .consequence != null and .remedy != null))' \
		<<<"$output" >/dev/null || fail "no $1 of $2 with '${3:-}': $output"
}

# finds_no CHECK WORDS: nothing but good is said of it
finds_no() {
	jq -e --arg check "$1" 'all(.findings[]; .check != $check or .severity == "ok")' \
		<<<"$output" >/dev/null || fail "$1: $output"
}

# says FILTER VALUE: of the JSON
says() {
	assert_equal "$(jq -r "$1" <<<"$output")" "$2"
}

# set_as_told COUNT: so many findings say what to set; the server lets itself be set so
set_as_told() {
	local line told=0

	while IFS= read -r line; do
		told=$((told + 1))
		assert_equal "$(cli <<<"$line")" OK
	done < <(jq -r '.findings[].remedy | values | capture("^(?<set>CONFIG SET .*?)(, or .*)?$").set' <<<"$output")
	assert_equal "$told" "$1"
}

# A server in which nothing is amiss, apart from the OPTIONs; its only notes are of replicas.
start_well() {
	start_server --appendonly yes "$@"
}

# ---- What is looked for ----

@test "a server that is well: notes at most, status 0" {
	start_well
	doctor 0
	says .server.software "$(basename "$SERVER" -server)"
	says .server.mode standalone
	says .server.role master
	says .server.url "unix:$SERVER_SOCKET"
	says '.server.addresses[0]' "$SERVER_SOCKET"
	says '[.findings[].severity] | unique | join(" ")' 'note ok'
	for check in version memory persistence 'idle timeout' buffers connections 'slow scripts' \
		permissions 'round trip' clock locks; do
		finds ok "$check"
	done
	[ -z "$stderr" ]
}

@test "keys that may be evicted are an error, by either kind of policy" {
	start_well --maxmemory 100mb --maxmemory-policy allkeys-lru
	doctor 2
	finds error memory allkeys-lru
	cli CONFIG SET maxmemory-policy volatile-ttl
	doctor 2
	finds error memory volatile-ttl
	cli CONFIG SET maxmemory-policy noeviction
	doctor 0
	finds ok memory noeviction
	cli CONFIG SET maxmemory 0 maxmemory-policy allkeys-lru
	doctor 0
}

@test "memory that is nearly full is a warning" {
	start_well
	used=$(cli INFO memory | sed -nE 's/^used_memory:([0-9]+).*/\1/p')
	cli CONFIG SET maxmemory $((used + used / 30))
	doctor 1
	finds warning memory
}

@test "a server that writes nothing to disk is a warning, snapshots are a note" {
	start_server
	doctor 1
	finds warning persistence 'nothing is written'
	cli CONFIG SET save '3600 1'
	doctor 0
	finds note persistence snapshots
	cli CONFIG SET appendonly yes
	doctor 0
	for when in no everysec always; do
		cli CONFIG SET appendfsync "$when"
		doctor 0
		finds ok persistence 'append-only file'
	done
}

@test "a snapshot that cannot be written is an error" {
	start_server --save '3600 1' --dbfilename x.rdb
	mkdir "$SERVER_DIR/x.rdb"
	cli SET a b
	cli BGSAVE
	refused() { cli SET a b | grep MISCONF; }
	wait_until refused
	doctor 2
	finds error disk
	run -69 "$FAIRLOCK" acquire job # it is right
}

# Servers spare those who are subscribed.
@test "an idle timeout harms nobody: who waits and who holds stays connected" {
	start_well --timeout 1
	doctor 0
	finds ok 'idle timeout' '1 s'
	background "$FAIRLOCK" wrap -v job sleep 100 2>"$BATS_TEST_TMPDIR/holder"
	wait_until "$FAIRLOCK" status -q job
	background "$FAIRLOCK" wrap -v job true 2>"$BATS_TEST_TMPDIR/waiter"
	wait_until in_queue job 1
	idle() { [ "$(cli CLIENT LIST | grep -cE ' idle=[3-9] .* sub=[12]')" = 2 ]; }
	wait_until idle
	run cat "$BATS_TEST_TMPDIR/holder" "$BATS_TEST_TMPDIR/waiter"
	refute_output --partial cannot
}

@test "limits that are too low are told" {
	port=$(free_port)
	start_well --port "$port" --bind 127.0.0.1 --tcp-keepalive 0 --maxclients 32 \
		--lua-time-limit 100
	cli CONFIG SET client-output-buffer-limit 'pubsub 1kb 1kb 1' >/dev/null
	doctor 1 -u "redis://127.0.0.1:$port"
	finds warning keepalive 'is 0'
	finds warning buffers 1024
	finds note 'slow scripts' '100 ms'
	set_as_told 3
	for i in {1..28}; do
		background sleep 60 >"/dev/tcp/127.0.0.1/$port"
	done
	crowded() { [ "$(cli INFO clients | sed -n 's/^connected_clients:\([0-9]*\).*/\1/p')" -ge 28 ]; }
	wait_until crowded
	doctor 1 -u "redis://127.0.0.1:$port"
	finds warning connections 'of 32'
}

@test "a server far away is told, by the lease that it is for" {
	load ../lib/proxy
	start_well
	start_proxy "$SERVER_SOCKET"
	export FAIRLOCK_URL=redis://$PROXY_ADDRESS
	proxy delay 60
	doctor 0
	finds note 'round trip' 'median 1'
	doctor 1 --lease 1s
	finds warning 'round trip'
	proxy delay 180
	doctor 2 --lease 1s
	finds error 'round trip'
}

@test "a lock without a time to live, and who is not there any more" {
	start_well
	"$FAIRLOCK" acquire --lease 1m job >"$BATS_TEST_TMPDIR/owner"
	cli PERSIST job
	background "$FAIRLOCK" wrap job true
	ghost=$!
	wait_until in_queue job 1
	kill -s KILL "$ghost"
	nobody_listens() { [ -z "$(cli --raw PUBSUB CHANNELS '*job*')" ]; }
	wait_until nobody_listens
	redisson=00000000-0000-4000-8000-000000000000:1
	cli RPUSH 'redisson_lock_queue:{job}' "$redisson"
	cli ZADD 'redisson_lock_timeout:{job}' 9999999999999 "$redisson"
	doctor 1
	finds warning leases 'lock job has no time to live'
	finds note queues ":$ghost waits for lock job"
	finds warning queues "$redisson, of Redisson"
	doctor 1 job
	finds warning leases 'lock job'
	before=$(cli DEBUG DIGEST 2>/dev/null || cli DUMP 'fairlock:{job}')
	doctor 1
	assert_equal "$(cli DEBUG DIGEST 2>/dev/null || cli DUMP 'fairlock:{job}')" "$before"
	# The remedies are command lines.
	remedies=$(jq -r '.findings[] | select(.check == "leases" or .check == "queues") | .remedy' <<<"$output")
	while read -r _ remedy; do
		# shellcheck disable=SC2086
		"$FAIRLOCK" $remedy
	done < <(grep -v force <<<"$remedies"; grep force <<<"$remedies")
	doctor 0
}

@test "a hundred locks without an end are a few lines" {
	start_well
	for i in {1..9}; do
		cli HSET "fairlock:{job$i}" name "job$i"
		cli HSET "job$i" owner:1 1
	done >/dev/null
	doctor 1
	says '[.findings[] | select(.check == "leases" and .severity == "warning")] | length' 4
	jq -e '.findings | any(.finding == "and 6 more without an end")' <<<"$output"
}

@test "a log that is none is a warning" {
	start_well
	cli SET 'fairlock_log:{job}' precious
	"$FAIRLOCK" wrap job true
	doctor 1
	finds warning logs 'lock job'
	assert_equal "$(cli GET 'fairlock_log:{job}')" precious
	bash -c "${CLI@Q} -s ${SERVER_SOCKET@Q} $(jq -r '.findings[] | select(.check == "logs").remedy | ltrimstr("redis-cli ")' <<<"$output")"
	doctor 0
	finds_no logs
}

@test "a name in use by something that is no lock is an error" {
	start_well
	cli SET job text
	doctor 2 job
	finds error locks 'cannot use the name job: it is in use by something that is no lock'
}

# ---- Replicas ----

# start_replica: of start_server's, which needs a port
start_replica() {
	REPLICA_DIR=$BATS_TEST_TMPDIR/replica
	mkdir -p "$REPLICA_DIR"
	REPLICA_PORT=$(free_port)
	background "$SERVER" --port "$REPLICA_PORT" --bind 127.0.0.1 --dir "$REPLICA_DIR" --save '' \
		--replicaof 127.0.0.1 "$port" --repl-diskless-load swapdb >"$REPLICA_DIR/log" 2>&1
	REPLICA_PID=$!
	online() { cli INFO replication | grep -qE 'slave0:.*state=online.*lag=[01]'; }
	wait_until online
}

@test "replicas: how many are in sync, for --replicas and min-replicas-to-write" {
	port=$(free_port)
	start_well --port "$port" --bind 127.0.0.1 --repl-diskless-sync-delay 0
	export FAIRLOCK_URL=redis://127.0.0.1:$port
	doctor 0
	finds note replicas 'there is none'
	doctor 2 --replicas 1
	finds error replicas '--replicas is 1'
	cli CONFIG SET min-replicas-to-write 1
	doctor 2
	finds error replicas 'min-replicas-to-write is 1'
	run -69 "$FAIRLOCK" acquire job # it is right
	start_replica
	doctor 0
	finds note replicas '1 in sync, --replicas is 0'
	doctor 0 --replicas 1
	finds ok replicas '1 in sync'
	doctor 2 --replicas 2
	finds error replicas '1 in sync, --replicas is 2'

	doctor 2 -u "redis://127.0.0.1:$REPLICA_PORT"
	says .server.role replica
	finds error role "127.0.0.1:$port"
}

@test "a replica that would not let us in is a warning" {
	port=$(free_port)
	start_well --port "$port" --bind 127.0.0.1 --repl-diskless-sync-delay 0
	start_replica
	cli ACL SETUSER job on '>secret' '~*' '&*' +@all
	doctor 1 -u "redis://job:secret@127.0.0.1:$port"
	finds warning replica "127.0.0.1:$REPLICA_PORT"
	"$CLI" -p "$REPLICA_PORT" ACL SETUSER job on '>secret' '~*' '&*' +@all
	doctor 0 -u "redis://job:secret@127.0.0.1:$port"
	kill -s STOP "$REPLICA_PID"
	doctor 0 -u "redis://job:secret@127.0.0.1:$port"
	finds note replica 'cannot be reached from here'
}

# ---- Clocks ----

# shift_clock SECONDS: servers that are started from here on are so much ahead
shift_clock() {
	command -v cc >/dev/null || skip 'there is no compiler'
	cat >"$BATS_TEST_TMPDIR/ahead.c" <<-C
		#include <dlfcn.h>
		#include <sys/time.h>
		int gettimeofday(struct timeval *now, void *zone)
		{
			int (*real)(struct timeval *, void *) = dlsym(RTLD_NEXT, "gettimeofday");
			int result = real(now, zone);

			now->tv_sec += $1;
			return result;
		}
	C
	cc -D_GNU_SOURCE -shared -fPIC -o "$BATS_TEST_TMPDIR/ahead.so" "$BATS_TEST_TMPDIR/ahead.c" -ldl
	PRELOAD=$BATS_TEST_TMPDIR/ahead.so
	printf '%s\n' '#!/bin/sh' "LD_PRELOAD=$PRELOAD exec '$SERVER' \"\$@\"" >"$BATS_TEST_TMPDIR/ahead"
	chmod +x "$BATS_TEST_TMPDIR/ahead"
	SERVER=$BATS_TEST_TMPDIR/ahead
}

@test "clocks that differ: ours is a note, that of a replica a warning" {
	port=$(free_port)
	start_well --port "$port" --bind 127.0.0.1 --repl-diskless-sync-delay 0
	shift_clock 60
	start_replica
	doctor 1 -u "redis://127.0.0.1:$port"
	finds ok clock
	finds warning clocks "replica 127.0.0.1:$REPLICA_PORT differs from its master by 60.0 s"
	doctor 2 -u "redis://127.0.0.1:$REPLICA_PORT"
	finds note clock '60.0 s ahead of ours'
}

# ---- Users ----

# rule USER: the words of its rule as the manual shows them, one a line
rule() {
	mandoc -T ascii "$TESTS_DIR/../man/fairlock.1" | col -b |
		sed -n "s/^ *ACL SETUSER $1 //p" | tr -s ' ' '\n'
}

can_be_asked() {
	cli --raw EVAL 'return redis.acl_check_cmd and 1 or 0' 0 | grep -qx 1 ||
		skip 'this server cannot be asked what a user may do: it is older than Redis 7'
}

become() {
	export FAIRLOCK_URL="unix:$SERVER_SOCKET?user=$1" FAIRLOCK_PASSWORD=SECRET
}

check_rule() {
	local words rest word i

	can_be_asked
	mapfile -t words < <(rule backup)
	[ "${#words[@]}" -gt 10 ]
	cli ACL SETUSER backup "${words[@]}"
	become backup
	doctor 0 backup-db
	finds ok permissions 'backup may do all that is needed for lock backup-db'
	finds note permissions 'backup cannot follow the log of lock backup-db'
	finds note 'not known'
	# Nothing of what is asked is refused: its administrator has no trace of us.
	doctor 0
	finds note permissions 'some keys only'
	assert_equal "$(cli ACL LOG)" ''
	doctor 2 other
	finds error permissions '~other ~fairlock:{other}'
	for i in "${!words[@]}"; do
		word=${words[i]}
		[[ $word != on && $word != '>'* && $word != *:backup-* ]] || continue
		rest=("${words[@]}")
		unset "rest[$i]"
		cli ACL DELUSER backup >/dev/null
		cli ACL SETUSER backup "${rest[@]}" >/dev/null
		doctor 2 backup-db
		word=${word/backup-\*/backup-db}
		finds error permissions "$word"
	done
	cli ACL SETUSER backup "${words[@]}" +xread >/dev/null
	doctor 0 backup-db
	refute_line --partial 'cannot follow'
}

@test "each word that is missing from the manual's rule is named" {
	start_well
	check_rule
}

@test "each word that is missing is named, on Valkey" {
	use_server valkey
	start_well
	check_rule
}

@test "each word that is missing is named, on Redis 8" {
	use_server redis
	start_well
	check_rule
}

@test "a wrong password is 77, and a server that is not there 69; JSON says so, too" {
	start_well
	cli ACL SETUSER backup on '>SECRET'
	become backup
	FAIRLOCK_PASSWORD=wrong doctor 77
	finds error reach 'it refuses this user, or the password from FAIRLOCK_PASSWORD'
	[[ $stderr = 'fairlock: cannot '* ]]
	doctor 69 -u unix:/nonexistent/socket
	finds error reach /nonexistent
	says .server.version null
	[[ $(jq -r '.findings[0].remedy' <<<"$output") = 'see whether a server listens there,'* ]]
	doctor 78 -u "unix:$SERVER_SOCKET?db=99"
	says '.findings[0].remedy' 'mend the URL; see in the settings where it comes from'
	[[ $output$stderr != *SECRET* ]]
}

@test "where CONFIG is renamed or forbidden, what is not known is said so" {
	start_well --rename-command CONFIG ''
	doctor 0
	finds note 'not known' 'timeouts and limits'
	finds ok memory
	finds ok persistence
	cli ACL SETUSER default -info '+info|server'
	doctor 0
	finds note 'not known' 'whether it evicts keys'
}

# ---- Ways to a server ----

@test "TLS: the protocol is told" {
	load ../lib/tls
	export BATS_FILE_TMPDIR=$BATS_TEST_TMPDIR
	make_certificates
	start_tls_server server --appendonly yes
	doctor 0 -u "rediss://localhost:$TLS_PORT" --tls-ca "$TLS_DIR/ca.crt"
	says .server.tls TLSv1.3
	jq -e --arg port "$TLS_PORT" '.server.addresses == ["127.0.0.1:" + $port] or
		.server.addresses == ["[::1]:" + $port]' <<<"$output"
	doctor 69 -u "rediss://localhost:$TLS_PORT"
	finds error reach certificate
}

@test "sentinels: the master that they name, and its replicas" {
	load ../lib/sentinel
	start_sentinels --save '86400 1000000'
	doctor 0 -u "redis+sentinel://$SENTINELS/mymaster" --replicas 2
	says .server.mode sentinel
	says '.server.addresses[0]' "127.0.0.1:$(master_port)"
	finds ok replicas '2 in sync'
}

@test "cluster: every master is looked at, and what all have in common is told once" {
	load ../lib/cluster
	start_cluster --save '86400 1000000'
	local first
	first=$(awk '{ print $1 }' <<<"$CLUSTER_PORTS")
	doctor 0 -u "redis://127.0.0.1:$first"
	says .server.mode cluster
	says '.server.addresses | length' 3
	says '[.findings[] | select(.check == "version")] | length' 1
	finds note replicas '1 in sync'
	node_cli "$first" CONFIG SET maxmemory 100mb maxmemory-policy allkeys-lru
	doctor 2 -u "redis://127.0.0.1:$first"
	says '.findings[0].servers | join(" ")' "127.0.0.1:$first"
	run -2 "$FAIRLOCK" doctor -u "redis://127.0.0.1:$first" job
	assert_output --regexp "allkeys-lru +\(at|\(at 127.0.0.1:$first\)"
}

@test "local: where the private server is, and how to end it" {
	new_home
	run -0 at_home "$FAIRLOCK" doctor --json
	says .server.mode local
	says .server.folder "$(echo "$HOME_DIR"/.local/state/fairlock/*)"
	says .server.pid "$(at_home pgrep -x 'redis-server|valkey-server')"
	at_home test -e "$(jq -r .server.log <<<"$output")"
	at_home sh -c "$(jq -r .server.shutdown <<<"$output")"
	gone() { ! at_home test -e "$(jq -r .server.folder <<<"$output")/socket"; }
	wait_until gone
}

# ---- Settings ----

# setting NAME FIELD
setting() {
	jq -r --arg name "$1" ".settings[] | select(.name == \$name) | .$2" <<<"$output"
}

@test "each setting is told with where it is from" {
	start_well
	cli ACL SETUSER default on '>SECRET'
	printf '%s\n' '# ours' "url = unix:$SERVER_SOCKET" 'password = SECRET' 'lease = 1m' 'wait = 7' 'lease = 2m' \
		>"$HOME/.config/fairlock.conf"
	unset FAIRLOCK_URL
	export FAIRLOCK_WAIT=8s FAIRLOCK_ON_LOST=warn
	doctor 0 --replicas 0
	assert_equal "$(setting url where)" "$HOME/.config/fairlock.conf:2"
	assert_equal "$(setting lease where)" "$HOME/.config/fairlock.conf:6"
	assert_equal "$(setting lease value)" 2m
	assert_equal "$(setting wait where)" FAIRLOCK_WAIT
	assert_equal "$(setting wait value)" 8s
	assert_equal "$(setting on-lost value)" warn
	assert_equal "$(setting replicas where)" --replicas
	assert_equal "$(setting replicas source)" flag
	assert_equal "$(setting connect-timeout source)" default
	assert_equal "$(setting connect-timeout where)" null
	assert_equal "$(setting password where)" "$HOME/.config/fairlock.conf:3"
	assert_equal "$(setting password value)" null
	[[ $output != *SECRET* ]]
	run -0 "$FAIRLOCK" doctor
	[[ $output != *SECRET* ]]
	assert_line --regexp "^  password +\(not shown\) +$HOME/.config/fairlock.conf:3$"
	refute_line --regexp '^  connect-timeout'
	run -0 --separate-stderr "$FAIRLOCK" doctor -v
	assert_line --regexp '^  connect-timeout +5s +default$'
}

@test "where the password is from is told, whatever it is from, and never the password" {
	start_well
	cli ACL SETUSER default on '>SECRET'
	tcp=$(free_port)
	cli -a SECRET --no-auth-warning CONFIG SET port "$tcp"
	url=redis://127.0.0.1:$tcp
	echo SECRET >"$HOME/secret"
	from() {
		assert_equal "$(setting password source) $(setting password where)" "$1"
		[[ $output$stderr != *SECRET* ]]
	}

	doctor 0 -u "redis://:SECRET@127.0.0.1:$tcp"
	from 'url --url'
	assert_equal "$(setting url value)" "$url"
	FAIRLOCK_URL=redis://:SECRET@127.0.0.1:$tcp doctor 0
	from 'url FAIRLOCK_URL'
	FAIRLOCK_PASSWORD=SECRET doctor 0 -u "$url"
	from 'environment FAIRLOCK_PASSWORD'
	REDISCLI_AUTH=SECRET doctor 0 -u "$url"
	from 'environment REDISCLI_AUTH'
	FAIRLOCK_PASSWORD_FILE=$HOME/secret doctor 0 -u "$url"
	from 'environment FAIRLOCK_PASSWORD_FILE'
	FAIRLOCK_PASSWORD=wrong doctor 0 -u "$url" --password-file "$HOME/secret"
	from 'flag --password-file'
	doctor 77 -u "$url"
	from 'default null'
}

# ---- How it is told ----

@test "the worst comes first, and no line is wider than the terminal" {
	start_server --maxmemory 100mb --maxmemory-policy allkeys-lru
	for columns in 60 80 100; do
		COLUMNS=$columns run -2 "$FAIRLOCK" doctor
		assert_output --regexp $'Findings\n  error +memory'
		for line in "${lines[@]}"; do
			[ "${#line}" -le "$columns" ] || [[ $line = '  url'* || $line = '  address'* ]] ||
				fail "wider than $columns: $line"
		done
	done
	assert_line '1 error, 1 warning, 1 note, 9 ok'
	[[ $output != *$'\033'* ]]
}

@test "wide characters take the room that they take" {
	local name='夜間 夜間 夜間 夜間 夜間 夜間 夜間 夜間 夜間 夜間 夜間'

	start_well
	cli HSET "$name" owner 1 >/dev/null
	COLUMNS=60 LC_ALL=C.UTF-8 run -1 "$FAIRLOCK" doctor --quiet "$name"
	assert_output --partial 夜間
	[ "$(LC_ALL=C.UTF-8 wc -L <<<"$output")" -le 60 ]
}

@test "--quiet tells warnings and errors only, and nothing when there are none" {
	start_well
	run -0 "$FAIRLOCK" doctor -q
	assert_output ''
	cli CONFIG SET maxmemory 100mb maxmemory-policy allkeys-lru
	run -2 "$FAIRLOCK" doctor -q
	assert_line --index 0 --regexp '^  error +memory'
	refute_output --partial ' ok '
}

@test "a name of a lock cannot drive the terminal, nor break JSON" {
	start_well
	name='a"\b'
	cli HSET "fairlock:{$name}" name "$name"
	cli HSET "$name" "$(printf 'own\033[2Jer\n:1')" 1
	doctor 1
	finds warning leases "lock $name has"
	run -1 "$FAIRLOCK" doctor
	[[ $output != *$'\033'* ]]
}

@test "a remedy can be given to a shell, whatever a lock is called" {
	start_well
	for name in "a'b" 'a; touch oops; $(touch oops)' -n '{x}'; do
		key=$name
		[[ $name = *{* ]] || key="{$name}"
		cli HSET "fairlock:$key" name "$name" v 2
		cli HSET "$name" owner:1 1
		doctor 1
		remedy=$(jq -r '.findings[] | select(.check == "leases") | .remedy' <<<"$output")
		[[ $remedy = 'fairlock release --force '* ]]
		(cd "$BATS_TEST_TMPDIR" && sh -c "${remedy/fairlock/\"$FAIRLOCK\"}")
		[ ! -e "$BATS_TEST_TMPDIR/oops" ]
		doctor 0
		cli DEL "fairlock:$key"
	done
}

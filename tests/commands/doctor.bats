# fairlock doctor: its findings about servers, users, locks, replicas and clocks, and how it prints them and the settings.

load ../lib/helpers
load ../lib/permissions
load ../lib/doctor

# judges STATUS SEVERITY CHECK WORDS [OPTION...]: doctor OPTION... ends with STATUS, and has this finding
judges() {
	doctor "$1" "${@:5}"
	finds "$2" "$3" "$4"
}

# ---- Servers and locks ----

@test "doctor finds nothing worse than notes on a good server, and ends with 0" {
	start_well
	doctor 0
	says .server.software "$(basename "$SERVER" -server)"
	says .server.mode standalone
	says .server.role master
	says .server.url "unix:$SERVER_SOCKET"
	says '.server.addresses[0]' "$SERVER_SOCKET"
	says '[.findings[].severity] | unique | join(" ")' 'note ok'
	for check in version memory persistence connections permissions clock locks; do
		finds ok "$check"
	done
	[ -z "$stderr" ]
}

@test "doctor lists ten findings of a kind, and drops none of another" {
	local names

	start_well
	mapfile -t names < <(seq 120)
	doctor 0 "${names[@]}"
	says '[.findings[] | select(.check == "permissions")] | length' 10
	finds ok permissions 'lock 10; and 110 more'
	finds ok clock
	finds ok locks '120 looked at'
}

@test "doctor judges whether the server may evict keys, and what it writes to disk" {
	local status finding words set

	start_server --save '' --maxmemory-policy noeviction
	while IFS='|' read -r status finding words set; do
		eval "cli CONFIG SET $set"
		doctor "$status"
		finds $finding "$words"
	done <<-'END'
		1|warning persistence|nothing is written|save ''
		0|note persistence|snapshots|save '3600 1'
		0|ok persistence|append-only file|appendonly yes
		0|ok persistence|append-only file|appendfsync no
		0|ok persistence|append-only file|appendfsync everysec
		0|ok persistence|append-only file|appendfsync always
		2|error memory|allkeys-lru|maxmemory 100mb maxmemory-policy allkeys-lru
		2|error memory|volatile-ttl|maxmemory-policy volatile-ttl
		0|ok memory|noeviction|maxmemory-policy noeviction
		0|ok memory||maxmemory 0 maxmemory-policy allkeys-lru
	END
}

# set_as_told COUNT: does what COUNT findings say to set; the server must accept that
set_as_told() {
	local line told=0

	while IFS= read -r line; do
		told=$((told + 1))
		assert_equal "$(cli <<<"$line")" OK
	done < <(jq -r '.findings[].remedy | values | select(startswith("CONFIG SET")) |
		capture("^(?<set>.*), and the same setting in its configuration file: a restart forgets CONFIG SET$").set' <<<"$output")
	assert_equal "$told" "$1"
}

@test "doctor warns of memory and files that are set badly and of few connections, and its remedies are valid" {
	port=$(free_port)
	start_server --port "$port" --bind 127.0.0.1 --maxclients 32 --maxmemory 100mb --maxmemory-policy allkeys-lru
	doctor 2 -u "redis://127.0.0.1:$port"
	set_as_told 2
	for i in {1..28}; do
		background sleep 60 >"/dev/tcp/127.0.0.1/$port"
	done
	crowded() { [ "$(cli INFO clients | sed -n 's/^connected_clients:\([0-9]*\).*/\1/p')" -ge 28 ]; }
	wait_until crowded
	judges 1 warning connections 'of 32' -u "redis://127.0.0.1:$port"
}

@test "doctor finds a lock without a time to live and waiters that are gone, and its remedies remove them" {
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
	judges 1 warning leases 'lock job has no time to live' job
	finds note queues ":$ghost waits for lock job"
	finds warning queues "$redisson, of Redisson"
	before=$(cli DEBUG DIGEST 2>/dev/null || cli DUMP 'fairlock:{job}')
	judges 1 warning leases 'lock job'
	assert_equal "$(cli DEBUG DIGEST 2>/dev/null || cli DUMP 'fairlock:{job}')" "$before"
	# each remedy is a command line
	remedies=$(jq -r '.findings[] | select(.check == "leases" or .check == "queues") | .remedy' <<<"$output")
	while read -r _ remedy; do
		"$FAIRLOCK" $remedy
	done < <(grep -v force <<<"$remedies"; grep force <<<"$remedies")
	doctor 0
}

@test "doctor prints remedies that a shell can run, whatever the lock's name is" {
	start_well
	for name in "a'b" 'a; touch oops; $(touch oops)' -n '{x}'; do
		key=$name
		[[ $name = *{* ]] || key="{$name}"
		cli HSET "fairlock:$key" name "$name" v 1
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

@test "doctor notes a clock that differs from ours" {
	printf '%s\n' '#!/bin/sh' "export LD_PRELOAD='$BUILD/programs/clockwork.so' CLOCKWORK_AHEAD_MS=60000" "exec '$SERVER' \"\$@\"" \
		>"$BATS_TEST_TMPDIR/ahead"
	chmod +x "$BATS_TEST_TMPDIR/ahead"
	SERVER=$BATS_TEST_TMPDIR/ahead start_well
	judges 0 note clock '60.0 s ahead of ours'
}

@test "doctor finds a /proc of another PID namespace, and says what wrap cannot do" {
	start_well
	unshare -pf true || skip 'no PID namespace can be made here'
	run -1 unshare -pf "$FAIRLOCK" doctor
	assert_output --partial "warning  processes      /proc is not this PID namespace's"
	assert_output --partial 'wrap cannot see what COMMAND starts'
	run -0 "$FAIRLOCK" doctor
	refute_output --partial 'processes'
}

# ---- Ways to a server ----

@test "doctor compares the replicas in sync with --replicas and min-replicas-to-write" {
	local port replica

	port=$(free_port)
	replica=$(free_port)
	start_well --port "$port" --bind 127.0.0.1 --repl-diskless-sync-delay 0
	export FAIRLOCK_URL=redis://127.0.0.1:$port
	judges 0 note replicas 'there is none'
	judges 2 error replicas '--replicas is 1' --replicas 1
	cli CONFIG SET min-replicas-to-write 1
	judges 2 error replicas 'min-replicas-to-write is 1'
	run -69 "$FAIRLOCK" acquire job # doctor is right
	mkdir "$BATS_TEST_TMPDIR/replica"
	background "$SERVER" --port "$replica" --bind 127.0.0.1 --dir "$BATS_TEST_TMPDIR/replica" --save '' \
		--replicaof 127.0.0.1 "$port" --repl-diskless-load swapdb >"$BATS_TEST_TMPDIR/replica/log" 2>&1
	online() { cli INFO replication | grep -qE 'slave0:.*state=online.*lag=[01]'; }
	wait_until online
	judges 0 note replicas '1 in sync, --replicas is 0'
	judges 0 ok replicas '1 in sync' --replicas 1
	judges 2 error replicas '1 in sync, --replicas is 2' --replicas 2
	doctor 2 -u "redis://127.0.0.1:$replica"
	says .server.role replica
	finds error role "127.0.0.1:$port"
}

@test "doctor follows sentinels to their master, and counts its replicas" {
	load ../lib/nodes
	start_sentinels --save '86400 1000000'
	doctor 0 -u "redis+sentinel://$SENTINELS/mymaster" --replicas 2
	says .server.mode sentinel
	says '.server.addresses[0]' "127.0.0.1:$(master_port)"
	finds ok replicas '2 in sync'
}

@test "doctor looks at every master of a cluster, and prints their common findings once" {
	load ../lib/nodes
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

@test "doctor tells where the private server is, and how to end it" {
	new_home
	run -0 at_home env FAIRLOCK_URL=local: "$FAIRLOCK" doctor --json
	says .server.mode local
	finds note users 'local: is for this user on this host alone'
	says .server.folder "$(echo "$HOME_DIR"/.local/state/fairlock/*)"
	says .server.pid "$(at_home pgrep -x 'redis-server|valkey-server')"
	at_home test -e "$(jq -r .server.log <<<"$output")"
	at_home sh -c "$(jq -r .server.shutdown <<<"$output")"
	gone() { ! at_home test -e "$(jq -r .server.folder <<<"$output")/socket"; }
	wait_until gone
}

@test "doctor ends with 77 for a wrong password and with 69 for a missing server, and its JSON says why" {
	start_well
	cli ACL SETUSER backup on '>SECRET'
	become backup
	FAIRLOCK_PASSWORD=wrong doctor 77
	finds error reach 'it refuses this user, or the password from FAIRLOCK_PASSWORD'
	[[ $stderr = 'fairlock: cannot '* ]]
	doctor 69 -u unix:/nonexistent/socket
	finds error reach /nonexistent
	says .server.version null
	says '.findings[0].remedy' 'start the server, or mend the path in the URL: its setting unixsocket has the path'
	doctor 78 -u "unix:$SERVER_SOCKET?db=99"
	says '.findings[0].remedy' 'mend the URL; see in the settings where it comes from'
	[[ $output$stderr != *SECRET* ]]
}

# ---- Users ----

@test "doctor names each word of the rule that a user lacks, and all keys" {
	local words rest word i

	start_well
	cli --raw EVAL 'return redis.acl_check_cmd and 1 or 0' 0 | grep -qx 1 ||
		skip 'this server cannot be asked what a user may do: it is older than Redis 7'
	mapfile -t words < <(rule backup)
	[ "${#words[@]}" -gt 10 ]
	cli ACL SETUSER backup "${words[@]}"
	become backup
	judges 0 ok permissions 'backup may do all that is needed for lock backup-db' backup-db
	finds note 'not known'
	# The server refuses none of doctor's questions, so its ACL log stays empty.
	judges 0 note permissions 'some keys only'
	assert_equal "$(cli ACL LOG)" ''
	judges 2 error permissions '~other ~fairlock:{other}' other
	for i in "${!words[@]}"; do
		word=${words[i]}
		[[ $word != on && $word != '>'* && $word != *:backup-* ]] || continue
		rest=("${words[@]}")
		unset "rest[$i]"
		permit backup "${rest[@]}"
		doctor 2 backup-db
		word=${word/backup-\*/backup-db}
		finds error permissions "$word"
	done
	permit backup on nopass '~job' '&*' +@all
	judges 2 error permissions 'user backup lacks ~fairlock:{job} ~redisson_lock_queue:{job} ~redisson_lock_timeout:{job} ~fairlock_log:{job} ~fairlock_queue:{job} ~fairlock_holders:{job} ~fairlock_done:{job}* for lock job' job
}

# used_by_scripts: the commands of the scripts
used_by_scripts() {
	cat "$TESTS_DIR"/../lua/*/*.lua | grep -oE "(call|pcall_server|note|run)\('[A-Z]+" | sed "s/.*'//" | sort -u
	echo PUBLISH # by the way that was found
	printf '%s\n' LPUSH RPUSH # at one end or the other
}

# listed: the commands that a user must be allowed to run, by the one list of them
listed() { sed -n '/NEEDS = \[\[/,/\]\]/s/^\t*[a-z]*: //p' "$TESTS_DIR/../lua/parts/permissions.lua" | grep -oE '[A-Z]{3,}' | grep -vx -e NUMSUB -e SHARDNUMSUB; }

@test "the list of permissions has all commands of the scripts, and no other" {
	[ "$(listed | wc -l)" -gt 30 ]
	diff <(used_by_scripts | sort -u) <(listed | sort -u)
}

@test "doctor names all hidden commands in one finding, also one that ends like another, and EVAL, HELLO, SCAN and WAIT" {
	start_well --rename-command PUBSUB '' --rename-command HSET '' --rename-command SET ''
	judges 2 error commands 'the server lacks PUBSUB, HSET, SET'
	stop_server
	start_well --rename-command EVAL ''
	judges 2 error grants 'unknown command EVAL'
	stop_server
	start_well --rename-command HELLO ''
	judges 69 error reach 'unknown command HELLO'
	says .findings[0].remedy "take its rename-command out of the server's configuration; Redis 6.2, Valkey 7.2 and later have it"
	stop_server
	start_well --rename-command SCAN '' --rename-command WAIT ''
	judges 0 note locks 'unknown command SCAN'
	judges 2 error commands 'the server lacks WAIT' --replicas 1
}

# ---- What it prints ----

# setting NAME FIELD: prints this field of a setting in $output
setting() {
	jq -r --arg name "$1" ".settings[] | select(.name == \$name) | .$2" <<<"$output"
}

@test "doctor prints each setting with its source, and no password" {
	local name value where

	start_well
	cli ACL SETUSER default on '>SECRET'
	printf '%s\n' '# ours' "url = unix:$SERVER_SOCKET" 'password = SECRET' 'lease = 1m' 'wait = 7' 'lease = 2m' \
		>"$HOME/.config/fairlock.conf"
	unset FAIRLOCK_URL
	export FAIRLOCK_WAIT=8s FAIRLOCK_SIGNAL=int
	doctor 0 --replicas 0
	while read -r name value where; do
		assert_equal "$name $(setting "$name" value) $(setting "$name" where)" "$name $value $where"
	done <<-END
		url unix:$SERVER_SOCKET $HOME/.config/fairlock.conf:2
		lease 2m $HOME/.config/fairlock.conf:6
		wait 8s FAIRLOCK_WAIT
		signal int FAIRLOCK_SIGNAL
		password null $HOME/.config/fairlock.conf:3
	END
	assert_equal "$(setting replicas where) $(setting replicas source)" '--replicas flag'
	assert_equal "$(setting connect-timeout where) $(setting connect-timeout source)" 'null default'
	[[ $output != *SECRET* ]]
	run -0 "$FAIRLOCK" doctor
	[[ $output != *SECRET* ]]
	assert_line --regexp "^  password +\(not shown\) +$HOME/.config/fairlock.conf:3$"
	refute_line --regexp '^  connect-timeout'
	run -0 --separate-stderr "$FAIRLOCK" doctor -v
	assert_line --regexp '^  connect-timeout +5s +default$'
}

@test "doctor prints the source of the password, whatever that is, and never the password" {
	start_well
	cli ACL SETUSER default on '>SECRET'
	tcp=$(free_port)
	cli -a SECRET --no-auth-warning CONFIG SET port "$tcp"
	url=redis://127.0.0.1:$tcp
	echo SECRET >"$HOME/secret"
	# comes_from STATUS SOURCE WORD...: doctor, with these variables and options
	comes_from() {
		run --separate-stderr "-$1" env FAIRLOCK_URL="$url" "${@:3}" --json
		assert_equal "$(setting password source) $(setting password where)" "$2"
		[[ $output$stderr != *SECRET* ]]
	}

	comes_from 0 'url --url' "$FAIRLOCK" doctor -u "redis://:SECRET@127.0.0.1:$tcp"
	assert_equal "$(setting url value)" "$url"
	comes_from 0 'url FAIRLOCK_URL' FAIRLOCK_URL="redis://:SECRET@127.0.0.1:$tcp" "$FAIRLOCK" doctor
	comes_from 0 'environment FAIRLOCK_PASSWORD' FAIRLOCK_PASSWORD=SECRET "$FAIRLOCK" doctor
	comes_from 0 'environment REDISCLI_AUTH' REDISCLI_AUTH=SECRET "$FAIRLOCK" doctor
	comes_from 0 'environment FAIRLOCK_PASSWORD_FILE' FAIRLOCK_PASSWORD_FILE="$HOME/secret" "$FAIRLOCK" doctor
	comes_from 0 'flag --password-file' FAIRLOCK_PASSWORD=wrong "$FAIRLOCK" doctor -u "$url" --password-file "$HOME/secret"
	comes_from 77 'default null' "$FAIRLOCK" doctor -u "$url"
}

@test "doctor prints the worst finding first, no line wider than the terminal, and with --quiet warnings and errors only" {
	start_server --maxmemory 100mb --maxmemory-policy allkeys-lru
	for columns in 60 80 100; do
		COLUMNS=$columns run -2 "$FAIRLOCK" doctor
		assert_output --regexp $'Findings\n  error +memory'
		for line in "${lines[@]}"; do
			[ "${#line}" -le "$columns" ] || [[ $line = '  url'* || $line = '  address'* ]] ||
				fail "wider than $columns: $line"
		done
	done
	assert_line '1 error, 1 warning, 1 note, 5 ok'
	[[ $output != *$'\033'* ]]
	run -2 "$FAIRLOCK" doctor -q
	assert_line --index 0 --regexp '^  error +memory'
	refute_output --partial ' ok '
	cli CONFIG SET maxmemory 0 save '3600 1'
	run -0 "$FAIRLOCK" doctor -q
	assert_output ''
}

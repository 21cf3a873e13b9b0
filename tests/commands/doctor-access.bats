#!/usr/bin/env bats
# fairlock doctor and the way to a server: permissions, passwords, TLS, and kinds of servers.

load ../lib/helpers
load ../lib/permissions
load ../lib/doctor

# ---- Users ----

# can_be_asked: skips the test if the server cannot say what a user may do
can_be_asked() {
	cli --raw EVAL 'return redis.acl_check_cmd and 1 or 0' 0 | grep -qx 1 ||
		skip 'this server cannot be asked what a user may do: it is older than Redis 7'
}

# check_rule: takes each word out of the rule, and fails unless doctor names it as missing
check_rule() {
	local words rest word i

	can_be_asked
	mapfile -t words < <(rule backup)
	[ "${#words[@]}" -gt 10 ]
	cli ACL SETUSER backup "${words[@]}"
	become backup
	doctor 0 backup-db
	finds ok permissions 'backup may do all that is needed for lock backup-db'
	finds note 'not known'
	# The server refuses none of doctor's questions, so its ACL log stays empty.
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
}

@test "doctor names each word of the rule that a user lacks" {
	start_well
	check_rule
}

@test "doctor names all keys that a user lacks who was given the lock's name only" {
	start_well
	cli ACL SETUSER backup on nopass resetkeys '~job' '&*' +@all
	become backup
	doctor 2 job
	finds error permissions 'user backup lacks ~fairlock:{job} ~redisson_lock_queue:{job} ~redisson_lock_timeout:{job} ~fairlock_log:{job} ~fairlock_queue:{job} ~fairlock_holders:{job} ~fairlock_done:{job}* for lock job'
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

@test "doctor names all hidden commands in one finding, with EVAL, HELLO, SCAN and WAIT where they matter" {
	start_well --rename-command PUBSUB '' --rename-command XADD '' --rename-command PTTL ''
	"$FAIRLOCK" acquire job >/dev/null
	doctor 2
	finds error commands 'the server lacks PUBSUB, PTTL, XADD'
	stop_server
	start_well --rename-command EVAL ''
	doctor 2
	finds error grants 'unknown command EVAL'
	stop_server
	start_well --rename-command HELLO ''
	doctor 69
	finds error reach 'unknown command HELLO'
	says .findings[0].remedy "take its rename-command out of the server's configuration; Redis 6.2, Valkey 7.2 and later have it"
	stop_server
	start_well --rename-command SCAN '' --rename-command WAIT ''
	doctor 0
	finds note locks 'unknown command SCAN'
	doctor 2 --replicas 1
	finds error commands 'the server lacks WAIT'
}

@test "doctor names a hidden command also if it ends like another one that is hidden" {
	start_well --rename-command HSET '' --rename-command SET ''
	doctor 2
	finds error commands 'the server lacks HSET, SET'
}

# ---- Ways to a server ----

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

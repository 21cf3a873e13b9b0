# Users of the server with the rules of doctor --acl, or with less, on several servers: `load helpers`, then this.

# rule USER: the words of ACL SETUSER for a user, one a line, as `fairlock doctor --acl` prints them. backup locks names
# that begin with backup-, also some with braces; watcher only looks at them; jobs locks all, monitor looks at all.
rule() {
	{
		echo "ACL SETUSER fairlock on >SECRET"
		case $1 in
		backup)
			acl 'backup-*'
			acl 'backup-{db}*' | sed 's/ ~backup-{db}\*//' # backup-* has that one
			;;
		watcher) acl 'backup-*' | sed '$d' ;;
		monitor) acl | sed '$d' ;;
		jobs) acl ;;
		esac
	} | sed 's/^ACL SETUSER fairlock //' | tr ' ' '\n' | awk '!seen[$0]++'
}

acl() { env -u FAIRLOCK_PASSWORD FAIRLOCK_URL=redis://lock.example.com "$FAIRLOCK" doctor --acl "$@"; }

# start_on NAME: starts a server of this kind
start_on() {
	[ "$1" = system ] || use_server "$1"
	start_server
	cli --raw EVAL 'return redis.acl_check_cmd and 1 or 0' 0 | grep -qx 1 ||
		skip 'this server cannot be asked what a user may do: it is older than Redis 7'
}

# permit USER WORD...: gives USER these permissions and no others
permit() {
	local user=$1

	shift
	cli ACL DELUSER "$user" >/dev/null
	assert_equal "$(cli ACL SETUSER "$user" "$@")" OK
}

# permit_as_told USER: gives USER the permissions of its rule
permit_as_told() {
	local words

	mapfile -t words < <(rule "$1")
	[ "${#words[@]}" -gt 10 ] || fail "there is no rule for $1"
	permit "$1" "${words[@]}"
}

# become USER: fairlock runs as this user from now on
become() {
	export FAIRLOCK_URL="unix:$SERVER_SOCKET?user=$1" FAIRLOCK_PASSWORD=SECRET
}

nothing_was_denied() {
	assert_equal "$(cli ACL LOG)" ''
}

# shellcheck disable=SC2154 # `run` sets output
# named WORD: the message in $output names what this word of a rule permits
named() {
	case $1 in
	on | '>'*) grep -q 'it refuses this user' <<<"$output" ;;
	+*'|'*) grep -qiE "'${1:1:1}[a-z]*'|'$(tr '|' ' ' <<<"${1#+}")'|'${1#+}'" <<<"${output//|/ }" ;;
	+*) grep -qiE "'${1#+}[' ]" <<<"$output" ;;
	'~*') grep -q ' key' <<<"$output" ;;
	# with -v there is a list of the keys, without it there are patterns
	'~'*) grep -qF "$(sed -e 's/^~//' -e 's/\*.*//' <<<"$1")" <<<"${output#*needed:}" ||
		grep -qE "one of the keys .*, ${1:1:8}[a-z_]*\*:" <<<"$output" ||
		grep -qE "may not run '[A-Z]+ $(sed -e 's/^~//' -e 's/:.*//' <<<"$1"):" <<<"$output" ;;
	'&'*) grep -qF "redisson_lock__channel:" <<<"$output" ;;
	esac
}

# ---- What clients of fairlock-server must not do

# A command a line. The last ones are needed for locks, but not with these words.
DANGEROUS="CONFIG SET dir /tmp
CONFIG SET dbfilename authorized_keys
CONFIG SET appendfsync no
CONFIG GET *
CONFIG REWRITE
CONFIG RESETSTAT
MODULE LOAD /tmp/evil.so
MODULE LIST
FUNCTION LOAD #!lua
FUNCTION FLUSH
DEBUG SLEEP 0
DEBUG RELOAD
SAVE
BGSAVE
BGREWRITEAOF
SHUTDOWN NOSAVE
FLUSHALL
FLUSHDB
SWAPDB 0 1
SELECT 1
REPLICAOF 127.0.0.1 1
SLAVEOF 127.0.0.1 1
FAILOVER
CLUSTER RESET
SYNC
PSYNC ? -1
MIGRATE 127.0.0.1 1 job 0 1000
RESTORE evil 0 evil
DUMP job
SORT job
APPEND evil 1
RENAME job evil
COPY job evil
SUNION job
KEYS *
ACL SETUSER evil on nopass +@all
ACL SETUSER default +@all
ACL GETUSER admin
ACL LIST
ACL DELUSER admin
ACL SAVE
ACL LOAD
CLIENT LIST
CLIENT KILL TYPE normal
CLIENT PAUSE 1
CLIENT NO-EVICT on
MONITOR
SCRIPT FLUSH
SCRIPT KILL
SCRIPT DEBUG YES
SLOWLOG GET
LATENCY RESET
MEMORY STATS
INFO all
PSUBSCRIBE *
SUBSCRIBE __keyspace@0__:job
PUBLISH news evil
SPUBLISH news evil"

# each_is_refused COMMAND...: COMMAND, such as redis-cli, prints that the server refuses each of these, also in a script
each_is_refused() {
	local - line words count=0

	set -f
	while read -r line; do
		read -r -a words <<<"$line"
		run "$@" "${words[@]}"
		[[ $output = *NOPERM* || $output = *' command not allowed'* ]] || fail "$line: $output"
		run "$@" EVAL 'return redis.call(unpack(ARGV))' 0 "${words[@]}"
		[[ $output = *"ERR The user executing the script can't"* || $output = *'ERR ACL failure in script'* ||
			$output = *'not allowed from script'* ]] || fail "in a script, $line: $output"
		count=$((count + 1))
	done <<<"$DANGEROUS"
	[ "$count" -gt 50 ]
}

# no_way_out COMMAND...: a script finds none of Lua's ways to files and programs, and no password opens the server's
# user for the administrator
no_way_out() {
	run "$@" EVAL 'local found = {}
		for _, name in ipairs({"io", "package", "require", "dofile", "loadfile", "debug"}) do
			found[#found + 1] = rawget(_G, name) and name end
		for name in pairs(rawget(_G, "os") or {}) do found[#found + 1] = "os." .. name end
		return table.concat(found, " ")' 0
	[[ $output = '' || $output = os.clock ]] || fail "a script finds $output"
	for password in '' evil SECRET; do
		run "$@" AUTH admin "$password"
		assert_output --partial WRONGPASS
	done
}

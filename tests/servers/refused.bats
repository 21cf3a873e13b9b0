# Servers that cannot serve, answer nonsense or refuse: each ends with its own status and message.
load ../lib/jobs

setup() { start_in_folder; }

# one_line TEXT: the output is one message of fairlock, with TEXT in it
one_line() {
	[ "${#lines[@]}" = 1 ]
	assert_output --regexp '^fairlock: cannot .*: .*'
	assert_output --partial "$1"
}

# says CAUSE [TAIL]: the output is our one short line with this cause, of the server with TAIL behind its URL
says() {
	assert_output "fairlock: cannot use $FAIRLOCK_URL${2-}: $1"
	[ "${#output}" -lt 160 ]
}

# is_useless STATUS WORDS COMMAND...: this command ends with STATUS, and has WORDS in its one line
is_useless() {
	run -"$1" timeout 20 "$FAIRLOCK" "${@:3}"
	one_line "$2"
}

@test "a server that is not there ends each command with 69, and its name and the cause" {
	is_useless 69 "cannot reach unix:$PWD/nowhere: No such file or directory" wrap -u "unix:$PWD/nowhere" job true
	is_useless 69 'cannot reach redis://127.0.0.1:1: Connection refused' status -u redis://127.0.0.1:1
	is_useless 69 'cannot reach redis://no.such.host.invalid' status -u redis://no.such.host.invalid
}

@test "what is no server of ours ends wrap with 70, or with 69 after the connect timeout if it does not answer" {
	export FAIRLOCK_URL=unix:$PWD/listener
	while IFS=: read -r how status words; do
		rm -f listener
		background python3 "$TESTS_DIR/lib/nonsense.py" "$PWD/listener" "$how"
		wait_until test -S listener
		is_useless "$status" "$words" wrap --connect-timeout 200ms job true
	done <<END
http:70:cannot understand unix:$PWD/listener: it is no Redis or Valkey server
wrong:70:its reply makes no sense
close:69:cannot reach
half:69:no reply in time
silent:69:no reply in time
proxy:69:it, or a proxy before it, refuses HELLO 3 (RESP3)
END
}

@test "a user without permission gets status 77 with the command that was denied" {
	cli ACL SETUSER eve on '>pw' '~*' '&*' +@all -evalsha -eval >/dev/null
	FAIRLOCK_PASSWORD=pw FAIRLOCK_URL="$FAIRLOCK_URL?user=eve" run -77 "$FAIRLOCK" wrap job true
	assert_output "fairlock: cannot use $FAIRLOCK_URL?user=eve: this user may not run 'evalsha'; see fairlock doctor"
	cli ACL SETUSER eve on '>pw' resetkeys '~other' '&*' +@all >/dev/null
	FAIRLOCK_PASSWORD=pw FAIRLOCK_URL="$FAIRLOCK_URL?user=eve" run -77 "$FAIRLOCK" wrap job true
	assert_output "fairlock: cannot use $FAIRLOCK_URL?user=eve: it denies one of the keys job, redisson_lock_*:{job}, fairlock*:{job}"
}

@test "a database that does not exist gives status 78, and locks of different databases are different locks" {
	run -78 "$FAIRLOCK" wrap -u "$FAIRLOCK_URL?db=99" job true
	says 'it has no database 99' '?db=99'
	run -0 timeout 10 "$FAIRLOCK" wrap job "$FAIRLOCK" wrap -u "$FAIRLOCK_URL?db=1" job echo both
	assert_output both
}

@test "a name whose key belongs to something else gives wrap, log, renew and release status 78, and the key stays as it is" {
	local nobody=00000000-0000-4000-8000-000000000000:1

	for key in job 'redisson_lock_queue:{job}' 'redisson_lock_timeout:{job}' 'fairlock:{job}' 'fairlock_log:{job}'; do
		for words in 'wrap job true' 'log --stats job' "renew --owner $nobody job" "release --owner $nobody job" 'release --force job'; do
			[[ $key != fairlock_log* || $words = log* ]] || continue
			[[ $key != *timeout* || $words = wrap* ]] || continue
			cli FLUSHALL >/dev/null
			cli SET "$key" precious >/dev/null
			run -78 timeout 10 "$FAIRLOCK" $words
			one_line 'in use by something that is no lock'
			assert_equal "$(cli --raw KEYS '*') $(cli --raw GET "$key") $(cli TTL "$key")" "$key precious -1"
		done
	done
	for words in 'status job' 'wrap job true' 'release --force job'; do
		for fields in 'name bob' 'count 1 age 3'; do
			cli FLUSHALL >/dev/null
			cli HSET job $fields >/dev/null
			run -78 timeout 10 "$FAIRLOCK" $words
			one_line 'in use by something that is no lock'
			assert_equal "$(cli HGETALL job | xargs)" "$fields"
		done
	done
}

# Prints all that the server keeps of lock x.
left() { cli --raw EVAL "return {redis.call('KEYS', '*'), redis.call('HGETALL', 'x'), redis.call('HGETALL', 'fairlock:{x}')}" 0 | sort; }

@test "a lock of another protocol version gives status 78, and stays as it is" {
	"$FAIRLOCK" acquire x >owner
	cli HSET 'fairlock:{x}' v 2 >/dev/null
	before=$(left)
	for words in 'wrap x touch ran' 'wrap -n x touch ran' 'acquire x' "renew --owner $(<owner) x" "release --owner $(<owner) x" \
		'release --force x' 'release --stop x'; do
		run -78 "$FAIRLOCK" $words
		assert_output "fairlock: cannot use this lock: another fairlock uses it with protocol 2, this one has protocol 1; \
install the same version on all hosts"
	done
	assert_equal "$(left)" "$before"
	[ ! -e ran ]
	run -0 "$FAIRLOCK" status -q x
}

@test "a replica that has lost its master: 69, the cause and the remedy; the server's own words with -v, also of a full one" {
	cli CONFIG SET replica-serve-stale-data no >/dev/null
	cli REPLICAOF 127.0.0.1 1 >/dev/null
	run -69 timeout 20 "$FAIRLOCK" wrap --connect-timeout 500ms job true
	says 'it is a replica that has lost its master; see fairlock doctor'
	run -69 timeout 20 "$FAIRLOCK" wrap -v --connect-timeout 500ms job true
	assert_line --regexp '^fairlock: \[ +[0-9.]+\] the server says: MASTERDOWN '
	cli REPLICAOF NO ONE >/dev/null
	cli CONFIG SET maxmemory 1 >/dev/null
	run -69 timeout 20 "$FAIRLOCK" wrap -v --connect-timeout 500ms job true
	assert_line --regexp '^fairlock: \[ +[0-9.]+\] the server says: OOM '
}

@test "protected mode: 77 from another host; with a password it serves" {
	load ../lib/network
	stop_server
	new_network
	start_far_server --protected-mode yes
	FAIRLOCK_URL=$FAR_URL
	run -77 "$NEAR" timeout 20 "$FAIRLOCK" wrap job true
	says 'it is in protected mode; give it a password or a bind address'
	run -77 "$NEAR" timeout 20 "$FAIRLOCK" wrap -v job true
	assert_line --regexp 'the server says: DENIED .* protected mode'
	cli CONFIG SET requirepass sesame >/dev/null
	FAIRLOCK_PASSWORD=sesame run -0 "$NEAR" timeout 20 "$FAIRLOCK" wrap job true
}

@test "a message stays under 160 characters, however long the server's name, the user or the path is" {
	long=$(printf 'x%.0s' {1..60})
	for url in "redis://$long.$long.$long.invalid" "redis://$long:@127.0.0.1:1" "redis+sentinel://127.0.0.1:1/$long$long$long" \
		"redis://127.0.0.1:1,127.0.0.1:1,127.0.0.1:1,127.0.0.1:1,127.0.0.1:1,127.0.0.1:1,127.0.0.1:1"; do
		run -69 timeout 20 "$FAIRLOCK" wrap -u "$url" job true
		one_line 'cannot reach redis'
		[ "${#output}" -lt 160 ]
	done
	for url in "unix:/$long/$long/$long" "ftp://$long$long$long" "redis://$long$long:x"; do
		run -78 "$FAIRLOCK" wrap -u "$url" job true
		one_line 'cannot use URL'
		[ "${#output}" -lt 160 ]
	done
	run -78 "$FAIRLOCK" wrap --config "/$long/$long/$long/$long" job true
	one_line 'cannot read /xxx'
	[[ $output = *'xxx: No such file or directory' && ${#output} -lt 160 ]]
}

# Redis 8.6 refuses SUBSCRIBE then, and no renewal.
@test "a holder that connects anew while the memory of the server is full keeps its lock" {
	background "$FAIRLOCK" wrap -l 2s job sleep 5
	holder=$!
	wait_until "$FAIRLOCK" status -q job
	cli CONFIG SET maxmemory 1 >/dev/null
	assert_equal "$(cli CLIENT KILL TYPE pubsub)" 1
	ends_with 0 "$holder"
}

# After it has deleted something, as a dead waiter, a script may write though the memory is full. Redis 8.6 refuses the
# channel, and a waiter that does not listen counts as gone.
@test "a waiter that joined the queue while the memory of the server was full gets the lock in its turn" {
	listen() { [ "$(cli PUBSUB CHANNELS 'redisson_lock__channel:{job}:*' | wc -l)" = "$1" ]; }
	hold job
	background "$FAIRLOCK" wrap job true
	dead=$!
	wait_until listen 2
	kill -KILL "$dead"
	wait_until listen 1
	cli CONFIG SET maxmemory 1 >/dev/null
	background "$FAIRLOCK" wrap -v job sh -c 'echo first >>order' 2>said
	first=$!
	wait_until grep -q 'waiting for lock' said
	cli CONFIG SET maxmemory 0 >/dev/null
	background "$FAIRLOCK" wrap job sh -c 'echo second >>order'
	WAIT_S=5 wait_until listen 3 # its next request would come after 10 s
	kill "$HOLDER"
	ends_with 0 "$first"
	ends_with 0 "$!"
	assert_equal "$(xargs <order)" 'first second'
}

# obtains_nothing STATUS TEXT: each way of not waiting ends with STATUS, and prints TEXT
obtains_nothing() {
	local words

	for words in 'wrap --skip' 'wrap -nqE 0' 'wrap --skip --once-per 1h' 'acquire -nqE 0'; do
		run -"$1" timeout 20 "$FAIRLOCK" $words --connect-timeout 500ms job $([[ $words = acquire* ]] || echo true)
		assert_output "$2"
	done
}

# A server that cannot grant locks still knows which are held.
@test "--skip hides no outage: 69 when the server refuses a free lock, 0 when it says that the lock is held" {
	owner=$("$FAIRLOCK" acquire job)
	cli CONFIG SET min-replicas-to-write 1 >/dev/null
	obtains_nothing 0 ''
	run -75 timeout 20 "$FAIRLOCK" wrap -n --connect-timeout 500ms job true
	assert_output --partial 'held by hand until'
	cli CONFIG SET min-replicas-to-write 0 >/dev/null
	"$FAIRLOCK" release --owner "$owner" job
	cli CONFIG SET min-replicas-to-write 1 >/dev/null
	obtains_nothing 69 "fairlock: cannot use $FAIRLOCK_URL: it has too few replicas (min-replicas-to-write); see fairlock doctor"
}

@test "a server without a command that the scripts call: 69, and no lock without a time to live" {
	for command in PEXPIRE DEL PTTL; do
		restart_server --rename-command "$command" ''
		"$FAIRLOCK" acquire job >/dev/null 2>&1 || true
		run -69 timeout 20 "$FAIRLOCK" wrap -w 300ms job true
		says 'it lacks a command: renamed, or the server is too old; see fairlock doctor'
		[ "$command" = PTTL ] || is_free job
	done
}

# The server of fairlock-server.service, as systemd starts it. What
# its clients may do, what it listens on, and which settings it refuses. The unit is tested in tests/deb.
load ../lib/helpers
load ../lib/permissions

PROGRAM=$TESTS_DIR/../src/server/fairlock-server
TIMEOUT=$(command -v timeout)

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	mkdir state run
	export STATE_DIRECTORY=$PWD/state RUNTIME_DIRECTORY=$PWD/run FAIRLOCK_URL=unix:$PWD/run/socket
	export HOME=$PWD
}

# serve: starts it with the files `conf` and `settings` in this folder. Sets SERVED.
serve() {
	mkdir -p bin
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$SERVER" >bin/redis-server
	chmod +x bin/redis-server
	PATH=$PWD/bin:$PATH background "$PROGRAM" "$PWD/conf" "$PWD/settings" >log 2>&1
	SERVED=$!
	wait_until answers || {
		cat log >&2
		return 1
	}
}

# end_served [SIGNAL]
end_served() {
	kill "-${1-TERM}" "$SERVED"
	wait "$SERVED" || true
}

answers() { [ "$(as_admin PING)" = PONG ]; }

as_admin() { REDISCLI_AUTH=$(<state/admin.password) "$CLI" -s run/socket --user admin "$@"; }

cli() { as_admin "$@"; } # for functions of the library that look at queues

# refuses CAUSE: with the file `conf`, it ends with status 78 and this message, in which there is no password. (One that
# serves instead is ended after a while.)
refuses() {
	run -78 "$TIMEOUT" 20 "$PROGRAM" "$PWD/conf" "$PWD/settings"
	assert_output "fairlock-server: $1"
	refute_output --partial SESAME
	[ ${#output} -lt 160 ] || [[ $output = *"$PWD"* ]]
	[ ! -e state/server.conf ]
}

# refuses_url URL CAUSE
refuses_url() {
	echo "url = $1" >conf
	refuses "cannot serve the url in $PWD/conf: $2"
}

# words_of_default: prints what the running server says that its clients may do, as words of a rule. (Valkey 9.1 has
# databases, too; SELECT is refused.)
words_of_default() {
	as_admin --raw ACL GETUSER default | sed -n '/^commands$/,$p' | tr ' ' '\n' |
		grep -vxE 'commands|keys|channels|databases|alldbs|selectors|-@all|' | sort
}

@test "the clients of fairlock-server may do the same as the rule for all locks, word for word" {
	assert_equal "$(sed -n "/^rule='/,/'\$/p" "$PROGRAM" | sed -E "s/rule=//; s/'//g" | xargs -n 1 | sort)" \
		"$(rule jobs | grep -vxE 'on|>SECRET' | sort)"
	serve
	assert_equal "$(words_of_default)" "$(rule jobs | grep -vxE 'on|>SECRET' | sort)"
	assert_equal "$(as_admin ACL USERS | sort | paste -sd ' ')" 'admin default'
}

@test "every command of fairlock works on fairlock-server, and it denies nothing that they need" {
	serve
	background "$FAIRLOCK" log --follow --json >followed
	use_all job
	use_all 'a {b} c'
	wait_until grep -q released followed
	"$FAIRLOCK" wrap --once-per 1d slots true
	background "$FAIRLOCK" wrap job sleep 600
	wait_until "$FAIRLOCK" status -q job
	background "$FAIRLOCK" wrap --supersede job true
	wait_until in_queue job 1
	run -0 "$FAIRLOCK" queue --raw --noheadings -o NAME,PRESENT
	assert_output 'job yes'
	run -0 "$FAIRLOCK" status --raw --noheadings -o NAME,STATE,WAITERS
	assert_output 'job held 1'
	run -0 "$FAIRLOCK" log
	run -0 "$FAIRLOCK" status --prometheus
	nothing_was_denied
}

@test "only the user of the server can read its files, and the socket is for its group" {
	umask 000
	serve
	assert_equal "$(stat -c %a state/admin.password state/server.conf run/socket | paste -sd ' ')" '600 600 660'
	assert_equal "$(find state -perm /077 ! -path state)" ''
	run -1 grep -rqF "$(<state/admin.password)" state/server.conf log
}

@test "a lock on fairlock-server survives that the server is stopped or killed" {
	for signal in TERM KILL; do
		serve
		owner=$("$FAIRLOCK" acquire --lease 1h job)
		end_served "$signal"
		serve
		run -0 "$FAIRLOCK" status --raw --noheadings -o STATE,OWNER job
		assert_output "held $owner"
		"$FAIRLOCK" renew --owner "$owner" job
		"$FAIRLOCK" release --force job
		end_served
	done
}

@test "without a URL with TCP in the configuration file, the server listens on its socket alone" {
	for url in '' local: "unix:$PWD/run/socket"; do
		[ -z "$url" ] || echo "url = $url" >conf
		serve
		assert_equal "$(as_admin CONFIG GET port | sed -n 2p)" 0
		run ss -Htlnp
		refute_output --partial "pid=$SERVED,"
		end_served
	done
}

@test "with a URL with TCP, the server listens on that address and port, and wants its password there and on the socket" {
	port=$(free_port)
	echo "  url=valkey://default:SESAME@127.0.0.1:$port/0 " >conf
	serve
	assert_equal "$(ss -Htlnp | grep "pid=$SERVED," | awk '{ print $4 }')" "127.0.0.1:$port"
	env -u FAIRLOCK_URL "$FAIRLOCK" wrap --config conf job true
	run -77 "$FAIRLOCK" wrap --url "redis://127.0.0.1:$port" job true
	run -77 "$FAIRLOCK" wrap --url "redis://:WRONG@127.0.0.1:$port" job true
	run -77 "$FAIRLOCK" wrap job true
	FAIRLOCK_PASSWORD=SESAME "$FAIRLOCK" wrap job true
	run -1 grep -rq SESAME state log
}

@test "the password of the server may stand in the configuration file, or in a file that this one names" {
	port=$(free_port)
	printf 'password-file = %s/password\nurl = redis://none\nurl = redis://:UNUSED@127.0.0.1:%s\n' "$PWD" "$port" >conf
	printf '\xef\xbb\xbfSE"CRET %%#\\\r\nnot this\n' >password
	serve
	env -u FAIRLOCK_URL "$FAIRLOCK" wrap --config conf job true
	run -77 "$FAIRLOCK" wrap --url "redis://:WRONG@127.0.0.1:$port" job true
	end_served
	echo 'password = # OTHER  ' >>conf # which goes before the file
	serve
	env -u FAIRLOCK_URL "$FAIRLOCK" wrap --config conf job true
	FAIRLOCK_PASSWORD='# OTHER' "$FAIRLOCK" wrap job true
}

@test "fairlock-server refuses a URL that it cannot serve, with status 78, and does not print the password" {
	for url in redis://127.0.0.1 redis://127.0.0.1:7000/0 'redis://:@127.0.0.1'; do
		refuses_url "$url" "it has no password: write redis://:PASSWORD@HOST"
	done
	for url in redis://jobs:SESAME@127.0.0.1 'redis://SESAME@127.0.0.1' redis://@127.0.0.1; do
		refuses_url "$url" "the server knows no user of this name: write redis://:PASSWORD@HOST"
	done
	for url in redis://:SESAME@one,two redis://:SESAME@127.0.0.1/3 redis://:SESAME@ 'redis://:SESAME@*' redis://:SESAME@-one \
		'redis://:SESAME@one two'; do
		refuses_url "$url" "it has not the form redis://:PASSWORD@HOST[:PORT]"
	done
	for url in redis://:SESAME@one: redis://:SESAME@one:7x redis://:SESAME@one:0 redis://:SESAME@one:65536 \
		redis://:SESAME@one:99999999999999999999; do
		refuses_url "$url" "its port is no number from 1 to 65535"
	done
	for url in redis+sentinel://:SESAME@one/main unix:/elsewhere/socket REDIS://:SESAME@one '"redis://:SESAME@one"' one; do
		refuses_url "$url" "it is neither unix:$PWD/run/socket nor redis://:PASSWORD@HOST[:PORT]"
	done
	refuses_url 'redis://:SESAME%41@one' "its password has a %: write it as password = TEXT, or into a password-file"
	for file in /nonexistent /; do
		printf 'url = redis://one\npassword-file = %s\n' "$file" >conf
		refuses "cannot read $file: let the group fairlock read it, outside of /home, /root and /tmp"
	done
	: >empty
	printf 'url = redis://one\npassword-file = %s/empty\n' "$PWD" >conf
	refuses "cannot use $PWD/empty: it has no password"
}

@test "fairlock-server refuses the password SECRET of the examples, wherever it stands" {
	echo SECRET >password
	for line in 'url = redis://:SECRET@127.0.0.1' $'url = redis://127.0.0.1\npassword = SECRET' 'password = SECRET' \
		"password-file = $PWD/password"; do
		echo "$line" >conf
		run -78 "$TIMEOUT" 20 "$PROGRAM" "$PWD/conf" "$PWD/settings"
		assert_output "fairlock-server: cannot use the password SECRET of the examples: put what 'openssl rand -hex 16' prints into its place"
	done
}

@test "fairlock-server opens no port without a password, whatever the second file says" {
	for line in 'port 7000' 'TLS-PORT 7000' ' port	7000'; do
		echo "$line" >settings
		refuses "cannot open the port in $PWD/settings: without a URL of TCP in $PWD/conf there is no password"
	done
	port=$(free_port)
	echo "port $port" >included
	for line in 'port 0' "\"port\" $port" "'port' $port" "include $PWD/included" "\"TLS-PORT\" \"$port\"" \
		"\"\\x70ort\" $port" "\"\\x74ls-port\" $port" 'cluster-enabled yes'; do
		echo "$line" >settings
		serve
		run ss -Htlnp
		refute_output --partial "pid=$SERVED,"
		assert_equal "$(as_admin CONFIG GET '*port' | grep -cx "$port")" 0
		end_served
	done
}

@test "fairlock-server refuses a Redis that is older than 7.0" {
	mkdir bin
	printf '#!/bin/sh\necho "Redis server v=6.2.14 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=0"\n' >bin/redis-server
	chmod +x bin/redis-server
	PATH=$PWD/bin:$PATH refuses "$PWD/bin/redis-server is too old: Redis 7.0, or Valkey, is the least"
}

@test "fairlock-server says so if neither Redis nor Valkey is installed" {
	mkdir bin
	for tool in sh sed od tr rm cat sha256sum; do
		ln -s "$(command -v $tool)" bin/
	done
	PATH=$PWD/bin refuses 'neither redis-server nor valkey-server is installed: install Redis or Valkey'
}

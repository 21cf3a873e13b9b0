# Where a password comes from, and where it must not be seen.
load ../lib/jobs

# The server also listens on $PORT, and has the user backup with its password.
setup() {
	PORT=$(free_port)
	start_server --port "$PORT" --bind 127.0.0.1
	cli ACL SETUSER backup on '>SECRET' '~*' '&*' +@all >/dev/null
	cli ACL SETUSER default off >/dev/null # so that nothing below works without the password
	socket="unix:$SERVER_SOCKET?user=backup"
	cd "$BATS_TEST_TMPDIR" || return
	export HOME=$PWD
	unset FAIRLOCK_URL
	printf 'SECRET\nsecond line\n' >file
}

@test "a user's password comes from the URL, a variable, a file or a configuration file" {
	run -0 "$FAIRLOCK" wrap -u "redis://backup:SECRET@127.0.0.1:$PORT" job true
	FAIRLOCK_URL=redis://backup:SECRET@127.0.0.1:$PORT run -0 "$FAIRLOCK" wrap job true
	FAIRLOCK_PASSWORD=SECRET FAIRLOCK_URL=$socket run -0 "$FAIRLOCK" wrap job true
	REDISCLI_AUTH=SECRET FAIRLOCK_URL=$socket run -0 "$FAIRLOCK" wrap job true
	run -0 "$FAIRLOCK" wrap -u "$socket" --password-file file job true
	run -0 "$FAIRLOCK" wrap -u "$socket" --password-file <(echo SECRET) job true
	FAIRLOCK_PASSWORD_FILE=./file FAIRLOCK_URL=$socket run -0 "$FAIRLOCK" wrap job true
	printf 'url = %s\npassword = SECRET\n' "$socket" >conf
	run -0 "$FAIRLOCK" wrap --config conf job true
	printf 'url = %s\npassword-file = %s\n' "$socket" "$PWD/file" >conf
	run -0 "$FAIRLOCK" wrap --config conf job true
	run -77 "$FAIRLOCK" wrap -u "$socket" job true
	cli --user backup --pass SECRET ACL SETUSER backup '>with blank ' >/dev/null
	printf 'with blank ' >file # no newline
	run -0 "$FAIRLOCK" wrap -u "$socket" --password-file file job true
}

# configure FILE LINE...
configure() { printf '%s\n' "${@:2}" >"$1"; }

@test "on one level FAIRLOCK_PASSWORD goes first, then a password file, then the URL" {
	right=redis://backup:SECRET@127.0.0.1:$PORT wrong=redis://backup:wrong@127.0.0.1:$PORT
	echo wrong >wrong
	export REDISCLI_AUTH=wrong
	run -0 "$FAIRLOCK" wrap -u "$wrong" --password-file file job true
	run -77 "$FAIRLOCK" wrap -u "$right" --password-file wrong job true
	FAIRLOCK_URL=$wrong FAIRLOCK_PASSWORD=SECRET FAIRLOCK_PASSWORD_FILE=wrong run -0 "$FAIRLOCK" wrap job true
	FAIRLOCK_URL=$wrong FAIRLOCK_PASSWORD_FILE=file run -0 "$FAIRLOCK" wrap job true
	FAIRLOCK_URL=$right run -0 "$FAIRLOCK" wrap job true
	configure conf "url = $wrong" 'password-file = wrong' 'password = SECRET'
	run -0 "$FAIRLOCK" wrap --config conf job true
	configure conf "url = $wrong" "password-file = $PWD/file"
	run -0 "$FAIRLOCK" wrap --config conf job true
}

@test "a variable with the password mends a wrong one in the URL of a file, and keeps its user" {
	configure conf "url = redis://backup:wrong@127.0.0.1:$PORT"
	run -77 "$FAIRLOCK" wrap --config conf job true
	assert_output --partial 'the password from conf:1'
	FAIRLOCK_PASSWORD=SECRET run -0 "$FAIRLOCK" wrap --config conf job true
	run -0 "$FAIRLOCK" wrap --config conf --password-file file job true
}

@test "a holder that connects again is not held up by a password file that has become a pipe" {
	background "$FAIRLOCK" wrap -l 3s -u "$socket" --password-file file job sh -c 'touch begun; sleep 5'
	job=$!
	wait_until test -e begun
	rm file
	mkfifo file
	assert_equal "$(cli --user backup --pass SECRET CLIENT KILL USER backup)" 1
	wait "$job"
}

@test "a password never goes to a server whose URL is nearer: it is for another server" {
	configure conf "url = redis://backup:SECRET@127.0.0.1:1" 'password = SECRET'
	FAIRLOCK_URL=$socket run -77 "$FAIRLOCK" wrap --config conf job true
	assert_output --regexp 'it wants a password: FAIRLOCK_PASSWORD or --password-file$'
	FAIRLOCK_PASSWORD=SECRET run -77 "$FAIRLOCK" wrap -u "$socket" job true
	assert_output --regexp 'it wants a password: --password-file$'
	FAIRLOCK_URL=redis://backup:SECRET@127.0.0.1:1 run -77 "$FAIRLOCK" wrap -u "$socket" job true
	assert_output --regexp 'it wants a password: --password-file$'
	REDISCLI_AUTH=SECRET run -77 "$FAIRLOCK" wrap -u "$socket" job true
	FAIRLOCK_PASSWORD=other run -0 "$FAIRLOCK" wrap -u "redis://backup:SECRET@127.0.0.1:$PORT" job true
}

@test "a message about a refused password names its source" {
	echo wrong >wrong
	FAIRLOCK_URL=redis://backup:wrong@127.0.0.1:$PORT run -77 "$FAIRLOCK" status
	assert_output --regexp 'or the password from FAIRLOCK_URL$'
	for text in FAIRLOCK_PASSWORD REDISCLI_AUTH; do
		run -77 env "FAIRLOCK_URL=$socket" "$text=wrong" "$FAIRLOCK" status
		assert_output --regexp "or the password from $text\$"
	done
	run -77 "$FAIRLOCK" status -u "$socket" --password-file wrong
	assert_output --regexp 'or the password from --password-file$'
	configure conf '' "url = $socket" 'password = wrong'
	run -77 "$FAIRLOCK" status --config conf
	assert_output --regexp 'or the password from conf:3$'
	export FAIRLOCK_URL=$socket
	for text in $'SECRET\n=a line break' $'SECRET\r=a carriage return' 'SECRET =a blank'; do
		FAIRLOCK_PASSWORD=${text%=*} run -77 "$FAIRLOCK" status
		assert_output --regexp "it refuses FAIRLOCK_PASSWORD, which ends with ${text#*=}\$"
	done
	FAIRLOCK_PASSWORD=$'\xef\xbb\xbfSECRET' run -77 "$FAIRLOCK" status
	assert_output --regexp 'it refuses FAIRLOCK_PASSWORD, which has a byte order mark$'
}

@test "a password file may have a byte order mark, and a carriage return at the line's end" {
	printf '\xef\xbb\xbfSECRET\r\n' >file
	run -0 "$FAIRLOCK" wrap -u "$socket" --password-file file job true
	printf 'SECRET\r' >file
	run -0 "$FAIRLOCK" wrap -u "$socket" --password-file file job true
}

@test "a URL that ends with a line break or has a byte order mark is refused for that" {
	run -78 "$FAIRLOCK" status -u $'redis://127.0.0.1:1\n'
	assert_output "fairlock: cannot use URL 'redis://127.0.0.1...': it ends with a line break"
	FAIRLOCK_URL=$'unix:/nonexistent/x\r' run -78 "$FAIRLOCK" status
	assert_output --partial ': it ends with a carriage return'
	FAIRLOCK_URL=$'unix:/nonexistent/x\n?db=1' run -78 "$FAIRLOCK" status
	assert_output --partial ': the path ends with a blank or a line break'
	FAIRLOCK_URL=$'\xef\xbb\xbfredis://:SECRET@127.0.0.1:1' run -78 "$FAIRLOCK" status
	assert_output --partial ': it has a byte order mark'
	refute_output --partial SECRET
}

@test "a new password in the file is read for the next connection: a holder and a waiter go on" {
	run_until_go -v -l 12s -u "$socket" --password-file file
	background "$FAIRLOCK" wrap -v -u "$socket" --password-file file job touch ran 2>waiter.said
	waiter=$!
	wait_until grep -q 'waiting for lock job' waiter.said
	cli --user backup --pass SECRET ACL SETUSER backup resetpass '>NEW' >/dev/null
	cli --user backup --pass NEW CLIENT KILL USER backup >/dev/null
	wait_until grep -q 'it refuses this user, or the password from --password-file' said
	wait_until grep -q 'it refuses this user, or the password from --password-file' waiter.said
	echo NEW >file.new
	mv file.new file
	wait_until lines_with 2 'connected to' waiter.said
	wait_until lines_with 2 'connected to\|renewed lock' said
	touch go
	ends_with 3 "$WRAPPER"
	ends_with 0 "$waiter"
	[ -e ran ]
}

# lines_with N REGEX FILE: so many lines match, or more
lines_with() { [ "$(grep -c "$2" "$3")" -ge "$1" ]; }

# arguments_and_environment PID: what ps and a core file show of the process
arguments_and_environment() {
	tr '\0' '\n' <"/proc/$1/cmdline"
	tr '\0' '\n' <"/proc/$1/environ"
}

# shown_nowhere OPTION...: neither wrap, its guard, COMMAND nor -v shows the password
shown_nowhere() {
	local pid wrapper

	rm -f pid said
	background "$FAIRLOCK" wrap -v "$@" job sh -c 'echo $$ >pid.new; mv pid.new pid; exec sleep 600' 2>said
	wrapper=$!
	wait_until test -e pid
	for pid in "$wrapper" $(pgrep -P "$wrapper") "$(cat pid)"; do
		run -0 arguments_and_environment "$pid"
		assert_output --partial "PWD=$PWD"
		refute_output --partial SECRET
	done
	[ -s said ] || fail 'wrap -v says nothing'
	run -1 grep SECRET said
	kill "$wrapper"
	wait "$wrapper" || true
}

@test "a password is neither in arguments, nor in the environment of COMMAND, nor in what --verbose says" {
	url=redis://backup:SECRET@127.0.0.1:$PORT
	shown_nowhere -u "$url"
	shown_nowhere "-u$url"
	shown_nowhere -qu "$url"
	shown_nowhere --url "$url"
	shown_nowhere "--url=$url"
	shown_nowhere "--ur=$url"
	shown_nowhere -u redis://127.0.0.1:1 -u "$url"
	shown_nowhere -u "$url" -u "$url"
	shown_nowhere -u "$socket" --password-file file
	printf 'url = %s\npassword = SECRET\n' "$url" >conf
	shown_nowhere --config conf
}

@test "no password of a URL in a command line or a reason goes to the server" {
	restart_server
	long=$(printf '%0470d' 7)
	"$FAIRLOCK" wrap a -- true --url redis://:SECRET@127.0.0.1:1 b
	"$FAIRLOCK" wrap a -- true fairlock wrap "--url=redis://user:SECRET@h" -- curl https://SECRET@h/x https://u:SECRET@h https://h/@scope/pkg
	"$FAIRLOCK" wrap a -c ': "redis://:SECRET@h" "rediss://u:SECRET@h/1"; : a@b'
	"$FAIRLOCK" wrap a -- true 'redis://:SECRET SECRET@h'
	"$FAIRLOCK" wrap a -- true "$long" redis://:SECRET@h
	"$FAIRLOCK" wrap --reason 'for redis://:SECRET@h' a true
	background sh -c 'sleep 600; :' redis://:SECRET@h
	wait_until grep -qz '^redis://' "/proc/$!/cmdline"
	"$FAIRLOCK" acquire --while-pid $! b
	run -0 "$FAIRLOCK" log --json
	refute_output --partial SECRET
	assert_output --partial 'true --url redis://:*@127.0.0.1:1 b'
	assert_output --partial 'wrap --url=redis://user:*@h -- curl https://*@h/x https://u:*@h https://h/@scope/pkg'
	assert_output --partial 'rediss://u:*@h/1'
	assert_output --partial 'for redis://:*@h'
	run -0 "$FAIRLOCK" status --json
	assert_output --partial 'redis://:*@h'
	refute_output --partial SECRET
	refute grep -q SECRET <(cli --raw KEYS '*' | while read -r key; do cli --raw DUMP "$key"; done)
}

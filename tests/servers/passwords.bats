#!/usr/bin/env bats
# Where a password comes from, and where it must not be seen.

load ../lib/helpers

# start_with_password: a server that also listens on $PORT, with the user backup and its password
start_with_password() {
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
	start_with_password
	run -0 "$FAIRLOCK" wrap -u "redis://backup:SECRET@127.0.0.1:$PORT" job true
	FAIRLOCK_URL=redis://backup:SECRET@127.0.0.1:$PORT run -0 "$FAIRLOCK" wrap job true
	FAIRLOCK_PASSWORD=SECRET run -0 "$FAIRLOCK" wrap -u "$socket" job true
	REDISCLI_AUTH=SECRET run -0 "$FAIRLOCK" wrap -u "$socket" job true
	run -0 "$FAIRLOCK" wrap -u "$socket" --password-file file job true
	FAIRLOCK_PASSWORD_FILE=./file run -0 "$FAIRLOCK" wrap -u "$socket" job true
	printf 'url = %s\npassword = SECRET\n' "$socket" >conf
	run -0 "$FAIRLOCK" wrap --config conf job true
	printf 'url = %s\npassword-file = %s\n' "$socket" "$PWD/file" >conf
	run -0 "$FAIRLOCK" wrap --config conf job true
	run -77 "$FAIRLOCK" wrap -u "$socket" job true
	cli --user backup --pass SECRET ACL SETUSER backup '>with blank ' >/dev/null
	printf 'with blank ' >file # no newline
	run -0 "$FAIRLOCK" wrap -u "$socket" --password-file file job true
}

@test "an earlier source of a password goes before a later one" {
	start_with_password
	echo wrong >wrong
	export REDISCLI_AUTH=wrong
	run -0 "$FAIRLOCK" wrap -u "$socket" --password-file file job true
	FAIRLOCK_PASSWORD=SECRET run -0 "$FAIRLOCK" wrap -u "$socket" job true
	FAIRLOCK_PASSWORD=wrong run -0 "$FAIRLOCK" wrap -u "redis://backup:SECRET@127.0.0.1:$PORT" --password-file wrong job true
	FAIRLOCK_PASSWORD=wrong run -77 "$FAIRLOCK" wrap -u "$socket" job true
	refute_output --partial wrong
}

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
	local url

	start_with_password
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

@test "an inherited password is passed on to COMMAND in the same variable and in no other" {
	start_with_password
	for variable in FAIRLOCK_PASSWORD REDISCLI_AUTH; do
		run -0 env "$variable=SECRET" "$FAIRLOCK" wrap -u "$socket" job sh -c 'env | grep SECRET'
		assert_output "$variable=SECRET"
	done
}

@test "the keeper of acquire --while-pid does not show the password" {
	local keeper

	start_with_password
	background sleep 600
	"$FAIRLOCK" acquire --while-pid $! -u "redis://backup:SECRET@127.0.0.1:$PORT" job
	run -0 pgrep -f -d ' ' -- "while-pid $! "
	for keeper in $output; do
		run -0 arguments_and_environment "$keeper"
		refute_output --partial SECRET
	done
}

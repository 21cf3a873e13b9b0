#!/usr/bin/env bats
# The sources of settings: which one wins, and what fairlock says of a wrong one. No server answers
# here; a failure names the URL that won.

load ../lib/helpers

setup() {
	unset "${!FAIRLOCK_@}" REDISCLI_AUTH
	export HOME=$BATS_TEST_TMPDIR/home
	mkdir -p "$HOME/.config"
	conf=$HOME/.config/fairlock.conf
	export gone=$BATS_TEST_TMPDIR/gone
}

# configure LINE...: writes the user's configuration file
configure() {
	printf '%s\n' "$@" >"$conf"
}

# wrong CAUSE: fairlock refuses the configuration file for this cause
wrong() {
	run "$FAIRLOCK" status
	assert_failure 78
	assert_output "fairlock: cannot read $conf$1"
}

@test "a flag wins over the environment" {
	FAIRLOCK_URL=unix:$gone.env run "$FAIRLOCK" status -u "unix:$gone.flag" x
	assert_output --partial "unix:$gone.flag"
}

@test "the environment wins over the user's file" {
	configure "url = unix:$gone.file"
	FAIRLOCK_URL=unix:$gone.env run "$FAIRLOCK" status x
	assert_output --partial "unix:$gone.env"
}

@test "fairlock reads the user's file" {
	configure "url = unix:$gone.file"
	run "$FAIRLOCK" status x
	assert_output --partial "unix:$gone.file"
}

@test "the user's file wins over /etc/fairlock.conf, which wins over the defaults" {
	unshare -rm true 2>/dev/null || skip 'no mount namespaces here'
	in_etc() {
		# shellcheck disable=SC2016
		unshare -rm sh -c 'mount -t tmpfs none /etc && echo "url = unix:$gone.etc" >/etc/fairlock.conf &&
			exec "$0" status x' "$FAIRLOCK"
	}
	run in_etc
	assert_output --partial "unix:$gone.etc"
	configure "url = unix:$gone.file"
	run in_etc
	assert_output --partial "unix:$gone.file"
}

@test "--config replaces the usual files" {
	configure "url = unix:$gone.usual" "lease = nonsense"
	echo "url = unix:$gone.other" >"$HOME/other"
	run "$FAIRLOCK" status --config "$HOME/other" x
	assert_output --partial "unix:$gone.other"
}

@test "FAIRLOCK_CONFIG replaces the usual files, and --config replaces FAIRLOCK_CONFIG" {
	echo "url = unix:$gone.one" >"$HOME/one"
	echo "url = unix:$gone.two" >"$HOME/two"
	export FAIRLOCK_CONFIG=$HOME/one
	run "$FAIRLOCK" status x
	assert_output --partial "unix:$gone.one"
	run "$FAIRLOCK" status --config "$HOME/two" x
	assert_output --partial "unix:$gone.two"
}

@test "a --config that does not exist is a bad configuration" {
	run "$FAIRLOCK" status --config "$HOME/missing"
	assert_failure 78
	assert_output "fairlock: cannot read $HOME/missing: No such file or directory"
}

@test "fairlock does without the usual files if they do not exist" {
	rmdir "$HOME/.config"
	run "$FAIRLOCK" status -u "unix:$gone.flag" x
	assert_output --partial "unix:$gone.flag"
	HOME=/dev/null run "$FAIRLOCK" status -u "unix:$gone.flag" x
	assert_output --partial "unix:$gone.flag"
}

@test "a usual file that cannot be read is a bad configuration" {
	mkdir "$conf"
	wrong ': Is a directory'
}

@test "fairlock accepts blanks, comments, empty lines and a missing last newline" {
	printf '# comment\n\n\t # another\r\n  url\t=  unix:%s.file \t\r\nquiet=yes' "$gone" >"$conf"
	run "$FAIRLOCK" status x
	assert_output --partial "unix:$gone.file"
	refute_output --partial 'fairlock.conf'
}

@test "the last of two lines for the same key wins" {
	configure "url = unix:$gone.first" "url = unix:$gone.last"
	run "$FAIRLOCK" status x
	assert_output --partial "unix:$gone.last"
}

@test "fairlock refuses an unknown key, with file and line" {
	configure '# one' 'url = local:' 'leese = 3'
	wrong ":3: there is no key 'leese', did you mean lease?"
}

@test "fairlock quotes an unknown key up to the end of its name, because a password may follow" {
	configure 'password: pa55='
	wrong ":1: there is no key 'password...'"
	configure 'url:redis://:pa55=@h'
	wrong ":1: there is no key 'url...'"
	configure 'connect_timeout = 1s'
	wrong ":1: there is no key 'connect...', did you mean connect-timeout?"
}

@test "fairlock refuses a key for an option that is only a flag" {
	for key in skip owner force token remove no-wait command while-pid json raw noheadings output watch since \
		follow stats plot config help; do
		configure '' "$key = 1"
		wrong ":2: a file cannot set --$key"
	done
}

@test "fairlock refuses a bad value with file and line, even if the command does not use the key" {
	configure '' 'lease = 1h30'
	wrong ":2: '1h30' is not a duration, did you mean 1h30m?"
	configure 'quiet = maybe'
	wrong ":1: 'maybe' is not yes or no"
	configure 'url ='
	wrong ":1: '' is not a URL"
}

@test "fairlock refuses a bad value in a file even if a flag wins over it" {
	configure 'conflict-exit-code = 999'
	run "$FAIRLOCK" acquire -E 1 x
	assert_failure 78
}

@test "fairlock refuses quotes around a value, unless it is a password" {
	configure 'url = "redis://127.0.0.1:1"'
	wrong ":1: the value of url takes no quotes"
	configure "lease = '30s'"
	wrong ":1: the value of lease takes no quotes"
	configure 'password = "x"'
	run "$FAIRLOCK" status -u "unix:$gone" x
	assert_failure 69
}

@test "a message shows both ends of a long path" {
	local folder=$HOME/a-folder-whose-name-is-long/and-another-one/and-the-last-one
	mkdir -p "$folder"
	echo 'leese = 1' >"$folder/conf"
	run "$FAIRLOCK" status --config "$folder/conf"
	assert_failure 78
	assert_output --regexp "^fairlock: cannot read /[^ ]*\.\.\.[^ ]*/and-the-last-one/conf:1: there is no key 'leese', did you mean lease\?$"
	[ "${#output}" -lt 160 ]
}

@test "fairlock refuses a line without =" {
	configure 'quiet'
	wrong ":1: the line is not 'key = value'"
}

@test "fairlock does not quote a bad line, which may have a password" {
	configure 'password: pa55'
	run "$FAIRLOCK" status
	assert_failure 78
	refute_output --partial pa55
}

@test "fairlock refuses a binary file" {
	printf 'quiet = yes\n\0\1\2' >"$conf"
	wrong ':2: the line has a control character'
	printf 'quiet = y\x1bes\n' >"$conf"
	wrong ':1: the line has a control character'
}

@test "fairlock refuses an overlong line and an overlong file" {
	printf '#%5000s\n' x >"$conf"
	wrong ':1: the line is longer than 4096 bytes'
	yes '# comment' | head -c 70000 >"$conf"
	wrong ': it is longer than 65536 bytes'
}

@test "fairlock refuses an endless file" {
	run "$FAIRLOCK" status --config /dev/zero
	assert_failure 78
	assert_output 'fairlock: cannot read /dev/zero: it is longer than 65536 bytes'
}

@test "fairlock refuses a pipe that gives no text as a configuration file, instead of waiting for ever" {
	mkfifo "$conf"
	run timeout 60 "$FAIRLOCK" status
	assert_failure 78
	assert_output "fairlock: cannot read $conf: no program writes into this pipe"
	exec 7<>"$conf"
	run timeout 60 "$FAIRLOCK" wrap x true
	exec 7>&-
	assert_failure 78
	assert_output "fairlock: cannot read $conf: no program wrote into it for 5 s"
}

# opens_pipe PID: this shell sleeps, in open(2)
opens_pipe() { [ "$(cut -d ' ' -f 2,3 "/proc/$1/stat")" = '(sh) S' ]; }

@test "fairlock reads a configuration file from a pipe that a program writes into, also late, and from /dev/null" {
	local late=$BATS_TEST_TMPDIR/late

	mkfifo "$late"
	background sh -c 'echo "url = unix:$0.late" >"$1"' "$gone" "$late"
	wait_until opens_pipe $! # else nobody writes into it yet
	run -69 timeout 60 "$FAIRLOCK" status --config "$late" x
	assert_output --partial "unix:$gone.late"
	run -69 timeout 60 "$FAIRLOCK" status --config <(sleep 0.2 && echo "url = unix:$gone.piped") x
	assert_output --partial "unix:$gone.piped"
	run -69 "$FAIRLOCK" status --config /dev/null -u "unix:$gone.null" x
	assert_output --partial "unix:$gone.null"
}

# checked_keys: prints the settings of wrap for which x is not a valid value
checked_keys() {
	"$FAIRLOCK" wrap --help | sed -nE 's/^  (-.,|   ) --([a-z-]+).*/\2/p' |
		grep -vxE 'url|config|command|no-wait|slots|shared|skip|reason|help|version|tls-(ca|cert|key)|sentinel-user|(sentinel-)?password-file'
}

@test "every setting can come from the environment, and a bad one is a usage error" {
	[ "$(checked_keys | wc -l)" -gt 15 ]
	for key in $(checked_keys); do
		name=FAIRLOCK_$(tr a-z- A-Z_ <<<"$key")
		run env "$name=x" "$FAIRLOCK" wrap -u "unix:$gone" x true
		assert_failure 64
		assert_line --index 0 --partial "cannot use $name: 'x' is not "
		assert_line --index 1 "Try 'fairlock wrap --help'."
	done
}

@test "every setting can come from a file, and a bad one is a bad configuration" {
	for key in $(checked_keys); do
		configure "$key = x"
		run "$FAIRLOCK" status
		assert_failure 78
		assert_output --partial "$conf:1: 'x' is not "
	done
}

@test "an empty variable counts as unset" {
	configure "url = unix:$gone.file"
	FAIRLOCK_URL='' FAIRLOCK_LEASE='' FAIRLOCK_CONFIG='' run "$FAIRLOCK" status x
	assert_output --partial "unix:$gone.file"
}

@test "fairlock ignores a variable for an option that the command does not have" {
	FAIRLOCK_LEASE=nonsense run "$FAIRLOCK" status -u "unix:$gone.flag" x
	assert_output --partial "unix:$gone.flag"
}

@test "fairlock takes no settings from the variables that wrap sets for COMMAND" {
	FAIRLOCK_TOKEN=nonsense FAIRLOCK_OWNER=x FAIRLOCK_NAME=y FAIRLOCK_HELD=z FAIRLOCK_FORCE=x \
		run "$FAIRLOCK" release -u "unix:$gone" --force x
	refute_output --partial 'cannot use'
}

@test "fairlock compares kill-after with the lease that wins, wherever both come from" {
	configure 'kill-after = 20s'
	run "$FAIRLOCK" wrap -u "unix:$gone" x true
	assert_failure 64
	assert_output --partial 'a third of the lease'
	run "$FAIRLOCK" wrap -u "unix:$gone" -l 1m x true
	refute_output --partial 'a third of the lease'
	FAIRLOCK_KILL_AFTER=1s run "$FAIRLOCK" wrap -u "unix:$gone" x true
	refute_output --partial 'a third of the lease'
}

# alone STATUS WHERE CAUSE: fairlock has refused a setting that needs another one
alone() {
	assert_failure "$1"
	assert_line --index 0 "fairlock: cannot $2: $3"
}

@test "fairlock refuses tls-key without tls-cert, and says where tls-key comes from" {
	run "$FAIRLOCK" status -u "unix:$gone" --tls-key k x
	alone 64 'use --tls-key' 'it needs --tls-cert, too'
	FAIRLOCK_TLS_KEY=k run "$FAIRLOCK" status -u "unix:$gone" x
	alone 64 'use FAIRLOCK_TLS_KEY' 'it needs --tls-cert, too'
	configure '' 'tls-key = k'
	run "$FAIRLOCK" status -u "unix:$gone" x
	alone 78 "read $conf:2" 'tls-key needs tls-cert, too'
	run "$FAIRLOCK" status -u "unix:$gone" --tls-cert c x
	assert_failure 69
}

@test "fairlock refuses sentinel-user without sentinel-password-file, and says where sentinel-user comes from" {
	run "$FAIRLOCK" status -u "unix:$gone" --sentinel-user u x
	alone 64 'use --sentinel-user' 'it needs --sentinel-password-file, too'
	configure 'sentinel-user = u'
	run "$FAIRLOCK" status -u "unix:$gone" x
	alone 78 "read $conf:1" 'sentinel-user needs sentinel-password-file, too'
}

@test "a wrong URL in a file is a mistake also if an option, a variable or another line goes first" {
	local begin='url: begin with redis://, rediss://, redis+sentinel://, unix: or local:'

	configure '# the server' 'url = gopher://h'
	run -78 env FAIRLOCK_URL="unix:$gone.variable" "$FAIRLOCK" status
	assert_output "fairlock: cannot read $conf:2: $begin"
	run -78 "$FAIRLOCK" wrap -u "unix:$gone.flag" job true
	assert_output "fairlock: cannot read $conf:2: $begin"
	configure 'url = 127.0.0.1:7101' "url = unix:$gone.file"
	run -78 "$FAIRLOCK" status
	assert_output "fairlock: cannot read $conf:1: url: did you mean redis://127.0.0.1:7101?"
	configure 'url = redis://:pa55@h:x'
	run -78 "$FAIRLOCK" status -u "unix:$gone.flag"
	assert_output --partial "cannot read $conf:1: url: "
	refute_output --partial pa55
}

@test "a bad URL in a file is a bad configuration" {
	configure 'url = gopher://h'
	run "$FAIRLOCK" status
	assert_failure 78
	assert_output "fairlock: cannot read $conf:1: url: begin with redis://, rediss://, redis+sentinel://, unix: or local:"
	configure '' '# the server' 'url = redis://:pa55@h:x'
	run "$FAIRLOCK" status
	assert_failure 78
	assert_output --partial "cannot read $conf:3: url: "
	refute_output --partial pa55
}

# means URL MEANT
means() {
	run -78 "$FAIRLOCK" status -u "$1"
	assert_output "fairlock: cannot use URL '$1': did you mean $2?"
}

@test "a URL that is nearly right: the right one is proposed" {
	means 127.0.0.1:7101 redis://127.0.0.1:7101
	means localhost redis://localhost
	means lock.example:6379:2 redis://lock.example:6379/2
	means '[::1]:7' 'redis://[::1]:7'
	means http://localhost:7 redis://localhost:7
	means tcp://h redis://h
	means https://h rediss://h
	means redis:/h redis://h
	means redis:localhost:7 redis://localhost:7
	means REDIS://h:7 redis://h:7
	means redis://h:7:2 redis://h:7/2
	means sentinel://h/main redis+sentinel://h/main
	means /run/redis.sock unix:/run/redis.sock
	means redis.sock unix:redis.sock
	means redis+unix:///run/r unix:/run/r
	means local local:
	# what may be a password is not repeated
	for url in redis:pa55 http://:pa55@h u:pa55@h; do
		run -78 "$FAIRLOCK" status -u "$url"
		refute_output --partial pa55
	done
}

@test "a ~ in a unix: URL is refused, because it is no home directory there" {
	local url

	for url in 'unix:~/x' 'unix:~ann/x?db=1'; do
		run -78 "$FAIRLOCK" status -u "$url"
		assert_output "fairlock: cannot use URL 'unix:...': the shell does not expand ~ there; write the whole path"
	done
	configure 'url = unix:~/x'
	wrong ':1: url: the shell does not expand ~ there; write the whole path'
	rm "$conf"
	cd / # the path of a socket is short
	run -69 "$FAIRLOCK" status -u 'unix:./~/x'
	assert_output --partial '/./~/x: '
}

@test "a password file that cannot be read is a bad configuration" {
	configure "password-file = $HOME/secret"
	run "$FAIRLOCK" status -u "unix:$gone" x
	assert_failure 78
	assert_output "fairlock: cannot read password file $HOME/secret: No such file or directory"
	: >"$HOME/secret"
	run "$FAIRLOCK" status -u "unix:$gone" x
	assert_failure 78
	assert_output --partial 'its first line is empty'
}

@test "fairlock reads the password file only if it needs the password" {
	configure "password-file = $HOME/missing"
	FAIRLOCK_PASSWORD=x run "$FAIRLOCK" status -u "unix:$gone" x
	refute_output --partial 'password file'
	run "$FAIRLOCK" status -u redis://:x@127.0.0.1:1 x
	refute_output --partial 'password file'
}

@test "fairlock finds the user's file through the password database if HOME is unset" {
	mkdir -p "$BATS_TEST_TMPDIR/other/.config"
	new_home "$BATS_TEST_TMPDIR/other"
	echo "url = unix:$gone.file" >"$HOME_DIR/.config/fairlock.conf"
	run at_home env -u HOME "$FAIRLOCK" status x
	assert_output --partial "unix:$gone.file"
}

@test "fairlock passes over the byte order mark at the beginning of a file" {
	printf '\xef\xbb\xbfurl = unix:%s\n' "$gone" >"$conf"
	run "$FAIRLOCK" status x
	assert_failure 69
	assert_output --partial "unix:$gone"
}

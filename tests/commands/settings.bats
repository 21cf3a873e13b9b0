#!/usr/bin/env bats
# Which of the sources of a setting goes first, and how a wrong one is told. No
# server answers here: a failure names the URL that won, and a kill-after that
# the lease is too short for shows where it came from.

load ../lib/helpers

setup() {
	unset "${!FAIRLOCK_@}" REDISCLI_AUTH
	export HOME=$BATS_TEST_TMPDIR/home
	mkdir -p "$HOME/.config"
	conf=$HOME/.config/fairlock.conf
	export gone=$BATS_TEST_TMPDIR/gone
}

# Every line of this file goes into the user's configuration file.
configure() {
	printf '%s\n' "$@" >"$conf"
}

# wrong CAUSE: the configuration file is refused for this.
wrong() {
	run "$FAIRLOCK" status
	assert_failure 78
	assert_output "fairlock: cannot read $conf$1"
}

@test "a flag goes before the environment" {
	FAIRLOCK_URL=unix:$gone.env run "$FAIRLOCK" status -u "unix:$gone.flag" x
	assert_output --partial "unix:$gone.flag"
}

@test "the environment goes before the user's file" {
	configure "url = unix:$gone.file"
	FAIRLOCK_URL=unix:$gone.env run "$FAIRLOCK" status x
	assert_output --partial "unix:$gone.env"
}

@test "the user's file is read" {
	configure "url = unix:$gone.file"
	run "$FAIRLOCK" status x
	assert_output --partial "unix:$gone.file"
}

@test "the user's file goes before the system's, and that before the defaults" {
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

@test "FAIRLOCK_CONFIG replaces the usual files, --config replaces that" {
	echo "url = unix:$gone.one" >"$HOME/one"
	echo "url = unix:$gone.two" >"$HOME/two"
	export FAIRLOCK_CONFIG=$HOME/one
	run "$FAIRLOCK" status x
	assert_output --partial "unix:$gone.one"
	run "$FAIRLOCK" status --config "$HOME/two" x
	assert_output --partial "unix:$gone.two"
}

@test "a --config that is not there is a bad configuration" {
	run "$FAIRLOCK" status --config "$HOME/missing"
	assert_failure 78
	assert_output "fairlock: cannot read $HOME/missing: No such file or directory"
}

@test "usual files that are not there are no mistake" {
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

@test "blanks, comments, empty lines and a missing last newline are fine" {
	printf '# comment\n\n\t # another\r\n  url\t=  unix:%s.file \t\r\nquiet=yes' "$gone" >"$conf"
	run "$FAIRLOCK" status x
	assert_output --partial "unix:$gone.file"
	refute_output --partial 'fairlock.conf'
}

@test "of two lines in one file the last counts" {
	configure "url = unix:$gone.first" "url = unix:$gone.last"
	run "$FAIRLOCK" status x
	assert_output --partial "unix:$gone.last"
}

@test "an unknown key is told with file and line" {
	configure '# one' 'url = local:' 'leese = 3'
	wrong ":3: there is no key 'leese'"
}

@test "what is no default has no key" {
	for key in owner force token remove no-wait command while-pid json raw noheadings output watch since \
		follow stats plot config help; do
		configure '' "$key = 1"
		wrong ":2: there is no key '$key': --$key is no default"
	done
}

@test "a bad value is told with file and line, also where the command has no use for it" {
	configure '' 'lease = 1h30'
	wrong ":2: '1h30' is not a duration from 1s to 1d"
	configure 'quiet = maybe'
	wrong ":1: 'maybe' is not yes or no"
	configure 'url ='
	wrong ":1: '' is not a URL"
}

@test "a bad value is told although a flag goes before it" {
	configure 'conflict-exit-code = 999'
	run "$FAIRLOCK" acquire -E 1 x
	assert_failure 78
}

@test "a line without = is told" {
	configure 'quiet'
	wrong ":1: this is not 'key = value'"
}

@test "a line that would show a password is not quoted" {
	configure 'password: pa55'
	run "$FAIRLOCK" status
	assert_failure 78
	refute_output --partial pa55
}

@test "a binary file is told" {
	printf 'quiet = yes\n\0\1\2' >"$conf"
	wrong ':2: this is no text'
	printf 'quiet = y\x1bes\n' >"$conf"
	wrong ':1: this is no text'
}

@test "an overlong line and an overlong file are told" {
	printf '#%5000s\n' x >"$conf"
	wrong ':1: the line is too long'
	yes '# comment' | head -c 70000 >"$conf"
	wrong ': it is longer than 65536 bytes'
}

@test "an endless file is told" {
	run "$FAIRLOCK" status --config /dev/zero
	assert_failure 78
	assert_output 'fairlock: cannot read /dev/zero: it is longer than 65536 bytes'
}

# The options of wrap for which x is no value. What is no default has no variable.
checked_keys() {
	"$FAIRLOCK" wrap --help | sed -nE 's/^  (-.,|   ) --([a-z-]+).*/\2/p' |
		grep -vxE 'url|config|command|no-wait|help|tls-(ca|cert|key)|sentinel-user|(sentinel-)?password-file'
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

@test "every setting can come from a file" {
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

@test "a variable that the command has no option for is not looked at" {
	FAIRLOCK_LEASE=nonsense run "$FAIRLOCK" status -u "unix:$gone.flag" x
	assert_output --partial "unix:$gone.flag"
}

@test "what wrap tells its command is no default for another call" {
	FAIRLOCK_TOKEN=nonsense FAIRLOCK_OWNER=x FAIRLOCK_NAME=y FAIRLOCK_HELD=z FAIRLOCK_FORCE=x \
		run "$FAIRLOCK" release -u "unix:$gone" --force x
	refute_output --partial 'cannot use'
}

@test "kill-after and lease are compared after all sources are merged" {
	configure 'kill-after = 20s'
	run "$FAIRLOCK" wrap -u "unix:$gone" x true
	assert_failure 64
	assert_output --partial 'a third of the lease'
	run "$FAIRLOCK" wrap -u "unix:$gone" -l 1m x true
	refute_output --partial 'a third of the lease'
	FAIRLOCK_KILL_AFTER=1s run "$FAIRLOCK" wrap -u "unix:$gone" x true
	refute_output --partial 'a third of the lease'
}

# alone STATUS WHERE WHAT: it is refused, since it needs another one
alone() {
	assert_failure "$1"
	assert_line --index 0 "fairlock: cannot $2: $3"
}

@test "a key without a certificate is a mistake, wherever it is from" {
	run "$FAIRLOCK" status -u "unix:$gone" --tls-key k x
	alone 64 'use --tls-key' 'tls-key is of no use without --tls-cert'
	FAIRLOCK_TLS_KEY=k run "$FAIRLOCK" status -u "unix:$gone" x
	alone 64 'use FAIRLOCK_TLS_KEY' 'tls-key is of no use without --tls-cert'
	configure '' 'tls-key = k'
	run "$FAIRLOCK" status -u "unix:$gone" x
	alone 78 "read $conf:2" 'tls-key is of no use without tls-cert'
	run "$FAIRLOCK" status -u "unix:$gone" --tls-cert c x
	assert_failure 69
}

@test "a user for sentinels without a password is a mistake, wherever it is from" {
	run "$FAIRLOCK" status -u "unix:$gone" --sentinel-user u x
	alone 64 'use --sentinel-user' 'sentinel-user is of no use without --sentinel-password-file'
	configure 'sentinel-user = u'
	run "$FAIRLOCK" status -u "unix:$gone" x
	alone 78 "read $conf:1" 'sentinel-user is of no use without sentinel-password-file'
}

@test "a bad URL in a file is a bad configuration" {
	configure 'url = gopher://h'
	run "$FAIRLOCK" status
	assert_failure 78
	assert_output "fairlock: cannot read $conf:1: url: a URL begins with redis://, rediss://, redis+sentinel://, unix: or local:"
}

@test "a value in quotes: 78, naming file and line" {
	configure '' 'url = "redis://127.0.0.1:1"'
	run -78 "$FAIRLOCK" status
	assert_output "fairlock: cannot read $conf:2: the value of url takes no quotes"
	configure "connect-timeout = '1s'"
	run -78 "$FAIRLOCK" status
	assert_output "fairlock: cannot read $conf:1: the value of connect-timeout takes no quotes"
	configure 'password = "x"' # may begin and end so
	run -69 "$FAIRLOCK" status -u "unix:$gone"
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

@test "a password file that cannot be read is a bad configuration" {
	configure "password-file = $HOME/secret"
	run "$FAIRLOCK" status -u "unix:$gone" x
	assert_failure 78
	assert_output "fairlock: cannot read password file $HOME/secret: No such file or directory"
	: >"$HOME/secret"
	run "$FAIRLOCK" status -u "unix:$gone" x
	assert_failure 78
	assert_output --partial 'its first line is no password'
}

@test "a password file is looked at only where it is needed" {
	configure "password-file = $HOME/missing"
	FAIRLOCK_PASSWORD=x run "$FAIRLOCK" status -u "unix:$gone" x
	refute_output --partial 'password file'
	run "$FAIRLOCK" status -u redis://:x@127.0.0.1:1 x
	refute_output --partial 'password file'
}

@test "with HOME unset the user's file is that of the password database" {
	run env -u HOME "$FAIRLOCK" status -u "unix:$gone" x
	refute_output --partial "$conf"
}

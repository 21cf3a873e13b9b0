#!/usr/bin/env bats
# The sources of settings: which one wins, and what fairlock says of a wrong value. No server answers
# here; a failure names the URL that won.

load ../lib/helpers
load ../lib/settings

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

@test "FAIRLOCK_CONFIG replaces the usual files, and --config replaces FAIRLOCK_CONFIG" {
	echo "url = unix:$gone.one" >"$HOME/one"
	echo "url = unix:$gone.two" >"$HOME/two"
	export FAIRLOCK_CONFIG=$HOME/one
	run "$FAIRLOCK" status x
	assert_output --partial "unix:$gone.one"
	run "$FAIRLOCK" status --config "$HOME/two" x
	assert_output --partial "unix:$gone.two"
}

# checked_keys: prints the settings of wrap for which x is not a valid value
checked_keys() {
	{ "$FAIRLOCK" wrap --help && "$FAIRLOCK" --help; } | sed -nE 's/^  (-.,|   ) --([a-z-]+).*/\2/p' | sort -u |
		grep -vxE 'url|config|command|no-wait|slots|shared|supersede|also|once-ok|skip|reason|help|version|tls-(ca|cert|key)|sentinel-user|(sentinel-)?password-file'
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

@test "a setting of each kind counts with its value, and a variable goes before a line of a file" {
	configure 'lease = 2m' 'lease = 1m' 'wait = 0' 'syslog = 1' 'max-queue = 7' 'replicas = 2' 'signal = sigusr1' 'max-hold = 2h'
	FAIRLOCK_MAX_QUEUE=8 FAIRLOCK_VERBOSE=no FAIRLOCK_SIGNAL=9 FAIRLOCK_LEAS=x FAIRLOCK_LEASES=x XFAIRLOCK_WAIT=x \
		FAIRLOCK_lease=x run "$FAIRLOCK" doctor -u "unix:$gone"
	assert_equal "$(sed -n '/^Settings/,/^$/p' <<<"$output" | awk 'NF > 2 && $1 != "url" { print $1, $2, $3 }')" "$(cat <<-END
		wait 0 $conf:3
		max-queue 8 FAIRLOCK_MAX_QUEUE
		lease 1m $conf:2
		max-hold 2h $conf:8
		signal 9 FAIRLOCK_SIGNAL
		replicas 2 $conf:6
		syslog 1 $conf:4
		verbose no FAIRLOCK_VERBOSE
	END
	)"
}

# alone STATUS WHERE CAUSE: fairlock has refused a setting that needs another one
alone() {
	assert_failure "$1"
	assert_line --index 0 "fairlock: cannot $2: $3"
}

@test "fairlock refuses tls-key without tls-cert, and says where tls-key comes from" {
	run "$FAIRLOCK" status -u "unix:$gone" --tls-key k x
	alone 64 "use option '--tls-key'" 'it needs --tls-cert, too'
	FAIRLOCK_TLS_KEY=k run "$FAIRLOCK" status -u "unix:$gone" x
	alone 64 'use FAIRLOCK_TLS_KEY' 'it needs --tls-cert, too'
	configure '' 'tls-key = k'
	run "$FAIRLOCK" status -u "unix:$gone" x
	alone 78 "read $conf:2" 'it needs --tls-cert, too'
	run "$FAIRLOCK" status -u "unix:$gone" --tls-cert c x
	assert_failure 69
}

@test "fairlock refuses sentinel-user without sentinel-password-file, and says where sentinel-user comes from" {
	run "$FAIRLOCK" status -u "unix:$gone" --sentinel-user u x
	alone 64 "use option '--sentinel-user'" 'it needs --sentinel-password-file, too'
	configure 'sentinel-user = u'
	run "$FAIRLOCK" status -u "unix:$gone" x
	alone 78 "read $conf:1" 'it needs --sentinel-password-file, too'
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
	assert_output "fairlock: cannot read $conf:1: $begin"
	configure 'url = redis://:pa55@h:x'
	run -78 "$FAIRLOCK" status -u "unix:$gone.flag"
	assert_output --partial "cannot read $conf:1: url: "
	refute_output --partial pa55
}

@test "a password file that cannot be read is a bad configuration" {
	configure "url = unix:$gone" "password-file = $HOME/secret"
	run "$FAIRLOCK" status x
	assert_failure 78
	assert_output "fairlock: cannot read password file $HOME/secret: No such file or directory"
	: >"$HOME/secret"
	run "$FAIRLOCK" status x
	assert_failure 78
	assert_output --partial 'its first line is empty'
}

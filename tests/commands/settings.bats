# Settings: their sources and which one wins, configuration files, durations, and what fairlock says of a wrong one.
# No server answers here; a failure names the URL that won.

load ../lib/helpers
load ../lib/settings

# ---- Sources ----

@test "the user's file wins over /etc/fairlock.conf, which wins over the defaults" {
	unshare -rm true 2>/dev/null || skip 'no mount namespaces here'
	in_etc() {
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

@test "a line says so if FAIRLOCK_URL goes before the url of --config; a kill-after of a file that does not fit is named with its line" {
	echo "url = unix:$gone.two" >"$HOME/two"
	FAIRLOCK_URL=unix:$gone.variable run "$FAIRLOCK" status --config "$HOME/two" x
	assert_line --index 0 "fairlock: cannot use the url of --config: FAIRLOCK_URL goes before it"
	assert_line --index 1 --partial "unix:$gone.variable"
	echo 'kill-after = 10s' >"$HOME/kill"
	run -78 "$FAIRLOCK" wrap --config "$HOME/kill" -u "unix:$gone" -l 20s x true
	assert_output "fairlock: cannot read $HOME/kill:1: it is more than a third of the lease"
}

# checked_keys: prints the settings of wrap for which x is not a valid value
checked_keys() {
	{ "$FAIRLOCK" wrap --help && "$FAIRLOCK" --help; } | sed -nE 's/^  (-.,|   ) --([a-z-]+).*/\2/p' | sort -u |
		grep -vxE 'url|config|command|no-wait|slots|shared|supersede|also|once-ok|skip|reason|help|version|tls-(ca|cert|key)|sentinel-user|(sentinel-)?password-file'
}

@test "every setting can come from the environment and from a file; a bad one is a usage error there, a bad configuration here" {
	local key name

	[ "$(checked_keys | wc -l)" -gt 15 ]
	for key in $(checked_keys); do
		name=FAIRLOCK_$(tr a-z- A-Z_ <<<"$key")
		run -64 env "$name=x" "$FAIRLOCK" wrap -u "unix:$gone" x true
		assert_line --index 0 --partial "cannot use $name: 'x' is not "
		assert_line --index 1 "Try 'fairlock wrap --help'."
		configure "$key = x"
		run -78 "$FAIRLOCK" status
		assert_output --partial "$conf:1: 'x' is not "
		rm "$conf"
	done
}

@test "a setting of each kind counts with its value, and a variable goes before a line of a file" {
	configure 'lease = 2m' 'lease = 1m' 'wait = 0' 'syslog = 1' 'max-queue = 7' 'replicas = 2' 'signal = sigusr1' 'max-hold = 2h'
	FAIRLOCK_MAX_QUEUE=8 FAIRLOCK_VERBOSE=no FAIRLOCK_SIGNAL=9 FAIRLOCK_LEAS=x FAIRLOCK_LEASES=x XFAIRLOCK_WAIT=x \
		FAIRLOCK_lease=x run "$FAIRLOCK" doctor -u "unix:$gone"
	assert_equal "$(sed -n '/^Settings/,/^$/p' <<<"$output" | awk 'NF > 2 && $1 != "url" { print $1, $2, $3 }')" "$(cat <<-END
		wait 0ms $conf:3
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

# alone STATUS WHERE WORD...: `status WORD...` is refused: the setting from WHERE needs another one, NEEDED
alone() {
	run "-$1" "$FAIRLOCK" status -u "unix:$gone" "${@:3}" x
	assert_line --index 0 "fairlock: cannot $2: it needs $NEEDED, too"
}

@test "fairlock refuses tls-key without tls-cert, and sentinel-user without its password, and says where they come from" {
	NEEDED=--tls-cert
	alone 64 "use option '--tls-key'" --tls-key k
	FAIRLOCK_TLS_KEY=k alone 64 'use FAIRLOCK_TLS_KEY'
	configure '' 'tls-key = k'
	alone 78 "read $conf:2"
	run -69 "$FAIRLOCK" status -u "unix:$gone" --tls-cert c x
	NEEDED=--sentinel-password-file
	configure 'sentinel-user = u'
	alone 78 "read $conf:1"
	rm "$conf"
	alone 64 "use option '--sentinel-user'" --sentinel-user u
}

# ---- Files ----

@test "a file may have blanks, comments, empty lines, a byte order mark, and no last newline" {
	printf '# comment\n\n\t # another\r\n  url\t=  unix:%s.file \t\r\nquiet=yes' "$gone" >"$conf"
	run "$FAIRLOCK" status x
	assert_output --partial "unix:$gone.file"
	refute_output --partial 'fairlock.conf'
	printf '\xef\xbb\xbfurl = unix:%s\n' "$gone" >"$conf"
	run -69 "$FAIRLOCK" status x
	assert_output --partial "unix:$gone"
}

@test "fairlock refuses a line that is wrong, with file and line, also if the command does not use the key" {
	local line cause

	# A password may follow a key that is not known: the message quotes the key's name alone.
	while IFS='|' read -r line cause; do
		configure '# one' "$line"
		wrong ":2: $cause"
	done <<-'END'
		leese = 3|there is no key 'leese', did you mean lease?
		password: pa55=|there is no key 'password...'
		url:redis://:pa55=@h|there is no key 'url...'
		connect_timeout = 1s|there is no key 'connect...', did you mean connect-timeout?
		quiet|the line is not 'key = value'
		lease = 1h30|'1h30' is not a duration from 1s to 30d
		quiet = maybe|'maybe' is not yes or no
		url =|'' is not a URL
	END
	for key in skip owner force token remove no-wait command while-pid json raw noheadings output watch since \
		follow stats plot config help slots shared slot supersede also once-ok stop; do
		configure '' "$key = 1"
		wrong ":2: a file cannot set --$key"
	done
	printf 'quiet = yes\n\0\1\2' >"$conf"
	wrong ':2: the line has a control character'
}

@test "quotes around a value, and a comment behind it, are part of the value" {
	local line

	for line in 'url = "redis://127.0.0.1:1"' "lease = '30s'" 'url = redis://127.0.0.1:1 # our server' $'lease = 5m\t# longer' \
		'quiet = # yes' 'conflict-exit-code = 3 #'; do
		configure "$line"
		run -78 "$FAIRLOCK" wrap x true
		assert_output --partial "cannot read $conf:1: "
	done
	printf 'reason = build # 3\npassword = "a # b"\nurl = unix:%s#1\n' "$gone" >"$conf"
	run -69 "$FAIRLOCK" wrap --connect-timeout 100ms x true
	assert_output --partial "$gone#1"
}

@test "a wrong URL in a file is a mistake also if an option, a variable or another line goes first" {
	local begin='url: begin with redis://, rediss://, redis+sentinel://, unix: or local:'

	configure '# the server' 'url = gopher://h'
	run -78 env FAIRLOCK_URL="unix:$gone.variable" "$FAIRLOCK" status
	assert_output "fairlock: cannot read $conf:2: $begin"
	configure 'url = 127.0.0.1:7101' "url = unix:$gone.file"
	wrong ":1: $begin"
	configure 'url = redis://:pa55@h:x'
	run -78 "$FAIRLOCK" status -u "unix:$gone.flag"
	assert_output --partial "cannot read $conf:1: url: "
	refute_output --partial pa55
}

@test "a file that cannot be read is a bad configuration: endless, below the HOME of another user, a password file" {
	local without=()

	run -78 "$FAIRLOCK" status --config /dev/zero
	assert_output 'fairlock: cannot read /dev/zero: it is longer than 65536 bytes'
	[ "$(id -u)" != 0 ] || without=(setpriv "--bounding-set=-dac_override,-dac_read_search")
	chmod 000 "$HOME"
	run -78 "${without[@]}" "$FAIRLOCK" status
	chmod 700 "$HOME"
	assert_output "fairlock: cannot read $conf: Permission denied; is HOME that of another user?"
	configure "url = unix:$gone" "password-file = $HOME/secret"
	run -78 "$FAIRLOCK" status x
	assert_output "fairlock: cannot read password file $HOME/secret: No such file or directory"
	: >"$HOME/secret"
	run -78 "$FAIRLOCK" status x
	assert_output --partial 'its first line is empty'
}

# ---- Durations ----

@test "a duration is a number with a unit, or a sum; no time but zero becomes zero, and nothing is rounded twice" {
	local text shown

	while read -r text shown; do
		FAIRLOCK_WAIT=$text run "$FAIRLOCK" doctor -u "unix:$gone"
		assert_line --regexp "^  wait +$shown +FAIRLOCK_WAIT$"
	done <<-'END'
		0 0ms
		90 1m30s
		1.5h 1h30m
		5min 5m
		1w2d3h4min5sec6ms 9d3h
		1m1ms1s1sec 1m2s
		58s59ms1s 59.059s
		0.0000000000000000000000000000001 1ms
		0.0000000000000000000000000000000 0ms
		4.35 4.35s
		0.0010000000000000000000000000001 2ms
		4611686018427387903ms 53375995583d15h
	END
}

@test "what is no duration is refused" {
	local text

	for text in '' 1. -1 +1 '1 s' ' 5m ' 1h30 1min30 -1h30 1e3 inf 1,5h 1.5.5 h1 1H 1mi 5mins 2Days 1y 1.h 15250284452472w \
		4611686018427387904ms 9223372036854775.808 99999999999999999999999999 9223372036854775807ms1ms; do
		run -64 "$FAIRLOCK" wrap -w "$text" x true
		assert_line --index 0 "fairlock: cannot use option '--wait': '$text' is not a duration (90, 1.5h, 1h30m)"
	done
}

#!/usr/bin/env bats
# How fairlock reads a configuration file, and what it says of one that it cannot read.

load ../lib/helpers
load ../lib/settings

@test "fairlock accepts blanks, comments, empty lines and a missing last newline" {
	printf '# comment\n\n\t # another\r\n  url\t=  unix:%s.file \t\r\nquiet=yes' "$gone" >"$conf"
	run "$FAIRLOCK" status x
	assert_output --partial "unix:$gone.file"
	refute_output --partial 'fairlock.conf'
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
		follow stats plot config help; do
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
	run -69 "$FAIRLOCK" wrap x true
	assert_output --partial "$gone#1"
}

@test "fairlock refuses an endless file" {
	run "$FAIRLOCK" status --config /dev/zero
	assert_failure 78
	assert_output 'fairlock: cannot read /dev/zero: it is longer than 65536 bytes'
}

@test "fairlock passes over the byte order mark at the beginning of a file" {
	printf '\xef\xbb\xbfurl = unix:%s\n' "$gone" >"$conf"
	run "$FAIRLOCK" status x
	assert_failure 69
	assert_output --partial "unix:$gone"
}

@test "a configuration file below the HOME of another user: 78, and the message names HOME" {
	local without=()

	[ "$(id -u)" != 0 ] || without=(setpriv "--bounding-set=-dac_override,-dac_read_search")
	chmod 000 "$HOME"
	run -78 "${without[@]}" "$FAIRLOCK" status
	chmod 700 "$HOME"
	assert_output "fairlock: cannot read $conf: Permission denied; is HOME that of another user?"
}

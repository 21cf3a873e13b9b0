#!/usr/bin/env bats
# How fairlock reads a configuration file, and what it says of one that it cannot read.

load ../lib/helpers
load ../lib/settings

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
	wrong ":2: '1h30' is not a duration from 1s to 30d"
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

@test "fairlock refuses an overlong file" {
	yes '# comment' | head -c 70000 >"$conf"
	wrong ': it is longer than 65536 bytes'
}

@test "fairlock refuses an endless file" {
	run "$FAIRLOCK" status --config /dev/zero
	assert_failure 78
	assert_output 'fairlock: cannot read /dev/zero: it is longer than 65536 bytes'
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

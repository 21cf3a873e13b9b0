# Users whom the C library does not know: fairlock asks getent(1). Most tests put another getent first in PATH.

load ../lib/helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	unset FAIRLOCK_URL
	unshare -rm true 2>/dev/null || skip 'this machine allows no namespaces'
	getent passwd 4242 && skip 'somebody is user 4242'
	: >secrets
	mkdir -m 700 bin home
	PATH=$PWD/bin:$PATH
}

# getent_does LINE...: a getent that is this shell script, and notes that it was called
getent_does() {
	printf '%s\n' '#!/bin/sh' "echo called >>'$PWD/calls'" "$@" >bin/getent
	chmod +x bin/getent
}

# stranger COMMAND...: runs it as user 4242; what it leaves behind ends with it
stranger() {
	unshare --user --map-user 4242 --map-group 4242 --pid --fork --kill-child --mount-proc \
		env -u LOGNAME -u USER "$@" 3>&- 4>&-
}

# homeless COMMAND...: that user's private server has no place
homeless() {
	run -78 "$@" timeout 30 "$FAIRLOCK" wrap -u local: job true
	assert_output --partial 'user 4242 has no home directory; name a server with FAIRLOCK_URL'
}

@test "local: is in the home folder that getent knows, and so is the user's file, unless HOME is set; what is printed without end is cut" {
	getent_does "[ \"\$*\" = 'passwd 4242' ] && echo 'somebody:x:4242:4242:Some Body,,,:$PWD/home:'; exec yes rubbish"
	run -7 stranger env -i PATH="$PATH" HOME=/ "$FAIRLOCK" wrap -u local: job sh -c 'exit 7'
	refute_output
	run -0 find home -type s
	assert_output --regexp "^home/.local/state/fairlock/[^/]*/socket\$"
	assert_equal "$(wc -l <calls)" 1
	mkdir home/.config other
	echo "url = unix:$PWD/none" >home/.config/fairlock.conf
	run -69 stranger env -u HOME "$FAIRLOCK" status x
	assert_output --partial "unix:$PWD/none"
	rm calls
	run -69 stranger env HOME="$PWD/other" "$FAIRLOCK" status -u "unix:$PWD/flag" x
	[ ! -e calls ]
}

@test "the real getent knows users whom the C library of a static program does not know" {
	cp /etc/passwd .
	echo "somebody:x:4242:4242::$PWD/home" >>passwd # and no shell
	run -0 unshare -rm sh -c 'mount --bind passwd /etc/passwd && exec "$@"' sh \
		unshare --user --map-user 4242 --pid --fork --kill-child --mount-proc \
		"$FAIRLOCK" wrap -u local: job echo "It is done"
	assert_output "It is done"
}

@test "getent inherits neither variables nor descriptors" {
	getent_does "env >'$PWD/env'" "ls -l /proc/self/fd >'$PWD/descriptors'" 'exit 2'
	SECRET=sesame homeless stranger 9<secrets
	run -0 grep -v -e '^PWD=' -e '^OLDPWD=' -e '^SHLVL=' -e '^_=' env
	assert_output --regexp '^PATH=[^[:space:]]*$'
	run ! grep secrets descriptors
	grep ' 0 -> /dev/null' descriptors
}

@test "a user whom getent does not know, or without a getent, has no private server" {
	local line

	homeless unshare -rm sh -c 'mount --bind /dev/null /usr/bin/getent && exec "$@"' sh unshare --user --map-user 4242
	for line in 'exit 2' 'echo rubbish' "printf ':\n\n:::::::\n'" "printf 'somebody:x:4242:4242::/home'" 'echo somebody:x:4242' \
		'echo somebody:x:4243:4242::/:/bin/sh' 'echo somebody:x:4242:4242::home:/bin/sh' 'exec yes rubbish' \
		'exec head -c 20000000 /dev/urandom'; do
		getent_does "$line"
		homeless stranger
	done
}

@test "a getent that hangs costs some seconds, and is gone then; it dies with a fairlock that is killed" {
	local began gone='timeout 5 sh -c "while pgrep -x \"slee[p]|getent\"; do :; done"'

	getent_does 'sleep 600 & wait'
	began=$(ms)
	run -0 stranger sh -c "\"\$0\" wrap -u local: job true; echo \"\$?\"; $gone" "$FAIRLOCK"
	assert_line --index 0 --partial 'user 4242 has no home directory'
	assert_line --index 1 78
	[ $(($(ms) - began)) -lt 15000 ]
	rm calls
	getent_does 'exec sleep 600'
	run -0 stranger sh -c "\"\$0\" wrap -u local: job true & timeout 20 sh -c 'until [ -s calls ]; do :; done'; kill -9 \"\$!\"; $gone" "$FAIRLOCK"
}

@test "the user of a process that no database knows is LOGNAME, else USER, else the number" {
	local shown variables

	start_server
	while IFS='|' read -r shown variables; do
		run -0 stranger env FAIRLOCK_URL="$FAIRLOCK_URL" $variables "$FAIRLOCK" wrap job "$FAIRLOCK" status --raw --noheadings -o USER job
		assert_output "$shown"
	done <<-END
		ann|LOGNAME=ann USER=bob
		bob|USER=bob
		4242|LOGNAME= USER=
		a?b[|LOGNAME=a$(printf '\x1b')b[
	END
}

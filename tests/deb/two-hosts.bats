# The README's commands for two hosts, word for word: two Debian roots with a network between them, in which the user ann
# may use sudo. The server of the one that is called lock1 has the locks of both.
load root

README=$TESTS_DIR/../README.md

# deploy.sh writes its argument into the file `begun`, touches the file `lives` all the time, and ends when somebody makes the
# file `go`.
DEPLOY='#!/bin/sh
echo "$1" >>begun
until [ -e go ]; do touch lives; sleep 0.05; done'

setup_file() {
	local host

	[ -z "$(why_no_root)" ] || return 0 # setup skips
	for host in lock1 web1; do
		new_root
		export "ROOT_OF_$host=$ROOT_PID"
		[ ! -e "$ROOT_FOLDER/no-groups" ] || continue
		apt --no-install-recommends install openssl sudo systemd
		boot_root
		in_root hostname "$host"
		in_root useradd --create-home --shell /bin/bash ann
		put_in_root /etc/sudoers.d/ann <<<'ann ALL=(ALL) NOPASSWD: ALL'
		put_in_root "/home/ann/${PACKAGE##*/}" <"$PACKAGE"
		put_in_root /home/ann/deploy.sh <<<"$DEPLOY"
	done
	connect
}

# connect: makes a wire between the two, which ends with them
connect() {
	ip link add eth0 netns "$ROOT_OF_lock1" type veth peer name eth0 netns "$ROOT_OF_web1"
	nsenter --target "$ROOT_OF_lock1" --net ip address add 192.0.2.1/24 dev eth0
	nsenter --target "$ROOT_OF_web1" --net ip address add 192.0.2.2/24 dev eth0
	nsenter --target "$ROOT_OF_lock1" --net ip link set eth0 up
	nsenter --target "$ROOT_OF_web1" --net ip link set eth0 up
}

setup() {
	[ -n "$ROOT_PID" ] || skip "$(why_no_root)"
	boot_root # skips where systemd cannot run
	cd "$BATS_TEST_TMPDIR" || return
}

# on HOST LINE: types it into a shell of ann there, who says yes to every question
on() {
	local root=ROOT_OF_$1

	yes | ROOT_PID=${!root} in_root su - ann -c "$2"
}

# commands: prints the lines of the README, a tab between host and command
commands() {
	sed -n '/^## From nothing/,/^## From flock/s/^\([a-z0-9]*\)\$ /\1\t/p' "$README"
}

# the_job: prints the command of the README that they make possible
the_job() {
	sed -n '/^## From nothing/,/^## From flock/s/^Now `\(fairlock wrap [^`]*\)`.*/\1/p' "$README"
}

waiters() { on "$1" 'fairlock queue --raw --noheadings -o HOST,PRESENT deploy'; }

waits_on_lock1() { [ "$(waiters web1)" = 'lock1 yes' ]; }

waits_on_web1() { [ "$(waiters lock1)" = 'web1 yes' ]; }

@test "the README's five commands make a lock between two hosts that have nothing yet: one waits while the other holds" {
	local host line holder waiter password=

	assert_equal "$(commands | wc -l)" 5
	while IFS=$'\t' read -r host line; do
		run -0 on "$host" "${line/SECRET/$password}" <&-
		[ -n "$password" ] || password=$(sed -n 's,^url = redis://:\(.*\)@.*,\1,p' <<<"$output")
	done < <(commands)
	[ "${#password}" = 32 ]

	on lock1 "$(the_job)" >holder 2>&1 &
	holder=$!
	wait_until on lock1 'test -s begun'
	on web1 "$(the_job)" >waiter 2>&1 &
	waiter=$!
	wait_until waits_on_web1
	run -0 on web1 'fairlock status --raw --noheadings -o NAME,STATE,HOST,WAITERS'
	assert_output 'deploy held lock1 1'
	run -1 on web1 'test -e begun'
	on web1 'touch go'
	sleep 0.3
	run -1 on web1 'test -e begun'

	on lock1 'touch go'
	wait_until on web1 'test -s begun'
	ends_with 0 "$holder"
	ends_with 0 "$waiter"
	assert_equal "$(cat holder waiter)" ''
	assert_equal "$(on web1 'cat begun')" production
}

@test "a host that is cut off loses the lock to the other one, which starts its command after the end of that on the first" {
	local line holder waiter

	line=$(the_job)
	on web1 'rm -f begun go'
	on lock1 'rm -f begun go'
	on web1 "${line/wrap/wrap --lease 2s}; echo \$? >status" >/dev/null 2>&1 &
	holder=$!
	wait_until on web1 'test -s begun'
	on lock1 "$line" >/dev/null 2>&1 &
	waiter=$!
	wait_until waits_on_lock1
	nsenter --target "$ROOT_OF_web1" --net ip link set eth0 down
	wait_until on lock1 'test -s begun'
	ends_with 0 "$holder"
	assert_equal "$(on web1 'cat status')" 76
	assert [ "$(on lock1 'stat -c %.9Y begun | tr -d .')" -gt "$(on web1 'stat -c %.9Y lives | tr -d .')" ]
	nsenter --target "$ROOT_OF_web1" --net ip link set eth0 up
	on lock1 'touch go'
	ends_with 0 "$waiter"
}

@test "the server of the README's commands listens on its address alone, and refuses a client without the password" {
	run -0 nsenter --target "$ROOT_OF_lock1" --net ss -Htln
	assert_line --regexp ' 192\.0\.2\.1:6379 '
	refute_line --regexp ' (\*|0\.0\.0\.0|\[::\]):6379 '
	run -77 on web1 'fairlock wrap --config /dev/null --url redis://192.0.2.1 deploy true'
	run -77 on web1 'fairlock wrap --config /dev/null --url redis://:WRONG@192.0.2.1 deploy true'
	run -0 on web1 'fairlock doctor'
}

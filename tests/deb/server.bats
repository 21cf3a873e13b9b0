# fairlock-server.service under a real systemd in a Debian root that has the package: for members of the group, for other
# users, and for root. ann is a member, bob is not.
load root

SOCKET=/run/fairlock/socket
DATA=/var/lib/fairlock-server

setup_file() {
	[ -z "$(why_no_root)" ] || return 0 # setup skips
	new_root
	apt --no-install-recommends install man-db redis-server systemd
	[ -e "$ROOT_FOLDER/no-groups" ] || boot_root
	install_package
	in_root useradd --create-home --shell /bin/sh --groups fairlock ann
	in_root useradd --create-home --shell /bin/sh bob
}

setup() {
	[ -n "$ROOT_PID" ] || skip "$(why_no_root)"
	[[ $BATS_TEST_DESCRIPTION != *verify* ]] || return 0
	boot_root
	in_root rm -f /etc/fairlock-server.conf
	put_in_root /etc/fairlock.conf <<<"url = unix:$SOCKET"
	begin_journal
}

teardown() {
	[ -z "$ROOT_PID" ] || [ -n "$BATS_TEST_COMPLETED" ] || said fairlock-server
}

# start: starts the server without data of another test
start() {
	in_root systemctl stop fairlock-server
	in_root rm -rf "$DATA"
	in_root systemctl start fairlock-server
}

# as USER COMMAND: runs this line as this user
as() { in_root su - "$1" -c "$2"; }

@test "systemd-analyze verify finds no mistake in fairlock-server.service, and security rates it below 2" {
	run in_root systemd-analyze verify --man=yes /usr/lib/systemd/system/fairlock-server.service
	refute_output
	run -0 in_root systemd-analyze security --offline=yes --threshold=20 /usr/lib/systemd/system/fairlock-server.service
}

@test "installing the package makes user and group, and neither starts nor enables fairlock-server" {
	run -0 in_root getent passwd fairlock
	assert_output --regexp ':/var/lib/fairlock-server:/usr/sbin/nologin$'
	run -0 in_root getent group fairlock
	assert_output --regexp ':ann$'
	in_root systemctl stop fairlock-server
	run -3 is_active
	run -1 in_root systemctl is-enabled fairlock-server
	assert_output disabled
}

@test "fairlock-server is enabled and started with the line of its manual" {
	local line

	line=$(sed -n 's/^\.Ic \(systemctl .* fairlock-server\)$/\1/p' "$TESTS_DIR/../man/fairlock-server.8")
	[ -n "$line" ]
	run -0 as root "$line"
	is_active
	in_root systemctl is-enabled fairlock-server
	run -0 in_root stat -c '%U %G' "/proc/$(main_pid)"
	assert_output 'fairlock fairlock'
}

@test "members of the group and root share locks on the socket of fairlock-server" {
	start
	run -0 as ann 'fairlock acquire --lease 1h --reason tests job'
	run -75 as root 'fairlock wrap -n job true'
	assert_output --regexp 'held by hand .*ann@.*tests'
	as root 'fairlock release --force job'
	run -0 as root 'fairlock wrap job fairlock status --raw --noheadings -o NAME,USER'
	assert_output 'job root'
	run -0 as ann 'fairlock doctor'
	run -0 as root 'fairlock doctor'
}

@test "a user who is no member of the group cannot connect to fairlock-server, nor look into its folders" {
	start
	run -69 as bob 'fairlock wrap job true'
	assert_output --partial "cannot reach unix:$SOCKET: Permission denied"
	run -69 as bob 'fairlock doctor'
	assert_output --partial 'group of the socket and its folder'
	run as bob "redis-cli -s $SOCKET EVAL 'return 1' 0"
	assert_output --partial 'Permission denied'
	run -2 as bob "ls $DATA /run/fairlock"
	[ "$(grep -c 'Permission denied' <<<"$output")" = 2 ]
}

@test "root administers fairlock-server with the lines of its manual" {
	local commands

	start
	commands=$(sed -n '/^\.Ss The administrator/,/^\.Ed/p' "$TESTS_DIR/../man/fairlock-server.8" |
		sed -n '/^\.Bd/,/^\.Ed/p' | grep -v '^\.')
	[ "$(wc -l <<<"$commands")" = 3 ]
	run -0 as root "$commands"
	assert_line --regexp 'cmd=client\|list user=admin'
	assert_line --partial 'append-only file, fsync no'
	assert_line --partial '0 errors, 0 warnings'
	run as ann "$commands"
	refute_output --partial 'cmd=client'
	assert_output --partial 'Permission denied'
}

@test "a lock survives that fairlock-server is restarted or killed, and a waiter gets it after the holder" {
	local owner

	start
	owner=$(as ann 'fairlock acquire --lease 1h job')
	as root 'fairlock wrap -w 1m job echo done >/root/said' &
	wait_until waits
	in_root systemctl restart fairlock-server
	wait_until waits
	in_root systemctl kill --signal KILL fairlock-server
	wait_until waits
	run -0 as ann 'fairlock status --raw --noheadings -o OWNER,WAITERS job'
	assert_output "$owner 1"
	as ann "fairlock release --owner $owner job"
	ends_with 0 $!
	run -0 in_root cat /root/said
	assert_output 'done'
}

waits() { [ "$(as ann 'fairlock queue --raw --noheadings -o PRESENT job')" = yes ]; }

@test "fairlock-server with a wrong setting fails, says why, and is not started again" {
	put_in_root /etc/fairlock.conf <<<'url = redis://127.0.0.1:7000'
	in_root systemctl stop fairlock-server
	run -1 in_root systemctl start fairlock-server
	run -0 in_root systemctl show -p ActiveState -p ExecMainStatus --value fairlock-server
	assert_equal "$(sort <<<"$output" | paste -sd ' ')" '78 failed' # to be started again would be "activating"
	run -0 said fairlock-server
	assert_line 'fairlock-server: cannot serve the url in /etc/fairlock.conf: it has no password: write redis://:PASSWORD@HOST'
}

@test "fairlock-server runs with TLS as its manual says" {
	local line

	line=$(sed -n '/^\.Sh EXAMPLES/,/^\.Ed/s/^url = //p' "$TESTS_DIR/../man/fairlock-server.8")
	[[ $line = rediss://:SECRET@lock1.example.com:* ]]
	line=${line/SECRET/sesame}
	in_root sh -c 'grep -q lock1.example.com /etc/hosts || echo 127.0.1.1 lock1.example.com >>/etc/hosts'
	in_root install -d -g fairlock -m 750 /etc/fairlock
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=lock1 \
		-addext subjectAltName=DNS:lock1.example.com -keyout "$BATS_TEST_TMPDIR/key" -out "$BATS_TEST_TMPDIR/pem"
	put_in_root /etc/fairlock/lock1.pem <"$BATS_TEST_TMPDIR/pem"
	put_in_root /etc/fairlock/lock1.key <"$BATS_TEST_TMPDIR/key"
	in_root sh -c 'chgrp fairlock /etc/fairlock/lock1.key; chmod 640 /etc/fairlock/lock1.key'
	sed -n '/^\.Sh EXAMPLES/,$s/^tls-/&/p' "$TESTS_DIR/../man/fairlock-server.8" | put_in_root /etc/fairlock-server.conf
	put_in_root /etc/fairlock.conf <<<"url = $line"
	start
	run -69 as ann 'fairlock wrap job true'
	assert_output --partial 'certificate'
	put_in_root /etc/fairlock.conf <<<"url = $line"$'\ntls-ca = /etc/fairlock/lock1.pem'
	run -0 as ann 'fairlock wrap job echo done'
	assert_output 'done'
	run -69 as ann "fairlock wrap --url ${line/rediss/redis} job true"
}

@test "an update of Redis restarts fairlock-server, so that it runs the new program" {
	start
	as ann 'fairlock acquire --lease 1h job'
	restarts apt --reinstall install redis-server
	as ann 'fairlock status -q job'
	in_root systemctl stop fairlock-server
	apt --reinstall install redis-server
	run -3 is_active
}

@test "an update of the package restarts fairlock-server, removing it stops it, and purging it removes the data" {
	local pid

	start
	as ann 'fairlock acquire --lease 1h job'
	restarts in_root dpkg -i /fairlock.deb
	as ann 'fairlock status -q job'
	in_root systemctl enable fairlock-server
	pid=$(main_pid)
	in_root dpkg -r fairlock
	in_root test ! -e "/proc/$pid"
	in_root test -e "$DATA/appendonlydir"
	in_root dpkg -P fairlock
	in_root test ! -e "$DATA"
	run -0 in_root find /etc /var /run -xdev -name 'fairlock*' ! -name 'fairlock.conf' ! -path /etc/fairlock ! -path '/var/lib/dpkg/*' ! -path '/var/cache/man/*'
	assert_output ''
	install_package
	in_root systemctl start fairlock-server
}

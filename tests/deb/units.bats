# The example units, word for word, under a real systemd in a Debian root that has the package. The
# root has a network of its own, where lock.example.com runs the server that the package suggests.
load root

EXAMPLES=/usr/share/doc/fairlock/examples
# JOB writes into the journal. It and its child stay while there is a file /etc/stay.
JOB='#!/bin/sh
echo "started as $(id -u) with token $FAIRLOCK_TOKEN"
! env | grep -i secret
trap "echo told; [ -e /etc/deaf ] || exit 0" TERM
stay() { while [ -e /etc/stay ]; do sleep 0.05; done; }
(trap "echo child told" TERM; stay) &
stay
exit "$(cat /etc/status)"'

setup_file() {
	[ -z "$(why_no_root)" ] || return 0 # setup skips
	new_root
	install_package
	apt --no-install-recommends install man-db redis-server systemd
	put_in_root /usr/local/bin/backup <<<"$JOB"
	put_in_root /usr/local/bin/orders-worker <<<"$JOB"
	in_root sh -c 'echo 127.0.0.1 lock.example.com >>/etc/hosts && (umask 077 && echo secret >/etc/fairlock.password)'
	in_root sh -c "cp $EXAMPLES/nightly* $EXAMPLES/orders* /etc/systemd/system/"
	put_in_root /etc/systemd/system/names.target <<<$'[Unit]\nAfter=nightly-backup.service orders-worker.service'
}

# names.target names the services, or else systemd would forget how they ended.
setup() {
	[ -n "$ROOT_PID" ] || skip "$(why_no_root)"
	[[ $BATS_TEST_DESCRIPTION != *verify* ]] || return 0
	boot_root
	in_root sh -c 'rm -rf /etc/stay /etc/deaf /etc/systemd/system/*.d; echo 0 >/etc/status'
	in_root systemctl daemon-reload
	in_root systemctl stop '*-worker.service' 'nightly-backup.*'
	in_root systemctl reset-failed
	redis FLUSHALL
	redis ACL SETUSER default resetpass '>secret'
	start names.target
	begin_journal
}

teardown() {
	[ -z "$ROOT_PID" ] || [ -n "$BATS_TEST_COMPLETED" ] || { said nightly-backup; said orders-worker; }
}

redis() { in_root env REDISCLI_AUTH=secret redis-cli "$@" >/dev/null; }

start() { in_root systemctl start "$@"; }

# state UNIT: prints its result, and the exit status of its main process
state() {
	in_root systemctl show -p Result -p ExecMainStatus --value "$1" | tr '\n' ' ' | sed 's/ $//'
}

in_state() { [ "$(state "$1")" = "$2" ]; }

# started UNIT COUNT: succeeds if it has started so many times in this test
started() { [ "$(said "$1" | grep -c '^started as ')" = "$2" ]; }

is_free() { [ "$(in_root env REDISCLI_AUTH=secret redis-cli EXISTS "$1")" = 0 ]; }

@test "systemd-analyze verify finds no mistake in the example units" {
	run -0 in_root sh -c "systemd-analyze verify --man=yes $EXAMPLES/*.service $EXAMPLES/*.timer"
	refute_output
}

@test "the nightly unit runs its job under the lock, as a user of its own, and shows it no password" {
	run -0 start nightly-backup
	run -0 said nightly-backup
	assert_line --regexp '^started as [1-9][0-9]* with token [0-9]+$'
	refute_line --partial secret
	assert_equal "$(state nightly-backup)" 'success 0'
}

@test "the nightly unit leaves out a job that runs on another host, and fails only if the server is out of reach" {
	put_in_root /etc/systemd/system/nightly-backup.service.d/url.conf <<<$'[Service]\nEnvironment=FAIRLOCK_URL=redis://lock.example.com:1'
	in_root env FAIRLOCK_URL=redis://lock.example.com REDISCLI_AUTH=secret fairlock acquire nightly-backup
	run -0 start nightly-backup
	assert_equal "$(state nightly-backup)" 'success 75'
	in_root systemctl daemon-reload
	run -1 start nightly-backup
	assert_equal "$(state nightly-backup)" 'exit-code 69'
}

@test "systemctl stop sends the signal to the job only, and the lock is given back" {
	in_root touch /etc/stay
	start --no-block nightly-backup
	wait_until started nightly-backup 1
	in_root systemctl stop nightly-backup
	is_free nightly-backup
	run -0 said nightly-backup
	assert_equal "$(grep -c '^told$' <<<"$output")" 1
	refute_line 'child told'
	assert_equal "$(state nightly-backup)" 'success 0'
}

@test "the nightly timer runs a job later if the host was off at three, unless another host has run it" {
	put_in_root /etc/systemd/system/nightly-backup.timer.d/now.conf <<<$'[Timer]\nRandomizedDelaySec=0'
	in_root systemctl daemon-reload
	in_root touch -d '2 days ago' /var/lib/systemd/timers/stamp-nightly-backup.timer
	start nightly-backup.timer
	wait_until started nightly-backup 1
	wait_until is_free nightly-backup
	in_root systemctl stop nightly-backup.timer
	in_root touch -d '2 days ago' /var/lib/systemd/timers/stamp-nightly-backup.timer
	start nightly-backup.timer
	wait_until in_state nightly-backup 'success 75'
	started nightly-backup 1
}

@test "the worker unit ends when it has lost its lock, queues again, and starts again" {
	in_root touch /etc/stay
	start orders-worker
	wait_until started orders-worker 1
	in_root env FAIRLOCK_URL=redis://lock.example.com REDISCLI_AUTH=secret fairlock release --force orders-worker
	wait_until started orders-worker 2
	said orders-worker | grep -q 'status=76'
	in_root systemctl stop orders-worker
	is_free orders-worker
}

#!/usr/bin/env bats
# The example units, word for word, under a real systemd in a Debian root that has the package. The network is one
# of its own: lock.example.com is there, and on it the server that the package recommends.
load ../lib/helpers
load root

EXAMPLES=/usr/share/doc/fairlock/examples
# What a job says goes to the journal. It stays while there is a file "stay", and a child of it does, too.
# shellcheck disable=SC2016
JOB='#!/bin/sh
echo "started as $(id -u) with token $FAIRLOCK_TOKEN"
! env | grep -i secret
trap "echo told; [ -e /etc/deaf ] || exit 0" TERM
stay() { while [ -e /etc/stay ]; do sleep 0.05; done; }
(trap "echo child told" TERM; stay) &
stay
exit "$(cat /etc/status)"'

setup_file() {
	PACKAGE=$(realpath "$BUILD"/fairlock_*.deb)
	export PACKAGE
	[ -z "$(why_no_root)" ] || return 0 # setup skips
	new_root
	install_package --install-recommends
	apt --no-install-recommends install man-db systemd
	put_in_root /usr/local/bin/backup <<<"$JOB"
	put_in_root /usr/local/bin/orders-worker <<<"$JOB"
	in_root sh -c 'echo 127.0.0.1 lock.example.com >>/etc/hosts && (umask 077 && echo secret >/etc/fairlock.password)'
	in_root sh -c "cp $EXAMPLES/nightly* $EXAMPLES/orders* /etc/systemd/system/"
	put_in_root /etc/systemd/system/names.target <<<$'[Unit]\nAfter=nightly-backup.service orders-worker.service'
}

# systemd forgets how a service ended when no other unit names it.
setup() {
	[ -n "$ROOT_PID" ] || skip "$(why_no_root)"
	[[ $BATS_TEST_DESCRIPTION != *verify* ]] || return 0
	boot_root
	in_root sh -c 'rm -rf /etc/stay /etc/deaf /etc/systemd/system/*.d; echo 0 >/etc/status'
	in_root systemctl daemon-reload
	in_root systemctl stop '*-worker.service' 'nightly-backup.*'
	in_root systemctl reset-failed
	redis FLUSHALL
	redis ACL SETUSER backup on '>secret' '~*' '&*' +@all
	redis ACL SETUSER orders on '>secret' '~*' '&*' +@all
	start names.target
	in_root sh -c 'rm -f /run/cursor; journalctl --sync; journalctl --cursor-file=/run/cursor >/dev/null'
}

teardown() {
	[ -z "$ROOT_PID" ] || [ -n "$BATS_TEST_COMPLETED" ] || { said nightly-backup; said orders-worker; }
}

redis() { in_root redis-cli "$@" >/dev/null; }

start() { in_root systemctl start "$@"; }

# state UNIT: what became of it, and the status that its main process ended with
state() {
	in_root systemctl show -p Result -p ExecMainStatus --value "$1" | tr '\n' ' ' | sed 's/ $//'
}

ends_with() { [ "$(state "$1")" = "$2" ]; }

# started UNIT COUNT: so many times, in this test
started() { [ "$(said "$1" | grep -c '^started as ')" = "$2" ]; }

is_free() { [ "$(in_root redis-cli EXISTS "$1")" = 0 ]; }

# processes_of PROGRAM: in the root
processes_of() { pgrep --ns "$ROOT_PID" --nslist pid -f "$1"; }

# queued UNIT COUNT
queued() { [ "$(in_root redis-cli LLEN "redisson_lock_queue:{$1}")" = "$2" ]; }

# said UNIT: by it and about it, in this test
said() { in_root sh -c 'journalctl --sync; journalctl --after-cursor="$(cat /run/cursor)" -o cat -u "$1"' sh "$1"; }

@test "systemd-analyze verify has nothing to say about the examples" {
	run -0 in_root sh -c "systemd-analyze verify --man=yes $EXAMPLES/*.*"
	refute_output
}


@test "a job runs under the lock, as a user of its own, and knows no password" {
	run -0 start nightly-backup
	run -0 said nightly-backup
	assert_line --regexp '^started as [1-9][0-9]* with token [0-9]+$'
	refute_line --partial secret
	assert_equal "$(state nightly-backup)" 'success 0'
}

@test "a job that was started elsewhere today is left out, which is no failure" {
	in_root fairlock wrap --url redis://lock.example.com nightly-backup -- true
	run -0 start nightly-backup
	run -0 said nightly-backup
	assert_line --partial 'cannot get lock nightly-backup'
	refute_line --partial 'started as'
	assert_equal "$(state nightly-backup)" 'success 75'
}

@test "a job that runs elsewhere is left out, which is no failure; a server out of reach is one" {
	put_in_root /etc/systemd/system/nightly-backup.service.d/url.conf <<<$'[Service]\nEnvironment=FAIRLOCK_URL=redis://lock.example.com:1'
	in_root fairlock acquire --url redis://lock.example.com nightly-backup
	run -0 start nightly-backup
	assert_equal "$(state nightly-backup)" 'success 75'
	in_root systemctl daemon-reload
	run -1 start nightly-backup
	assert_equal "$(state nightly-backup)" 'exit-code 69'
}

@test "a job that fails is a failed unit, and gives the lock back" {
	in_root sh -c 'echo 3 >/etc/status'
	run -1 start nightly-backup
	assert_equal "$(state nightly-backup)" 'exit-code 3'
	is_free nightly-backup
}

@test "systemctl stop: the job alone is told, and the lock is given back" {
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

@test "systemctl stop: a job that does not end is killed, and its lease goes by before the lock is free" {
	in_root touch /etc/stay /etc/deaf
	put_in_root /etc/systemd/system/nightly-backup.service.d/stop.conf <<<$'[Service]\nTimeoutStopSec=1'
	in_root systemctl daemon-reload
	start --no-block nightly-backup
	wait_until started nightly-backup 1
	processes_of /usr/local/bin/backup
	in_root systemctl stop nightly-backup
	run -1 processes_of /usr/local/bin/backup
	[ "$(state nightly-backup)" = 'timeout 9' ]
	[ "$(in_root redis-cli PTTL nightly-backup)" -gt 0 ]
}

@test "the timer: a host that was off at three does it when it is up, unless another did it" {
	put_in_root /etc/systemd/system/nightly-backup.timer.d/now.conf <<<$'[Timer]\nRandomizedDelaySec=0'
	in_root systemctl daemon-reload
	in_root touch -d '2 days ago' /var/lib/systemd/timers/stamp-nightly-backup.timer
	start nightly-backup.timer
	wait_until started nightly-backup 1
	wait_until is_free nightly-backup
	in_root systemctl stop nightly-backup.timer
	in_root touch -d '2 days ago' /var/lib/systemd/timers/stamp-nightly-backup.timer
	start nightly-backup.timer
	wait_until ends_with nightly-backup 'success 75'
	started nightly-backup 1
}

@test "a service runs on one of many hosts; when it has lost its lock it ends, and queues again" {
	in_root touch /etc/stay
	start orders-worker
	wait_until started orders-worker 1
	in_root fairlock release --force --url redis://lock.example.com orders-worker
	wait_until started orders-worker 2
	said orders-worker | grep -q 'status=76'
	in_root systemctl stop orders-worker
	is_free orders-worker
}

@test "a service that waits its turn is up, and leaves the queue when it is stopped" {
	in_root fairlock acquire --url redis://lock.example.com orders-worker
	start orders-worker
	wait_until queued orders-worker 1
	in_root systemctl is-active orders-worker
	in_root systemctl stop orders-worker
	queued orders-worker 0
	assert_equal "$(state orders-worker)" 'success 15' # SIGTERM, as a waiter ends
}

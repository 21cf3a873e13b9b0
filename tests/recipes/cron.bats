# man/examples/crontab in /etc/cron.d of some hosts, with the real cron. It takes its clock for one shortly before
# three o'clock.

load ../lib/machine

setup() {
	local name

	[ -x /usr/sbin/cron ] || skip 'there is no cron here'
	begin
	put /etc/cron.d/fairlock <"$EXAMPLES/crontab"
	put /etc/fairlock.conf <<<'url = redis://lock.example.com'
	put /usr/sbin/sendmail 755 <<<$'#!/bin/sh\ncat >>/etc/mail'
	put /etc/mail </dev/null
	put /etc/crontab </dev/null
	# A job writes a line, and ends when there is a file `end`.
	for name in report poll-mail sync-shop import; do
		program "$name" "echo '$name' >>'$PWD/ran'; until [ -e '$PWD/end' ]; do sleep 0.05; done"
	done
}

# start_cron: starts cron on a host, as its first process, 4 s before 03:00 by its clock. Sets CRON.
start_cron() {
	local ahead_s=$(($(date -d 03:00 +%s) - 4 - $(date +%s)))

	background "$HOST" unshare --mount --pid --fork --kill-child --mount-proc sh -c '
		mount -t tmpfs tmpfs /run && exec env LD_PRELOAD="$1" CLOCKWORK_AHEAD_MS="$2" cron -f' \
		sh "$BUILD/programs/clockwork.so" "${ahead_s}000" >>cron.log 2>&1
	CRON=$!
}

# jobs_run: prints what has run, and how often
jobs_run() { sort ran | uniq -c | sed 's/^ *//' | paste -sd ,; }

have_run() { [ "$(jobs_run)" = "$1" ]; }

mailed() { "$HOST" grep -q "$1" /etc/mail; }

# has_ended PID: succeeds if this cron has no job any more
has_ended() {
	local cron

	cron=$(pgrep -P "$1" -x cron) && ! pgrep -P "$cron"
}

@test "cron on three hosts starts each job on one of them, and on a host whose clock is late only sync-shop again" {
	start_cron
	start_cron
	start_cron
	wait_until have_run '1 import,1 poll-mail,1 report,1 sync-shop'
	wait_until in_queue sync-shop 1
	sleep 3 # the third host is refused by then, which leaves no trace
	touch end
	wait_until have_run '1 import,1 poll-mail,1 report,2 sync-shop'
	start_cron
	wait_until have_run '1 import,1 poll-mail,1 report,3 sync-shop'
	wait_until has_ended "$CRON"
	have_run '1 import,1 poll-mail,1 report,3 sync-shop'
	run ! mailed .
}

@test "the locks of a host that died are free when their leases have ended, and the report does not run again" {
	put /etc/cron.d/fairlock < <(sed 's/^FAIRLOCK_LEASE=.*/FAIRLOCK_LEASE=3s/' "$EXAMPLES/crontab")
	start_cron
	wait_until have_run '1 import,1 poll-mail,1 report,1 sync-shop'
	kill -KILL "$CRON" # the kernel kills all that runs on that host
	run -0 "$FAIRLOCK" status -q nightly-report
	wait_until is_free nightly-report
	run -75 "$HOST" fairlock wrap -n --once-per 1d nightly-report true
}

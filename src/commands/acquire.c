/* fairlock acquire: takes the lock and leaves it held; prints the owner id. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/message.h"
#include "cli/command.h"
#include "cli/options.h"
#include "lock/hold.h"
#include "lock/wait.h"
#include "lock/wait_result.h"
#include "supervise/keepalive.h"

/* The process is pinned before we queue: its number may be another's by the time of the grant. */
static int pin_process(pid_t pid, int *pidfd, struct error *err)
{
	struct pollfd slot = {.events = POLLIN};

	*pidfd = -1;
	if (!pid)
		return 0;
	*pidfd = slot.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (*pidfd < 0 && (errno == ESRCH || errno == EINVAL))
		return fail(err, STATUS_USAGE, "cannot watch process %d: there is no such process",
			    (int)pid);
	if (*pidfd < 0)
		return fail(err, STATUS_OS, "cannot watch process %d: %s", (int)pid,
			    strerror(errno));
	if (poll(&slot, 1, 0) > 0) {
		close(*pidfd);
		return fail(err, STATUS_USAGE, "cannot watch process %d: it has ended", (int)pid);
	}
	return 0;
}

static void print_grant(const struct lock *lock, bool json)
{
	struct json out = {0};

	if (!json) {
		puts(lock->owner);
		return;
	}
	json_open(&out, NULL, '{');
	json_text(&out, "name", lock->keys.name);
	json_text(&out, "owner", lock->owner);
	json_printf(&out, "token", "%s", lock->token);
	json_printf(&out, "lease_ms", "%" PRId64, lock->deadline_ms - clock_ms());
	json_close(&out, '}');
}

static int write_grant(const struct lock *lock, bool json, struct error *err)
{
	print_grant(lock, json);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fail(err, STATUS_OS, "cannot write the owner id: %s", strerror(errno));
	__fpurge(stdout); /* it has been told of */
	clearerr(stdout);
	return -1;
}

/* From the moment when the caller knows the owner id, it relies on the keeper. */
static int write_kept(struct hold *hold, const struct wait *wait, struct error *err)
{
	const struct kept kept = {.hold = hold,
				  .messenger = wait->messenger,
				  .loop = wait->loop,
				  .signals = wait->signals,
				  .pidfd = wait->pidfd,
				  .pid = wait->options->while_pid};
	struct keepalive keeper;

	if (keepalive_start(&keeper, &kept, err) < 0)
		return -1;
	if (write_grant(hold->lock, wait->options->json, err) < 0) {
		keepalive_end(&keeper);
		return -1;
	}
	keepalive_let_go(&keeper);
	return 0;
}

/* A lock whose owner id nobody learns would be held for nothing. */
static int hand_out(struct hold *hold, const struct wait *wait, struct error *err)
{
	struct error ignored;
	const int result = wait->pidfd < 0 ? write_grant(hold->lock, wait->options->json, err)
					   : write_kept(hold, wait, err);

	if (result < 0)
		hold_release(hold, hold->lock->deadline_ms, &ignored);
	client_close(hold->client);
	return result;
}

static int run_acquire(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	int64_t lease_ms = options->lease_ms ? options->lease_ms : DEFAULT_LEASE_MS;
	char name[] = "fairlock acquire";
	char *words[] = {name, NULL};
	struct signal_fd signals;
	struct deadline_poll loop;
	struct lock lock;
	struct client client;
	struct hold hold;
	struct wait wait = {.options = options,
			    .messenger = invocation->messenger,
			    .signals = &signals,
			    .loop = &loop};
	const struct lock_options wanted = {.name = invocation->argv[0],
					    .kind = LOCK_ACQUIRE,
					    .lease_ms = lease_ms,
					    .max_queue = options->max_queue,
					    .replicas = options->replicas,
					    .replicas_ms = options->connect_timeout_ms,
					    .owner = options->owner,
					    .words = words};
	struct waiting waiting;
	enum wait_event event;
	int signo, result;

	if (lock_init(&lock, &wanted, err) < 0 ||
	    pin_process(options->while_pid, &wait.pidfd, err) < 0 ||
	    signal_fd_open(&signals, err) < 0 || deadline_poll_open(&loop, err) < 0)
		return -1;
	client_init(&client, invocation->server, options->connect_timeout_ms);
	wait_begin(&waiting, &wait, &lock, &client);
	do
		event = wait_next(&waiting, &signo, err);
	while (event != WAIT_GRANTED && event != WAIT_FAILED);
	if (event == WAIT_FAILED) {
		client_close(&client);
		result = wait_result_carry_out(wait.messenger, options, signo, err, status);
	} else {
		hold_init(&hold, &lock, &client);
		result = hand_out(&hold, &wait, err);
	}
	deadline_poll_close(&loop);
	signal_fd_close(&signals);
	if (wait.pidfd >= 0)
		close(wait.pidfd);
	return result;
}

const struct command acquire_command = {
	.name = "acquire",
	.operands = "NAME",
	.summary = "take the lock and leave it held",
	.examples =
		"  owner=$(fairlock acquire deploy) || exit   wait for the lock\n"
		"  fairlock acquire --while-pid $$ deploy     hold it until this shell ends\n"
		"  fairlock acquire -w 10s -l 5m deploy       wait 10 s, hold it for 5 minutes\n",
	.bit = COMMAND_ACQUIRE,
	.least = 1,
	.most = 1,
	.takes_lock = true,
	.run = run_acquire,
};

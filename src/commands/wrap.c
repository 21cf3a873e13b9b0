/* fairlock wrap: runs COMMAND while holding the lock. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/param.h>
#include <sys/random.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/message.h"
#include "cli/command.h"
#include "cli/options.h"
#include "lock/wait.h"
#include "lock/wait_result.h"
#include "supervise/wrapper.h"

#define DEFAULT_KILL_AFTER_MS 10000

static int64_t kill_after(const struct options *options, int64_t lease_ms)
{
	if (options->kill_after_ms >= 0)
		return options->kill_after_ms;
	return MIN(lease_ms / 3, DEFAULT_KILL_AFTER_MS);
}

/* 126 and 127 are as in the shell. */
static int not_started(const struct job *job, int cause, struct error *err)
{
	const bool is_short =
		cause == EAGAIN || cause == ENOMEM || cause == EMFILE || cause == ENFILE;
	enum status status = cause == ENOENT ? STATUS_NOT_FOUND
			     : is_short      ? STATUS_OS
					     : STATUS_NOT_EXECUTABLE;

	return fail(err, status, "cannot execute %s: %s", job->shown, strerror(cause));
}

static int end_as_command(const struct job *job, const struct ending *ending, int *status,
			  struct error *err)
{
	if (ending->exec_errno)
		return not_started(job, ending->exec_errno, err);
	if (ending->lost)
		*status = STATUS_NOT_HELD;
	else if (ending->timed_out)
		*status = STATUS_TIMED_OUT;
	else if (WIFSIGNALED(ending->wait_status))
		die_of(WTERMSIG(ending->wait_status));
	else
		*status = WEXITSTATUS(ending->wait_status);
	return 0;
}

/* Waits for a random part of --jitter, so that hosts that start at the same time do not ask at the
 * same time. A signal ends the wait, and is in *signo then. */
static int wait_for_jitter(const struct wait *wait, const struct lock *lock, int *signo,
			   struct error *err)
{
	struct pollfd slots[] = {{.fd = wait->signals->fd, .events = POLLIN}, {.fd = -1}};
	const uint64_t most = (uint64_t)wait->options->jitter_ms;
	uint64_t dice = 0;

	*signo = 0;
	if (most == 0)
		return 0;
	(void)!getrandom(&dice, sizeof(dice), 0);
	dice %= most + 1;
	message_step(wait->messenger, "asking in %" PRIu64 " ms", dice);
	const int64_t until = clock_ms() + (int64_t)dice;

	while (clock_ms() < until) {
		if (deadline_poll(wait->loop, slots, 2, until, err) < 0)
			return -1;
		if (slots[0].revents && (*signo = signal_fd_next_deadly(wait->signals)))
			return wait_result_stopped(err, lock, *signo);
	}
	return 0;
}

/* Has the guard and COMMAND's process stand by while it waits. Returns 0 when the lock is held. */
static int get_lock(const struct wait *wait, const struct job *job, struct standby *standby,
		    int *signo, struct error *err)
{
	struct waiting waiting;

	if (wait_for_jitter(wait, job->lock, signo, err) < 0)
		return -1;
	wait_begin(&waiting, wait, job->lock, job->client);
	for (;;) {
		switch (wait_next(&waiting, signo, err)) {
		case WAIT_GRANTED:
			return 0;
		case WAIT_FAILED:
			return -1;
		case WAIT_STAND_BY:
			standby_make(standby, job);
			break;
		case WAIT_STAND_DOWN:
			standby_end(standby);
			break;
		}
	}
}

static int get_and_run(const struct wait *wait, const struct job *job, int *status,
		       struct error *err)
{
	struct standby standby = {0};
	struct ending ending;
	int signo;

	if (get_lock(wait, job, &standby, &signo, err) < 0) {
		standby_end(&standby);
		client_close(job->client);
		return wait_result_carry_out(wait->messenger, wait->options, signo, err, status);
	}
	if (wrapper_run(job, &standby, &ending, err) < 0)
		return -1;
	return end_as_command(job, &ending, status, err);
}

static int run_wrap(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	char sh[] = "sh", dash_c[] = "-c";
	char *shell[] = {sh, dash_c, (char *)(uintptr_t)options->shell_command, NULL};
	char *const *argv = options->shell_command ? shell : invocation->argv + 1;
	int64_t lease_ms = options->lease_ms ? options->lease_ms : DEFAULT_LEASE_MS;
	struct signal_fd signals;
	struct deadline_poll loop;
	struct lock lock;
	struct client client;
	struct job job = {.options = options,
			  .messenger = invocation->messenger,
			  .signals = &signals,
			  .loop = &loop,
			  .lock = &lock,
			  .client = &client,
			  .argv = argv,
			  .kill_after_ms = kill_after(options, lease_ms)};
	const struct wait wait = {.options = options,
				  .messenger = invocation->messenger,
				  .signals = &signals,
				  .loop = &loop,
				  .pidfd = -1};
	const struct lock_options wanted = {.name = invocation->argv[0],
					    .kind = LOCK_WRAP,
					    .lease_ms = lease_ms,
					    .max_queue = options->max_queue,
					    .replicas = options->replicas,
					    .slots = options->slots,
					    .shared = options->shared,
					    .supersede = options->supersede,
					    .replicas_ms = options->connect_timeout_ms,
					    .min_hold_ms = options->min_hold_ms,
					    .once_per_ms = options->once_per_ms,
					    .words = argv,
					    .reason = options->reason};
	int result;

	shorten(job.shown, *argv[0] ? argv[0] : "''");
	if (lock_init(&lock, &wanted, err) < 0 || signal_fd_open(&signals, err) < 0 ||
	    deadline_poll_open(&loop, err) < 0)
		return -1;
	client_init(&client, invocation->server, options->connect_timeout_ms);
	result = get_and_run(&wait, &job, status, err);
	deadline_poll_close(&loop);
	signal_fd_close(&signals);
	return result;
}

const struct command wrap_command = {
	.name = "wrap",
	.operands = "NAME [--] COMMAND [ARG...]",
	.summary = "run a command while holding the lock",
	.examples =
		"  fairlock wrap backup ./backup.sh             wait for the lock, then run it\n"
		"  fairlock wrap -n backup ./backup.sh          exit with 75 if the lock is busy\n"
		"  fairlock wrap -n --once-per 1d news ./news   on many hosts: one runs it\n",
	.bit = COMMAND_WRAP,
	.least = 1,
	.most = OPERANDS_UNLIMITED,
	.runs_words = true,
	.takes_lock = true,
	.run = run_wrap,
};

/* fairlock wrap: runs COMMAND while holding the lock. */
#include <errno.h>
#include <string.h>
#include <sys/param.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "supervise/exec_path.h"
#include "supervise/job.h"
#include "supervise/processes.h"

#define DEFAULT_KILL_AFTER_MS 10000

/* 126 and 127 are as in the shell. */
static int not_started(const struct job *job, int cause, struct error *err)
{
	const bool is_short =
		cause == EAGAIN || cause == ENOMEM || cause == EMFILE || cause == ENFILE;
	enum status status = cause == ENOENT ? STATUS_NOT_FOUND
			     : is_short      ? STATUS_OS
					     : STATUS_NOT_EXECUTABLE;
	char why[EXEC_WHY_BYTES];

	return fail_about(err, status, "execute", job->shown,
			  is_short ? strerror(cause) : exec_path_why(why, job->argv, cause));
}

static int end_as_command(const struct job *job, const struct ending *ending, int *status,
			  struct error *err)
{
	if (ending->exec_errno)
		return not_started(job, ending->exec_errno, err);
	if (ending->lost)
		*status = STATUS_NOT_HELD;
	else if (ending->timed_out || ending->was_asked)
		*status = STATUS_TIMED_OUT;
	else if (WIFSIGNALED(ending->wait_status))
		die_of(WTERMSIG(ending->wait_status));
	else
		*status = WEXITSTATUS(ending->wait_status);
	return 0;
}

static int get_and_run(struct job *job, int *status, struct error *err)
{
	struct standby standby = {0};
	struct ending ending;
	int signo = 0;
	const enum wait_event event = take_locks(job, &standby, &signo, err);

	*status = STATUS_OK;
	if (event == WAIT_DONE ||
	    (event == WAIT_GRANTED && wrapper_run(job, &standby, &ending, err) == 0 &&
	     end_as_command(job, &ending, status, err) == 0))
		return 0;
	return wait_result_carry_out(job->messenger, job->options, job->signals, signo, err,
				     status);
}

static int open_and_run(struct job *job, struct signal_fd *signals, int *status, struct error *err)
{
	int result;

	if (signal_fd_open(signals, err) < 0 || deadline_poll_open(job->loop, err) < 0)
		return -1;
	ground_look(job->ground);
	result = get_and_run(job, status, err);
	ground_leave(job->ground);
	close(job->loop->timer);
	close(signals->fd);
	return result;
}

static int run_wrap(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	char sh[] = "sh", dash_c[] = "-c";
	char *shell[] = {sh, dash_c, (char *)(uintptr_t)options->shell_command, NULL};
	char *const *argv = options->shell_command ? shell : invocation->argv + 1;
	const int64_t lease_ms = options->lease_ms ? options->lease_ms : DEFAULT_LEASE_MS;
	struct signal_fd signals;
	struct deadline_poll loop;
	struct ground ground;
	static struct hold holds[HOLDS_MAX]; /* most of it never touched */
	struct hold_set set = {.holds = holds};
	struct job job = {.options = options,
			  .messenger = invocation->messenger,
			  .signals = &signals,
			  .loop = &loop,
			  .name = invocation->argv[0],
			  .set = &set,
			  .server = invocation->server,
			  .ground = &ground,
			  .argv = argv,
			  .kill_after_ms = options->kill_after_ms};

	if (job.kill_after_ms < 0)
		job.kill_after_ms = MIN(lease_ms / 3, DEFAULT_KILL_AFTER_MS);
	shorten(job.shown, *argv[0] ? argv[0] : "''");
	return open_and_run(&job, &signals, status, err);
}

const struct command wrap_command = {
	.name = "wrap",
	.operands = "NAME [--] COMMAND [ARG...]",
	.summary = "run a command while holding the lock",
	.examples =
		"  fairlock wrap --skip --once-per 1d news ./news   in cron: one host runs it\n"
		"  fairlock wrap deploy ./deploy.sh                 wait for the lock\n"
		"  fairlock wrap -n deploy ./deploy.sh              exit with 75 if it is busy\n",
	.bit = COMMAND_WRAP,
	.runs_words = true,
	.takes_lock = true,
	.run = run_wrap,
};

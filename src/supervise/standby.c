/* Forks the guard, hands it the grant, and lets COMMAND go. */
#include "supervise/standby.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/guard.h"
#include "supervise/processes.h"

/* The guard gets *guards_end, the wrapper the rest. A failure leaves that empty. */
static int open_ends(struct standby *standby, int locks, int *guards_end)
{
	int ends[2];

	*standby = (struct standby){.shared = shared_state_new(locks)};
	if (!standby->shared)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
		standby->fd = ends[0];
		*guards_end = ends[1];
		return 0;
	}
	shared_state_free(standby->shared);
	standby->shared = NULL;
	return -1;
}

/* *standby is empty before, and if this fails (-1, errno). is_granted: the connection is free. */
static int make(struct standby *standby, const struct job *job, bool is_granted)
{
	const struct member *last = &job->set->members[job->set->count - 1];
	const pid_t wrapper = getpid();
	int guards_end, cause;

	if (open_ends(standby, job->set->count, &guards_end) < 0)
		return -1;
	ground_note_older(job->ground);
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* the guard's child is ours when it is gone */
	standby->opened = hold_set_opened(job->set);
	/* the guard's death wakes us if we are stopped then */
	standby->guard = proc_fork(SIGCONT, NULL);
	cause = errno;
	if (standby->guard == 0) {
		close(standby->fd);
		guard_run(job, standby->shared,
			  &(struct guard_ends){
				  .socket = guards_end,
				  .wrapper = wrapper,
				  .needs_connection =
					  !is_granted &&
					  !connection_can_be_shared(&last->client.connection)});
	}
	close(guards_end);
	if (standby->guard > 0)
		return 0;
	standby_end(standby);
	errno = cause;
	return -1;
}

void standby_make(struct standby *standby, const struct job *job)
{
	if (standby->guard && standby->opened == hold_set_opened(job->set))
		return;
	standby_end(standby);
	(void)!make(standby, job, false); /* if that fails, standby_start tries again */
}

void standby_end(struct standby *standby)
{
	if (!standby->guard)
		return;
	close(standby->fd);
	if (standby->guard > 0) {
		kill(standby->guard, SIGKILL);
		waitpid(standby->guard, NULL, __WALL);
	}
	shared_state_free(standby->shared);
	*standby = (struct standby){0};
}

bool standby_hears_end(int fd)
{
	char byte;

	/* a guard that died with signals unread leaves a reset, not an end */
	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0 || errno != EAGAIN;
}

/* SIGCONT continues a guard that is stopped. It also removes the guard's pending SIGTSTP, SIGTTIN
 * and SIGTTOU: the wrapper was stopped by them, too, and goes on. */
static void let_go(struct standby *standby, const struct job *job)
{
	kill(standby->guard, SIGCONT);
	standby->shared->untaken = signal_fd_untaken(job->signals);
	shared_state_let_go(standby->shared, job);
	(void)!send(standby->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool is_ready(const struct standby *standby, const struct job *job)
{
	return standby->guard && standby->opened == hold_set_opened(job->set) &&
	       hold_set_is_still(job->set) && !standby_hears_end(standby->fd);
}

int standby_start(struct standby *standby, const struct job *job, struct error *err)
{
	if (!is_ready(standby, job)) {
		standby_end(standby);
		if (make(standby, job, true) < 0)
			return fail(err, STATUS_OS, "cannot make a process to run %s in: %s",
				    job->shown, strerror(errno));
	}
	let_go(standby, job);
	return 0;
}

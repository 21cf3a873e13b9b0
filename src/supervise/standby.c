/* Forks the guard, hands it the grant, and lets COMMAND go. */
#include "supervise/standby.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lock/wait_deputy.h"
#include "supervise/guard.h"
#include "supervise/proc_stat.h"

/* How often we look for COMMAND's process, which the guard makes, if it listens, after DEPUTY_MS.
 * After LOOKS we nap between. */
#define LOOKS 2000
#define NAPS 20000
#define NAP_NS 100000L

bool standby_has_grant(const struct standby *standby)
{
	return standby->guard && standby->shared->listener == DEPUTY_HAS_GRANT;
}

/* Hands COMMAND's process the signals that came about when the guard was forked: we cannot tell
 * whether the guard got them. That process takes no signals before it is let go, and so gets none
 * twice. If the guard has let it go, it has those that the terminal has sent since. */
static void hand_down_late(struct standby *standby)
{
	standby->late = signal_fd_pending() & ~standby->early;
	if (standby->late)
		deputy_cease(&standby->shared->listener); /* so that nobody lets it go meanwhile */
	if (standby_has_grant(standby))
		standby->late = 0;
	for (int i = 0; standby->late && !standby->shared->command && i < LOOKS + NAPS; i++)
		if (i < LOOKS)
			sched_yield();
		else
			nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
	if (standby->shared->command)
		signal_fd_hand_down(standby->late, standby->shared->command);
	else
		standby->late = 0; /* COMMAND has not got them */
}

static void close_ends(struct standby *standby)
{
	close(standby->fd);
	close(standby->start);
}

/* The guard gets *guards_end and start[0], the wrapper the rest. A failure leaves that empty. */
static int open_ends(struct standby *standby, int locks, int *guards_end, int start[2])
{
	int ends[2];

	*standby = (struct standby){.shared = shared_state_new(locks)};
	if (!standby->shared)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
		if (pipe2(start, O_CLOEXEC) == 0) {
			standby->fd = ends[0];
			standby->start = start[1];
			*guards_end = ends[1];
			return 0;
		}
		close(ends[0]);
		close(ends[1]);
	}
	shared_state_free(standby->shared);
	standby->shared = NULL;
	return -1;
}

/* *standby is empty before, and if this fails (-1, errno). is_granted: the connection is free. */
static int make(struct standby *standby, const struct job *job, bool is_granted,
		enum listener listener)
{
	const struct member *last = &job->set->members[job->set->count - 1];
	const pid_t wrapper = getpid();
	int guards_end, start[2], cause;

	if (open_ends(standby, job->set->count, &guards_end, start) < 0)
		return -1;
	standby->shared->listener = (int)listener;
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* the guard's child is ours when it is gone */
	standby->opened = hold_set_opened(job->set);
	standby->early = signal_fd_pending();
	/* the guard's death wakes us if we are stopped then */
	standby->guard = proc_fork(SIGCONT, NULL);
	cause = errno;
	if (standby->guard == 0) {
		close(standby->fd);
		guard_run(job, standby->shared,
			  &(struct guard_ends){
				  .socket = guards_end,
				  .start = start[0],
				  .let_go = start[1],
				  .wrapper = wrapper,
				  .needs_connection =
					  !is_granted &&
					  !connection_can_be_shared(&last->client.connection)});
	}
	close(guards_end);
	close(start[0]);
	if (standby->guard > 0) {
		hand_down_late(standby);
		return 0;
	}
	standby_end(standby);
	errno = cause;
	return -1;
}

void standby_make(struct standby *standby, const struct job *job, struct waiting *waiting)
{
	/* with --on-lost warn no timer ends a guard that is stopped */
	const bool may_listen = job->set->count == 1 && job->options->on_lost != ON_LOST_WARN &&
				wait_deputy_may_listen(waiting);

	if (standby->guard && standby->opened == hold_set_opened(job->set))
		return;
	standby_end(standby);
	/* if that fails, standby_start tries again */
	if (make(standby, job, false, may_listen ? DEPUTY_LISTENS : WAITER_LISTENS) == 0 &&
	    may_listen)
		wait_deputy_begin(waiting, &standby->shared->listener, standby->fd);
}

void standby_end(struct standby *standby)
{
	if (!standby->guard)
		return;
	close_ends(standby);
	if (standby->guard > 0) {
		kill(standby->guard, SIGKILL);
		waitpid(standby->guard, NULL, __WALL);
		/* it dies with the guard, and we may be its only reaper */
		if (standby->shared->command)
			waitpid(standby->shared->command, NULL, 0);
	}
	shared_state_free(standby->shared);
	*standby = (struct standby){0};
}

bool standby_hears_end(int fd)
{
	char byte;
	ssize_t length;

	while ((length = recv(fd, &byte, 1, MSG_DONTWAIT)) > 0)
		;
	/* a guard that died with signals unread leaves a reset, not an end */
	return length == 0 || errno != EAGAIN;
}

/* The guard tells the grant at once. It may have been stopped before that. */
bool standby_learn(const struct standby *standby, const struct job *job)
{
	kill(standby->guard, SIGCONT);
	while (!standby->shared->is_let_go && !standby_hears_end(standby->fd))
		nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
	if (!standby->shared->is_let_go)
		return false;
	shared_state_take_locks(standby->shared, job);
	return true;
}

/* Tells the guard first: before it has set its kill timer, it cannot help if both are stopped. */
static void let_go(struct standby *standby, const struct job *job)
{
	struct shared_state *shared = standby->shared;

	shared_state_let_go(shared, job);
	/* Both may have been stopped, and the lease does not wait. Not later: a COMMAND that has
	 * begun may stop itself, and stays stopped. */
	kill(standby->guard, SIGCONT);
	if (shared->command)
		kill(shared->command, SIGCONT);
	(void)!send(standby->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)!write(standby->start, "", 1); /* SIGPIPE is blocked; we see the guard end */
	close(standby->start);
}

static bool is_ready(const struct standby *standby, const struct job *job)
{
	return standby->guard && standby->opened == hold_set_opened(job->set) &&
	       hold_set_is_still(job->set) && !standby_hears_end(standby->fd);
}

int standby_start(struct standby *standby, const struct job *job, struct error *err)
{
	if (standby_has_grant(standby)) {
		close(standby->start);
		return 0;
	}
	if (!is_ready(standby, job)) {
		standby_end(standby);
		if (make(standby, job, true, WAITER_LISTENS) < 0)
			return fail(err, STATUS_OS, "cannot make a process to run %s in: %s",
				    job->shown, strerror(errno));
	}
	let_go(standby, job);
	return 0;
}

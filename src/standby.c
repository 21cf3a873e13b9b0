#include "standby.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guard.h"
#include "proc.h"

/* How long the guard may take to make COMMAND's process: first looking all the time, then asleep.
 */
#define LOOKS 2000
#define NAPS 20000
#define NAP_NS 100000L

/* What came about when the guard was forked: nobody knows whether it came before, and the guard
 * does not have it, or after. COMMAND's process takes no signals yet, and gets none twice. */
static void hand_down_late(struct standby *standby)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};

	standby->late = inbox_pending() & ~standby->early;
	for (int i = 0; standby->late && !standby->shared->command && i < LOOKS + NAPS; i++)
		if (i < LOOKS)
			sched_yield();
		else
			nanosleep(&nap, NULL);
	if (standby->shared->command)
		inbox_hand_down(standby->late, standby->shared->command);
	else
		standby->late = 0; /* nobody has got them */
}

/* Never returns. */
typedef void guard_life(const struct job *job, struct shared *shared, int front, pid_t wrapper);

/* Makes one that lives like that. *standby is empty before, and when this fails: returns -1, with
 * errno. Takes shared, which may be NULL: that is a failure, too. */
static int make(struct standby *standby, const struct job *job, struct shared *shared,
		guard_life *live)
{
	const pid_t wrapper = getpid();
	int ends[2], cause;

	if (!shared)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		cause = errno;
		shared_free(shared);
		errno = cause;
		return -1;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* the guard's child is ours when it is gone */
	*standby = (struct standby){
		.fd = ends[0], .opened = job->client->link.opened, .shared = shared};
	standby->early = inbox_pending();
	/* The guard's death wakes us if we are stopped then. */
	standby->guard = proc_fork(SIGCONT, NULL);
	cause = errno;
	if (standby->guard == 0) {
		close(ends[0]);
		live(job, shared, ends[1], wrapper);
	}
	close(ends[1]);
	if (standby->guard > 0) {
		hand_down_late(standby);
		return 0;
	}
	standby_end(standby);
	errno = cause;
	return -1;
}

void standby_make(struct standby *standby, const struct job *job)
{
	if (standby->guard && standby->opened == job->client->link.opened)
		return;
	standby_end(standby);
	make(standby, job, shared_new(), guard_stand_by);
}

int standby_start(struct standby *standby, const struct job *job, struct error *err)
{
	struct shared *shared;

	standby_end(standby);
	shared = shared_new();
	if (shared)
		shared_put_lock(shared, job);
	if (make(standby, job, shared, guard_run) < 0)
		return fail(err, STATUS_OS, "cannot make a process to run %s in: %s", job->argv[0],
			    strerror(errno));
	return 0;
}

void standby_end(struct standby *standby)
{
	if (!standby->guard)
		return;
	close(standby->fd);
	if (standby->guard > 0) {
		kill(standby->guard, SIGKILL);
		waitpid(standby->guard, NULL, __WALL);
		/* it dies with the guard; nobody else may be there to reap it */
		if (standby->shared->command)
			waitpid(standby->shared->command, NULL, 0);
	}
	shared_free(standby->shared);
	*standby = (struct standby){0};
}

bool standby_set_off(const struct standby *standby, const struct job *job)
{
	if (!standby->guard || standby->opened != job->client->link.opened ||
	    !client_is_still(job->client))
		return false;
	shared_put(standby->shared, job);
	if (send(standby->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
		return false;
	kill(standby->guard, SIGCONT); /* it may have been stopped, and the lease does not wait */
	return true;
}

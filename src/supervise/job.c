/* What the processes know of the locks' times, and of COMMAND's end. */
#include "supervise/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"

/* ---- Times ---- */

/* The server's clock may run a twelfth faster than ours, which is as much as chrony slews a clock.
 * The rest is for the time that processes take to die. */
static int64_t margin_ms(int64_t ttl_ms)
{
	const int64_t dying_ms = ttl_ms / 10;

	return ttl_ms / 12 + (dying_ms < 100 ? 100 : earliest(dying_ms, 1000));
}

/* A lock that was handed over is ours for a short time at first, and the renewal needs that more
 * than a COMMAND that has just begun. */
struct times job_times_for(const struct job *job, const struct lock *lock)
{
	const int64_t kill_ms = lock->deadline_ms - margin_ms(lock->ttl_ms);
	int64_t grace_ms = job->kill_after_ms;

	if (lock->handed && lock->ttl_ms < lock->lease_ms)
		grace_ms = earliest(grace_ms, lock->ttl_ms / 5);
	return (struct times){kill_ms - grace_ms, kill_ms, lock->deadline_ms};
}

struct times job_times(const struct job *job)
{
	struct times least = {NEVER_MS, NEVER_MS, NEVER_MS};
	const struct hold *hold;

	for (int at = 0; (hold = hold_set_next(job->set, &at));) {
		const struct times times = job_times_for(job, &hold->lock);

		least.stop_ms = earliest(least.stop_ms, times.stop_ms);
		least.kill_ms = earliest(least.kill_ms, times.kill_ms);
		least.deadline_ms = earliest(least.deadline_ms, times.deadline_ms);
	}
	return least;
}

/* When one is lost, COMMAND's times stay what they were: the others do not give it more. */
void shared_state_put_times(struct shared_state *shared, const struct job *job)
{
	const struct times times = job_times(job);

	for (int i = 0; i < job->set->count; i++) {
		const struct hold *hold = &job->set->holds[i];

		shared->locks[i].deadline_ms =
			hold->state == HOLD_HELD ? hold->lock.deadline_ms : 0;
	}
	if (times.deadline_ms == NEVER_MS)
		return;
	shared->deadline_ms = times.deadline_ms;
	if (shared->ending.lost)
		return;
	shared->kill_ms = times.kill_ms;
	shared->stop_ms = times.stop_ms;
}

/* ---- How COMMAND ended ---- */

static int shell_status(const struct ending *ending)
{
	if (ending->exec_errno)
		return ending->exec_errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
	return WIFSIGNALED(ending->wait_status) ? 128 + WTERMSIG(ending->wait_status)
						: WEXITSTATUS(ending->wait_status);
}

void ending_put(const struct ending *ending, struct lock *lock)
{
	lock->end.unused = !ending->started || ending->exec_errno;
	if (ending->was_asked)
		*lock->end.min_hold = '\0';
	if (!ending->is_reaped)
		return;
	snprintf(lock->end.status, sizeof(lock->end.status), "%d", shell_status(ending));
	if (ending->timed_out)
		strcpy(lock->end.cause, "max-hold");
	else if (ending->was_asked)
		strcpy(lock->end.cause, "asked");
	else if (ending->was_stopped)
		strcpy(lock->end.cause, ending->wrap_died ? "wrap died" : "lost");
	else if (WIFSIGNALED(ending->wait_status))
		signal_show(lock->end.cause, WTERMSIG(ending->wait_status));
	else
		strcpy(lock->end.cause, "exit");
}

/* The memory is mapped, not in a file: it lives as long as one of the processes. */
#include "supervise/shared_state.h"

#include <sys/mman.h>

#include "base/clock.h"
#include "base/message.h"

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* The server's clock may run a twelfth faster than ours, which is as much as chrony slews a clock.
 * The rest is for the time that processes take to die. */
static int64_t margin_ms(int64_t ttl_ms)
{
	return ttl_ms / 12 + clamp(ttl_ms / 10, 100, 1000);
}

int64_t job_kill_ms(const struct job *job)
{
	return job->lock->deadline_ms - margin_ms(job->lock->ttl_ms);
}

/* A lock that was handed over is ours for a short time at first, and the renewal needs that more
 * than a COMMAND that has just begun. */
int64_t job_stop_ms(const struct job *job)
{
	const struct lock *lock = job->lock;
	int64_t grace_ms = job->kill_after_ms;

	if (lock->handed && lock->ttl_ms < lock->lease_ms)
		grace_ms = earliest(grace_ms, lock->ttl_ms / 5);
	return job_kill_ms(job) - grace_ms;
}

struct shared_state *shared_state_new(void)
{
	struct shared_state *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return shared == MAP_FAILED ? NULL : shared;
}

void shared_state_free(struct shared_state *shared)
{
	munmap(shared, sizeof(*shared));
}

void shared_state_put_times(struct shared_state *shared, const struct job *job)
{
	shared->deadline_ms = job->lock->deadline_ms;
	shared->kill_ms = job_kill_ms(job);
	shared->stop_ms = job_stop_ms(job);
}

void shared_state_take_lock(const struct shared_state *shared, const struct job *job)
{
	*job->lock = shared->lock;
}

void shared_state_put(struct shared_state *shared, const struct job *job)
{
	shared->lock = *job->lock;
	shared_state_put_times(shared, job);
	shared->client = *job->client;
	shared->is_deaf = job->messenger->is_deaf;
}

/* The reply is in the wrapper's memory only; all else that they point to is in the guard's, too. */
void shared_state_take(const struct shared_state *shared, const struct job *job)
{
	shared_state_take_lock(shared, job);
	*job->client = shared->client;
	job->client->reply = NULL;
	job->messenger->is_deaf = shared->is_deaf;
}

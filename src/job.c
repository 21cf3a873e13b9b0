#include "job.h"

#include <sys/mman.h>

#include "clock.h"
#include "tell.h"

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

int64_t job_kill_ms(const struct job *job, int64_t deadline_ms)
{
	return deadline_ms - clamp(job->lock->lease_ms / 10, 100, 1000);
}

/* A lock that was handed to us is ours for a short time at first. The renewal needs that more than
 * a COMMAND that has just begun. */
int64_t job_stop_ms(const struct job *job, int64_t deadline_ms)
{
	const struct lock *lock = job->lock;
	const int64_t ttl_ms = deadline_ms - lock->since_ms;
	int64_t grace_ms = job->kill_after_ms;

	if (lock->handed && ttl_ms < lock->lease_ms)
		grace_ms = earliest(grace_ms, ttl_ms / 5);
	return job_kill_ms(job, deadline_ms) - grace_ms;
}

struct shared *shared_new(void)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return shared == MAP_FAILED ? NULL : shared;
}

void shared_free(struct shared *shared)
{
	if (shared)
		munmap(shared, sizeof(*shared));
}

void shared_put_lock(struct shared *shared, const struct job *job)
{
	shared->lock = *job->lock;
}

void shared_take_lock(const struct shared *shared, const struct job *job)
{
	*job->lock = shared->lock;
}

void shared_put(struct shared *shared, const struct job *job)
{
	shared_put_lock(shared, job);
	shared->client = *job->client;
	shared->is_deaf = job->teller->is_deaf;
}

/* The reply is in the wrapper's memory; all else that these point to is in both. */
void shared_take(const struct shared *shared, const struct job *job)
{
	shared_take_lock(shared, job);
	*job->client = shared->client;
	job->client->reply = NULL;
	job->teller->is_deaf = shared->is_deaf;
}

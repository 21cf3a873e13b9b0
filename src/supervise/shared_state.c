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

int64_t job_kill_ms_for(const struct lock *lock)
{
	return lock->deadline_ms - margin_ms(lock->ttl_ms);
}

/* A lock that was handed over is ours for a short time at first, and the renewal needs that more
 * than a COMMAND that has just begun. */
int64_t job_stop_ms_for(const struct job *job, const struct lock *lock)
{
	int64_t grace_ms = job->kill_after_ms;

	if (lock->handed && lock->ttl_ms < lock->lease_ms)
		grace_ms = earliest(grace_ms, lock->ttl_ms / 5);
	return job_kill_ms_for(lock) - grace_ms;
}

static int64_t kill_time(const struct lock *lock, const void *job)
{
	(void)job;
	return job_kill_ms_for(lock);
}

static int64_t stop_time(const struct lock *lock, const void *job)
{
	return job_stop_ms_for(job, lock);
}

int64_t job_kill_ms(const struct job *job)
{
	return hold_set_least_ms(job->set, kill_time, job);
}

int64_t job_stop_ms(const struct job *job)
{
	return hold_set_least_ms(job->set, stop_time, job);
}

struct shared_state *shared_state_new(int locks)
{
	const size_t bytes =
		sizeof(struct shared_state) + (size_t)locks * sizeof(struct shared_lock);
	struct shared_state *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					   MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (shared == MAP_FAILED)
		return NULL;
	shared->bytes = bytes;
	return shared;
}

void shared_state_free(struct shared_state *shared)
{
	munmap(shared, shared->bytes);
}

/* When one is lost, COMMAND's times stay what they were: the others do not give it more. */
void shared_state_put_times(struct shared_state *shared, const struct job *job)
{
	const int64_t deadline_ms = hold_set_deadline_ms(job->set);

	for (int i = 0; i < job->set->count; i++) {
		const struct member *member = &job->set->members[i];

		shared->locks[i].deadline_ms =
			member->hold.state == HOLD_HELD ? member->lock.deadline_ms : 0;
	}
	if (deadline_ms == NEVER_MS)
		return;
	shared->deadline_ms = deadline_ms;
	if (shared->ending.lost)
		return;
	shared->kill_ms = job_kill_ms(job);
	shared->stop_ms = job_stop_ms(job);
}

void shared_state_let_go(struct shared_state *shared, const struct job *job)
{
	for (int i = 0; i < job->set->count; i++) {
		shared->locks[i].lock = job->set->members[i].lock;
		shared->locks[i].client = job->set->members[i].client;
	}
	shared->is_deaf = job->messenger->is_deaf;
	shared_state_put_times(shared, job);
	shared->start_ms = clock_ms();
	shared->ending.started = true;
	shared->is_let_go = true;
}

/* The replies are in the wrapper's memory only; all else that the clients point to is in the
 * guard's, too. */
void shared_state_take(const struct shared_state *shared, const struct job *job)
{
	for (int i = 0; i < job->set->count; i++) {
		job->set->members[i].lock = shared->locks[i].lock;
		job->set->members[i].client = shared->locks[i].client;
		job->set->members[i].client.reply = NULL;
	}
	job->messenger->is_deaf = shared->is_deaf;
}

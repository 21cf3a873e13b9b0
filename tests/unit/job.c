/* Tests supervise/wrapper.c: when COMMAND must be stopped, by the lock's time to live. */
#include "supervise/job.h"

#include <stdlib.h>

#include "check.h"

#define NOW INT64_C(1000000)

/* Checks when SIGKILL comes (before the deadline) and the first signal (after the grant). */
static void check_times(struct tally *tally, struct lock lock, int64_t kill_after_ms,
			int64_t kill_before_ms, int64_t stop_after_ms)
{
	struct hold hold = {.lock = lock};
	struct hold_set set = {.holds = &hold, .count = 1};
	const struct job job = {.set = &set, .kill_after_ms = kill_after_ms};

	hold.lock.deadline_ms = NOW + lock.ttl_ms;
	CHECK(tally, hold.lock.deadline_ms - job_times(&job).kill_ms == kill_before_ms);
	CHECK(tally, job_times(&job).stop_ms - NOW == stop_after_ms);
}

/* With several locks the least of those that are held counts. */
static void check_least(struct tally *tally)
{
	struct hold holds[3] = {
		{.lock = {.lease_ms = 30000, .ttl_ms = 30000, .deadline_ms = NOW + 30000}},
		{.lock = {.lease_ms = 30000, .ttl_ms = 20000, .deadline_ms = NOW + 20000}},
		{.lock = {.lease_ms = 30000, .ttl_ms = 25000, .deadline_ms = NOW + 25000}},
	};
	struct hold_set set = {.holds = holds, .count = 3};
	const struct job job = {.set = &set, .kill_after_ms = 1000};
	struct shared_state *shared = calloc(1, sizeof(*shared) + 3 * sizeof(*shared->locks));

	if (!shared)
		abort();
	CHECK(tally, job_times(&job).kill_ms == job_times_for(&job, &holds[1].lock).kill_ms);
	CHECK(tally, job_times(&job).stop_ms == job_times_for(&job, &holds[1].lock).stop_ms);
	shared_state_put_times(shared, &job);
	CHECK(tally, shared->deadline_ms == NOW + 20000);
	holds[1].state = HOLD_LOST;
	CHECK(tally, job_times(&job).kill_ms == job_times_for(&job, &holds[2].lock).kill_ms);
	CHECK(tally, job_times(&job).stop_ms == job_times_for(&job, &holds[2].lock).stop_ms);
	shared_state_put_times(shared, &job);
	CHECK(tally, shared->deadline_ms == NOW + 25000);
	CHECK(tally, shared->locks[0].deadline_ms == NOW + 30000);
	CHECK(tally, shared->locks[1].deadline_ms == 0);
	holds[0].state = holds[2].state = HOLD_RELEASED;
	CHECK(tally, job_times(&job).kill_ms == NEVER_MS);
	shared_state_put_times(shared, &job);
	CHECK(tally, shared->deadline_ms == NOW + 25000);
	free(shared);
}

int main(void)
{
	struct tally tally = {0};

	/* renewed after a third of the lease: the first signal must not come before that */
	check_times(&tally, (struct lock){.lease_ms = 1000, .ttl_ms = 1000}, 333, 183, 484);
	check_times(&tally, (struct lock){.lease_ms = 30000, .ttl_ms = 30000}, 10000, 3500, 16500);
	check_times(&tally, (struct lock){.lease_ms = 86400000, .ttl_ms = 86400000}, 28800000,
		    7201000, 50399000);
	/* handed over: COMMAND starts at once, whatever the lease, and is renewed 50 ms later */
	check_times(&tally, (struct lock){.lease_ms = 1000, .ttl_ms = 999, .handed = true}, 333,
		    183, 617);
	check_times(&tally, (struct lock){.lease_ms = 86400000, .ttl_ms = 5000, .handed = true},
		    28800000, 916, 3084);
	check_least(&tally);
	return conclude(&tally);
}

/* Tests supervise/shared_state.c: when COMMAND must be stopped, by the lock's time to live. */
#include "supervise/shared_state.h"

#include "check.h"

#define NOW INT64_C(1000000)

/* Checks when SIGKILL comes (before the deadline) and the first signal (after the grant). */
static void check_times(struct tally *tally, struct lock lock, int64_t kill_after_ms,
			int64_t kill_before_ms, int64_t stop_after_ms)
{
	const struct job job = {.lock = &lock, .kill_after_ms = kill_after_ms};

	lock.deadline_ms = NOW + lock.ttl_ms;
	CHECK(tally, lock.deadline_ms - job_kill_ms(&job) == kill_before_ms);
	CHECK(tally, job_stop_ms(&job) - NOW == stop_after_ms);
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
	return conclude(&tally);
}

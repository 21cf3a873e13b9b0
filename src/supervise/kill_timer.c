#include "supervise/kill_timer.h"

#include <signal.h>

#include "base/clock.h"

void fuse_open(struct fuse *fuse)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};

	fuse->at_ms = NEVER_MS;
	fuse->is_there = timer_create(CLOCK_BOOTTIME, &event, &fuse->timer) == 0;
}

void fuse_set(struct fuse *fuse, int64_t at_ms)
{
	struct itimerspec when = {0};

	if (!fuse->is_there || at_ms == fuse->at_ms)
		return;
	if (at_ms != NEVER_MS) {
		when.it_value.tv_sec = at_ms / 1000;
		when.it_value.tv_nsec = at_ms % 1000 * 1000000;
	}
	timer_settime(fuse->timer, TIMER_ABSTIME, &when, NULL);
	fuse->at_ms = at_ms;
}

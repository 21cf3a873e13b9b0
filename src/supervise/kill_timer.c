/* Of the clock of clock_ms(), which goes on while the machine is suspended. */
#include "supervise/kill_timer.h"

#include <signal.h>

#include "base/clock.h"

void kill_timer_open(struct kill_timer *kill_timer)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};

	kill_timer->at_ms = NEVER_MS;
	kill_timer->is_there = timer_create(CLOCK_BOOTTIME, &event, &kill_timer->timer) == 0;
}

void kill_timer_set(struct kill_timer *kill_timer, int64_t at_ms)
{
	struct itimerspec when = {0};

	if (!kill_timer->is_there || at_ms == kill_timer->at_ms)
		return;
	if (at_ms != NEVER_MS) {
		when.it_value.tv_sec = at_ms / 1000;
		when.it_value.tv_nsec = at_ms % 1000 * 1000000;
	}
	timer_settime(kill_timer->timer, TIMER_ABSTIME, &when, NULL);
	kill_timer->at_ms = at_ms;
}

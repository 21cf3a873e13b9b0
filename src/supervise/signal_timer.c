/* Of the clock of clock_ms(), which goes on while the machine is suspended. */
#include "supervise/signal_timer.h"

#include <signal.h>

#include "base/clock.h"

#define REPEAT_NS 20000000L

void signal_timer_open(struct signal_timer *timer, int signo)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = signo};

	timer->at_ms = NEVER_MS;
	timer->is_there = timer_create(CLOCK_BOOTTIME, &event, &timer->timer) == 0;
}

void signal_timer_set(struct signal_timer *timer, int64_t at_ms)
{
	struct itimerspec when = {.it_interval = {.tv_nsec = REPEAT_NS}};

	if (!timer->is_there || at_ms == timer->at_ms)
		return;
	if (at_ms != NEVER_MS) {
		when.it_value.tv_sec = at_ms / 1000;
		when.it_value.tv_nsec = at_ms % 1000 * 1000000;
	}
	timer_settime(timer->timer, TIMER_ABSTIME, &when, NULL);
	timer->at_ms = at_ms;
}

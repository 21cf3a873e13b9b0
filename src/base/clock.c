/* Reads the clock, counts against it, and waits: with a timer in the last slot of poll(2), set only
 * if the deadline is another one than last time. */
#include "base/clock.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define PACE_MS 100
#define PACE_AHEAD_MS 900 /* may be used up at once */

static int64_t read_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_ms(void)
{
	return read_ms(CLOCK_BOOTTIME);
}

int64_t wall_ms(void)
{
	return read_ms(CLOCK_REALTIME);
}

int64_t earliest(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t pace_ms(const struct pace *pace)
{
	return pace->paid_ms - PACE_AHEAD_MS;
}

void pace_take(struct pace *pace)
{
	const int64_t now = clock_ms();

	pace->paid_ms = (pace->paid_ms > now ? pace->paid_ms : now) + PACE_MS;
}

int deadline_poll_open(struct deadline_poll *loop, struct error *err)
{
	loop->armed_ms = NEVER_MS;
	loop->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (loop->timer < 0)
		return fail(err, STATUS_OS, "cannot create a timer: %s", strerror(errno));
	return 0;
}

void deadline_poll_close(struct deadline_poll *loop)
{
	close(loop->timer);
}

static int arm(struct deadline_poll *loop, int64_t until_ms, struct error *err)
{
	struct itimerspec when = {0};

	if (until_ms == loop->armed_ms)
		return 0;
	if (until_ms != NEVER_MS) {
		when.it_value.tv_sec = until_ms / 1000;
		when.it_value.tv_nsec = until_ms % 1000 * 1000000;
	}
	if (timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &when, NULL) < 0)
		return fail(err, STATUS_OS, "cannot set a timer: %s", strerror(errno));
	loop->armed_ms = until_ms;
	return 0;
}

/* A deadline that has come needs no timer: to arm one that is due costs 20 us. */
int deadline_poll(struct deadline_poll *loop, struct pollfd *slots, nfds_t count, int64_t until_ms,
		  struct error *err)
{
	const bool is_due = until_ms <= clock_ms();

	if (!is_due && arm(loop, until_ms, err) < 0)
		return -1;
	slots[count - 1] = (struct pollfd){.fd = is_due ? -1 : loop->timer, .events = POLLIN};
	if (poll(slots, count, is_due ? 0 : -1) < 0 && errno != EINTR)
		return fail(err, STATUS_OS, "cannot wait for events: %s", strerror(errno));
	/* an expired timer stays readable until it is set anew */
	if (slots[count - 1].revents)
		loop->armed_ms = 0;
	return 0;
}

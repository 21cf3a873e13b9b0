/* Reads the clock, and counts against it. */
#include "base/clock.h"

#include <time.h>

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

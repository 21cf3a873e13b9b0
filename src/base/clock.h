/* The clock of all deadlines. */
#pragma once

#include <stdint.h>

/* A deadline that never comes. */
#define NEVER_MS INT64_MAX

/* Milliseconds of CLOCK_BOOTTIME: it goes on while the machine is suspended, as leases do. Every
 * deadline in this program is a value of this clock. */
int64_t clock_ms(void);

/* Milliseconds since the epoch, for people. */
int64_t wall_ms(void);

/* The earlier of two deadlines. */
int64_t earliest(int64_t a, int64_t b);

/* Limits how often something is done that a message asks for: ten times at once, then ten times a
 * second. Starts as zero. */
struct pace {
	int64_t paid_ms;
};

/* The time from which on it may be done again. */
int64_t pace_ms(const struct pace *pace);

/* Notes that it is done now. */
void pace_take(struct pace *pace);

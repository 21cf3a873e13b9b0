/* Time: the clock of all deadlines, how to wait until one, and durations and times as people write
 * them. */
#pragma once

#include <poll.h>
#include <stdint.h>

#include "base/error.h"

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

/* A timer on that clock: the timeout of poll(2) stands still while the machine is suspended. */
struct deadline_poll {
	int timer;
	int64_t armed_ms;
};

/* Returns 0, or -1 with STATUS_OS. */
int deadline_poll_open(struct deadline_poll *loop, struct error *err);

/* Waits until one of the slots is ready or until_ms has come. slots[count - 1] is for the timer and
 * is filled in here. Returns 0, or -1 with STATUS_OS. */
int deadline_poll(struct deadline_poll *loop, struct pollfd *slots, nfds_t count, int64_t until_ms,
		  struct error *err);

/* ---- Durations: "90", "0.5", "1.5h", "1h30m", "250ms" ---- */

/* Parses a duration into milliseconds; without a unit it is in seconds, and a fraction of a
 * millisecond is rounded up. Returns 0, or -1 when the text is no duration or does not fit. */
int duration_parse(const char *text, int64_t *ms);

#define DURATION_MAX_BYTES 32

/* Writes a duration in its two largest units ("1m5s"), as duration_parse reads it. */
const char *duration_show(char text[DURATION_MAX_BYTES], int64_t ms);

/* The same with fractions of a second, below a minute ("1.5s"): for what the user has set. */
const char *duration_show_fraction(char text[DURATION_MAX_BYTES], int64_t ms);

/* ---- Times as people and programs read them, since the epoch and before the year 10000 ---- */

#define TIMESTAMP_MAX_BYTES 64

/* The last one before the year 10000. */
#define TIMESTAMP_LAST_MS INT64_C(253402300799999)

/* In UTC: 2026-11-21T03:00:12.345Z. */
const char *timestamp_rfc3339(char text[TIMESTAMP_MAX_BYTES], int64_t ms);

/* The usual form in local time: Nov 21 03:00:12. */
#define TIMESTAMP_LONG "%b %e %H:%M:%S"

/* In local time, in a form as for strftime(3). */
__attribute__((format(strftime, 3, 0))) const char *timestamp_local(char text[TIMESTAMP_MAX_BYTES],
								    int64_t ms, const char *form);

/* A time to come, in local time: 18:03:25, or Nov 21 18:03:25 if that is not today. */
const char *timestamp_until(char text[TIMESTAMP_MAX_BYTES], int64_t ms, int64_t now_ms);

/* The same to the minute, for times that people set: 14:00, or Nov 21 14:00. With seconds if it is
 * less than ten minutes from now. */
const char *timestamp_until_minute(char text[TIMESTAMP_MAX_BYTES], int64_t ms, int64_t now_ms);

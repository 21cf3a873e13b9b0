/* Times as people and programs read them. ms is since the epoch, before the year 10000. */
#pragma once

#include <stdint.h>

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

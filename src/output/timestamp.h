/* Times as people and programs read them. ms is since the epoch, before the year 10000. */
#pragma once

#include <stdint.h>

#define TIMESTAMP_MAX_BYTES 64

/* In UTC: 2026-11-21T03:00:12.345Z. */
const char *timestamp_rfc3339(char text[TIMESTAMP_MAX_BYTES], int64_t ms);

enum timestamp_form {
	TIMESTAMP_LONG,   /* Nov 21 03:00:12 */
	TIMESTAMP_DATE,   /* 2026-11-21 */
	TIMESTAMP_DAY,    /* Nov 21 */
	TIMESTAMP_MINUTE, /* 03:00 */
	TIMESTAMP_SECOND, /* 03:00:12 */
};

/* In local time. */
const char *timestamp_local(char text[TIMESTAMP_MAX_BYTES], int64_t ms, enum timestamp_form form);

/* How far local time is ahead of UTC at that time. */
int64_t timestamp_offset_ms(int64_t ms);

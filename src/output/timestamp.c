/* Times by strftime(3), which knows no milliseconds. */
#include "output/timestamp.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The forms that callers give are checked where they stand, as those of strftime. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

const char *timestamp_rfc3339(char text[TIMESTAMP_MAX_BYTES], int64_t ms)
{
	const time_t seconds = (time_t)(ms / 1000);
	struct tm parts = {0};
	size_t length;

	gmtime_r(&seconds, &parts);
	length = strftime(text, TIMESTAMP_MAX_BYTES, "%FT%T", &parts);
	snprintf(text + length, TIMESTAMP_MAX_BYTES - length, ".%03dZ", (int)(ms % 1000));
	return text;
}

const char *timestamp_local(char text[TIMESTAMP_MAX_BYTES], int64_t ms, const char *form)
{
	const time_t seconds = (time_t)(ms / 1000);
	struct tm parts = {0};

	localtime_r(&seconds, &parts);
	strftime(text, TIMESTAMP_MAX_BYTES, form, &parts);
	return text;
}

static bool is_same_day(int64_t ms, int64_t other_ms)
{
	char one[TIMESTAMP_MAX_BYTES], other[TIMESTAMP_MAX_BYTES];

	return strcmp(timestamp_local(one, ms, "%F"), timestamp_local(other, other_ms, "%F")) == 0;
}

const char *timestamp_until(char text[TIMESTAMP_MAX_BYTES], int64_t ms, int64_t now_ms)
{
	return timestamp_local(text, ms, is_same_day(ms, now_ms) ? "%T" : TIMESTAMP_LONG);
}

const char *timestamp_until_minute(char text[TIMESTAMP_MAX_BYTES], int64_t ms, int64_t now_ms)
{
	if (ms - now_ms < 600000)
		return timestamp_until(text, ms, now_ms);
	return timestamp_local(text, ms, is_same_day(ms, now_ms) ? "%H:%M" : "%b %e %H:%M");
}

/* strftime knows no milliseconds, so timestamp_rfc3339 does without it. */
#include "output/timestamp.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct tm local_time(int64_t ms)
{
	const time_t seconds = (time_t)(ms / 1000);
	struct tm parts = {0};

	localtime_r(&seconds, &parts);
	return parts;
}

const char *timestamp_rfc3339(char text[TIMESTAMP_MAX_BYTES], int64_t ms)
{
	const time_t seconds = (time_t)(ms / 1000);
	struct tm parts = {0};

	gmtime_r(&seconds, &parts);
	snprintf(text, TIMESTAMP_MAX_BYTES, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
		 parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
		 parts.tm_sec, (int)(ms % 1000));
	return text;
}

static size_t format(char text[TIMESTAMP_MAX_BYTES], const struct tm *parts,
		     enum timestamp_form form)
{
	switch (form) {
	case TIMESTAMP_LONG:
	case TIMESTAMP_EXACT:
		return strftime(text, TIMESTAMP_MAX_BYTES, "%b %e %H:%M:%S", parts);
	case TIMESTAMP_DATE:
		return strftime(text, TIMESTAMP_MAX_BYTES, "%Y-%m-%d", parts);
	case TIMESTAMP_DAY:
		return strftime(text, TIMESTAMP_MAX_BYTES, "%b %e", parts);
	case TIMESTAMP_MINUTE:
		return strftime(text, TIMESTAMP_MAX_BYTES, "%H:%M", parts);
	case TIMESTAMP_SECOND:
		return strftime(text, TIMESTAMP_MAX_BYTES, "%H:%M:%S", parts);
	case TIMESTAMP_COMING:
		return strftime(text, TIMESTAMP_MAX_BYTES, "%b %e %H:%M", parts);
	}
	return 0;
}

const char *timestamp_local(char text[TIMESTAMP_MAX_BYTES], int64_t ms, enum timestamp_form form)
{
	const struct tm parts = local_time(ms);
	const size_t length = format(text, &parts, form);

	if (form == TIMESTAMP_EXACT)
		snprintf(text + length, TIMESTAMP_MAX_BYTES - length, ".%03d", (int)(ms % 1000));
	return text;
}

static bool is_same_day(int64_t ms, int64_t other_ms)
{
	char one[TIMESTAMP_MAX_BYTES], other[TIMESTAMP_MAX_BYTES];

	return strcmp(timestamp_local(one, ms, TIMESTAMP_DATE),
		      timestamp_local(other, other_ms, TIMESTAMP_DATE)) == 0;
}

const char *timestamp_until(char text[TIMESTAMP_MAX_BYTES], int64_t ms, int64_t now_ms)
{
	return timestamp_local(text, ms,
			       is_same_day(ms, now_ms) ? TIMESTAMP_SECOND : TIMESTAMP_LONG);
}

const char *timestamp_until_minute(char text[TIMESTAMP_MAX_BYTES], int64_t ms, int64_t now_ms)
{
	if (ms - now_ms < 600000)
		return timestamp_until(text, ms, now_ms);
	return timestamp_local(text, ms,
			       is_same_day(ms, now_ms) ? TIMESTAMP_MINUTE : TIMESTAMP_COMING);
}

int64_t timestamp_offset_ms(int64_t ms)
{
	return (int64_t)local_time(ms).tm_gmtoff * 1000;
}

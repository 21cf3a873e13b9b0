/* A duration counts from the server's time, so the script subtracts it; a time is the same on both
 * sides. */
#include "history/since.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "base/duration_guess.h"
#include "base/number.h"
#include "base/shorten.h"
#include "history/log_reply.h"

#define DIGITS "0123456789"

#define NO_DAY "there is no such day"
#define NO_TIME "there is no such time of day"
#define NO_ZONE "there is no such time zone"

/* A time while it is read: at is what is left of the text. */
struct reading {
	const char *at;
	struct tm local; /* or of the zone */
	int fraction_ms;
	bool has_zone;
	int ahead_s;       /* of UTC, in the zone */
	const char *fault; /* of a number that is too large or too small; NULL: none */
};

static bool skip(struct reading *time, const char *word)
{
	const size_t length = strlen(word);

	if (strncmp(time->at, word, length) != 0)
		return false;
	time->at += length;
	return true;
}

/* Reads so many digits. Numbers out of range are a fault, which has these words. */
static bool read_digits(struct reading *time, int count, int least, int most, const char *fault,
			int *value)
{
	*value = 0;
	for (int i = 0; i < count; i++) {
		const int digit = time->at[i] - '0';

		if (digit < 0 || digit > 9)
			return false;
		*value = *value * 10 + digit;
	}
	time->at += count;
	if (*value >= least && *value <= most)
		return true;
	time->fault = fault;
	return false;
}

static int days_of(int year, int month)
{
	const bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	if (month == 2)
		return is_leap ? 29 : 28;
	return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/* 2026-11-23 */
static bool read_date(struct reading *time)
{
	int year, month, day;

	if (!read_digits(time, 4, 1970, 9999, "it is before 1970", &year) || !skip(time, "-") ||
	    !read_digits(time, 2, 1, 12, NO_DAY, &month) || !skip(time, "-") ||
	    !read_digits(time, 2, 1, days_of(year, month), NO_DAY, &day))
		return false;
	time->local.tm_year = year - 1900;
	time->local.tm_mon = month - 1;
	time->local.tm_mday = day;
	return true;
}

/* Digits behind a point: as milliseconds, without what is less. */
static bool read_fraction(struct reading *time)
{
	const size_t digits = strspn(time->at, DIGITS);
	int weight = 100;

	for (size_t i = 0; i < digits; i++, weight /= 10)
		time->fraction_ms += weight * (time->at[i] - '0');
	time->at += digits;
	return digits > 0;
}

/* 03:00, 3:00, 03:00:12, 03:00:12.345 */
static bool read_clock(struct reading *time)
{
	const size_t digits = strspn(time->at, DIGITS);

	if (digits < 1 || digits > 2 || time->at[digits] != ':' ||
	    !read_digits(time, (int)digits, 0, 23, NO_TIME, &time->local.tm_hour) ||
	    !skip(time, ":") || !read_digits(time, 2, 0, 59, NO_TIME, &time->local.tm_min))
		return false;
	if (!skip(time, ":"))
		return true;
	if (!read_digits(time, 2, 0, 59, NO_TIME, &time->local.tm_sec))
		return false;
	return !skip(time, ".") || read_fraction(time);
}

/* Z, +01:00, -0500 */
static bool read_zone(struct reading *time)
{
	const bool is_behind = *time->at == '-';
	int hours, minutes;

	time->has_zone = true;
	if (skip(time, "Z"))
		return true;
	if (!skip(time, is_behind ? "-" : "+") || !read_digits(time, 2, 0, 14, NO_ZONE, &hours))
		return false;
	skip(time, ":");
	if (!read_digits(time, 2, 0, 59, NO_ZONE, &minutes))
		return false;
	time->ahead_s = (is_behind ? -60 : 60) * (hours * 60 + minutes);
	return true;
}

/* The day, and the time of that day; without a time it is midnight. */
static bool read_day_and_clock(struct reading *time)
{
	const size_t digits = strspn(time->at, DIGITS);
	const bool is_yesterday = digits == 0 && skip(time, "yesterday");
	const bool is_day = is_yesterday || (digits == 0 && skip(time, "today"));

	time->local.tm_hour = time->local.tm_min = time->local.tm_sec = 0;
	time->local.tm_mday -= is_yesterday;
	if (!is_day && digits != 4)
		return read_clock(time);
	if (!is_day && !read_date(time))
		return false;
	if (*time->at == '\0')
		return true;
	if (!skip(time, " ") && (is_day || !skip(time, "T")))
		return false;
	if (!read_clock(time))
		return false;
	return *time->at == '\0' || is_day || read_zone(time);
}

/* Seconds since the epoch behind an @. */
static bool read_epoch(struct reading *time, int64_t *ms)
{
	const size_t digits = strspn(time->at, DIGITS);
	int64_t seconds;

	if (digits == 0 || digits > 11 || number_parse(time->at, digits, &seconds))
		return false;
	time->at += digits;
	if (skip(time, ".") && !read_fraction(time))
		return false;
	*ms = seconds * 1000 + time->fraction_ms;
	return true;
}

/* fault: of a text that looks like a time; it stays as it is for other texts. */
static bool read_time(const char *text, int64_t now_ms, int64_t *ms, const char **fault)
{
	const time_t now = (time_t)(now_ms / 1000);
	struct reading time = {.at = text};

	if (strcmp(text, "now") == 0) {
		*ms = now_ms;
		return true;
	}
	if (skip(&time, "@"))
		return read_epoch(&time, ms) && *time.at == '\0';
	localtime_r(&now, &time.local);
	if (!read_day_and_clock(&time) || *time.at != '\0') {
		if (time.fault)
			*fault = time.fault;
		return false;
	}
	time.local.tm_isdst = -1;
	*ms = time.has_zone ? ((int64_t)timegm(&time.local) - time.ahead_s) * 1000
			    : (int64_t)mktime(&time.local) * 1000;
	*ms += time.fraction_ms;
	return *ms >= 0;
}

/* "1h30", or the words of other programs: "2 hours ago", "-2h". */
static const char *guess_duration(char guess[DURATION_GUESS_BYTES], const char *text)
{
	static const char ago[] = " ago";
	char words[48];
	size_t length;

	snprintf(words, sizeof(words), "%s", *text == '-' ? text + 1 : text);
	length = strlen(words);
	if (length > strlen(ago) && strcmp(words + length - strlen(ago), ago) == 0)
		words[length - strlen(ago)] = '\0';
	return duration_guess(guess, words);
}

static int refuse(const char *text, const char *fault, struct error *err)
{
	char guess[DURATION_GUESS_BYTES], shown[SHORT_MAX_BYTES];

	shorten(shown, text);
	if (guess_duration(guess, text))
		return fail(err, STATUS_USAGE, "cannot use --since '%s': did you mean %s?", shown,
			    guess);
	return fail(err, STATUS_USAGE, "cannot use --since '%s': %s", shown, fault);
}

int since_parse(struct log_query *query, const char *text, int64_t now_ms, struct error *err)
{
	const char *fault = "write 2h, 1w, yesterday, 03:00, '2026-11-23 03:00' or @SECONDS";
	int64_t ms;

	if (duration_parse(text, &ms) == 0) {
		snprintf(query->since, sizeof(query->since), "%" PRId64, ms);
		return 0;
	}
	if (!read_time(text, now_ms, &ms, &fault))
		return refuse(text, fault, err);
	if (ms > now_ms)
		return refuse(text, "it is in the future", err);
	snprintf(query->since, sizeof(query->since), "@%" PRId64, ms);
	query->from_ms = ms;
	return 0;
}

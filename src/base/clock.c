/* Waits with a timer in the last slot of poll(2), set only if the deadline is another one than last
 * time. Reads and writes durations without floating point, so that nothing is lost. */
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

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

/* ---- Durations ---- */

/* We print the first units, the longest first. People may also write the others. */
static const struct {
	const char *name;
	int64_t ms;
} units[] = {{"d", 86400000}, {"h", 3600000},   {"m", 60000},   {"s", 1000},
	     {"ms", 1},       {"w", 604800000}, {"min", 60000}, {"sec", 1000}};

#define UNITS (sizeof(units) / sizeof(units[0]))
#define UNITS_SHOWN 5

/* Returns the milliseconds of one unit and moves *text behind it; 0 if there is none. */
static int64_t parse_unit(const char **text)
{
	const size_t length = strcspn(*text, DIGITS ".");

	for (size_t i = 0; i < UNITS; i++)
		if (strlen(units[i].name) == length && strncmp(*text, units[i].name, length) == 0) {
			*text += length;
			return units[i].ms;
		}
	return 0;
}

/* The product of unit and 0.DIGITS, rounded up. From the last digit to the first, since rounding up
 * at each step then rounds up the exact product. */
static int64_t scale_fraction(const char *digits, const char *end, int64_t unit)
{
	int64_t product = 0;

	while (end > digits)
		product = (unit * (*--end - '0') + product + 9) / 10;
	return product;
}

/* Parses one term, such as 1.5h. Only a term that is the whole duration may lack its unit. */
static int parse_term(const char **text, bool is_first, int64_t *ms)
{
	const char *whole = *text, *point = whole + strspn(whole, DIGITS);
	const char *fraction = point + (*point == '.'), *end = fraction + strspn(fraction, DIGITS);
	int64_t unit, value;

	if (end == whole || end[-1] == '.')
		return -1;
	*text = end;
	unit = parse_unit(text);
	if (unit == 0 && is_first && *end == '\0')
		unit = 1000;
	if (unit == 0 || number_parse(whole, (size_t)(point - whole), &value) ||
	    __builtin_mul_overflow(value, unit, ms))
		return -1;
	return __builtin_add_overflow(*ms, scale_fraction(fraction, end, unit), ms) ? -1 : 0;
}

int duration_parse(const char *text, int64_t *ms)
{
	const char *start = text;
	int64_t term, sum = 0;

	do {
		if (parse_term(&text, text == start, &term) ||
		    __builtin_add_overflow(sum, term, &sum))
			return -1;
	} while (*text != '\0');
	*ms = sum;
	return 0;
}

const char *duration_show(char text[DURATION_MAX_BYTES], int64_t ms)
{
	size_t i = 0;

	while (i < UNITS_SHOWN - 1 && ms < units[i].ms)
		i++;

	const int length = snprintf(text, DURATION_MAX_BYTES, "%" PRId64 "%s", ms / units[i].ms,
				    units[i].name);
	const int64_t rest = units[i].ms > 1000 ? ms % units[i].ms / units[i + 1].ms : 0;

	if (rest > 0)
		snprintf(text + length, DURATION_MAX_BYTES - (size_t)length, "%" PRId64 "%s", rest,
			 units[i + 1].name);
	return text;
}

const char *duration_show_fraction(char text[DURATION_MAX_BYTES], int64_t ms)
{
	size_t length;

	if (ms < 1000 || ms >= 60000 || ms % 1000 == 0)
		return duration_show(text, ms);
	length = (size_t)snprintf(text, DURATION_MAX_BYTES, "%" PRId64 ".%03" PRId64, ms / 1000,
				  ms % 1000);
	while (text[length - 1] == '0')
		length--;
	strcpy(text + length, "s");
	return text;
}

/* ---- Times of day: strftime(3) knows no milliseconds ---- */

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

#include "base/duration.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int64_t ms;
} units[] = {
	/* "ms" before "m", which is its beginning */
	{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000},
};

/* Not isdigit: nothing here may depend on a locale. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *skip_digits(const char *text)
{
	while (is_digit(*text))
		text++;
	return text;
}

/* The length of one unit in milliseconds, and *text moved behind it; 0 if none
 * is there. */
static int64_t parse_unit(const char **text)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = strlen(units[i].name);

		if (strncmp(*text, units[i].name, length) == 0) {
			*text += length;
			return units[i].ms;
		}
	}
	return 0;
}

static int parse_whole(const char *text, const char *end, int64_t *value)
{
	*value = 0;
	for (; text < end; text++) {
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, *text - '0', value))
			return -1;
	}
	return 0;
}

/* The product of unit and 0.DIGITS, rounded up. From the last digit to the
 * first, since rounding up at each step then rounds up the exact product. */
static int64_t scale_fraction(const char *digits, const char *end, int64_t unit)
{
	int64_t product = 0;

	while (end > digits)
		product = (unit * (*--end - '0') + product + 9) / 10;
	return product;
}

/* One term, such as 1.5h. *bare tells that it came without a unit. */
static int parse_term(const char **text, int64_t *ms, bool *bare)
{
	const char *whole = *text, *point = skip_digits(whole), *end = point;
	int64_t unit, value;

	if (*point == '.') {
		end = skip_digits(point + 1);
		if (end == point + 1)
			return -1;
	}
	if (end == whole)
		return -1;
	*text = end;
	unit = parse_unit(text);
	*bare = unit == 0;
	if (*bare)
		unit = 1000;
	if (parse_whole(whole, point, &value) || __builtin_mul_overflow(value, unit, ms))
		return -1;
	if (point == end)
		return 0;
	return __builtin_add_overflow(*ms, scale_fraction(point + 1, end, unit), ms) ? -1 : 0;
}

int duration_parse(const char *text, int64_t *ms)
{
	const char *start = text;
	int64_t sum = 0;

	do {
		const bool first = text == start;
		int64_t term;
		bool bare;

		if (parse_term(&text, &term, &bare) || __builtin_add_overflow(sum, term, &sum))
			return -1;
		if (bare && !(first && *text == '\0'))
			return -1;
	} while (*text != '\0');
	*ms = sum;
	return 0;
}

const char *duration_show(char text[DURATION_MAX_BYTES], int64_t ms)
{
	static const struct {
		const char *name;
		int64_t ms;
	} largest_first[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
	size_t i = 0;

	while (i < 4 && ms < largest_first[i].ms)
		i++;
	int64_t whole = ms / largest_first[i].ms;
	int64_t rest = i < 3 ? ms % largest_first[i].ms / largest_first[i + 1].ms : 0;

	if (rest > 0)
		snprintf(text, DURATION_MAX_BYTES, "%" PRId64 "%s%" PRId64 "%s", whole,
			 largest_first[i].name, rest, largest_first[i + 1].name);
	else
		snprintf(text, DURATION_MAX_BYTES, "%" PRId64 "%s", whole, largest_first[i].name);
	return text;
}

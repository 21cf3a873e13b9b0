/* Reads and writes durations without floating point, so that nothing is lost. */
#include "base/duration.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define BLANKS " \t"

/* As they are shown, the longest first. */
static const struct {
	const char *name;
	int64_t ms;
} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

#define UNITS (sizeof(units) / sizeof(units[0]))

/* As they are written. A unit stands before those that are its beginning. */
static const struct {
	char name[4];
	int64_t ms;
} written[] = {{"ms", 1},   {"min", 60000}, {"m", 60000},    {"sec", 1000},
	       {"s", 1000}, {"h", 3600000}, {"d", 86400000}, {"w", 604800000}};

/* Returns the milliseconds of one unit and moves *text behind it; 0 if there is none. */
static int64_t parse_unit(const char **text)
{
	for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++) {
		const size_t length = strlen(written[i].name);

		if (strncmp(*text, written[i].name, length) == 0) {
			*text += length;
			return written[i].ms;
		}
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

	while (i < UNITS - 1 && ms < units[i].ms)
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

/* ---- Guesses ---- */

/* The greatest first: a term without a unit has the next smaller one. */
static const struct {
	char unit[3];
	char words[40];
} guessed[] = {
	{"w", " w wk wks week weeks "},       {"d", " d day days "},
	{"h", " h hr hrs hour hours "},       {"m", " m min mins minute minutes "},
	{"s", " s sec secs second seconds "}, {"ms", " ms msec msecs millis milliseconds "},
};

#define GUESSED (sizeof(guessed) / sizeof(guessed[0]))

/* Returns the place of the unit that a word stands for, or GUESSED. */
static size_t guess_unit(const char *text, size_t length)
{
	char word[24];
	size_t i = 0;

	if (length == 0 || length > sizeof(word) - 3)
		return GUESSED;
	snprintf(word, sizeof(word), " %.*s ", (int)length, text);
	while (i < GUESSED && !strcasestr(guessed[i].words, word))
		i++;
	return i;
}

/* Writes one term. Returns what is behind it, or NULL. *unit: that of the term before. */
static const char *guess_term(const char *text, size_t *unit, char *guess)
{
	const size_t used = strlen(guess), digits = strspn(text, DIGITS ".,");
	const char *word = text + digits + strspn(text + digits, BLANKS);
	const size_t letters = strspn(word, LETTERS);

	if (digits == 0 || digits > 12)
		return NULL;
	*unit = letters == 0 && used > 0 ? *unit + 1 : guess_unit(word, letters);
	if (*unit >= GUESSED || used + digits + 3 > DURATION_GUESS_BYTES)
		return NULL;
	snprintf(guess + used, DURATION_GUESS_BYTES - used, "%.*s%s", (int)digits, text,
		 guessed[*unit].unit);
	for (char *c = guess + used; *c; c++)
		if (*c == ',')
			*c = '.';
	return word + letters + strspn(word + letters, BLANKS);
}

const char *duration_guess(char guess[DURATION_GUESS_BYTES], const char *text)
{
	size_t unit = 0;
	int64_t ms;

	guess[0] = '\0';
	text += strspn(text, BLANKS);
	do
		text = guess_term(text, &unit, guess);
	while (text && *text);
	return text && duration_parse(guess, &ms) == 0 ? guess : NULL;
}

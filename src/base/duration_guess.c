/* Reads the numbers, and of each unit only as much as tells them apart. */
#include "base/duration_guess.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define BLANKS " \t"

/* The greatest first. */
static const char units[][3] = {"w", "d", "h", "m", "s", "ms"};

#define UNITS (sizeof(units) / sizeof(units[0]))

/* The words of a unit, all of which begin as the first does. */
static const struct {
	size_t unit;
	char words[40];
} names[] = {
	{0, " w wk wks week weeks "},       {1, " d day days "},
	{2, " h hr hrs hour hours "},       {3, " m min mins minute minutes "},
	{4, " s sec secs second seconds "}, {5, " ms msec msecs millis milliseconds "},
};

/* Returns the unit that a word stands for, or UNITS. */
static size_t find_unit(const char *text, size_t length)
{
	char word[24];

	if (length == 0 || length > sizeof(word) - 3)
		return UNITS;
	snprintf(word, sizeof(word), " %.*s ", (int)length, text);
	for (char *c = word; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	for (size_t i = 0; i < UNITS; i++)
		if (strstr(names[i].words, word))
			return names[i].unit;
	return UNITS;
}

/* Writes one term. Returns what is behind it, or NULL. *unit: that of the term before; a term
 * without a unit has the next smaller one. */
static const char *read_term(const char *text, size_t *unit, char *guess)
{
	const size_t used = strlen(guess), digits = strspn(text, "0123456789.,");
	size_t blanks = strspn(text + digits, BLANKS), found;
	const char *word = text + digits + blanks;
	size_t letters = strspn(word, LETTERS);

	if (digits == 0 || digits > 12)
		return NULL;
	found = find_unit(word, letters);
	if (letters == 0 && used > 0)
		found = *unit + 1;
	if (found >= UNITS || used + digits + 3 > DURATION_GUESS_BYTES)
		return NULL;
	*unit = found;
	snprintf(guess + used, DURATION_GUESS_BYTES - used, "%.*s%s", (int)digits, text,
		 units[found]);
	for (char *c = guess + used; *c; c++)
		if (*c == ',')
			*c = '.';
	word += letters;
	return word + strspn(word, BLANKS);
}

const char *duration_guess(char guess[DURATION_GUESS_BYTES], const char *text)
{
	size_t unit = 0;
	int64_t ms;

	guess[0] = '\0';
	text += strspn(text, BLANKS);
	do
		text = read_term(text, &unit, guess);
	while (text && *text);
	return text && duration_parse(guess, &ms) == 0 ? guess : NULL;
}

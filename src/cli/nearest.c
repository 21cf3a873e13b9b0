/* The distance of two words: how many letters have to be put in, left out, changed, or exchanged
 * with their neighbour. */
#include "cli/nearest.h"

#include <stdbool.h>
#include <string.h>

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool begins(const char *word, const char *beginning, size_t length)
{
	size_t i = 0;

	while (i < length && word[i] && lower(word[i]) == lower(beginning[i]))
		i++;
	return i == length;
}

/* a and b are shorter than NEAREST_MAX_BYTES. */
static size_t edit_distance(const char *a, const char *b)
{
	const size_t width = strlen(b);
	size_t rows[3][NEAREST_MAX_BYTES] = {{0}};
	size_t *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t k = 0; k <= width; k++)
		row[k] = k;
	for (size_t i = 1; i <= strlen(a); i++) {
		size_t *oldest = before;

		before = above;
		above = row;
		row = oldest;
		row[0] = i;
		for (size_t k = 1; k <= width; k++) {
			const bool same = lower(a[i - 1]) == lower(b[k - 1]);

			row[k] = least(least(above[k], row[k - 1]) + 1, above[k - 1] + !same);
			if (i > 1 && k > 1 && lower(a[i - 1]) == lower(b[k - 2]) &&
			    lower(a[i - 2]) == lower(b[k - 1]))
				row[k] = least(row[k], before[k - 2] + 1);
		}
	}
	return row[width];
}

/* A beginning (stat), and a word that goes on behind a dash (lease-time), are as good as one wrong
 * letter. */
static size_t distance(const char *word, const char *candidate)
{
	const size_t length = strlen(word), other = strlen(candidate);

	if ((length > 1 && begins(candidate, word, length)) ||
	    (other > 3 && begins(word, candidate, other) && word[other] == '-'))
		return strcmp(word, candidate) != 0;
	return edit_distance(word, candidate);
}

void nearest_begin(struct nearest *nearest, const char *word)
{
	*nearest = (struct nearest){.word = word, .distance = (strlen(word) + 1) / 3 + 1};
}

void nearest_try(struct nearest *nearest, const char *candidate)
{
	size_t found;

	if (strlen(nearest->word) >= NEAREST_MAX_BYTES || strlen(candidate) >= NEAREST_MAX_BYTES)
		return;
	found = distance(nearest->word, candidate);
	if (found >= nearest->distance)
		return;
	nearest->distance = found;
	strcpy(nearest->best, candidate);
}

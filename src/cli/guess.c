/* The nearest word of a list is the one with the fewest wrong letters. */
#include "cli/guess.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>

static bool is_same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* How many letters have to be put in, left out, changed, or exchanged with their neighbour. a and b
 * are shorter than NEAREST_MAX_BYTES. */
static size_t edit_distance(const char *a, const char *b)
{
	const size_t height = strlen(a), width = strlen(b);
	size_t d[NEAREST_MAX_BYTES][NEAREST_MAX_BYTES] = {{0}};

	for (size_t i = 0; i <= height; i++) {
		for (size_t k = 0; k <= width; k++) {
			if (i == 0 || k == 0) {
				d[i][k] = i + k;
				continue;
			}
			d[i][k] = MIN(MIN(d[i - 1][k], d[i][k - 1]) + 1,
				      d[i - 1][k - 1] + !is_same(a[i - 1], b[k - 1]));
			if (i > 1 && k > 1 && is_same(a[i - 1], b[k - 2]) &&
			    is_same(a[i - 2], b[k - 1]))
				d[i][k] = MIN(d[i][k], d[i - 2][k - 2] + 1);
		}
	}
	return d[height][width];
}

void nearest_begin(struct nearest *nearest, const char *word)
{
	*nearest = (struct nearest){.word = word, .distance = (strlen(word) + 1) / 3 + 1};
}

void nearest_try(struct nearest *nearest, const char *candidate)
{
	const char *word = nearest->word;
	const size_t length = strlen(word), other = strlen(candidate);
	size_t found;

	if (length >= NEAREST_MAX_BYTES || other >= NEAREST_MAX_BYTES)
		return;
	/* a beginning (stat), and a word that goes on behind a dash (lease-time), are as good as
	 * one wrong letter */
	if ((length > 1 && strncasecmp(candidate, word, length) == 0) ||
	    (other > 3 && strncasecmp(word, candidate, other) == 0 && word[other] == '-'))
		found = strcmp(word, candidate) != 0;
	else
		found = edit_distance(word, candidate);
	if (found >= nearest->distance)
		return;
	nearest->distance = found;
	strcpy(nearest->best, candidate);
}

const char *nearest_say(char said[NEAREST_SAID_BYTES], const struct nearest *nearest,
			const char *dashes)
{
	said[0] = '\0';
	if (*nearest->best)
		snprintf(said, NEAREST_SAID_BYTES, ", did you mean %s%s?", dashes, nearest->best);
	return said;
}

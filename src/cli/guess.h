/* Guesses what the user meant by a wrong word: the nearest one of a list. */
#pragma once

#include <stddef.h>

#define NEAREST_MAX_BYTES 32

struct nearest {
	const char *word;
	size_t distance;              /* of best; only a smaller one is better */
	char best[NEAREST_MAX_BYTES]; /* "": none is near */
};

/* word must outlive it. */
void nearest_begin(struct nearest *nearest, const char *word);

/* Keeps the candidate if it is near, and nearer than those before it. Case does not count. */
void nearest_try(struct nearest *nearest, const char *candidate);

#define NEAREST_SAID_BYTES (NEAREST_MAX_BYTES + 24)

/* Writes ", did you mean BEST?" for the end of a message; "" if none is near. dashes: "--" before
 * an option. */
const char *nearest_say(char said[NEAREST_SAID_BYTES], const struct nearest *nearest,
			const char *dashes);

/* Lengths of time as people write them: "90", "0.5", "1.5h", "1h30m", "250ms". */
#pragma once

#include <stdint.h>

/* Parses a duration into milliseconds; without a unit it is in seconds, and a fraction of a
 * millisecond is rounded up. Returns 0, or -1 when the text is no duration or does not fit. */
int duration_parse(const char *text, int64_t *ms);

#define DURATION_MAX_BYTES 32

/* Writes a duration in its two largest units ("1m5s"), as duration_parse reads it. */
const char *duration_show(char text[DURATION_MAX_BYTES], int64_t ms);

/* The same with fractions of a second, below a minute ("1.5s"): for what the user has set. */
const char *duration_show_fraction(char text[DURATION_MAX_BYTES], int64_t ms);

#define DURATION_GUESS_BYTES 24

/* Writes the duration that a wrong text was meant to be: "1h30m" for "1h30", "5m" for "5 minutes".
 * Returns guess, or NULL if there is none. */
const char *duration_guess(char guess[DURATION_GUESS_BYTES], const char *text);

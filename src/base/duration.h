#pragma once

#include <stdint.h>

/* Parses a duration ("90", "0.5", "1.5h", "1h30m", "250ms") into milliseconds.
 * Returns 0, or -1 when the text is no duration or does not fit. */
int duration_parse(const char *text, int64_t *ms);

#define DURATION_MAX_BYTES 32

/* Writes a duration in its two largest units ("1m5s"), as duration_parse reads it. */
const char *duration_show(char text[DURATION_MAX_BYTES], int64_t ms);

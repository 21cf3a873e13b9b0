#ifndef FAIRLOCK_DURATION_H
#define FAIRLOCK_DURATION_H

#include <stdint.h>

/* Parses a duration ("90", "0.5", "1.5h", "1h30m", "250ms") into milliseconds.
 * Returns 0, or -1 when the text is no duration or does not fit. */
int duration_parse(const char *text, int64_t *ms);

#endif

/* Signals by name and by number. */
#pragma once

#include <stddef.h>

/* Parses "TERM", "SIGTERM", "RTMIN+3" (in any case) or "15". Returns 0, or -1 if there is no such
 * signal. */
int signal_parse(const char *text, int *number);

/* The name of the index-th signal that has one, without SIG ("HUP"), or NULL behind the last. */
const char *signal_name_at(size_t index);

#define SIGNAL_MAX_BYTES 16

/* Writes the name of a signal, as signal_parse reads it; its number if it has none. */
const char *signal_show(char text[SIGNAL_MAX_BYTES], int number);

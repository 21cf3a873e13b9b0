/* Guesses what a mistyped URL was meant to be. */
#pragma once

#include <stdbool.h>

#define HINT_CHARACTERS 60
#define HINT_MAX_BYTES (HINT_CHARACTERS + 1)

/* Fills in a URL that may have been meant; the caller tries whether it is one. Returns false when
 * there is none, or when a password may be in it. */
bool server_url_hint(char hint[HINT_MAX_BYTES], const char *url);

/* Guesses the duration that a wrong text was meant to be. */
#pragma once

#include "base/duration.h"

#define DURATION_GUESS_BYTES 24

/* Writes a duration that the text is near: "1h30m" for "1h30", "5m" for "5 minutes". Returns guess,
 * or NULL if there is none. */
const char *duration_guess(char guess[DURATION_GUESS_BYTES], const char *text);

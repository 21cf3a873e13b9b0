/* Words that a user can paste into a shell. */
#pragma once

#include <stddef.h>

/* Writes the word with quotes if it needs some. Returns quoted, or NULL if there is no room. */
const char *shell_quote(char *quoted, size_t size, const char *word);

/* The value of --slots: a count, or a list of names. */
#pragma once

#include <stdbool.h>

#define SLOTS_MOST 1000
#define SLOT_MAX_BYTES 65

/* Whether the value is a count, and no list of names. */
bool slots_are_counted(const char *value);

/* What is wrong with a value of --slots, as the end of a sentence that begins with the value; NULL
 * if nothing is. */
const char *slots_fault(const char *value);

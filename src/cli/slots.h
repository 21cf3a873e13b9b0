/* The value of --slots: a count, or a list of names. */
#pragma once

#include <stdbool.h>

#define SLOTS_MOST 1000
#define SLOT_MAX_BYTES 65

/* Whether the value is a count, and no list of names. */
bool slots_are_counted(const char *value);

/* Returns NULL for a valid value of --slots. Else returns what is wrong with it, for a message that
 * begins with the value: 'a,a' "has a slot name twice". */
const char *slots_fault(const char *value);

/* Whether a hold can have a slot of this name, or number. */
bool slot_is_valid(const char *value);

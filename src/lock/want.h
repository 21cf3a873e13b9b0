/* How a process wants to hold a lock, and how it holds it: the words that the scripts have for
 * both. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/slots.h"

/* How a hold has the lock: MODE_EXCLUSIVE, MODE_SHARED, or a slot: its name behind MODE_SLOT. */
#define MODE_MAX_BYTES (SLOT_MAX_BYTES + 1)
#define MODE_EXCLUSIVE "x"
#define MODE_SHARED "s"
#define MODE_SLOT '='

/* Makes the word: x, the lock alone; s, a shared hold; #N, one of the slots 1 to N; =A,B, one of
 * these. slots: a valid value of --slots, or NULL. The word lives until the next call. */
const char *want_make(const char *slots, bool shared);

/* The words for the mode of a hold, for people: exclusive, shared, slots. */
const char *mode_word(const char *mode);

/* N of =N, which a script says where holders take one of N slots; 0 for any other mode. */
int64_t mode_slots(const char *mode);

/* The same for a want. */
const char *want_word(const char *want);

/* How many slots are named in a want; 0: none. */
int64_t want_slots(const char *want);

/* Whether a hold that was granted for this want has a slot. */
bool want_is_slot(const char *want);

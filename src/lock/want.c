/* The longest list of slots is long, and most processes want none: so it has static memory. */
#include "lock/want.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *want_make(const char *slots, bool shared)
{
	static char text[SLOTS_MOST * SLOT_MAX_BYTES + 1];

	if (!slots)
		return shared ? MODE_SHARED : MODE_EXCLUSIVE;
	snprintf(text, sizeof(text), "%c%s", slots_are_counted(slots) ? '#' : MODE_SLOT, slots);
	return text;
}

const char *mode_word(const char *mode)
{
	return *mode == MODE_SLOT               ? "slots"
	       : strcmp(mode, MODE_SHARED) == 0 ? "shared"
						: "exclusive";
}

int64_t mode_slots(const char *mode)
{
	int64_t slots = 0;

	return sscanf(mode, "=%4" SCNd64, &slots) == 1 && slots > 0 ? slots : 0;
}

const char *want_word(const char *want)
{
	return want_is_slot(want) ? "slots" : mode_word(want);
}

int64_t want_slots(const char *want)
{
	int64_t count = want_is_slot(want);

	if (*want == '#')
		return strtoll(want + 1, NULL, 10);
	for (; *want; want++)
		count += *want == ',';
	return count;
}

bool want_is_slot(const char *want)
{
	return *want == '#' || *want == MODE_SLOT;
}

/* Which lines of a long text a screen shows, and the keys that move it, which are those of less(1).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Starts as {0}. */
struct scroll {
	size_t first; /* the first line shown; the lines count from 0 */
	size_t lines; /* of the text */
	size_t room;  /* of the screen, in lines */
	char keys[8]; /* the beginning of a key that has not come whole */
	size_t length;
};

/* Says how long the text and the screen are now. */
void scroll_fit(struct scroll *scroll, size_t lines, size_t room);

/* Moves as these keys say. Returns whether q was among them. */
bool scroll_take(struct scroll *scroll, const char *keys, size_t length);

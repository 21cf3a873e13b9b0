/* The terminal's alternate screen, on which `--watch` draws. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "output/terminal_restorer.h"

/* Back to the usual screen: cursor shown, long lines wrapped. */
#define FULL_SCREEN_LEAVE "\033[?7h\033[?25h\033[?1049l"

struct full_screen {
	int tty; /* non-blocking: the terminal may be held up */
	struct terminal_restorer restorer;
	char *frame;
	size_t length, sent; /* of the frame */
	bool entered;
};

void full_screen_enter(struct full_screen *screen);

/* Puts the terminal back to what it was, if it has not been put back before. */
void full_screen_leave(struct full_screen *screen);

/* Writes as much of the frame as the terminal takes. */
void full_screen_push(struct full_screen *screen);

bool full_screen_is_drawn(const struct full_screen *screen);

#ifndef FAIRLOCK_SCREEN_H
#define FAIRLOCK_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

/* What standard output can show. */
struct screen {
	int columns;
	int rows; /* 0: it is no terminal, and has no end */
	bool utf8;
	bool colour;
};

/* Uses the locale of the environment from here on. */
void screen_look(struct screen *screen);

/* How many columns a text takes. */
int screen_width(const struct screen *screen, const char *text);

/* Prints a text in exactly so many columns, cut or padded. What others wrote cannot move the
 * cursor: what has no place on the screen becomes '?'. */
void screen_put(const struct screen *screen, const char *text, int width);

#endif

#ifndef FAIRLOCK_TERMINAL_H
#define FAIRLOCK_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* What a terminal, or what stands in its place, can show. */
struct screen {
	int columns;
	int rows; /* 0: it is no terminal, and has no end */
	bool utf8;
	bool colour;
};

/* Uses the locale of the environment from here on. */
void screen_look(struct screen *screen, int fd);

/* Whether the terminal understands nothing but text, by its name. */
bool screen_is_dumb(void);

/* By its name, and unless NO_COLOR is set. */
bool screen_wants_colour(void);

/* The size that the terminal has now, whatever the environment says. */
void screen_measure(struct screen *screen, int fd);

/* How many columns a text takes. */
int screen_width(const struct screen *screen, const char *text);

/* Copies as much of a text as fits into so many columns, and into `to`. What others wrote cannot
 * move the cursor: what has no place on the screen becomes '?'. Returns the columns taken. */
int screen_cut(const struct screen *screen, char *to, size_t size, const char *text, int width);

/* Prints the same on standard output in exactly so many columns, cut or padded. */
void screen_put(const struct screen *screen, const char *text, int width);

#endif

#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The abilities of a terminal, or of what stands in its place. */
struct terminal {
	int columns;
	int rows; /* 0: it is no terminal, and has no end */
	bool utf8;
	bool colour;
};

/* Uses the locale of the environment from here on. */
void terminal_init(struct terminal *terminal, int fd);

/* Whether the terminal understands nothing but text, by its name. */
bool terminal_is_dumb(void);

/* By its name, and unless NO_COLOR is set. */
bool terminal_wants_colour(void);

/* The size that the terminal has now, whatever the environment says. */
void terminal_measure(struct terminal *terminal, int fd);

/* How many columns a text takes. */
int terminal_width(const struct terminal *terminal, const char *text);

/* Copies as much of a text as fits into so many columns, and into `to`. What others wrote cannot
 * move the cursor: what has no place on the screen becomes '?'. Returns the columns taken. */
int terminal_cut(const struct terminal *terminal, char *to, size_t size, const char *text,
		 int width);

/* Prints the same on standard output in exactly so many columns, cut or padded. */
void terminal_put(const struct terminal *terminal, const char *text, int width);

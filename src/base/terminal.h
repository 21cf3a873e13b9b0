/* Abilities of a terminal, and foreign text printed so that it fits and does no harm. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define COLUMNS_MOST 1000

/* The abilities of a terminal, or of the file or pipe in its place. */
struct terminal {
	int columns;
	int rows; /* 0: this is no terminal */
	bool utf8;
	bool colour;
};

/* Also sets the locale for characters from the environment. */
void terminal_init(struct terminal *terminal, int fd);

/* Whether the terminal understands nothing but text, by its name ($TERM). */
bool terminal_is_dumb(void);

/* The value of --color. */
enum colour_choice {
	COLOUR_AUTO, /* on a terminal that is not dumb, unless $NO_COLOR is set */
	COLOUR_ALWAYS,
	COLOUR_NEVER,
	COLOUR_COUNT,
};

/* Whether to use colours there. */
bool terminal_colours(enum colour_choice choice, int fd);

/* Asks for the size that the terminal has now, whatever the environment says. */
void terminal_measure(struct terminal *terminal, int fd);

/* How many columns a text takes. */
int terminal_width(const struct terminal *terminal, const char *text);

/* Copies as much of a text into `to` as fits into width columns and size bytes. A character that
 * cannot be shown becomes '?', so no text of others moves the cursor. `to` may be the text. Returns
 * the columns used. */
int terminal_cut(const struct terminal *terminal, char *to, size_t size, const char *text,
		 int width);

#define WRAPPED_MAX_BYTES 2048

/* Prints words from column `at` on, in lines of so many columns, and ends the last one. The cursor
 * is behind `used` columns. A word that is too long stands uncut on a line of its own, so that it
 * can be copied. */
void terminal_wrap(const struct terminal *terminal, FILE *out, const char *text, int at, int used,
		   int width);

/* Prints lists as lsblk(8) does: columns, raw, JSON. libsmartcols does the work. */
#pragma once

#include <stddef.h>

#include "base/error.h"

struct options;

/* Lists as lsblk(8) and lslocks(8) print them: for people, with --raw, with --json. */

enum column_kind {
	COLUMN_TEXT,
	COLUMN_DURATION, /* a text of duration_show */
	COLUMN_NUMBER,
	COLUMN_BOOLEAN, /* "1" or "0" */
};

struct column {
	const char *name; /* in capitals; in JSON in small letters */
	enum column_kind kind;
	int least; /* a text that may be cut down to so many characters, to fit on a screen */
	int spare; /* without -o: left out, the greatest first, where the screen is too narrow */
};

/* A table that a command can print. people, raw and json are the default columns of these formats.
 */
struct layout {
	const char *name; /* of the list in JSON */
	const struct column *columns;
	size_t column_count;
	const char *people;
	const char *raw;
	const char *json;
	const char *nothing; /* what is said on a screen of a table without lines */
};

struct table;

/* Makes an empty table with the columns that the options and the layout ask for; the layout
 * must outlive it. Returns NULL with STATUS_USAGE for an unknown column. */
struct table *table_open(const struct layout *layout, const struct options *options,
			 struct error *err);

/* Adds a line: a cell for each column of the layout, NULL or "" when unknown. They are copied. */
int table_add(struct table *table, const char *const *cells, struct error *err);

/* Writes the table to standard output; on a terminal it is made to fit. */
int table_print(struct table *table, struct error *err);

/* The same as a text for people, to free, for a screen so wide. NULL: *err. */
char *table_text(struct table *table, int columns, struct error *err);

/* The colour, by its name, of the line that was added last; shown by table_text. NULL: none. */
void table_colour(struct table *table, const char *colour);

/* For lists without an end: from now on, JSON is an object a line. Call it before table_add. */
void table_stream(struct table *table);

/* Writes out the lines that were added since the last time, the headings before the first. */
int table_flush(struct table *table, struct error *err);

/* table may be NULL. */
void table_close(struct table *table);

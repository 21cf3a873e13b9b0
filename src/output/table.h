/* Prints lists as lsblk(8) and lslocks(8) do: for people, with --raw, with --json. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "output/timestamp.h"

struct options;

enum column_kind {
	COLUMN_TEXT, /* if nothing is said */
	COLUMN_NUMBER,
	COLUMN_LIST,     /* words with commas between them, in JSON an array; or a number */
	COLUMN_BOOLEAN,  /* "1" or "0": yes or no, in JSON true or false */
	COLUMN_DURATION, /* milliseconds, or another text, which is shown as it is */
	COLUMN_TIME,     /* milliseconds since the epoch: local time for people, else RFC 3339 */
};

struct column {
	const char *name; /* in capitals; in JSON in small letters */
	enum column_kind kind;
	int least; /* on a narrow screen a text may be cut down to this width; 0: not at all */
	int spare; /* if that is not enough, the greatest is left out first; 0, or with -o: never */
	enum timestamp_form form; /* of COLUMN_TIME for people */
	bool is_rare;       /* people see it only if one of its cells has a text, or with -o ... */
	const char *common; /* ... and another text than this; NULL: any */
};

/* The columns that a command can print. */
struct layout {
	const char *name; /* of the list in JSON */
	const struct column *columns;
	size_t column_count;
	const char *people, *raw, *json; /* the usual columns of each format */
	const char *screen;              /* those for people on a terminal; NULL: people */
	const char *nothing;             /* a screen shows this instead of no lines */
};

/* Prints the names of the columns, for --help. */
void column_help_names(const struct layout *layout, FILE *out);

/* Prints the names and what they mean, one a line, for `-o help`. */
void column_help_list(const struct layout *layout, FILE *out);

/* The meaning of a column in a few words. */
const char *column_meaning(const char *name);

#define TABLE_COLUMNS_MAX 24

/* The numbers are those of the terminal. */
enum table_colour {
	TABLE_PLAIN,
	TABLE_BOLD,
	TABLE_RED = 31,
	TABLE_GREEN,
	TABLE_YELLOW,
	TABLE_MAGENTA = 35,
};

/* A cell for each column of a layout, NULL or "" when unknown. Starts as {0}. */
struct table_row {
	const char *cells[TABLE_COLUMNS_MAX];
	char numbers[TABLE_COLUMNS_MAX][24]; /* the texts of table_row_number */
	enum table_colour colours[TABLE_COLUMNS_MAX];
	const char *rank; /* without --sort, lines are sorted by it */
};

/* Fills a cell; a negative number is unknown. */
void table_row_number(struct table_row *row, size_t column, int64_t number);

struct table;

/* Makes an empty table with the columns that the options and the layout ask for; both must outlive
 * it. With --follow, JSON is an object a line. Returns NULL
 * with *err: STATUS_USAGE for an unknown column. */
struct table *table_open(const struct layout *layout, const struct options *options,
			 struct error *err);

/* Whether it is no list for programs (--json, --raw). */
bool table_is_for_people(const struct table *table);

/* Whether people see the usual columns on a terminal, where there is little room. */
bool table_is_short(const struct table *table);

/* Sets the text that a screen shows if there are no lines; it must outlive the table. */
void table_when_empty(struct table *table, const char *nothing);

/* Sets a line that a screen shows below the table; it must outlive the table. */
void table_end(struct table *table, const char *last);

/* Adds a line. The texts of the row are copied. */
int table_add(struct table *table, const struct table_row *row, struct error *err);

/* Writes the lines that were added since the last time to standard output; they fit there on a
 * terminal. The headings stand before the first. With --follow, no lines are nothing. */
void table_print(struct table *table);

/* Writes it for people, for a screen of so many columns. */
void table_draw(struct table *table, FILE *out, int columns);

/* table may be NULL. */
void table_close(struct table *table);

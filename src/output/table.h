/* Prints lists as lsblk(8) and lslocks(8) do: for people, with --raw, with --json. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "output/timestamp.h"

struct options;

/* The columns of all tables, in the order in which help lists them. */
enum column_id {
	COLUMN_NAME,
	COLUMN_TIME,
	COLUMN_POSITION,
	COLUMN_EVENT,
	COLUMN_STATE,
	COLUMN_MODE,
	COLUMN_SLOT,
	COLUMN_SLOTS,
	COLUMN_OWNER,
	COLUMN_HOST,
	COLUMN_PID,
	COLUMN_USER,
	COLUMN_COMMAND,
	COLUMN_REASON,
	COLUMN_CLIENT,
	COLUMN_HELD_MS,
	COLUMN_LEASE_MS,
	COLUMN_UNTIL,
	COLUMN_HOLDS,
	COLUMN_TOKEN,
	COLUMN_WAITERS,
	COLUMN_LAST_START,
	COLUMN_LAST_OK,
	COLUMN_WAITING_MS,
	COLUMN_PRESENT,
	COLUMN_WAITED_MS,
	COLUMN_STATUS,
	COLUMN_CAUSE,
	COLUMN_BY,
	COLUMN_HELD,
	COLUMN_LEASE,
	COLUMN_WAITING,
	COLUMN_WAITED,
	COLUMN_WHO,
	COLUMN_COUNT,
};

/* A table that a command can print. Lists of columns are their names with commas between them. */
struct layout {
	const char *name;                /* of the list in JSON */
	const char *columns;             /* all that it has */
	const char *people, *raw, *json; /* the usual ones of each format */
	const char *screen;              /* those for people on a terminal; NULL: people */
	const char *nothing;             /* a screen shows this instead of no lines, ... */
	const char *last;                /* ... and this below the table; NULL: nothing */
};

/* The name of a column in capitals; NULL: the table does not have it. */
const char *column_name(const struct layout *layout, enum column_id id);

/* The meaning of a column in a few words. */
const char *column_meaning(enum column_id id);

/* The numbers are those of the terminal. */
enum table_colour {
	TABLE_PLAIN,
	TABLE_BOLD,
	TABLE_RED = 31,
	TABLE_GREEN,
	TABLE_YELLOW,
	TABLE_MAGENTA = 35,
};

/* A cell for each column, NULL or "" when unknown. Starts as {0}. */
struct table_row {
	const char *cells[COLUMN_COUNT];
	char numbers[COLUMN_COUNT][24]; /* the texts of table_row_number */
	enum table_colour colours[COLUMN_COUNT];
	const char *rank; /* without --sort, lines are sorted by it */
};

/* Fills a cell; a negative number is unknown. */
void table_row_number(struct table_row *row, enum column_id id, int64_t number);

struct table;

/* Makes an empty table with the columns that the options and the layout ask for; both must outlive
 * it; what a screen shows beside lines may be set later. With --follow, JSON is an object a line.
 * Returns NULL with *err: STATUS_USAGE for an unknown column. */
struct table *table_open(const struct layout *layout, const struct options *options,
			 struct error *err);

/* Whether people see the usual columns on a terminal, where there is little room. */
bool table_is_short(const struct table *table);

/* Adds a line. The texts of the row are copied. */
int table_add(struct table *table, const struct table_row *row, struct error *err);

/* Writes the lines that were added since the last time to standard output; they fit there on a
 * terminal. The headings stand before the first. With --follow, no lines are nothing. */
void table_print(struct table *table);

/* Writes it for people, for a screen of so many columns. */
void table_draw(struct table *table, FILE *out, int width);

/* table may be NULL. */
void table_close(struct table *table);

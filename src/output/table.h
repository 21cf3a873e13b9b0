/* Prints lists as lsblk(8) and lslocks(8) do: for people, with --raw, with --json. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"

struct options;

/* The columns of all tables, in the order in which help lists them. A column means the same in all
 * tables. table.c has the members behind the meaning. */
#define COLUMNS(X)                                                                                 \
	X(NAME, "name of the lock", .least = 12)                                                   \
	X(TIME, "when it happened", .kind = EXACT_TIME)                                            \
	X(POSITION, "place in the queue; 1 is next", .kind = NUMBER)                               \
	X(EVENT, "what happened to the lock")                                                      \
	X(STATE, "free, held or kept", .least = 22)                                                \
	X(MODE, "exclusive, shared or slots", .spare = 10, .dull = "exclusive")                    \
	X(SLOT, "slot of the holder", .least = 4, .dull = "")                                      \
	X(SLOTS, "slots that the waiter wants: how many, or their names", .kind = LIST,            \
	  .least = 5, .dull = "")                                                                  \
	X(OWNER, "owner ID, for --owner and --remove", .spare = 9)                                 \
	X(HOST, "host of the process", .least = 8, .spare = 1)                                     \
	X(PID, "process ID", .kind = NUMBER, .spare = 5)                                           \
	X(USER, "user of the process", .least = 6, .spare = 4)                                     \
	X(COMMAND, "command of the process", .least = 10)                                          \
	X(REASON, "why the process wants the lock: its --reason", .least = 8, .spare = 2,          \
	  .dull = "")                                                                              \
	X(CLIENT, "fairlock or redisson")                                                          \
	X(HELD_MS, "how long the lock is or was held, in milliseconds", .kind = NUMBER)            \
	X(LEASE_MS, "how long the lease still lasts, in milliseconds", .kind = NUMBER)             \
	X(UNTIL, "when the lease ends, or the time for which it is kept", .kind = TIME)            \
	X(HOLDS, "how many times the owner holds the lock", .kind = NUMBER)                        \
	X(TOKEN, "fencing token, which grows with each grant", .kind = NUMBER)                     \
	X(WAITERS, "how many processes wait for the lock", .kind = NUMBER)                         \
	X(LAST_START, "when a command of the lock was started last", .kind = TIME)                 \
	X(LAST_OK, "when a command of the lock last ended with 0", .kind = TIME)                   \
	X(WAITING_MS, "how long the process has waited, in milliseconds", .kind = NUMBER)          \
	X(PRESENT, "whether the process is connected", .kind = BOOLEAN)                            \
	X(WAITED_MS, "how long the process had waited, in milliseconds", .kind = NUMBER)           \
	X(STATUS, "exit status of the command, as a shell shows it", .kind = NUMBER)               \
	X(CAUSE, "why the command ended", .least = 8, .spare = 6)                                  \
	X(BY, "who broke, asked or removed it", .least = 10, .spare = 8, .dull = "")               \
	X(HELD, "how long the lock is or was held", .kind = DURATION, .spare = 3)                  \
	X(LEASE, "how long the lease still lasts", .kind = DURATION, .spare = 7)                   \
	X(WAITING, "how long the process has waited", .kind = DURATION)                            \
	X(WAITED, "how long the process had waited", .kind = DURATION, .spare = 4)                 \
	X(WHO, "user and host of the process", .least = 11, .spare = 1)

#define COLUMN_ID(id, ...) COLUMN_##id,
enum column_id { COLUMNS(COLUMN_ID) COLUMN_COUNT };

/* A table that a command can print. Lists of columns are their names with commas between them. */
struct layout {
	const char *name;                /* of the list in JSON */
	const char *columns;             /* all that it has */
	const char *people, *raw, *json; /* the usual ones of each format */
	const char *screen;              /* those for people on a terminal; NULL: people */
	bool is_of_one;                  /* the usual ones leave out NAME, but not in JSON */
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
	const char *rank; /* lines are sorted by it, before --sort */
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

/* Writes the lines that were added since the last time to standard output, the last so many of them
 * (below 0: all); they fit there on a terminal. The headings stand before the first. With --follow,
 * no lines are nothing. */
void table_print(struct table *table, int64_t lines);

/* Writes it for people, for a screen of so many columns. */
void table_draw(struct table *table, FILE *out, int width);

/* table may be NULL. */
void table_close(struct table *table);

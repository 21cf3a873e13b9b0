/* The parts of a table: for table.c, which fills it, and table_print.c. */
#pragma once

#include <libsmartcols/libsmartcols.h>
#include <stdbool.h>

struct column;
struct layout;

#define CHOSEN_MAX 64

struct table {
	const struct layout *layout;
	struct libscols_table
		*lines; /* the column behind the chosen ones is hidden: it is sorted by */
	const struct column *chosen[CHOSEN_MAX]; /* of the layout */
	size_t count;
	size_t usual; /* so many of them, the first, may be left out: -o does not name them */
	const struct column *sorting; /* --sort; NULL: by the ranks of the rows */
	const char *nothing;          /* what a screen shows if there are no lines */
	int widths[CHOSEN_MAX];       /* of the lines that were printed before */
	bool is_for_people;
	bool is_raw;
	bool is_json;
	bool is_begun; /* lines were printed before */
	bool is_coloured;
	bool json_lines; /* each line is a JSON object of its own */
};

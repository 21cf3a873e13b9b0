/* How the columns of a table shrink to fit a screen. */
#include "output/table.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cli/options.h"

#define COLUMNS 3

struct fitted {
	int width, least, spare;
};

/* Widths afterwards; -1: left out. */
static const struct {
	int room;
	struct fitted columns[COLUMNS];
	int widths[COLUMNS];
} cases[] = {
	/* columns that fit stay as they are */
	{20, {{.width = 10, .least = 5}, {.width = 4}, {.width = 4}}, {10, 4, 4}},
	{40, {{.width = 10, .least = 5, .spare = 1}, {.width = 4}, {.width = 4}}, {10, 4, 4}},
	/* the widest becomes narrower first, then all alike, and none narrower than it may */
	{19, {{.width = 10, .least = 5}, {.width = 5, .least = 2}, {.width = 3}}, {9, 5, 3}},
	{13, {{.width = 10, .least = 2}, {.width = 6, .least = 2}, {.width = 3}}, {4, 4, 3}},
	{14, {{.width = 10, .least = 7}, {.width = 6, .least = 2}, {.width = 3}}, {7, 2, 3}},
	/* a column goes only if cutting is not enough, the least important first */
	{14, {{.width = 10, .least = 5}, {.width = 4, .spare = 1}, {.width = 3}}, {5, 4, 3}},
	{13, {{.width = 10, .least = 5}, {.width = 4, .spare = 1}, {.width = 3}}, {9, -1, 3}},
	{13, {{.width = 9, .spare = 1}, {.width = 9, .spare = 2}, {.width = 3}}, {9, -1, 3}},
	{12, {{.width = 9, .spare = 1}, {.width = 9, .spare = 2}, {.width = 3}}, {-1, -1, 3}},
	/* nothing helps */
	{1, {{.width = 9, .least = 3}, {.width = 9, .spare = 2}, {.width = 3}}, {3, -1, 3}},
	{-5, {{.width = 9}, {.width = 9}, {.width = 3}}, {9, 9, 3}},
};

/* The cells have no blanks, and are as wide as their columns. */
static void measure(const char *text, int widths[COLUMNS])
{
	const char *cell = strchr(text, '\n') + 1;

	for (size_t c = 0; c < COLUMNS; c++) {
		widths[c] = -1;
		if (!memchr(text, "ABC"[c], strcspn(text, "\n")))
			continue;
		widths[c] = (int)strcspn(cell, " \n");
		cell += widths[c] + 1;
	}
}

static void check_case(struct tally *tally, size_t i)
{
	const struct options options = {0};
	struct column columns[COLUMNS] = {{.name = "A"}, {.name = "B"}, {.name = "C"}};
	const struct layout layout = {
		.columns = columns, .column_count = COLUMNS, .people = "A,B,C"};
	struct table *table = NULL;
	struct table_row row = {0};
	struct error err;
	int widths[COLUMNS];
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t c = 0; c < COLUMNS; c++) {
		columns[c].least = cases[i].columns[c].least;
		columns[c].spare = cases[i].columns[c].spare;
		row.cells[c] = &"xxxxxxxxxx"[10 - cases[i].columns[c].width];
	}
	table = table_open(&layout, &options, &err);
	CHECK(tally, table && table_add(table, &row, &err) == 0);
	table_draw(table, out, cases[i].room);
	fclose(out);
	measure(text, widths);
	for (size_t c = 0; c < COLUMNS; c++) {
		if (widths[c] != cases[i].widths[c])
			printf("case %zu, column %zu: %d\n", i, c, widths[c]);
		CHECK(tally, widths[c] == cases[i].widths[c]);
	}
	free(text);
	table_close(table);
}

int main(void)
{
	struct tally tally = {0};

	setenv("LC_ALL", "C", 1);
	for (size_t i = 0; i < COUNT(cases); i++)
		check_case(&tally, i);
	return conclude(&tally);
}

/* How the widths of columns shrink to fit a room. */
#include "output/column_fit.h"

#include "check.h"

/* Widths afterwards; -1: left out. */
static const struct {
	int room;
	struct column_fit columns[3];
	int widths[3];
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

int main(void)
{
	struct tally tally = {0};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct column_fit columns[3];

		for (size_t c = 0; c < 3; c++)
			columns[c] = cases[i].columns[c];
		fit_columns(columns, 3, cases[i].room);
		for (size_t c = 0; c < 3; c++) {
			const int width = columns[c].hidden ? -1 : columns[c].width;

			if (width != cases[i].widths[c])
				printf("case %zu, column %zu: %d\n", i, c, width);
			CHECK(&tally, width == cases[i].widths[c]);
		}
	}
	return conclude(&tally);
}

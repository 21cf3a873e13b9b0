#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A column of a table that is to fit on a screen. */
struct column_fit {
	int width; /* what it needs; afterwards, what it gets */
	int least; /* it may be cut down to this; 0: not at all */
	int spare; /* the greatest is left out first if cutting is not enough; 0: never */
	bool hidden;
};

/* Finds widths for columns with one blank between two of them. Where they do not fit in any way,
 * all are cut as far as they may be. */
void fit_columns(struct column_fit *columns, size_t count, int room);

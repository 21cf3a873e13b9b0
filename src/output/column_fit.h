/* Finds widths for the columns of a table, so that it fits on a screen. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct column_fit {
	int width; /* it needs this much; afterwards, it gets this much */
	int least; /* it may be cut down to this; 0: not at all */
	int spare; /* the greatest is left out first if cutting is not enough; 0: never */
	bool hidden;
};

/* One blank stands between two columns. A table that fits in no way has all its columns cut as far
 * as they may be. */
void fit_columns(struct column_fit *columns, size_t count, int room);

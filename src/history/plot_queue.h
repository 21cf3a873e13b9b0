/* How many processes waited at once, for the drawing of a long queue. */
#pragma once

#include <stddef.h>

#include "base/error.h"

struct plot_axis;
struct intervals;

struct plot_queue {
	size_t *columns; /* the most within each column of the axis */
	size_t most;
};

/* Returns 0, or -1 with STATUS_OS. Call plot_queue_free in both cases. */
int plot_queue_count(struct plot_queue *crowd, const struct intervals *intervals,
		     const struct plot_axis *axis, struct error *err);

void plot_queue_free(struct plot_queue *crowd);

#ifndef FAIRLOCK_PLOT_QUEUE_H
#define FAIRLOCK_PLOT_QUEUE_H

#include <stddef.h>

#include "base/error.h"

struct axis;
struct spans;

/* How many waited at once. */
struct crowd {
	size_t *columns; /* the most within each column of the axis */
	size_t most;
};

/* Returns 0, or -1 with STATUS_OS. Call crowd_free in both cases. */
int crowd_count(struct crowd *crowd, const struct spans *spans, const struct axis *axis,
		struct error *err);

void crowd_free(struct crowd *crowd);

#endif

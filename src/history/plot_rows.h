/* Which row of `log --plot` an interval is drawn in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "lock/owner.h"

struct intervals;

/* A command of one user on one host. It may have run often. */
struct plot_job {
	struct owner_process process;
	char place[BY_MAX_BYTES + 1]; /* user@host */
};

/* A job has one row, and more if it ran or waited several times at once. */
struct plot_row {
	size_t job;
	int64_t last_ms; /* when its last interval ended */
	bool shown;
};

struct plot_rows {
	struct plot_job *jobs; /* in the order in which they began */
	size_t job_count;
	struct plot_row *list; /* in the order in which they began */
	size_t count;
};

/* Sorts the intervals by their beginnings and gives each one a row. Returns 0, or -1 with
 * STATUS_OS. Call plot_rows_free in both cases. */
int plot_rows_make(struct plot_rows *rows, struct intervals *intervals, struct error *err);

/* Hides all rows but the latest. Returns how many it has hidden. */
size_t plot_rows_limit(struct plot_rows *rows, size_t most);

void plot_rows_free(struct plot_rows *rows);

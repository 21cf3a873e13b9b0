/* A stretch of time drawn in columns of equal length, with ticks at round times. */
#pragma once

#include <stdint.h>

#include "output/timestamp.h"

struct plot_axis {
	int64_t from_ms;
	int64_t to_ms;
	int64_t step_ms; /* between two ticks */
	int columns;
};

/* Chooses as many ticks as have room for their labels. */
void plot_axis_init(struct plot_axis *axis, int64_t from_ms, int64_t to_ms, int columns);

/* The column that a time falls into; the first or last one if it lies outside. */
int plot_axis_column(const struct plot_axis *axis, int64_t ms);

/* The first tick after this time, in local time a multiple of the step. */
int64_t plot_axis_next_tick(const struct plot_axis *axis, int64_t ms);

const char *plot_axis_label(const struct plot_axis *axis, int64_t tick_ms,
			    char text[TIMESTAMP_MAX_BYTES]);

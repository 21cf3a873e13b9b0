#pragma once

#include <stddef.h>
#include <stdint.h>

#include "output/timestamp.h"

/* A stretch of time drawn in columns of equal length. */
struct plot_axis {
	int64_t from_ms;
	int64_t to_ms;
	int64_t step_ms; /* between two ticks */
	int columns;
};

/* Chooses round times for the ticks, as many as have room for what is written at them. */
void plot_axis_init(struct plot_axis *axis, int64_t from_ms, int64_t to_ms, int columns);

/* The column that a time falls into, the last one for what comes later. */
int plot_axis_column(const struct plot_axis *axis, int64_t ms);

/* The first tick after this time, in local time a multiple of the step. */
int64_t plot_axis_next_tick(const struct plot_axis *axis, int64_t ms);

/* The text at a tick. */
const char *plot_axis_label(const struct plot_axis *axis, int64_t tick_ms,
			    char text[TIMESTAMP_MAX_BYTES]);

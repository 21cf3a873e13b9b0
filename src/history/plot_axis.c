/* Ticks are multiples of a step in local time, so that a day begins at midnight. */
#include "history/plot_axis.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

#define LABEL_GAP 3

static const int64_t steps[] = {
	100,         200,         500,         SECOND,     2 * SECOND, 5 * SECOND,  10 * SECOND,
	15 * SECOND, 30 * SECOND, MINUTE,      2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE,
	30 * MINUTE, HOUR,        2 * HOUR,    3 * HOUR,   6 * HOUR,   12 * HOUR,   DAY,
	2 * DAY,     7 * DAY,     14 * DAY,    28 * DAY,   91 * DAY,   182 * DAY,   365 * DAY,
	1826 * DAY,  3652 * DAY,  36524 * DAY,
};

static int label_width(int64_t step_ms)
{
	if (step_ms < SECOND || step_ms > 28 * DAY)
		return (int)strlen("03:00:12.5");
	if (step_ms < MINUTE)
		return (int)strlen("03:00:12");
	return (int)strlen("Nov 21");
}

int plot_axis_column(const struct plot_axis *axis, int64_t ms)
{
	const int64_t column = (ms - axis->from_ms) * axis->columns / (axis->to_ms - axis->from_ms);

	if (ms < axis->from_ms)
		return 0;
	return column < axis->columns ? (int)column : axis->columns - 1;
}

void plot_axis_init(struct plot_axis *axis, int64_t from_ms, int64_t to_ms, int columns)
{
	size_t i = 0;

	if (to_ms - from_ms < SECOND)
		from_ms = to_ms - SECOND;
	*axis = (struct plot_axis){.from_ms = from_ms, .to_ms = to_ms, .columns = columns};
	while (i + 1 < sizeof(steps) / sizeof(steps[0]) &&
	       steps[i] * columns / (to_ms - from_ms) < label_width(steps[i]) + LABEL_GAP)
		i++;
	axis->step_ms = steps[i];
}

int64_t plot_axis_next_tick(const struct plot_axis *axis, int64_t ms)
{
	const int64_t offset_ms = timestamp_offset_ms(ms);
	const int64_t local_ms = ((ms + offset_ms) / axis->step_ms + 1) * axis->step_ms;
	/* summer time may begin in between */
	const int64_t tick_ms = local_ms - timestamp_offset_ms(local_ms - offset_ms);

	return tick_ms > ms ? tick_ms : ms + axis->step_ms;
}

const char *plot_axis_label(const struct plot_axis *axis, int64_t tick_ms,
			    char text[TIMESTAMP_MAX_BYTES])
{
	const bool is_midnight = (tick_ms + timestamp_offset_ms(tick_ms)) % DAY == 0;
	size_t length;

	if (axis->step_ms > 28 * DAY)
		return timestamp_local(text, tick_ms, TIMESTAMP_DATE);
	if (axis->step_ms >= DAY || (is_midnight && axis->step_ms >= MINUTE))
		return timestamp_local(text, tick_ms, TIMESTAMP_DAY);
	if (axis->step_ms >= MINUTE)
		return timestamp_local(text, tick_ms, TIMESTAMP_MINUTE);
	timestamp_local(text, tick_ms, TIMESTAMP_SECOND);
	length = strlen(text);
	if (axis->step_ms < SECOND)
		snprintf(text + length, TIMESTAMP_MAX_BYTES - length, ".%d",
			 (int)(tick_ms % SECOND / 100));
	return text;
}

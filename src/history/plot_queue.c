/* Within a column, the most wait where it begins or where another one begins to wait. */
#include "history/plot_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "history/intervals.h"
#include "history/plot_axis.h"

static void count_at(struct plot_queue *queue, const struct intervals *intervals,
		     const struct plot_axis *axis, int64_t ms)
{
	size_t *column = &queue->columns[plot_axis_column(axis, ms)];
	size_t waiting = 0;

	for (size_t i = 0; i < intervals->count; i++)
		waiting += intervals->list[i].waits_ms <= ms && ms < intervals->list[i].holds_ms;
	*column = MAX(*column, waiting);
	queue->most = MAX(queue->most, waiting);
}

int plot_queue_count(struct plot_queue *queue, const struct intervals *intervals,
		     const struct plot_axis *axis, struct error *err)
{
	const int64_t length_ms = axis->to_ms - axis->from_ms;

	*queue = (struct plot_queue){
		.columns = calloc((size_t)axis->columns, sizeof(*queue->columns)),
	};
	if (!queue->columns)
		return fail(err, STATUS_OS, "cannot count the waiters: %s", strerror(ENOMEM));
	for (int i = 0; i < axis->columns; i++)
		count_at(queue, intervals, axis,
			 axis->from_ms + (i * length_ms + axis->columns - 1) / axis->columns);
	for (size_t i = 0; i < intervals->count; i++)
		if (intervals->list[i].waits_ms > axis->from_ms)
			count_at(queue, intervals, axis, intervals->list[i].waits_ms);
	return 0;
}

void plot_queue_free(struct plot_queue *queue)
{
	free(queue->columns);
	*queue = (struct plot_queue){0};
}

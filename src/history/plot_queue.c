/* A sweep over the moments at which a wait begins or ends. */
#include "history/plot_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "history/intervals.h"
#include "history/plot_axis.h"

struct change {
	int64_t at_ms;
	int by; /* 1: one more waits; -1: one less */
};

/* At one moment, an end counts before a beginning. */
static int compare(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->at_ms != y->at_ms)
		return x->at_ms > y->at_ms ? 1 : -1;
	return x->by - y->by;
}

static size_t collect(struct change *changes, const struct intervals *intervals,
		      const struct plot_axis *axis)
{
	size_t count = 0;

	for (size_t i = 0; i < intervals->count; i++) {
		const struct interval *span = &intervals->list[i];

		if (span->holds_ms <= span->waits_ms || span->holds_ms <= axis->from_ms)
			continue;
		changes[count++] = (struct change){span->waits_ms, 1};
		changes[count++] = (struct change){span->holds_ms, -1};
	}
	qsort(changes, count, sizeof(*changes), compare);
	return count;
}

static void raise_columns(struct plot_queue *queue, int from, int to, size_t waiting)
{
	for (int i = from; i <= to; i++)
		if (queue->columns[i] < waiting)
			queue->columns[i] = waiting;
	if (queue->most < waiting)
		queue->most = waiting;
}

int plot_queue_count(struct plot_queue *queue, const struct intervals *intervals,
		     const struct plot_axis *axis, struct error *err)
{
	struct change *changes = calloc(2 * intervals->count + 1, sizeof(*changes));
	size_t count, waiting = 0;

	*queue = (struct plot_queue){
		.columns = calloc((size_t)axis->columns, sizeof(*queue->columns)),
	};
	if (!changes || !queue->columns) {
		free(changes);
		return fail(err, STATUS_OS, "cannot count: %s", strerror(ENOMEM));
	}
	count = collect(changes, intervals, axis);
	for (size_t i = 0; i + 1 < count; i++) {
		const int64_t from_ms = changes[i].at_ms, to_ms = changes[i + 1].at_ms;

		waiting += (size_t)changes[i].by;
		if (to_ms > from_ms && to_ms > axis->from_ms)
			raise_columns(queue, plot_axis_column(axis, from_ms),
				      plot_axis_column(axis, to_ms - 1), waiting);
	}
	free(changes);
	return 0;
}

void plot_queue_free(struct plot_queue *queue)
{
	free(queue->columns);
	*queue = (struct plot_queue){0};
}

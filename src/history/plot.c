/* A row is an array of columns; of several marks in a column the greatest one is seen. */
#include "history/plot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/terminal.h"
#include "history/intervals.h"
#include "history/plot_axis.h"
#include "history/plot_labels.h"
#include "history/plot_queue.h"
#include "history/plot_rows.h"
#include "output/timestamp.h"

enum mark {
	NOTHING,
	TICK,
	WAITS,
	HOLDS,
	LEFT,
	BAD, /* expired, forced or lost */
	MARKS,
};

static const struct {
	const char *fine, *plain; /* with UTF-8, without */
	const char *colour;
} marks[MARKS] = {
	[NOTHING] = {" ", " ", ""}, [TICK] = {"┊", "|", "90"}, [WAITS] = {"░", ".", "35"},
	[HOLDS] = {"█", "#", "32"}, [LEFT] = {"×", "x", "35"}, [BAD] = {"!", "!", "1;31"},
};

static const char *const levels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

#define LEVELS 8
#define ROWS_LEAST 5
#define ROWS_BESIDE 9    /* a screen also has title, axes, key and prompt */
#define ROWS_UNSEEN 40   /* without a screen */
#define ROWS_PER_AXIS 15 /* with more, a second axis stands below */

struct plot {
	struct terminal terminal;
	struct plot_axis axis;
	struct intervals intervals;
	struct plot_rows rows;
	struct plot_labels labels;
	unsigned char *cells; /* the marks of one row */
	struct plot_queue queue;
};

static void set_colour(const struct plot *plot, const char *colour)
{
	if (plot->terminal.colour)
		printf("\033[%sm", colour);
}

static void put_mark(const struct plot *plot, enum mark mark)
{
	fputs(plot->terminal.utf8 ? marks[mark].fine : marks[mark].plain, stdout);
}

static void put_marks(const struct plot *plot, const unsigned char *cells)
{
	enum mark before = NOTHING;
	int end = plot->axis.columns;

	while (end > 0 && cells[end - 1] == NOTHING)
		end--;
	for (int i = 0; i < end; i++) {
		const enum mark mark = cells[i];

		if (mark != before && mark != NOTHING)
			set_colour(plot, marks[mark].colour);
		put_mark(plot, mark);
		before = mark != NOTHING ? mark : before;
	}
	set_colour(plot, "");
	putchar('\n');
}

static void mark_columns(struct plot *plot, int from, int to, enum mark with)
{
	for (int i = from; i <= to; i++)
		if (plot->cells[i] < with)
			plot->cells[i] = (unsigned char)with;
}

/* A hold is visible however short it was; waiting has its true length. */
static void mark_span(struct plot *plot, const struct interval *span)
{
	const struct plot_axis *axis = &plot->axis;
	const int holds = plot_axis_column(axis, span->holds_ms);
	const int last = plot_axis_column(axis, span->ends_ms - (span->ends_ms > span->holds_ms));
	const int64_t half_ms = (axis->to_ms - axis->from_ms) / axis->columns / 2;

	if (span->ends_ms < axis->from_ms)
		return;
	if (span->holds_ms > span->waits_ms)
		mark_columns(plot, plot_axis_column(axis, span->waits_ms + half_ms),
			     plot_axis_column(axis, span->holds_ms - 1), WAITS);
	if (span->holds)
		mark_columns(plot, holds, last, HOLDS);
	else if (span->end == INTERVAL_LEFT)
		mark_columns(plot, last, last, LEFT);
	else if (span->waits_ms == span->ends_ms)
		mark_columns(plot, last, last, WAITS);
	if (span->end == INTERVAL_EXPIRED || span->end == INTERVAL_FORCED ||
	    span->end == INTERVAL_LOST)
		mark_columns(plot, last, last, BAD);
}

/* ---- The parts, from top to bottom ---- */

static void put_title(const struct plot *plot, const char *name)
{
	const struct intervals *intervals = &plot->intervals;
	char text[1600], from[TIMESTAMP_MAX_BYTES], to[TIMESTAMP_MAX_BYTES],
		length[DURATION_MAX_BYTES];

	snprintf(text, sizeof(text), "%s: %s to %s (%s)%s%s", name,
		 timestamp_local(from, intervals->from_ms, TIMESTAMP_LONG),
		 intervals->goes_on ? "now" : timestamp_local(to, intervals->to_ms, TIMESTAMP_LONG),
		 duration_show(length, intervals->to_ms - intervals->from_ms),
		 *plot->labels.place ? ", all by " : "", plot->labels.place);
	terminal_put(&plot->terminal, text,
		     MIN(terminal_width(&plot->terminal, text), plot->terminal.columns));
	puts("\n");
}

static void put_axis(const struct plot *plot)
{
	const struct plot_axis *axis = &plot->axis;
	char text[TIMESTAMP_MAX_BYTES];
	int at = 0;

	plot_labels_put(&plot->labels, &plot->terminal, NULL);
	for (int64_t tick = plot_axis_next_tick(axis, axis->from_ms - 1); tick < axis->to_ms;
	     tick = plot_axis_next_tick(axis, tick)) {
		const int column = plot_axis_column(axis, tick);

		plot_axis_label(axis, tick, text);
		if (column < at || column + (int)strlen(text) > axis->columns)
			continue;
		at += printf("%*s%s", column - at, "", text);
	}
	putchar('\n');
}

static void clear_cells(struct plot *plot)
{
	const struct plot_axis *axis = &plot->axis;

	memset(plot->cells, NOTHING, (size_t)axis->columns);
	for (int64_t tick = plot_axis_next_tick(axis, axis->from_ms - 1); tick < axis->to_ms;
	     tick = plot_axis_next_tick(axis, tick))
		plot->cells[plot_axis_column(axis, tick)] = TICK;
}

static void put_row(struct plot *plot, size_t row, const struct plot_job *label)
{
	clear_cells(plot);
	for (size_t i = 0; i < plot->intervals.count; i++)
		if (plot->intervals.list[i].row == row)
			mark_span(plot, &plot->intervals.list[i]);
	plot_labels_put(&plot->labels, &plot->terminal, label);
	put_marks(plot, plot->cells);
}

/* The rows of a job stand together, below its label. */
static void put_rows(struct plot *plot)
{
	const struct plot_rows *rows = &plot->rows;

	for (size_t job = 0; job < rows->job_count; job++) {
		const struct plot_job *label = &rows->jobs[job];

		for (size_t i = 0; i < rows->count; i++) {
			if (rows->list[i].job != job || !rows->list[i].shown)
				continue;
			put_row(plot, i, label);
			label = NULL;
		}
	}
}

/* Shows a pile-up even if it has more rows than the screen. */
static void put_queue(const struct plot *plot)
{
	const struct plot_queue *queue = &plot->queue;
	int end = plot->axis.columns;
	char text[64];

	while (end > 0 && queue->columns[end - 1] == 0)
		end--;
	snprintf(text, sizeof(text), "up to %zu wait", queue->most);
	terminal_put(&plot->terminal, text, plot_labels_width(&plot->labels) - 1);
	putchar(' ');
	set_colour(plot, marks[WAITS].colour);
	for (int i = 0; i < end; i++) {
		const size_t count = queue->columns[i];

		if (plot->terminal.utf8)
			fputs(levels[(count * LEVELS + queue->most - 1) / queue->most], stdout);
		else
			putchar(count == 0 ? ' ' : count > 9 ? '+' : (char)('0' + count));
	}
	set_colour(plot, "");
	putchar('\n');
}

static void put_key(const struct plot *plot, size_t hidden)
{
	static const struct {
		enum mark mark;
		const char *text;
	} keys[] = {
		{HOLDS, "holds"},
		{WAITS, "waits"},
		{LEFT, "left the queue"},
		{BAD, "expired, forced, lost"},
	};

	putchar('\n');
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		fputs(i > 0 ? "  " : "", stdout);
		set_colour(plot, marks[keys[i].mark].colour);
		put_mark(plot, keys[i].mark);
		set_colour(plot, "");
		printf(" %s", keys[i].text);
	}
	putchar('\n');
	if (hidden > 0)
		printf("%zu more rows are not shown\n", hidden);
}

static int draw(struct plot *plot, const char *name, struct error *err)
{
	const int rows = plot->terminal.rows;
	const int most = rows > 0 ? MAX(ROWS_LEAST, rows - ROWS_BESIDE) : ROWS_UNSEEN;
	const size_t hidden = plot_rows_limit(&plot->rows, (size_t)most);

	plot_labels_measure(&plot->labels, &plot->rows, &plot->terminal);
	plot_axis_init(&plot->axis, plot->intervals.from_ms, plot->intervals.to_ms,
		       plot->terminal.columns - plot_labels_width(&plot->labels));
	plot->cells = calloc((size_t)plot->axis.columns, sizeof(*plot->cells));
	if (!plot->cells)
		return fail(err, STATUS_OS, "cannot draw the plot: %s", strerror(ENOMEM));
	if (plot_queue_count(&plot->queue, &plot->intervals, &plot->axis, err) < 0)
		return -1;
	put_title(plot, name);
	put_axis(plot);
	put_rows(plot);
	if (plot->queue.most > 1)
		put_queue(plot);
	if (plot->rows.count - hidden > ROWS_PER_AXIS)
		put_axis(plot);
	put_key(plot, hidden);
	return 0;
}

int plot_print(const struct log_reply *history, const char *name, bool is_coloured,
	       struct error *err)
{
	struct plot plot = {.cells = NULL};
	int result;

	terminal_init(&plot.terminal, STDOUT_FILENO);
	plot.terminal.colour = is_coloured;
	result = intervals_make(&plot.intervals, history, err);
	if (result == 0)
		result = plot_rows_make(&plot.rows, &plot.intervals, err);
	if (result == 0 && plot.intervals.count > 0)
		result = draw(&plot, name, err);
	else if (result == 0)
		printf("%s: nothing is known\n", name);
	free(plot.cells);
	plot_queue_free(&plot.queue);
	plot_rows_free(&plot.rows);
	intervals_free(&plot.intervals);
	return result;
}

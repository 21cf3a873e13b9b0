/* An interval goes into the first row of its job that is free by then. */
#include "history/plot_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "history/intervals.h"

static int compare_spans(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	if (x->waits_ms != y->waits_ms)
		return x->waits_ms > y->waits_ms ? 1 : -1;
	return (x->ends_ms > y->ends_ms) - (x->ends_ms < y->ends_ms);
}

static void describe(struct plot_job *job, const char *by)
{
	const char *user, *host;

	owner_parse(&job->process, by);
	job->process.command = owner_without_folder(job->process.command);
	if (!*job->process.command)
		job->process.command = "?";
	user = job->process.user;
	host = job->process.host;
	snprintf(job->place, sizeof(job->place), "%s%s%s", user, *user && *host ? "@" : "", host);
}

static size_t find_job(struct plot_rows *rows, const char *by)
{
	struct plot_job *new = &rows->jobs[rows->job_count];
	size_t i = 0;

	describe(new, by);
	while (strcmp(rows->jobs[i].process.command, new->process.command) != 0 ||
	       strcmp(rows->jobs[i].place, new->place) != 0)
		i++; /* the search ends at the new one, if not before */
	rows->job_count += i == rows->job_count;
	return i;
}

static size_t find_row(struct plot_rows *rows, size_t job, const struct interval *span)
{
	size_t i = 0;

	while (i < rows->count &&
	       (rows->list[i].job != job || rows->list[i].last_ms > span->waits_ms))
		i++;
	if (i == rows->count)
		rows->list[rows->count++] = (struct plot_row){.job = job, .shown = true};
	rows->list[i].last_ms = span->ends_ms;
	return i;
}

int plot_rows_make(struct plot_rows *rows, struct intervals *intervals, struct error *err)
{
	const size_t most = intervals->count + 1;

	*rows = (struct plot_rows){
		.jobs = calloc(most, sizeof(*rows->jobs)),
		.list = calloc(most, sizeof(*rows->list)),
	};
	if (!rows->jobs || !rows->list)
		return fail(err, STATUS_OS, "cannot draw the plot: %s", strerror(ENOMEM));
	qsort(intervals->list, intervals->count, sizeof(*intervals->list), compare_spans);
	for (size_t i = 0; i < intervals->count; i++) {
		struct interval *span = &intervals->list[i];

		span->row = find_row(rows, find_job(rows, span->by), span);
	}
	return 0;
}

/* Of rows that ended at the same time, the lowest in the drawing is hidden first. */
static bool is_hidden_before(const struct plot_row *row, const struct plot_row *other)
{
	if (!row->shown || !other->shown)
		return row->shown;
	if (row->last_ms != other->last_ms)
		return row->last_ms < other->last_ms;
	return row->job >= other->job; /* of the same job, row comes later */
}

size_t plot_rows_limit(struct plot_rows *rows, size_t most)
{
	const size_t hidden = rows->count > most ? rows->count - most : 0;

	for (size_t n = 0; n < hidden; n++) {
		struct plot_row *chosen = rows->list;

		for (size_t i = 1; i < rows->count; i++)
			if (is_hidden_before(&rows->list[i], chosen))
				chosen = &rows->list[i];
		chosen->shown = false;
	}
	return hidden;
}

void plot_rows_free(struct plot_rows *rows)
{
	free(rows->jobs);
	free(rows->list);
	*rows = (struct plot_rows){0};
}

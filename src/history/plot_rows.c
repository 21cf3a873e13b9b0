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

static void describe(struct job *job, const char *by)
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
	struct job *new = &rows->jobs[rows->job_count];
	size_t i = 0;

	describe(new, by);
	while (strcmp(rows->jobs[i].process.command, new->process.command) != 0 ||
	       strcmp(rows->jobs[i].place, new->place) != 0)
		i++; /* the new one ends the search */
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

/* Puts the rows of a job together, by counting. places and moved have room for all. */
static void order(struct plot_rows *rows, size_t span_count, size_t *places, struct plot_row *moved)
{
	size_t place = 0;

	for (size_t job = 0; job < rows->job_count; job++)
		for (size_t i = 0; i < rows->count; i++)
			if (rows->list[i].job == job)
				places[i] = place++;
	for (size_t i = 0; i < rows->count; i++)
		moved[places[i]] = rows->list[i];
	memcpy(rows->list, moved, rows->count * sizeof(*moved));
	for (size_t i = 0; i < span_count; i++)
		rows->of_span[i] = places[rows->of_span[i]];
}

int plot_rows_make(struct plot_rows *rows, struct intervals *intervals, struct error *err)
{
	const size_t most = intervals->count + 1;
	size_t *places = calloc(most, sizeof(*places));
	struct plot_row *moved = calloc(most, sizeof(*moved));

	*rows = (struct plot_rows){
		.jobs = calloc(most, sizeof(*rows->jobs)),
		.list = calloc(most, sizeof(*rows->list)),
		.of_span = calloc(most, sizeof(*rows->of_span)),
	};
	if (!rows->jobs || !rows->list || !rows->of_span || !places || !moved) {
		free(places);
		free(moved);
		return fail(err, STATUS_OS, "cannot draw: %s", strerror(ENOMEM));
	}
	qsort(intervals->list, intervals->count, sizeof(*intervals->list), compare_spans);
	for (size_t i = 0; i < intervals->count; i++)
		rows->of_span[i] =
			find_row(rows, find_job(rows, intervals->list[i].by), &intervals->list[i]);
	order(rows, intervals->count, places, moved);
	free(places);
	free(moved);
	return 0;
}

static int compare_times(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

size_t plot_rows_limit(struct plot_rows *rows, size_t most)
{
	int64_t *ends = most < rows->count ? calloc(rows->count, sizeof(*ends)) : NULL;
	size_t ties = most;
	int64_t least;

	if (!ends)
		return 0;
	for (size_t i = 0; i < rows->count; i++)
		ends[i] = rows->list[i].last_ms;
	qsort(ends, rows->count, sizeof(*ends), compare_times);
	least = ends[rows->count - most];
	free(ends);
	for (size_t i = 0; i < rows->count; i++)
		ties -= rows->list[i].last_ms > least;
	for (size_t i = 0; i < rows->count; i++) {
		struct plot_row *row = &rows->list[i];

		row->shown = row->last_ms > least || (row->last_ms == least && ties > 0);
		ties -= row->last_ms == least && row->shown;
	}
	return rows->count - most;
}

void plot_rows_free(struct plot_rows *rows)
{
	free(rows->jobs);
	free(rows->list);
	free(rows->of_span);
	*rows = (struct plot_rows){0};
}

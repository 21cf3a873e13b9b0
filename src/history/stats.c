/* `log --stats`: counts and times come from the events; how busy the lock was comes from the
 * intervals. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/clock.h"
#include "base/json.h"
#include "history/events.h"
#include "output/timestamp.h"

/* The figures of a list of times. */
enum {
	MEDIAN,
	P95,
	LONGEST,
	FIGURES,
};

static const char *const figure_names[FIGURES] = {"median", "p95", "longest"};

struct stats {
	int64_t from_ms, to_ms; /* UNKNOWN_MS: there are no events */
	int64_t busy_ms;
	int64_t held_ms; /* the sum of all holds */
	int64_t most;    /* so many held the lock at once */
	int64_t counts[EVENT_OTHER];
	int64_t failed;          /* of the released: COMMAND failed, see has_failed */
	int64_t waited[FIGURES]; /* of the grants */
	int64_t held[FIGURES];   /* of the holds that are over */
};

/* ---- Figures ---- */

static int compare_times(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The figures of the waits of all grants, or of all holds that are over. The median of an even
 * count lies midway between the two in the middle. Of a hundred times, 95 are no longer than the
 * 95th percentile. */
static int measure_times(const struct history *history, bool of_waits, int64_t figures[FIGURES],
			 struct error *err)
{
	int64_t *times = calloc(history->count + 1, sizeof(*times)); /* there may be none */
	size_t n = 0;

	if (!times)
		return fail(err, STATUS_OS, "cannot count the times: %s", strerror(ENOMEM));
	for (size_t i = 0; i < history->count; i++) {
		const struct log_event *event = &history->events[i];
		const bool is_one =
			of_waits ? event->kind == EVENT_GRANTED
				 : event->kind > EVENT_GRANTED && event->kind < EVENT_LEFT;

		times[n] = of_waits ? event->waited_ms : event->held_ms;
		n += is_one && times[n] != UNKNOWN_MS;
	}
	qsort(times, n, sizeof(*times), compare_times);
	figures[MEDIAN] = n > 0 ? (times[(n - 1) / 2] + times[n / 2]) / 2 : UNKNOWN_MS;
	figures[P95] = n > 0 ? times[(n * 95 + 99) / 100 - 1] : UNKNOWN_MS;
	figures[LONGEST] = n > 0 ? times[n - 1] : UNKNOWN_MS;
	free(times);
	return 0;
}

/* A COMMAND that had to be stopped has failed, even if it then ended with 0. */
static bool has_failed(const struct log_event *event)
{
	const char *cause = event->texts[EVENT_CAUSE];

	return event->kind == EVENT_RELEASED && (event_number(event->texts[EVENT_STATUS]) > 0 ||
						 (*cause && strcmp(cause, "exit") != 0));
}

static int compare_holds(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return (x->holds_ms > y->holds_ms) - (x->holds_ms < y->holds_ms);
}

/* The figures begin at --since. Without it, or if a full log does not reach back so far, they begin
 * with the first hold. Holds may overlap: time that two of them cover counts once as busy. */
static void measure_holds(struct stats *stats, const struct history *history,
			  const struct intervals *intervals)
{
	const struct interval *const list = intervals->list;
	int64_t covered_ms;

	qsort(intervals->list, intervals->count, sizeof(*list), compare_holds);
	stats->to_ms = intervals->to_ms;
	stats->from_ms = history->from_ms;
	if (intervals->count > 0 && (history->from_ms == UNKNOWN_MS || history->may_lack))
		stats->from_ms = MAX(stats->from_ms, list[0].holds_ms);
	covered_ms = stats->from_ms;
	for (size_t i = 0; i < intervals->count; i++) {
		const int64_t from_ms = MAX(list[i].holds_ms, stats->from_ms);
		int64_t holders = 0;

		if (!list[i].holds)
			continue;
		for (size_t j = 0; j <= i; j++)
			holders += list[j].holds && list[j].ends_ms > from_ms;
		stats->most = MAX(stats->most, holders);
		stats->held_ms += MAX(list[i].ends_ms - from_ms, 0);
		stats->busy_ms += MAX(list[i].ends_ms - MAX(from_ms, covered_ms), 0);
		covered_ms = MAX(covered_ms, list[i].ends_ms);
	}
}

static int measure(struct stats *stats, const struct history *history, struct error *err)
{
	struct intervals intervals;
	int result = intervals_make(&intervals, history, err);

	*stats = (struct stats){0};
	if (result == 0)
		measure_holds(stats, history, &intervals);
	intervals_free(&intervals);
	for (size_t i = 0; i < history->count; i++) {
		const struct log_event *event = &history->events[i];

		if (event->kind != EVENT_OTHER)
			stats->counts[event->kind]++;
		stats->failed += has_failed(event);
	}
	if (result == 0)
		result = measure_times(history, true, stats->waited, err);
	return result == 0 ? measure_times(history, false, stats->held, err) : -1;
}

/* ---- Printing ---- */

static void print_json_time(struct json *json, const char *key, int64_t ms)
{
	char text[TIMESTAMP_MAX_BYTES];

	json_text(json, key, ms == UNKNOWN_MS ? NULL : timestamp_rfc3339(text, ms));
}

/* A part of a time, or a multiple of it. */
static void print_json_part(struct json *json, const char *key, int64_t ms, int64_t of_ms)
{
	if (of_ms > 0)
		json_printf(json, key, "%.4f", (double)ms / (double)of_ms);
	else
		json_text(json, key, NULL);
}

static void print_json_figures(struct json *json, const char *key, const int64_t figures[FIGURES])
{
	json_open(json, key, '{');
	for (int i = 0; i < FIGURES; i++)
		json_number(json, figure_names[i], figures[i]);
	json_close(json, '}');
}

static void print_json(const struct stats *stats)
{
	const int64_t length_ms = stats->to_ms - stats->from_ms;
	struct json json = {0};

	json_open(&json, NULL, '{');
	json_open(&json, "stats", '{');
	print_json_time(&json, "from", stats->from_ms);
	print_json_time(&json, "to", stats->from_ms == UNKNOWN_MS ? UNKNOWN_MS : stats->to_ms);
	for (int i = 0; i < EVENT_OTHER; i++)
		json_number(&json, event_names[i], stats->counts[i]);
	json_number(&json, "failed", stats->failed);
	print_json_part(&json, "busy", stats->busy_ms, length_ms);
	print_json_part(&json, "mean_holders", stats->held_ms, length_ms);
	json_number(&json, "most_holders", stats->most);
	print_json_figures(&json, "waited_ms", stats->waited);
	print_json_figures(&json, "held_ms", stats->held);
	json_close(&json, '}');
	json_close(&json, '}');
}

static void print_figures(const char *name, const int64_t figures[FIGURES])
{
	char text[DURATION_MAX_BYTES];

	printf("%-6s", name);
	for (int i = 0; i < FIGURES; i++)
		printf("  %8s", figures[i] == UNKNOWN_MS ? "-" : duration_show(text, figures[i]));
	putchar('\n');
}

static void print_text(const struct stats *stats, const char *name)
{
	const int64_t length_ms = stats->to_ms - stats->from_ms;
	/* few use --supersede */
	const int columns = stats->counts[EVENT_SUPERSEDED] > 0 ? EVENT_OTHER : EVENT_SUPERSEDED;
	char from[TIMESTAMP_MAX_BYTES], to[TIMESTAMP_MAX_BYTES], length[DURATION_MAX_BYTES];

	if (stats->from_ms == UNKNOWN_MS)
		printf("%s: nothing is known\n\n", name);
	else
		printf("%s: %s to %s (%s)\n\n", name,
		       timestamp_local(from, stats->from_ms, TIMESTAMP_LONG),
		       timestamp_local(to, stats->to_ms, TIMESTAMP_LONG),
		       duration_show(length, length_ms));
	fputs(" busy", stdout);
	for (int i = 0; i < columns; i++)
		printf(" %8s", event_names[i]);
	printf(" %8s\n", "failed");
	if (length_ms > 0)
		printf("%3.0f %%", 100 * (double)stats->busy_ms / (double)length_ms);
	else
		fputs("    -", stdout);
	for (int i = 0; i < columns; i++)
		printf(" %*" PRId64, MAX(8, (int)strlen(event_names[i])), stats->counts[i]);
	printf(" %8" PRId64 "\n", stats->failed);
	puts("\n          median      95 %   longest");
	print_figures("waited", stats->waited);
	print_figures("held", stats->held);
	if (stats->most > 1 && length_ms > 0)
		printf("\n%.2f holders on average, at most %" PRId64 " at once\n",
		       (double)stats->held_ms / (double)length_ms, stats->most);
}

int stats_print(const struct history *history, const char *name, bool json, struct error *err)
{
	struct stats stats;

	if (measure(&stats, history, err) < 0)
		return -1;
	if (json)
		print_json(&stats);
	else
		print_text(&stats, name);
	return 0;
}

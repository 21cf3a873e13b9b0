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
#include "history/intervals.h"
#include "output/timestamp.h"
#include "redis/reply.h"

enum {
	MEDIAN,
	P95,
	LONGEST,
	FIGURES,
};

static const char *const figure_names[FIGURES] = {"median", "p95", "longest"};

struct times {
	int64_t *list;
	size_t count;
	int64_t figures[FIGURES]; /* UNKNOWN_MS if the list is empty */
};

struct stats {
	int64_t from_ms, to_ms;
	int64_t busy_ms;
	int64_t held_ms;    /* the sum of all holds */
	size_t most;        /* so many held the lock at once */
	size_t holding;     /* how many hold it now */
	int64_t holding_ms; /* how long the longest of them has had it, or UNKNOWN_MS */
	size_t waiting;
	size_t counts[EVENT_OTHER];
	size_t failed;       /* of the released: COMMAND failed, see has_failed */
	struct times waited; /* of the grants */
	struct times held;   /* of the holds that are over */
};

static int compare_times(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The median of an even count lies midway between the two in the middle. Of a hundred times, 95 are
 * no longer than the 95th percentile. */
static void evaluate(struct times *times)
{
	const size_t n = times->count;

	for (int i = 0; i < FIGURES; i++)
		times->figures[i] = UNKNOWN_MS;
	if (n == 0)
		return;
	qsort(times->list, n, sizeof(*times->list), compare_times);
	times->figures[MEDIAN] = (times->list[(n - 1) / 2] + times->list[n / 2]) / 2;
	times->figures[P95] = times->list[(n * 95 + 99) / 100 - 1];
	times->figures[LONGEST] = times->list[n - 1];
}

/* A COMMAND that had to be stopped has failed, even if it then ended with 0. */
static bool has_failed(const struct log_event *event)
{
	const char *cause = event->texts[EVENT_CAUSE];

	return event_number(event->texts[EVENT_STATUS]) > 0 ||
	       (*cause && strcmp(cause, "exit") != 0);
}

static int count_events(struct stats *stats, const struct history *history, struct error *err)
{
	/* calloc(0) may return NULL */
	stats->waited.list = calloc(history->count + 1, sizeof(int64_t));
	stats->held.list = calloc(history->count + 1, sizeof(int64_t));
	if (!stats->waited.list || !stats->held.list)
		return fail(err, STATUS_OS, "cannot count the times: %s", strerror(ENOMEM));
	for (size_t i = 0; i < history->count; i++) {
		const struct log_event *event = &history->events[i];
		const bool is_grant = event->kind == EVENT_GRANTED;
		struct times *times = is_grant ? &stats->waited : &stats->held;
		const int64_t ms = is_grant ? event->waited_ms : event->held_ms;

		if (event->kind != EVENT_OTHER)
			stats->counts[event->kind]++;
		stats->failed += event->kind == EVENT_RELEASED && has_failed(event);
		if (event->kind < EVENT_LEFT && ms != UNKNOWN_MS)
			times->list[times->count++] = ms;
	}
	evaluate(&stats->waited);
	evaluate(&stats->held);
	return 0;
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
		size_t holders = 0;

		if (!list[i].holds)
			continue;
		if (list[i].end == INTERVAL_GOES_ON) {
			const int64_t length_ms = list[i].ends_ms - list[i].holds_ms;

			stats->holding_ms = MAX(stats->holding_ms, length_ms);
			stats->holding++;
		}
		for (size_t j = 0; j <= i; j++)
			holders += list[j].holds && list[j].ends_ms > from_ms;
		stats->most = MAX(stats->most, holders);
		stats->held_ms += MAX(list[i].ends_ms - from_ms, 0);
		stats->busy_ms += MAX(list[i].ends_ms - MAX(from_ms, covered_ms), 0);
		covered_ms = MAX(covered_ms, list[i].ends_ms);
	}
}

static void print_json_ms(struct json *json, const char *key, int64_t ms)
{
	if (ms == UNKNOWN_MS)
		json_text(json, key, NULL);
	else
		json_printf(json, key, "%" PRId64, ms);
}

/* A part of a time, or a multiple of it. */
static void print_json_part(struct json *json, const char *key, int64_t ms, int64_t of_ms)
{
	if (of_ms > 0)
		json_printf(json, key, "%.4f", (double)ms / (double)of_ms);
	else
		json_text(json, key, NULL);
}

static void print_json_times(struct json *json, const char *key, const struct times *times)
{
	json_open(json, key, '{');
	for (int i = 0; i < FIGURES; i++)
		print_json_ms(json, figure_names[i], times->figures[i]);
	json_close(json, '}');
}

static void print_json(const struct stats *stats)
{
	const int64_t length_ms = stats->to_ms - stats->from_ms;
	const bool is_empty = stats->from_ms == UNKNOWN_MS;
	char text[TIMESTAMP_MAX_BYTES];
	struct json json = {0};

	json_open(&json, NULL, '{');
	json_open(&json, "stats", '{');
	json_text(&json, "from", is_empty ? NULL : timestamp_rfc3339(text, stats->from_ms));
	json_text(&json, "to", is_empty ? NULL : timestamp_rfc3339(text, stats->to_ms));
	for (int i = 0; i < EVENT_OTHER; i++)
		json_printf(&json, event_names[i], "%zu", stats->counts[i]);
	json_printf(&json, "failed", "%zu", stats->failed);
	print_json_ms(&json, "holding_ms", stats->holding_ms);
	json_printf(&json, "waiting", "%zu", stats->waiting);
	print_json_part(&json, "busy", stats->busy_ms, length_ms);
	print_json_part(&json, "mean_holders", stats->held_ms, length_ms);
	json_printf(&json, "most_holders", "%zu", stats->most);
	print_json_times(&json, "waited_ms", &stats->waited);
	print_json_times(&json, "held_ms", &stats->held);
	json_close(&json, '}');
	json_close(&json, '}');
}

static void print_times(const char *name, const struct times *times)
{
	char text[DURATION_MAX_BYTES];

	printf("%-6s", name);
	for (int i = 0; i < FIGURES; i++)
		printf("  %8s", times->figures[i] == UNKNOWN_MS
					? "-"
					: duration_show(text, times->figures[i]));
	putchar('\n');
}

static void print_bounds(const struct stats *stats, const char *name)
{
	char from[TIMESTAMP_MAX_BYTES], to[TIMESTAMP_MAX_BYTES], length[DURATION_MAX_BYTES];

	if (stats->from_ms == UNKNOWN_MS)
		printf("%s: nothing is known\n\n", name);
	else
		printf("%s: %s to %s (%s)\n\n", name,
		       timestamp_local(from, stats->from_ms, TIMESTAMP_LONG),
		       timestamp_local(to, stats->to_ms, TIMESTAMP_LONG),
		       duration_show(length, stats->to_ms - stats->from_ms));
}

static void print_now(const struct stats *stats)
{
	char text[DURATION_MAX_BYTES];

	if (stats->holding > 1)
		printf("\nheld now by %zu, the longest for %s", stats->holding,
		       duration_show(text, stats->holding_ms));
	else if (stats->holding > 0)
		printf("\nheld now, for %s", duration_show(text, stats->holding_ms));
	else if (stats->waiting > 0)
		fputs("\nfree now", stdout);
	else
		return;
	printf("; %zu waiting\n", stats->waiting);
}

static void print_text(const struct stats *stats, const char *name)
{
	const int64_t length_ms = stats->to_ms - stats->from_ms;
	/* few use --supersede */
	const int columns = stats->counts[EVENT_SUPERSEDED] > 0 ? EVENT_OTHER : EVENT_SUPERSEDED;

	print_bounds(stats, name);
	fputs(" busy", stdout);
	for (int i = 0; i < columns; i++)
		printf(" %8s", event_names[i]);
	printf(" %8s", "failed");
	if (length_ms > 0)
		printf("\n%3.0f %%", 100 * (double)stats->busy_ms / (double)length_ms);
	else
		fputs("\n    -", stdout);
	for (int i = 0; i < columns; i++)
		printf(" %*zu", i == EVENT_SUPERSEDED ? 10 : 8, stats->counts[i]);
	printf(" %8zu", stats->failed);
	puts("\n\n          median      95 %   longest");
	print_times("waited", &stats->waited);
	print_times("held", &stats->held);
	if (stats->most > 1 && length_ms > 0)
		printf("\n%.2f holders on average, at most %zu at once\n",
		       (double)stats->held_ms / (double)length_ms, stats->most);
	print_now(stats);
}

int stats_print(const struct history *history, const char *name, bool json, struct error *err)
{
	struct stats stats = {.holding_ms = UNKNOWN_MS, .waiting = reply_count(history->waiters)};
	struct intervals intervals;
	int result = intervals_make(&intervals, history, err);

	if (result == 0)
		result = count_events(&stats, history, err);
	if (result == 0) {
		measure_holds(&stats, history, &intervals);
		if (json)
			print_json(&stats);
		else
			print_text(&stats, name);
	}
	intervals_free(&intervals);
	free(stats.waited.list);
	free(stats.held.list);
	return result;
}

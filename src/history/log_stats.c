/* Counts and times come from the events; how busy the lock was comes from the intervals. */
#include "history/log_stats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/duration.h"
#include "base/json.h"
#include "history/intervals.h"
#include "history/log_reply.h"
#include "output/timestamp.h"

/* The events, in the order in which they are printed. */
enum {
	GRANTED,
	RELEASED,
	EXPIRED,
	FORCED,
	LOST,
	LEFT,
	SUPERSEDED,
	KINDS,
};

static const char *const kinds[KINDS] = {"granted", "released", "expired",   "forced",
					 "lost",    "left",     "superseded"};

struct times {
	int64_t *list;
	size_t count;
	int64_t median, p95, longest; /* UNKNOWN_MS if the list is empty */
};

struct stats {
	int64_t from_ms, to_ms;
	int64_t busy_ms;
	int64_t held_ms;    /* the sum of all holds */
	size_t most;        /* so many held the lock at once */
	int64_t holding_ms; /* how long the longest of the present holders has had it, or UNKNOWN_MS
			     */
	size_t holding;     /* how many hold it now */
	size_t waiting;
	size_t counts[KINDS];
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

	times->median = times->p95 = times->longest = UNKNOWN_MS;
	if (n == 0)
		return;
	qsort(times->list, n, sizeof(*times->list), compare_times);
	times->median = (times->list[(n - 1) / 2] + times->list[n / 2]) / 2;
	times->p95 = times->list[(n * 95 + 99) / 100 - 1];
	times->longest = times->list[n - 1];
}

static void add_time(struct times *times, int64_t ms)
{
	if (ms != UNKNOWN_MS)
		times->list[times->count++] = ms;
}

/* A COMMAND that had to be stopped has failed, even if it then ended with 0. */
static bool has_failed(const struct log_event *event)
{
	return log_reply_number(event->status) > 0 || strcmp(event->cause, "max-hold") == 0 ||
	       strcmp(event->cause, "lost") == 0 || strcmp(event->cause, "asked") == 0 ||
	       strcmp(event->cause, "wrap died") == 0;
}

static void count_events(struct stats *stats, const struct log_reply *history)
{
	for (size_t i = 0; i < history->count; i++) {
		const struct log_event *event = &history->events[i];
		int kind = 0;

		while (kind < KINDS && strcmp(event->name, kinds[kind]) != 0)
			kind++;
		if (kind == KINDS)
			continue;
		stats->counts[kind]++;
		stats->failed += kind == RELEASED && has_failed(event);
		if (kind == GRANTED)
			add_time(&stats->waited, event->waited_ms);
		else if (kind < LEFT)
			add_time(&stats->held, event->held_ms);
	}
	evaluate(&stats->waited);
	evaluate(&stats->held);
}

/* The figures begin at --since. Without it, or if a full log does not reach back so far, they begin
 * with the first hold. */
static void find_bounds(struct stats *stats, const struct log_reply *history,
			const struct intervals *intervals)
{
	int64_t first = intervals->to_ms;

	for (size_t i = 0; i < intervals->count; i++)
		first = MIN(first, intervals->list[i].holds_ms);
	stats->from_ms = history->from_ms;
	if (stats->from_ms == UNKNOWN_MS || (history->may_lack && first > stats->from_ms))
		stats->from_ms = first;
	stats->to_ms = intervals->to_ms;
}

static int compare_holds(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return (x->holds_ms > y->holds_ms) - (x->holds_ms < y->holds_ms);
}

static size_t holders_at(const struct intervals *intervals, int64_t ms)
{
	size_t count = 0;

	for (size_t i = 0; i < intervals->count; i++)
		count += intervals->list[i].holds && intervals->list[i].holds_ms <= ms &&
			 ms < intervals->list[i].ends_ms;
	return count;
}

/* Holds may overlap: time that two of them cover counts once as busy. */
static void measure_holds(struct stats *stats, struct intervals *intervals)
{
	int64_t covered_ms = stats->from_ms;

	qsort(intervals->list, intervals->count, sizeof(*intervals->list), compare_holds);
	for (size_t i = 0; i < intervals->count; i++) {
		const struct interval *span = &intervals->list[i];
		const int64_t begins = MAX(span->holds_ms, covered_ms);

		if (span->end == INTERVAL_GOES_ON && span->holds) {
			stats->holding_ms = MAX(stats->holding_ms, span->ends_ms - span->holds_ms);
			stats->holding++;
		}
		if (span->holds) {
			const int64_t from_ms = MAX(span->holds_ms, stats->from_ms);

			stats->held_ms += MAX(span->ends_ms - from_ms, 0);
			stats->most = MAX(stats->most, holders_at(intervals, from_ms));
		}
		if (span->holds && span->ends_ms > begins) {
			stats->busy_ms += span->ends_ms - begins;
			covered_ms = span->ends_ms;
		}
	}
}

static void print_json_ms(struct json *json, const char *key, int64_t ms)
{
	if (ms == UNKNOWN_MS)
		json_text(json, key, NULL);
	else
		json_printf(json, key, "%" PRId64, ms);
}

static void print_json_times(struct json *json, const char *key, const struct times *times)
{
	json_open(json, key, '{');
	print_json_ms(json, "median", times->median);
	print_json_ms(json, "p95", times->p95);
	print_json_ms(json, "longest", times->longest);
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
	for (int i = 0; i < KINDS; i++)
		json_printf(&json, kinds[i], "%zu", stats->counts[i]);
	json_printf(&json, "failed", "%zu", stats->failed);
	print_json_ms(&json, "holding_ms", stats->holding_ms);
	json_printf(&json, "waiting", "%zu", stats->waiting);
	if (length_ms > 0)
		json_printf(&json, "busy", "%.4f", (double)stats->busy_ms / (double)length_ms);
	else
		json_text(&json, "busy", NULL);
	if (length_ms > 0)
		json_printf(&json, "mean_holders", "%.4f",
			    (double)stats->held_ms / (double)length_ms);
	else
		json_text(&json, "mean_holders", NULL);
	json_printf(&json, "most_holders", "%zu", stats->most);
	print_json_times(&json, "waited_ms", &stats->waited);
	print_json_times(&json, "held_ms", &stats->held);
	json_close(&json, '}');
	json_close(&json, '}');
}

static void print_times(const char *name, const struct times *times)
{
	const int64_t figures[] = {times->median, times->p95, times->longest};
	char text[DURATION_MAX_BYTES];

	printf("%-6s", name);
	for (size_t i = 0; i < 3; i++)
		printf("  %8s", figures[i] == UNKNOWN_MS ? "-" : duration_show(text, figures[i]));
	putchar('\n');
}

static void print_bounds(const struct stats *stats, const char *name)
{
	char from[TIMESTAMP_MAX_BYTES], to[TIMESTAMP_MAX_BYTES], length[DURATION_MAX_BYTES];

	if (stats->from_ms == UNKNOWN_MS) {
		printf("%s: nothing is known\n\n", name);
		return;
	}
	printf("%s: %s to %s (%s)\n\n", name, timestamp_local(from, stats->from_ms, TIMESTAMP_LONG),
	       timestamp_local(to, stats->to_ms, TIMESTAMP_LONG),
	       duration_show(length, stats->to_ms - stats->from_ms));
}

static void print_now(const struct stats *stats)
{
	char text[DURATION_MAX_BYTES];

	if (stats->holding > 1)
		printf("\nheld now by %zu, the longest for %s", stats->holding,
		       duration_show(text, stats->holding_ms));
	else if (stats->holding_ms != UNKNOWN_MS)
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
	const int columns = stats->counts[SUPERSEDED] > 0 ? KINDS : SUPERSEDED;

	print_bounds(stats, name);
	fputs(" busy", stdout);
	for (int i = 0; i < columns; i++)
		printf(" %8s", kinds[i]);
	printf(" %8s", "failed");
	if (length_ms > 0)
		printf("\n%3.0f %%", 100 * (double)stats->busy_ms / (double)length_ms);
	else
		fputs("\n    -", stdout);
	for (int i = 0; i < columns; i++)
		printf(" %*zu", i == SUPERSEDED ? 10 : 8, stats->counts[i]);
	printf(" %8zu", stats->failed);
	puts("\n\n          median      95 %   longest");
	print_times("waited", &stats->waited);
	print_times("held", &stats->held);
	if (stats->most > 1 && length_ms > 0)
		printf("\n%.2f holders on average, at most %zu at once\n",
		       (double)stats->held_ms / (double)length_ms, stats->most);
	print_now(stats);
}

static int make_room(struct stats *stats, size_t events, struct error *err)
{
	/* calloc(0) may return NULL */
	stats->waited.list = calloc(events + 1, sizeof(int64_t));
	stats->held.list = calloc(events + 1, sizeof(int64_t));
	if (stats->waited.list && stats->held.list)
		return 0;
	return fail(err, STATUS_OS, "cannot count the times: %s", strerror(ENOMEM));
}

int log_stats_print(const struct log_reply *history, const char *name, bool json, struct error *err)
{
	struct stats stats = {.holding_ms = UNKNOWN_MS, .waiting = history->waiter_count};
	struct intervals intervals;
	int result = intervals_make(&intervals, history, err);

	if (result == 0)
		result = make_room(&stats, history->count, err);
	if (result == 0) {
		count_events(&stats, history);
		find_bounds(&stats, history, &intervals);
		measure_holds(&stats, &intervals);
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

/* A grant opens an interval, the event that ends the hold closes it; either may be missing. The
 * figures count events and their times; how busy the lock was comes from the intervals, and so does
 * the drawing. */
#include "history/events.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/options.h"
#include "lock/lock.h"
#include "lock/owner.h"
#include "redis/reply.h"

const char *const event_names[EVENT_OTHER] = {
	[EVENT_GRANTED] = "granted",
	[EVENT_RELEASED] = "released",
	[EVENT_EXPIRED] = "expired",
	[EVENT_FORCED] = "forced",
	[EVENT_LOST] = "lost",
	[EVENT_LEFT] = "left",
	[EVENT_SUPERSEDED] = "superseded",
};

int64_t event_number(const char *text)
{
	const size_t length = strlen(text);
	int64_t number;

	return length == 0 || length > 15 || number_parse(text, length, &number) < 0 ||
			       number > TIMESTAMP_LAST_MS
		       ? UNKNOWN_MS
		       : number;
}

/* ---- Intervals: each waiter and holder, from when to when ---- */

enum interval_end {
	INTERVAL_UNKNOWN, /* nothing tells it */
	INTERVAL_GOES_ON,
	INTERVAL_RELEASED,
	INTERVAL_BROKEN, /* expired, forced or lost */
	INTERVAL_LEFT,   /* the queue, without a grant */
};

/* A process that waited, and then held the lock or left the queue, or still does either. Always
 * waits_ms <= holds_ms <= ends_ms. */
struct interval {
	int64_t waits_ms; /* when it began to wait */
	int64_t holds_ms; /* when it got the lock; if it never did, as ends_ms */
	int64_t ends_ms;
	bool holds; /* it held the lock at some time */
	enum interval_end end;
	const char *by; /* as owner_describe wrote it; belongs to the history */
	int64_t token;
	size_t row; /* of a drawing */
};

struct intervals {
	struct interval *list;
	size_t count;
	bool goes_on;    /* a process holds or waits now */
	int64_t from_ms; /* the time of --since; without it, when the first one began */
	int64_t to_ms;   /* now; without --since, if nothing goes on, when the last one ended */
};

/* The description that owner_describe would have written about a Redisson client. */
#define BY_REDISSON "\t\t\tredisson"

static int64_t before(int64_t ms, int64_t length_ms)
{
	return length_ms == UNKNOWN_MS ? ms : length_ms < ms ? ms - length_ms : 0;
}

/* A wait that ended at ms. */
static struct interval *add(struct intervals *intervals, const char *by, int64_t ms,
			    int64_t waited_ms)
{
	struct interval *span = &intervals->list[intervals->count++];

	*span = (struct interval){
		.waits_ms = before(ms, waited_ms),
		.holds_ms = ms,
		.ends_ms = ms,
		.by = by,
		.token = UNKNOWN_MS,
	};
	return span;
}

static struct interval *add_hold(struct intervals *intervals, const char *by, int64_t token,
				 int64_t since_ms, int64_t waited_ms)
{
	struct interval *span = add(intervals, by, since_ms, waited_ms);

	span->holds = true;
	span->token = token;
	return span;
}

/* The hold with this token that nothing has ended yet, or NULL. */
static struct interval *find_hold(const struct intervals *intervals, int64_t token)
{
	for (size_t i = intervals->count; i > 0 && token != UNKNOWN_MS; i--)
		if (intervals->list[i - 1].token == token &&
		    intervals->list[i - 1].end == INTERVAL_UNKNOWN)
			return &intervals->list[i - 1];
	return NULL;
}

static void end_hold(struct intervals *intervals, const struct log_event *event)
{
	const int64_t token = event_number(event->texts[EVENT_TOKEN]);
	struct interval *span = find_hold(intervals, token);

	if (!span) /* its grant is not among the events */
		span = add_hold(intervals, event->texts[EVENT_BY], token,
				before(event->time_ms, event->held_ms), event->waited_ms);
	span->ends_ms = MAX(event->time_ms, span->holds_ms);
	span->end = event->kind == EVENT_RELEASED ? INTERVAL_RELEASED : INTERVAL_BROKEN;
}

static void add_event(struct intervals *intervals, const struct log_event *event)
{
	const char *by = event->texts[EVENT_BY];

	if (event->time_ms == UNKNOWN_MS || event->kind == EVENT_OTHER)
		return;
	if (event->kind == EVENT_GRANTED)
		add_hold(intervals, by, event_number(event->texts[EVENT_TOKEN]), event->time_ms,
			 event->waited_ms);
	else if (event->kind == EVENT_LEFT || event->kind == EVENT_SUPERSEDED)
		add(intervals, by, event->time_ms, event->waited_ms)->end = INTERVAL_LEFT;
	else
		end_hold(intervals, event);
}

/* No event has ended this hold: it goes on, or its lease ended and no script came by. What stands
 * where: see lua/scripts/look.lua. */
static void add_last_hold(struct intervals *intervals, const struct history *history,
			  const struct redisReply *hold)
{
	const char *owner = reply_text(hold, 0);
	const int64_t token = event_number(reply_text(hold, 1)),
		      since_ms = event_number(reply_text(hold, 2)),
		      until_ms = event_number(reply_text(hold, 3));
	const bool is_alone = strcmp(reply_text(hold, 6), MODE_EXCLUSIVE) == 0;
	const bool goes_on = *history->holder && (is_alone ? strcmp(history->holder, owner) == 0
							   : until_ms > history->now_ms);
	struct interval *span = find_hold(intervals, token);

	if (!*owner || since_ms == UNKNOWN_MS)
		return;
	if (!span)
		span = add_hold(intervals, reply_text(hold, 5), token, since_ms,
				event_number(reply_text(hold, 4)));
	span->ends_ms = goes_on || until_ms == UNKNOWN_MS ? history->now_ms
							  : MIN(until_ms, history->now_ms);
	span->ends_ms = MAX(span->ends_ms, span->holds_ms);
	span->end = goes_on ? INTERVAL_GOES_ON : INTERVAL_BROKEN;
}

/* Redisson writes no log: of its holder only this moment is known. */
static void add_redisson_hold(struct intervals *intervals, const struct history *history)
{
	bool is_ours = !*history->holder;

	for (size_t i = 0; i < reply_count(history->holds); i++)
		is_ours |= strcmp(history->holder, reply_text(reply_at(history->holds, i), 0)) == 0;
	if (!is_ours)
		add_hold(intervals, BY_REDISSON, UNKNOWN_MS, history->now_ms, 0)->end =
			INTERVAL_GOES_ON;
}

static void add_waiter(struct intervals *intervals, const struct redisReply *waiter, int64_t now_ms)
{
	const int64_t since_ms = event_number(reply_text(waiter, 0));
	const char *by = reply_text(waiter, 1);
	struct interval *span = add(intervals, *by ? by : BY_REDISSON, now_ms, UNKNOWN_MS);

	if (since_ms != UNKNOWN_MS)
		span->waits_ms = MIN(since_ms, now_ms);
	span->end = INTERVAL_GOES_ON;
}

static void find_bounds(struct intervals *intervals, const struct history *history)
{
	intervals->from_ms = history->from_ms;
	intervals->to_ms = history->from_ms;
	for (size_t i = 0; i < intervals->count; i++) {
		const struct interval *span = &intervals->list[i];

		intervals->goes_on |= span->end == INTERVAL_GOES_ON;
		if (history->from_ms == UNKNOWN_MS &&
		    (i == 0 || span->waits_ms < intervals->from_ms))
			intervals->from_ms = span->waits_ms;
		intervals->to_ms = MAX(intervals->to_ms, span->ends_ms);
	}
	if (intervals->goes_on || history->from_ms != UNKNOWN_MS)
		intervals->to_ms = MAX(intervals->to_ms, history->now_ms);
}

/* Joins the events of each hold. The history is of one lock. */
static int make_intervals(struct intervals *intervals, const struct history *history,
			  struct error *err)
{
	const size_t most = history->count + reply_count(history->holds) +
			    reply_count(history->waiters) + 1; /* one of Redisson's */

	*intervals = (struct intervals){.list = calloc(most, sizeof(struct interval))};
	if (!intervals->list)
		return fail(err, STATUS_OS, "cannot read a log: %s", strerror(ENOMEM));
	for (size_t i = 0; i < history->count; i++)
		add_event(intervals, &history->events[i]);
	for (size_t i = 0; i < reply_count(history->holds); i++)
		add_last_hold(intervals, history, reply_at(history->holds, i));
	add_redisson_hold(intervals, history);
	for (size_t i = 0; i < reply_count(history->waiters); i++)
		add_waiter(intervals, reply_at(history->waiters, i), history->now_ms);
	find_bounds(intervals, history);
	return 0;
}

/* ==== Figures: `log --stats` ==== */

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
 * 95th percentile. times has room for one of each event. */
static void measure_times(const struct history *history, bool of_waits, int64_t *times,
			  int64_t figures[FIGURES])
{
	size_t n = 0;

	for (size_t i = 0; i < history->count; i++) {
		const struct log_event *event = &history->events[i];
		const int64_t ms = of_waits ? event->waited_ms : event->held_ms;

		if (ms != UNKNOWN_MS &&
		    (of_waits ? event->kind == EVENT_GRANTED
			      : event->kind > EVENT_GRANTED && event->kind < EVENT_LEFT))
			times[n++] = ms;
	}
	qsort(times, n, sizeof(*times), compare_times);
	figures[MEDIAN] = n > 0 ? (times[(n - 1) / 2] + times[n / 2]) / 2 : UNKNOWN_MS;
	figures[P95] = n > 0 ? times[(n * 95 + 99) / 100 - 1] : UNKNOWN_MS;
	figures[LONGEST] = n > 0 ? times[n - 1] : UNKNOWN_MS;
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

/* ---- Printing ---- */

static void print_json_time(struct json *json, const char *key, int64_t ms)
{
	char text[TIMESTAMP_MAX_BYTES];

	json_text(json, key, ms == UNKNOWN_MS ? NULL : timestamp_rfc3339(text, ms));
}

/* null: it is not known. */
static void print_json_number(struct json *json, const char *key, int64_t number)
{
	json_printf(json, key, number == UNKNOWN_MS ? "null" : "%" PRId64, number);
}

/* A part of a time, or a multiple of it. */
static void print_json_part(struct json *json, const char *key, int64_t ms, int64_t of_ms)
{
	json_printf(json, key, of_ms > 0 ? "%.4f" : "null", (double)ms / (double)of_ms);
}

static void print_json_figures(struct json *json, const char *key, const int64_t figures[FIGURES])
{
	json_open(json, key, '{');
	for (int i = 0; i < FIGURES; i++)
		print_json_number(json, figure_names[i], figures[i]);
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
		print_json_number(&json, event_names[i], stats->counts[i]);
	print_json_number(&json, "failed", stats->failed);
	print_json_part(&json, "busy", stats->busy_ms, length_ms);
	print_json_part(&json, "mean_holders", stats->held_ms, length_ms);
	print_json_number(&json, "most_holders", stats->most);
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

static int print_stats(const struct history *history, const struct intervals *intervals,
		       const char *name, bool as_json, struct error *err)
{
	int64_t *times = calloc(history->count + 1, sizeof(*times)); /* there may be none */
	struct stats stats = {0};

	if (!times)
		return fail(err, STATUS_OS, "cannot count the times: %s", strerror(ENOMEM));
	measure_holds(&stats, history, intervals);
	measure_times(history, true, times, stats.waited);
	measure_times(history, false, times, stats.held);
	free(times);
	for (size_t i = 0; i < history->count; i++) {
		const struct log_event *event = &history->events[i];

		if (event->kind != EVENT_OTHER)
			stats.counts[event->kind]++;
		stats.failed += has_failed(event);
	}
	if (as_json)
		print_json(&stats);
	else
		print_text(&stats, name);
	return 0;
}

/* ==== The drawing: `log --plot`. A row is an array of columns; of several marks in a column the
 * greatest one is seen. ==== */

#define LABELS_MOST 48   /* columns on the left of a drawing */
#define COMMAND_LEAST 13 /* for "up to 10 wait" */
#define ROWS_LEAST 5
#define ROWS_BESIDE 9  /* a screen also has title, axis, key and prompt */
#define ROWS_UNSEEN 40 /* without a screen */

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
	const char *meaning;
} marks[MARKS] = {
	[NOTHING] = {" ", " ", "", ""},
	[TICK] = {"┊", "|", "90", ""},
	[WAITS] = {"░", ".", "35", "waits"},
	[HOLDS] = {"█", "#", "32", "holds"},
	[LEFT] = {"×", "x", "35", "left the queue"},
	[BAD] = {"!", "!", "1;31", "expired, forced, lost"},
};

static const char *const levels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

#define LEVELS 8

/* A stretch of time drawn in columns of equal length, with ticks at round times. */
struct axis {
	int64_t from_ms;
	int64_t to_ms;
	int64_t step_ms; /* between two ticks */
	int columns;
};

/* A command of one user on one host. It may have run often. */
struct job {
	struct owner_process process;
	char place[BY_MAX_BYTES + 1]; /* user@host */
};

/* A job has one row, and more if it ran or waited several times at once. */
struct row {
	size_t job;
	int64_t last_ms; /* when its last interval ended */
};

struct plot {
	struct terminal terminal;
	struct axis axis;
	struct intervals intervals;
	struct job *jobs; /* in the order in which they began */
	size_t job_count;
	struct row *rows; /* in the order in which they began */
	size_t row_count;
	size_t most_rows;  /* so many are shown */
	const char *place; /* common to all jobs, so that no label shows it; "": there is none */
	int command_width;
	int place_width;                   /* 0: it is not shown */
	unsigned char cells[COLUMNS_MOST]; /* the marks of one row */
	size_t waiting[COLUMNS_MOST];      /* how many at once: the most within each column */
};

/* ---- Rows ---- */

static int compare_spans(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	if (x->waits_ms != y->waits_ms)
		return x->waits_ms > y->waits_ms ? 1 : -1;
	return (x->ends_ms > y->ends_ms) - (x->ends_ms < y->ends_ms);
}

static size_t find_job(struct plot *plot, const char *by)
{
	struct job *new = &plot->jobs[plot->job_count];
	struct owner_process *process = &new->process;
	size_t i = 0;

	owner_parse(process, by);
	process->command = owner_without_folder(process->command);
	if (!*process->command)
		process->command = "?";
	snprintf(new->place, sizeof(new->place), "%s%s%s", process->user,
		 *process->user && *process->host ? "@" : "", process->host);
	while (strcmp(plot->jobs[i].process.command, process->command) != 0 ||
	       strcmp(plot->jobs[i].place, new->place) != 0)
		i++; /* the search ends at the new one, if not before */
	plot->job_count += i == plot->job_count;
	return i;
}

/* An interval goes into the first row of its job that is free by then. */
static size_t find_row(struct plot *plot, size_t job, const struct interval *span)
{
	size_t i = 0;

	while (i < plot->row_count &&
	       (plot->rows[i].job != job || plot->rows[i].last_ms > span->waits_ms))
		i++;
	if (i == plot->row_count)
		plot->rows[plot->row_count++] = (struct row){.job = job};
	plot->rows[i].last_ms = span->ends_ms;
	return i;
}

/* Sorts the intervals by their beginnings and gives each one a row. */
static void make_rows(struct plot *plot)
{
	struct intervals *intervals = &plot->intervals;

	qsort(intervals->list, intervals->count, sizeof(*intervals->list), compare_spans);
	for (size_t i = 0; i < intervals->count; i++) {
		struct interval *span = &intervals->list[i];

		span->row = find_row(plot, find_job(plot, span->by), span);
	}
}

/* The latest rows are shown; of those that ended at the same time, the upper ones in the drawing.
 */
static bool is_shown(const struct plot *plot, const struct row *row)
{
	size_t before = 0;

	for (size_t i = 0; i < plot->row_count; i++) {
		const struct row *other = &plot->rows[i];
		const bool is_above =
			other->job < row->job || (other->job == row->job && other < row);

		before += other->last_ms > row->last_ms ||
			  (other->last_ms == row->last_ms && is_above);
	}
	return before < plot->most_rows;
}

/* ---- The axis ---- */

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

#define TICK_GAP 3  /* behind the label of a tick */
#define DAY_WIDTH 6 /* of "Nov 21", which stands at midnight among shorter ones */

/* Ticks are multiples of a step in local time, so that a day begins at midnight. */
static const int64_t steps[] = {
	100,         200,         500,         SECOND,     2 * SECOND, 5 * SECOND,  10 * SECOND,
	15 * SECOND, 30 * SECOND, MINUTE,      2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE,
	30 * MINUTE, HOUR,        2 * HOUR,    3 * HOUR,   6 * HOUR,   12 * HOUR,   DAY,
	2 * DAY,     7 * DAY,     14 * DAY,    28 * DAY,   91 * DAY,   182 * DAY,   365 * DAY,
	1826 * DAY,  3652 * DAY,  36524 * DAY,
};

/* The column that a time falls into; the first or last one if it lies outside. */
static int column_of(const struct axis *axis, int64_t ms)
{
	const int64_t column = (ms - axis->from_ms) * axis->columns / (axis->to_ms - axis->from_ms);

	if (ms < axis->from_ms)
		return 0;
	return column < axis->columns ? (int)column : axis->columns - 1;
}

/* How far local time is ahead of UTC at that time. */
static int64_t offset_of(int64_t ms)
{
	const time_t seconds = (time_t)(ms / 1000);
	struct tm parts = {0};

	localtime_r(&seconds, &parts);
	return (int64_t)parts.tm_gmtoff * 1000;
}

/* The first tick after this time. */
static int64_t next_tick(const struct axis *axis, int64_t ms)
{
	const int64_t offset_ms = offset_of(ms);
	const int64_t local_ms = ((ms + offset_ms) / axis->step_ms + 1) * axis->step_ms;
	/* summer time may begin in between */
	const int64_t tick_ms = local_ms - offset_of(local_ms - offset_ms);

	return tick_ms > ms ? tick_ms : ms + axis->step_ms;
}

static const char *label_tick(const struct axis *axis, int64_t tick_ms,
			      char text[TIMESTAMP_MAX_BYTES])
{
	const bool is_midnight = (tick_ms + offset_of(tick_ms)) % DAY == 0;
	size_t length;

	if (axis->step_ms > 28 * DAY)
		return timestamp_local(text, tick_ms, "%F");
	if (axis->step_ms >= DAY || (is_midnight && axis->step_ms >= MINUTE))
		return timestamp_local(text, tick_ms, "%b %e");
	if (axis->step_ms >= MINUTE)
		return timestamp_local(text, tick_ms, "%H:%M");
	timestamp_local(text, tick_ms, "%T");
	length = strlen(text);
	if (axis->step_ms < SECOND)
		snprintf(text + length, TIMESTAMP_MAX_BYTES - length, ".%d",
			 (int)(tick_ms % SECOND / 100));
	return text;
}

/* Chooses as many ticks as have room for their labels. */
static void init_axis(struct axis *axis, int64_t from_ms, int64_t to_ms, int columns)
{
	const size_t last = sizeof(steps) / sizeof(steps[0]) - 1;
	char text[TIMESTAMP_MAX_BYTES];
	int64_t room = 0;

	if (to_ms - from_ms < SECOND)
		from_ms = to_ms - SECOND;
	*axis = (struct axis){.from_ms = from_ms, .to_ms = to_ms, .columns = columns};
	for (size_t i = 0; i <= last && room < TICK_GAP; i++) {
		axis->step_ms = steps[i];
		room = steps[i] * columns / (to_ms - from_ms) -
		       MAX((int64_t)strlen(label_tick(axis, to_ms, text)), DAY_WIDTH);
	}
}

/* ---- The labels on the left ---- */

/* Cuts the labels if they would leave too little room. A command gets the room that its place
 * leaves, and a place at least half of it all. */
static void measure_labels(struct plot *plot)
{
	const struct terminal *terminal = &plot->terminal;
	const int most = MIN(terminal->columns * 2 / 5, LABELS_MOST);
	int command = COMMAND_LEAST, place = 0;

	plot->place = plot->jobs[0].place;
	assert(plot->place); /* there is a job */
	for (size_t i = 0; i < plot->job_count; i++) {
		command = MAX(command, terminal_width(terminal, plot->jobs[i].process.command));
		place = MAX(place, terminal_width(terminal, plot->jobs[i].place));
		if (strcmp(plot->jobs[0].place, plot->jobs[i].place) != 0)
			plot->place = "";
	}
	place = *plot->place ? 0 : MIN(place, MAX(most / 2, most - command - 1));
	plot->place_width = place;
	plot->command_width = MIN(command, most - place - (place > 0));
}

/* The blank behind them is included. */
static int labels_width(const struct plot *plot)
{
	return plot->command_width + plot->place_width + (plot->place_width > 0) + 1;
}

/* Prints a text in exactly width columns, cut or padded. */
static void put_text(const struct plot *plot, const char *text, int width)
{
	char cut[4 * COLUMNS_MOST + 1];
	const int used = terminal_cut(&plot->terminal, cut, sizeof(cut), text, width);

	printf("%s%*s", cut, width - used, "");
}

/* Prints the label of a job; if job is NULL, as many blanks. */
static void put_label(const struct plot *plot, const struct job *job)
{
	put_text(plot, job ? job->process.command : "", plot->command_width);
	if (plot->place_width > 0) {
		putchar(' ');
		put_text(plot, job ? job->place : "", plot->place_width);
	}
	putchar(' ');
}

/* ---- The queue ---- */

/* Within a column, the most wait where it begins or where another one begins to wait. Returns how
 * many that are in the fullest one. */
static size_t count_queue(struct plot *plot)
{
	const struct intervals *intervals = &plot->intervals;
	const struct axis *axis = &plot->axis;
	const int64_t length_ms = axis->to_ms - axis->from_ms;
	const size_t columns = (size_t)axis->columns;
	size_t most = 0;

	for (size_t i = 0; i < columns + intervals->count; i++) {
		const int64_t offset = (int64_t)i * length_ms + axis->columns - 1;
		const int64_t ms = i < columns ? axis->from_ms + offset / axis->columns
					       : intervals->list[i - columns].waits_ms;
		size_t *column = &plot->waiting[column_of(axis, ms)], waiting = 0;

		for (size_t j = 0; j < intervals->count && ms >= axis->from_ms; j++)
			waiting += intervals->list[j].waits_ms <= ms &&
				   ms < intervals->list[j].holds_ms;
		*column = MAX(*column, waiting);
		most = MAX(most, waiting);
	}
	return most;
}

/* ---- Marks ---- */

static void set_colour(const struct plot *plot, const char *colour)
{
	if (plot->terminal.colour)
		printf("\033[%sm", colour);
}

static void put_mark(const struct plot *plot, enum mark mark)
{
	fputs(plot->terminal.utf8 ? marks[mark].fine : marks[mark].plain, stdout);
}

static void put_marks(const struct plot *plot)
{
	enum mark before = NOTHING;
	int end = plot->axis.columns;

	while (end > 0 && plot->cells[end - 1] == NOTHING)
		end--;
	for (int i = 0; i < end; i++) {
		const enum mark mark = plot->cells[i];

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
	const struct axis *axis = &plot->axis;
	const int holds = column_of(axis, span->holds_ms);
	const int last = column_of(axis, span->ends_ms - (span->ends_ms > span->holds_ms));
	const int64_t half_ms = (axis->to_ms - axis->from_ms) / axis->columns / 2;

	if (span->ends_ms < axis->from_ms)
		return;
	if (span->holds_ms > span->waits_ms)
		mark_columns(plot, column_of(axis, span->waits_ms + half_ms),
			     column_of(axis, span->holds_ms - 1), WAITS);
	if (span->holds)
		mark_columns(plot, holds, last, HOLDS);
	else if (span->end == INTERVAL_LEFT)
		mark_columns(plot, last, last, LEFT);
	else if (span->waits_ms == span->ends_ms)
		mark_columns(plot, last, last, WAITS);
	if (span->end == INTERVAL_BROKEN)
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
		 *plot->place ? ", all by " : "", plot->place);
	put_text(plot, text, MIN(terminal_width(&plot->terminal, text), plot->terminal.columns));
	puts("\n");
}

static void put_axis(const struct plot *plot)
{
	const struct axis *axis = &plot->axis;
	char text[TIMESTAMP_MAX_BYTES];
	int at = 0;

	put_label(plot, NULL);
	for (int64_t tick = next_tick(axis, axis->from_ms - 1); tick < axis->to_ms;
	     tick = next_tick(axis, tick)) {
		const int column = column_of(axis, tick);
		const char *label = label_tick(axis, tick, text);

		if (column < at || column + (int)strlen(label) > axis->columns)
			continue;
		at += printf("%*s%s", column - at, "", label);
	}
	putchar('\n');
}

static void put_row(struct plot *plot, size_t row, const struct job *label)
{
	const struct axis *axis = &plot->axis;

	memset(plot->cells, NOTHING, (size_t)axis->columns);
	for (int64_t tick = next_tick(axis, axis->from_ms - 1); tick < axis->to_ms;
	     tick = next_tick(axis, tick))
		plot->cells[column_of(axis, tick)] = TICK;
	for (size_t i = 0; i < plot->intervals.count; i++)
		if (plot->intervals.list[i].row == row)
			mark_span(plot, &plot->intervals.list[i]);
	put_label(plot, label);
	put_marks(plot);
}

/* The rows of a job stand together, below its label. */
static void put_rows(struct plot *plot)
{
	for (size_t job = 0; job < plot->job_count; job++) {
		const struct job *label = &plot->jobs[job];

		for (size_t i = 0; i < plot->row_count; i++) {
			if (plot->rows[i].job != job || !is_shown(plot, &plot->rows[i]))
				continue;
			put_row(plot, i, label);
			label = NULL;
		}
	}
}

/* Shows a pile-up even if it has more rows than the screen. */
static void put_queue(const struct plot *plot, size_t most)
{
	int end = plot->axis.columns;
	char text[64];

	while (end > 0 && plot->waiting[end - 1] == 0)
		end--;
	snprintf(text, sizeof(text), "up to %zu wait", most);
	put_text(plot, text, labels_width(plot) - 1);
	putchar(' ');
	set_colour(plot, marks[WAITS].colour);
	for (int i = 0; i < end; i++) {
		const size_t count = plot->waiting[i];

		if (plot->terminal.utf8)
			fputs(levels[(count * LEVELS + most - 1) / most], stdout);
		else
			putchar(count == 0 ? ' ' : count > 9 ? '+' : (char)('0' + count));
	}
	set_colour(plot, "");
	putchar('\n');
}

static void put_key(const struct plot *plot)
{
	static const enum mark keys[] = {HOLDS, WAITS, LEFT, BAD};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		fputs(i > 0 ? "  " : "\n", stdout);
		set_colour(plot, marks[keys[i]].colour);
		put_mark(plot, keys[i]);
		set_colour(plot, "");
		printf(" %s", marks[keys[i]].meaning);
	}
	putchar('\n');
	if (plot->row_count > plot->most_rows)
		printf("%zu more rows are not shown\n", plot->row_count - plot->most_rows);
}

static void draw(struct plot *plot, const char *name)
{
	const int rows = plot->terminal.rows;
	size_t most_waiting;

	plot->most_rows = (size_t)(rows > 0 ? MAX(ROWS_LEAST, rows - ROWS_BESIDE) : ROWS_UNSEEN);
	make_rows(plot);
	measure_labels(plot);
	init_axis(&plot->axis, plot->intervals.from_ms, plot->intervals.to_ms,
		  plot->terminal.columns - labels_width(plot));
	most_waiting = count_queue(plot);
	put_title(plot, name);
	put_axis(plot);
	put_rows(plot);
	if (most_waiting > 1)
		put_queue(plot, most_waiting);
	put_key(plot);
}

static int print_plot(const struct intervals *intervals, const char *name, bool is_coloured,
		      struct error *err)
{
	struct plot plot = {.intervals = *intervals};
	int result = 0;

	terminal_init(&plot.terminal, STDOUT_FILENO);
	plot.terminal.colour = is_coloured;
	plot.jobs = calloc(intervals->count + 1, sizeof(*plot.jobs));
	plot.rows = calloc(intervals->count + 1, sizeof(*plot.rows));
	if (!plot.jobs || !plot.rows)
		result = fail(err, STATUS_OS, "cannot draw the plot: %s", strerror(ENOMEM));
	else if (intervals->count > 0)
		draw(&plot, name);
	else
		printf("%s: nothing is known\n", name);
	free(plot.rows);
	free(plot.jobs);
	return result;
}

int history_print(const struct history *history, const char *name, const struct options *options,
		  struct error *err)
{
	struct intervals intervals;
	int result = make_intervals(&intervals, history, err);

	if (result == 0 && options->plot)
		result = print_plot(&intervals, name,
				    terminal_colours(options->colour, STDOUT_FILENO), err);
	else if (result == 0)
		result = print_stats(history, &intervals, name, options->json, err);
	free(intervals.list);
	return result;
}

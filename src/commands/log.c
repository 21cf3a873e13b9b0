/* fairlock log: prints the latest events of a lock, or of all locks, as a list, in figures, or
 * drawn. With --follow it looks for new ones again and again. Every field of a reply is checked:
 * others can write into a stream, too. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "lock/lock.h"
#include "lock/lock_list.h"
#include "output/table.h"
#include "redis/cluster_nodes.h"
#include "redis/reply.h"

/* From one look for new events to the next. */
#define PERIOD_MS 1000

/* From one search for locks, and for the nodes that have them, to the next; and four times as long
 * as it takes, because a server goes through all its keys, and a hung node delays the others. */
#define SEARCH_MS 5000

/* The server keeps at least so many events. */
#define LOG_LENGTH 1000

/* The id of an entry of a stream: two numbers of 64 bits. */
#define ENTRY_ID_MAX_BYTES 48

struct log_query {
	char since[24];  /* only events of the last so many ms, or since "@TIME" in ms; "": all */
	int64_t from_ms; /* what since means; UNKNOWN_MS until the server's time is known */
};

static int no_memory(struct error *err)
{
	return fail(err, STATUS_OS, "cannot read a log: %s", strerror(ENOMEM));
}

/* ---- Events ---- */

/* A time or duration that is not known. Times are the server's, in milliseconds since the epoch. */
#define UNKNOWN_MS (-1)

enum event_kind {
	EVENT_GRANTED,
	EVENT_RELEASED,
	EVENT_EXPIRED,
	EVENT_FORCED,
	EVENT_LOST,
	EVENT_LEFT,
	EVENT_SUPERSEDED,
	EVENT_OTHER, /* it changed no hold and no wait */
};

static const char *const event_names[EVENT_OTHER] = {
	[EVENT_GRANTED] = "granted",
	[EVENT_RELEASED] = "released",
	[EVENT_EXPIRED] = "expired",
	[EVENT_FORCED] = "forced",
	[EVENT_LOST] = "lost",
	[EVENT_LEFT] = "left",
	[EVENT_SUPERSEDED] = "superseded",
};

struct log_event {
	enum event_kind kind;
	const char *id;
	const char *texts[COLUMN_COUNT]; /* "" if unknown; they live as long as the reply */
	int64_t time_ms;
	int64_t waited_ms;
	int64_t held_ms;
};

/* The events of a lock, as the reply for it tells them. Starts as {0}. */
struct history {
	struct log_event *events; /* in the order in which they were written */
	size_t count;
	bool may_lack; /* the server may have dropped earlier events: a log has an end */
	int64_t now_ms;
	int64_t from_ms; /* events from here on were asked for; UNKNOWN_MS: all */
	/* these live until the client's next request */
	const char *holder;               /* "": the lock is free */
	const struct redisReply *waiters; /* who is present, in the order of the queue */
	const struct redisReply *holds;   /* those whose end the log does not have */
};

/* Reads a number that others wrote: a time, a duration, a token. UNKNOWN_MS: it is none. */
static int64_t event_number(const char *text)
{
	const size_t length = strlen(text);
	int64_t number;

	return length == 0 || length > 15 || number_parse(text, length, &number) < 0 ||
			       number > TIMESTAMP_LAST_MS
		       ? UNKNOWN_MS
		       : number;
}

/* The fields of an entry. WHO has a whole description of the process, and BY that of the one that
 * did it, if it was another one. */
static const char *const fields[COLUMN_COUNT] = {
	[COLUMN_EVENT] = "event",  [COLUMN_TIME] = "time",     [COLUMN_WAITED_MS] = "waited",
	[COLUMN_HELD_MS] = "held", [COLUMN_OWNER] = "owner",   [COLUMN_TOKEN] = "token",
	[COLUMN_WHO] = "by",       [COLUMN_STATUS] = "status", [COLUMN_CAUSE] = "cause",
	[COLUMN_SLOT] = "slot",    [COLUMN_BY] = "actor",
};

/* The texts of the event are those of the reply. */
static int read_event(struct log_event *event, const struct redisReply *entry)
{
	const struct redisReply *list = reply_at(entry, 1);
	const char *id = reply_text(entry, 0);
	char begin[ENTRY_ID_MAX_BYTES];

	*event = (struct log_event){.id = id};
	if (!reply_fits(entry, "sl") || strlen(id) >= ENTRY_ID_MAX_BYTES)
		return -1;
	for (int column = 0; column < COLUMN_COUNT; column++) {
		event->texts[column] = "";
		for (size_t i = 0; fields[column] && i + 1 < reply_count(list); i += 2)
			if (strcmp(reply_text(list, i), fields[column]) == 0)
				event->texts[column] = reply_text(list, i + 1);
	}
	while (event->kind < EVENT_OTHER &&
	       strcmp(event->texts[COLUMN_EVENT], event_names[event->kind]) != 0)
		event->kind++;
	/* an id begins with the time when the entry was written */
	snprintf(begin, sizeof(begin), "%.*s", (int)strspn(id, DIGITS), id);
	event->time_ms = event_number(event->texts[COLUMN_TIME]);
	if (event->time_ms == UNKNOWN_MS)
		event->time_ms = event_number(begin);
	event->waited_ms = event_number(event->texts[COLUMN_WAITED_MS]);
	event->held_ms = event_number(event->texts[COLUMN_HELD_MS]);
	return 0;
}

/* ==== Intervals: each waiter and holder, from when to when. A grant opens one, the event that ends
 * the hold closes it; either may be missing. How busy the lock was comes from them, and so does the
 * drawing. ==== */

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
	const int64_t token = event_number(event->texts[COLUMN_TOKEN]);
	struct interval *span = find_hold(intervals, token);

	if (!span) /* its grant is not among the events */
		span = add_hold(intervals, event->texts[COLUMN_WHO], token,
				before(event->time_ms, event->held_ms), event->waited_ms);
	span->ends_ms = MAX(event->time_ms, span->holds_ms);
	span->end = event->kind == EVENT_RELEASED ? INTERVAL_RELEASED : INTERVAL_BROKEN;
}

static void add_event(struct intervals *intervals, const struct log_event *event)
{
	const char *by = event->texts[COLUMN_WHO];

	if (event->time_ms == UNKNOWN_MS || event->kind == EVENT_OTHER)
		return;
	if (event->kind == EVENT_GRANTED)
		add_hold(intervals, by, event_number(event->texts[COLUMN_TOKEN]), event->time_ms,
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
		return no_memory(err);
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
	const char *cause = event->texts[COLUMN_CAUSE];

	return event->kind == EVENT_RELEASED && (event_number(event->texts[COLUMN_STATUS]) > 0 ||
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
		return no_memory(err);
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
		result = no_memory(err);
	else if (intervals->count > 0)
		draw(&plot, name);
	else
		printf("%s: nothing is known\n", name);
	free(plot.rows);
	free(plot.jobs);
	return result;
}

/* Prints what --stats or --plot asks for of a lock: how often it was taken, how long that took and
 * lasted, and how busy it was; or its waiters and holders, drawn to scale, as wide as the screen.
 */
static int history_print(const struct history *history, const char *name,
			 const struct options *options, struct error *err)
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

/* ==== The list, and the reading of the logs ==== */

/* ---- The table ---- */

#define JSON                                                                                       \
	"NAME,TIME,EVENT,OWNER,HOST,PID,USER,COMMAND,SLOT,REASON,TOKEN,WAITED_MS,HELD_MS,BY,"      \
	"STATUS,CAUSE"

static const struct layout log_layout = {
	.name = "log",
	.columns = JSON ",WAITED,HELD,WHO",
	.people = "TIME,NAME,EVENT,SLOT,WAITED,HELD,STATUS,CAUSE,USER,HOST,PID,COMMAND,BY",
	.screen = "TIME,NAME,EVENT,SLOT,WAITED,HELD,STATUS,CAUSE,WHO,PID,COMMAND,BY",
	.raw = "TIME,NAME,EVENT,WAITED_MS,HELD_MS,STATUS,CAUSE,USER,HOST,PID,COMMAND",
	.json = JSON,
	.nothing = "no events",
};

/* lock: its name. Events of one lock stay in their order; those of several are sorted. */
static int add_line(struct table *table, const struct log_event *event, const char *lock,
		    bool is_sorted, struct error *err)
{
	const char *const *texts = event->texts;
	struct table_row row = {0};
	const bool is_short = table_is_short(table);
	struct owner_process process;
	char actor[OWNER_SHOWN_BYTES], who[BY_MAX_BYTES];

	memcpy(row.cells, texts, sizeof(row.cells));
	row.cells[COLUMN_NAME] = lock;
	row.cells[COLUMN_TIME] = row.cells[COLUMN_WAITED_MS] = row.cells[COLUMN_HELD_MS] = NULL;
	if (*texts[COLUMN_BY])
		row.cells[COLUMN_BY] = owner_show(actor, MESSAGE_CHARACTERS, texts[COLUMN_BY]);
	owner_fill_row(&row, &process, texts[COLUMN_WHO]);
	snprintf(who, sizeof(who), "%s%s%s", process.user, *process.host ? "@" : "", process.host);
	row.cells[COLUMN_WHO] = who;
	if (is_short && *process.reason)
		row.cells[COLUMN_COMMAND] = process.reason;
	table_row_number(&row, COLUMN_TIME, event->time_ms);
	table_row_number(&row, COLUMN_WAITED_MS, event->waited_ms);
	table_row_number(&row, COLUMN_HELD_MS, event->held_ms);
	if (!is_short || event->waited_ms > 0)
		row.cells[COLUMN_WAITED] = row.cells[COLUMN_WAITED_MS];
	row.cells[COLUMN_HELD] = row.cells[COLUMN_HELD_MS];
	row.rank = is_sorted ? row.cells[COLUMN_TIME] : NULL;
	return table_add(table, &row, err);
}

/* ---- --since ---- */

/* Reads ".345" as milliseconds, without what is less, and moves *at behind it. */
static int64_t take_fraction(const char **at)
{
	const char *text = *at;

	if (*text != '.')
		return 0;
	*at += 1 + strspn(text + 1, DIGITS);
	return (int64_t)(1e3 * strtod(text, NULL) + 1e-6);
}

/* Reads 3:00, 03:00:10 or 03:00:10.5. strptime(3) also takes fewer digits, so they are counted. */
static bool take_clock(const char **at, struct tm *parts, int64_t *fraction_ms)
{
	const char *start = *at;
	const size_t length = strspn(start, DIGITS ":");
	const bool has_seconds = length == 7 || length == 8;

	*at += length;
	if (!has_seconds && length != 4 && length != 5)
		return false;
	if (strptime(start, has_seconds ? "%H:%M:%S" : "%H:%M", parts) != *at)
		return false;
	*fraction_ms = has_seconds ? take_fraction(at) : 0;
	return true;
}

/* Reads Z, +01:00 or -0500, by how much the zone is ahead. musl's strptime(3) does not. */
static bool take_zone(const char **at, int *ahead_s)
{
	int hours = 0, minutes = 0, length = **at == 'Z';

	if ((**at == '+' || **at == '-') && sscanf(*at, "%3d:%2d%n", &hours, &minutes, &length) < 2)
		sscanf(*at, "%3d%2d%n", &hours, &minutes, &length);
	*ahead_s = 60 * (60 * hours + (**at == '-' ? -minutes : minutes));
	*at += length;
	return length > 0;
}

/* Reads a day, none: today; and a clock, none: midnight. T and a zone stand behind a date only.
 * Returns false if there is no such time: timegm turns February 30 into March 2. */
static bool read_time(const char *text, int64_t now_ms, int64_t *ms)
{
	const bool is_date = strspn(text, DIGITS "-") == strlen("2026-11-23");
	const time_t now = (time_t)(now_ms / 1000);
	const char *at = text;
	int64_t fraction_ms = 0;
	bool has_zone = false;
	int ahead_s = 0;
	struct tm parts, real;

	localtime_r(&now, &parts);
	if (strncmp(text, "today", 5) == 0) {
		at += 5;
	} else if (strncmp(text, "yesterday", 9) == 0) {
		at += 9;
		parts.tm_mday--;
		parts.tm_hour = 12; /* which each day has */
		mktime(&parts);
	} else if (is_date) {
		at = strptime(text, "%Y-%m-%d", &parts);
	}
	parts.tm_hour = parts.tm_min = parts.tm_sec = 0;
	parts.tm_isdst = -1;
	if (!at || (at != text && *at && *at != ' ' && (*at != 'T' || !is_date)))
		return false;
	if (at == text || *at) {
		at += at != text;
		if (!take_clock(&at, &parts, &fraction_ms))
			return false;
		has_zone = is_date && take_zone(&at, &ahead_s);
	}
	real = parts;
	timegm(&real); /* not mktime, which knows hours that there are not in a zone */
	if (*at || real.tm_mday != parts.tm_mday)
		return false;
	*ms = 1000 * (int64_t)(has_zone ? timegm(&parts) - ahead_s : mktime(&parts));
	*ms = MAX(*ms + fraction_ms, 0);
	return true;
}

/* Fills since and from_ms with a duration, or with "now", seconds since the epoch behind an @, or a
 * day and a time. A duration counts from the server's time, so the script subtracts it; a time is
 * the same on both sides. */
static int parse_since(struct log_query *query, const char *text, struct error *err)
{
	const int64_t now_ms = wall_ms();
	const size_t digits = *text == '@' ? strspn(text + 1, DIGITS) : 0;
	const char *fault = NULL, *end = text + 1 + digits;
	char shown[SHORT_MAX_BYTES];
	int64_t ms = now_ms;

	query->from_ms = UNKNOWN_MS;
	if (duration_parse(text, &ms) == 0) {
		snprintf(query->since, sizeof(query->since), "%" PRId64, ms);
		return 0;
	}
	if (digits > 0 && digits <= 12)
		ms = strtoll(text + 1, NULL, 10) * 1000 + take_fraction(&end);
	if (digits > 0 ? digits > 12 || *end
		       : strcmp(text, "now") != 0 && !read_time(text, now_ms, &ms))
		fault = "write 2h, 1w, yesterday, 03:00, '2026-11-23 03:00' or @SECONDS";
	else if (ms > now_ms)
		fault = "it is in the future";
	if (fault)
		return fail(err, STATUS_USAGE, "cannot use --since '%s': %s", shorten(shown, text),
			    fault);
	snprintf(query->since, sizeof(query->since), "@%" PRId64, ms);
	query->from_ms = ms;
	return 0;
}

/* ---- Locks ---- */

/* A lock whose log is read. */
struct logged {
	char name[NAME_MAX_BYTES + 1];
	struct client *client;          /* of the node that has it; NULL: none is known */
	char after[ENTRY_ID_MAX_BYTES]; /* its latest entry that was read; "": none */
	bool is_told;                   /* the user knows why its log cannot be read */
};

struct reader {
	const struct invocation *invocation;
	const struct lock_keys *keys; /* of NAME; NULL: the logs of all locks are read */
	struct log_query query;
	struct layout layout;
	char nothing[100];          /* what it says of no events with --since */
	struct table *table;        /* NULL: figures or a drawing are wanted */
	bool is_empty;              /* no event was found */
	struct client client;       /* for NAME */
	struct cluster_nodes nodes; /* for all locks */
	struct logged *locks;
	size_t count;
	int64_t search_ms; /* when to search for locks */
	bool has_begun;    /* the first events were printed */
	int status;        /* not STATUS_OK: one of the logs cannot be read */
};

/* Notes where a lock is: a new one, or one that is known. */
static int note_lock(void *reader, const char *name, struct client *client, struct error *err)
{
	struct reader *r = reader;
	struct logged *locks;
	size_t i = 0;

	while (i < r->count && strcmp(r->locks[i].name, name) != 0)
		i++;
	if (i == r->count) {
		locks = reallocarray(r->locks, i + 1, sizeof(*locks));
		if (!locks)
			return no_memory(err);
		r->locks = locks;
		r->count++;
		locks[i] = (struct logged){0};
		snprintf(locks[i].name, sizeof(locks[i].name), "%s", name);
	}
	r->locks[i].client = client;
	return 0;
}

static int find_locks(struct reader *r, struct error *err)
{
	const struct invocation *invocation = r->invocation;
	const int64_t begun_ms = clock_ms();

	for (size_t i = 0; i < r->count; i++)
		r->locks[i].client = NULL;
	cluster_nodes_close(&r->nodes);
	if (cluster_nodes_open(&r->nodes, invocation->server,
			       r->has_begun ? NULL : invocation->messenger,
			       invocation->options->connect_timeout_ms, false, err) < 0 ||
	    for_each_lock(&r->nodes, LOCK_LOG, NEVER_MS, note_lock, r, err) < 0)
		return -1;
	r->search_ms = clock_ms() + SEARCH_MS + 4 * (clock_ms() - begun_ms);
	return 0;
}

/* ---- Reading and printing ---- */

/* Adds lines to the table, or events to the history. The newest entry is the first one. */
static int add_events(struct reader *r, struct history *history, struct logged *lock,
		      const struct redisReply *entries, struct error *err)
{
	const size_t count = reply_count(entries);
	struct log_event event;

	assert(r->table || !history->events); /* figures and drawings are of one lock */
	if (!r->table && !(history->events = calloc(count + 1, sizeof(event))))
		return no_memory(err);
	history->may_lack = count >= LOG_LENGTH;
	for (size_t i = count; i > 0; i--) {
		if (read_event(&event, reply_at(entries, i - 1)) < 0)
			return reply_nonsense(err);
		strcpy(lock->after, event.id);
		if (event.time_ms < history->from_ms)
			continue;
		r->is_empty = false;
		if (!r->table)
			history->events[history->count++] = event;
		else if (add_line(r->table, &event, lock->name, !r->keys, err) < 0)
			return -1;
	}
	return 0;
}

/* An entry may be written long after its event, so the script cannot leave out all old events. The
 * next requests mean the same time, however much later they come. */
static void settle_since(struct log_query *query, int64_t now_ms)
{
	if (query->since[0] && query->from_ms == UNKNOWN_MS) {
		const int64_t since_ms = strtoll(query->since, NULL, 10);

		query->from_ms = since_ms < now_ms ? now_ms - since_ms : 0;
		snprintf(query->since, sizeof(query->since), "@%" PRId64, query->from_ms);
	}
}

/* Asks for the events of a lock behind the last one that was read, and adds them. */
static int fetch_events(struct reader *r, struct history *history, struct logged *lock,
			const struct lock_keys *keys, struct error *err)
{
	struct log_query *query = &r->query;
	struct client *client = lock->client;
	const struct redisReply *reply;
	struct request request;

	wire_look(keys, &request, "log");
	wire_add(&request, lock->after, query->since, r->table ? "0" : "1");
	request.question = "for the log of lock";
	request.about = keys->shown;
	if (client_ask(client, &request, NEVER_MS, err) < 0)
		return -1;
	reply = client->reply;
	history->now_ms = event_number(reply_text(reply, 1));
	if (!reply_fits(reply, "sslsll") || strcmp(reply_text(reply, 0), "log") != 0 ||
	    history->now_ms == UNKNOWN_MS)
		return lock_refused(reply, err);
	settle_since(query, history->now_ms);
	history->from_ms = query->from_ms;
	history->holder = reply_text(reply, 3);
	history->waiters = reply_at(reply, 4);
	history->holds = reply_at(reply, 5);
	return add_events(r, history, lock, reply_at(reply, 2), err);
}

/* If something else uses the name of one of all locks, the other logs are shown all the same. A
 * node may go away between the search for its locks and the question for a log. */
static int read_log(struct reader *r, struct logged *lock, struct history *history,
		    struct error *err)
{
	char other[SHORT_MAX_BYTES];
	struct lock_keys keys;

	if (lock_keys_make(&keys, lock->name, err) < 0)
		return -1;
	if (fetch_events(r, history, lock, &keys, err) == 0)
		return 0;
	if (r->keys)
		return -1;
	if (err->status == STATUS_USAGE) /* the user has not named this lock */
		fail(err, STATUS_CONFIG,
		     "cannot show the log of lock %s: its name on the server is %s", keys.shown,
		     shorten(other, reply_text(lock->client->reply, 1)));
	if (err->status != STATUS_CONFIG) {
		r->search_ms = 0;
		return cluster_nodes_lose(&r->nodes, lock->client, err) ? 0 : -1;
	}
	if (!lock->is_told)
		complain("%s", err->text);
	lock->is_told = true;
	r->status = (int)err->status;
	return 0;
}

static int read_logs(struct reader *r, struct history *history, struct error *err)
{
	if (!r->keys && clock_ms() >= r->search_ms && find_locks(r, err) < 0)
		return -1;
	for (size_t i = 0; i < r->count; i++) {
		struct logged *lock = &r->locks[i];

		if (lock->client && !cluster_nodes_has_lost(&r->nodes, lock->client) &&
		    read_log(r, lock, history, err) < 0)
			return -1;
	}
	return 0;
}

/* An empty table on a screen tells since when there was nothing. */
static int print(struct reader *r, const struct history *history, struct error *err)
{
	const struct options *options = r->invocation->options;
	char since[TIMESTAMP_MAX_BYTES];

	if (options->plot || options->stats)
		return history_print(history, r->keys->name, options, err);
	if (r->query.from_ms != UNKNOWN_MS) {
		snprintf(r->nothing, sizeof(r->nothing), "no events since %s",
			 timestamp_local(since, r->query.from_ms, TIMESTAMP_LONG));
		r->layout.nothing = r->nothing;
	}
	table_print(r->table, r->has_begun ? -1 : options->lines);
	return 0;
}

/* Shows the events that are new. Those that were read are printed even if a server was lost then,
 * because they are not read again. */
static int show_events(struct reader *r, struct error *err)
{
	struct history history = {0};
	int result = read_logs(r, &history, err);
	struct error failure;
	bool is_known;

	if ((result == 0 || r->has_begun) && print(r, &history, &failure) < 0) {
		*err = failure;
		result = -1;
	}
	/* an empty log may be that of a wrong name */
	if (result == 0 && r->keys && !r->has_begun && r->is_empty)
		lock_list_check(&r->client, r->keys, &is_known, &failure);
	free(history.events);
	if (result < 0) {
		r->search_ms = 0;
		return -1;
	}
	r->has_begun = true;
	if (r->query.from_ms == UNKNOWN_MS)
		r->query.since[0] = '\0'; /* there is no log yet, so nothing to come is too old */
	return cluster_nodes_check(&r->nodes, err);
}

/* A server that is away is told once it has been so for the connect timeout: most restarts and
 * failovers are over by then. Returns 0 when nobody reads the output any more, or -1. */
static int follow(struct reader *r, struct error *err)
{
	struct pollfd output = {.fd = STDOUT_FILENO};
	int64_t tell_ms = NEVER_MS;
	bool is_told = false;

	do {
		const int64_t begun_ms = clock_ms();

		if (show_events(r, err) == 0) {
			tell_ms = NEVER_MS;
			is_told = false;
			continue;
		}
		if (!r->has_begun || err->status != STATUS_UNAVAILABLE)
			return -1;
		tell_ms = earliest(tell_ms, begun_ms + r->invocation->options->connect_timeout_ms);
		if (!is_told && clock_ms() >= tell_ms) {
			complain("%s", err->text);
			is_told = true;
		}
	} while (fflush(stdout) == 0 && poll(&output, 1, PERIOD_MS) <= 0);
	if (output.revents) /* without a new event no write would tell it */
		raise(SIGPIPE);
	return 0;
}

/* ---- The command ---- */

static int run_log(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	const bool is_for_one = invocation->argc > 0, is_list = !options->stats && !options->plot;
	struct reader r = {
		.invocation = invocation, .query = {.from_ms = UNKNOWN_MS}, .is_empty = true};
	struct lock_keys keys;
	int result = 0;

	*status = STATUS_OK;
	if (options->since && parse_since(&r.query, options->since, err) < 0)
		return -1;
	if (is_for_one && lock_keys_make(&keys, invocation->argv[0], err) < 0)
		return -1;
	if (!is_for_one && !is_list)
		return fail(err, STATUS_USAGE, "cannot use --%s for all locks: add a NAME",
			    options->stats ? "stats" : "plot");
	if (is_list) {
		r.layout = log_layout;
		r.layout.is_of_one = is_for_one;
		r.table = table_open(&r.layout, options, err);
		if (!r.table)
			return -1;
	}
	client_init(&r.client, invocation->server, invocation->messenger,
		    options->connect_timeout_ms);
	if (is_for_one) {
		r.keys = &keys;
		result = note_lock(&r, invocation->argv[0], &r.client, err);
	}
	if (result == 0)
		result = options->follow ? follow(&r, err) : show_events(&r, err);
	free(r.locks);
	cluster_nodes_close(&r.nodes);
	client_close(&r.client);
	table_close(r.table);
	if (!options->follow)
		*status = r.status;
	return result;
}

const struct command log_command = {
	.name = "log",
	.operands = "[NAME]",
	.summary = "show the latest events of one lock, or of all",
	.examples = "  fairlock log --since 1h deploy   the events of the last hour\n"
		    "  fairlock log --follow --json     each new event of all locks\n"
		    "  fairlock log --plot deploy       who waited and who held, drawn\n",
	.table = &log_layout,
	.bit = COMMAND_LOG,
	.run = run_log,
};

/* fairlock status: prints the holder of each lock, for how long, and how many wait. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shorten.h"
#include "cli/command.h"
#include "cli/options.h"
#include "commands/look.h"
#include "lock/grants.h"
#include "lock/lock_keys.h"
#include "lock/owner.h"
#include "lock/want.h"
#include "output/prometheus.h"
#include "output/table.h"
#include "output/timestamp.h"
#include "redis/client.h"
#include "redis/connection_trace.h"
#include "redis/reply.h"

#define STATE_MAX_BYTES 128

/* What look.lua answers: the lock, ... */
enum {
	LOCK_OWNER,
	LOCK_HOLDS,
	LOCK_TTL,
	LOCK_SINCE = 5,
	LOCK_WAITERS = 7,
	LOCK_NOW,
	LOCK_NAME,
	LOCK_OLDEST_WAIT,
	LOCK_GRANTS,
	LOCK_EXPIRIES,
	LOCK_BREAKS,
	LOCK_LOSSES,
	LOCK_LAST_START = 16,
	LOCK_MODE,
	LOCK_ROWS,
	LOCK_HOLDERS,
	LOCK_SLOTS,
	LOCK_LAST_OK,
	LOCK_IS_ONCE = 23,
};

/* ... and its rows, one for each holder. */
enum {
	HOLD_OWNER,
	HOLD_COUNT,
	HOLD_TTL,
	HOLD_TOKEN,
	HOLD_BY,
	HOLD_SINCE,
	HOLD_IS_OURS,
	HOLD_IS_KEPT,
	HOLD_SLOT,
	HOLD_IS_BY_HAND,
};

enum {
	NAME,
	STATE,
	MODE,
	SLOT,
	OWNER,
	HOST,
	PID,
	USER,
	COMMAND,
	REASON,
	CLIENT,
	HELD_MS,
	LEASE_MS,
	UNTIL,
	HOLDS,
	TOKEN,
	WAITERS,
	LAST_START,
	LAST_OK,
	HELD,
	LEASE,
	COLUMN_COUNT,
};

static const struct column columns[COLUMN_COUNT] = {
	[NAME] = {.name = "NAME", .least = 12},
	/* "by hand until 18:03:25" */
	[STATE] = {.name = "STATE", .least = 22},
	[MODE] = {.name = "MODE", .spare = 7, .is_rare = true, .common = "exclusive"},
	[SLOT] = {.name = "SLOT", .least = 4, .is_rare = true},
	[OWNER] = {.name = "OWNER"},
	[HOST] = {.name = "HOST", .least = 8, .spare = 1},
	[PID] = {.name = "PID", .kind = COLUMN_NUMBER, .spare = 5},
	[USER] = {.name = "USER", .least = 6, .spare = 4},
	[COMMAND] = {.name = "COMMAND", .least = 10},
	[REASON] = {.name = "REASON", .least = 8, .spare = 2, .is_rare = true},
	[CLIENT] = {.name = "CLIENT"},
	[HELD_MS] = {.name = "HELD_MS", .kind = COLUMN_NUMBER},
	[LEASE_MS] = {.name = "LEASE_MS", .kind = COLUMN_NUMBER},
	[UNTIL] = {.name = "UNTIL", .kind = COLUMN_TIME},
	[HOLDS] = {.name = "HOLDS", .kind = COLUMN_NUMBER},
	[TOKEN] = {.name = "TOKEN", .kind = COLUMN_NUMBER},
	[WAITERS] = {.name = "WAITERS", .kind = COLUMN_NUMBER},
	[LAST_START] = {.name = "LAST_START", .kind = COLUMN_TIME},
	[LAST_OK] = {.name = "LAST_OK", .kind = COLUMN_TIME},
	[HELD] = {.name = "HELD", .kind = COLUMN_DURATION, .spare = 3},
	[LEASE] = {.name = "LEASE", .kind = COLUMN_DURATION, .spare = 6},
};

static const struct layout status_layout = {
	.name = "locks",
	.columns = columns,
	.column_count = COLUMN_COUNT,
	.people = "NAME,STATE,MODE,SLOT,USER,HOST,PID,COMMAND,REASON,HELD,LEASE,WAITERS",
	.raw = "NAME,STATE,USER,HOST,PID,COMMAND,HELD_MS,LEASE_MS,WAITERS",
	.json = "NAME,STATE,MODE,SLOT,OWNER,HOST,PID,USER,COMMAND,REASON,CLIENT,HELD_MS,LEASE_MS,UNTIL,"
		"HOLDS,TOKEN,WAITERS,LAST_START,LAST_OK",
	.nothing = "no locks",
};

/* What is wanted beside the table, or instead of it. */
struct status_view {
	struct prometheus *metrics; /* NULL: not wanted */
	bool held;                  /* any of the locks */
	int64_t grants; /* 0: a server lets no lock be taken; 1: all do; METRIC_UNKNOWN */
};

/* ---- Lines ---- */

/* A time of the server; -1: it has none, or one that makes no sense. */
static int64_t time_of(const struct redisReply *reply, size_t at)
{
	const char *text = reply_text(reply, at);
	const int64_t ms = *text ? strtoll(text, NULL, 10) : -1;

	return ms > TIMESTAMP_LAST_MS ? -1 : ms;
}

/* How long ago a hold began; -1: unknown. */
static int64_t held_for(int64_t since_ms, int64_t now_ms)
{
	return since_ms < 0 || now_ms < since_ms ? -1 : now_ms - since_ms;
}

/* A kept lock has no holder: the one that gave it back may be gone. */
static void fill_holder(struct table_row *row, struct owner_process *process,
			const struct redisReply *hold)
{
	owner_parse(process, reply_text(hold, HOLD_BY));
	row->cells[OWNER] = reply_text(hold, HOLD_OWNER);
	row->cells[HOST] = process->host;
	row->cells[PID] = process->pid;
	row->cells[USER] = process->user;
	row->cells[COMMAND] = process->command;
	row->cells[REASON] = process->reason;
	table_row_number(row, HOLDS, reply_number(hold, HOLD_COUNT));
}

/* Returns until when it is held, by the server's clock; -1: unknown. */
static int64_t fill_hold(struct table_row *row, const struct redisReply *hold, int64_t now_ms)
{
	const int64_t ttl_ms = reply_number(hold, HOLD_TTL);

	row->cells[SLOT] = reply_text(hold, HOLD_SLOT);
	row->cells[CLIENT] = reply_number(hold, HOLD_IS_OURS) == 1 ? "fairlock" : "redisson";
	row->cells[TOKEN] = reply_text(hold, HOLD_TOKEN);
	table_row_number(row, HELD_MS, held_for(time_of(hold, HOLD_SINCE), now_ms));
	table_row_number(row, LEASE_MS, ttl_ms);
	row->cells[HELD] = row->cells[HELD_MS];
	row->cells[LEASE] = ttl_ms < 0 ? "none" : row->cells[LEASE_MS];
	if (ttl_ms < 0 || now_ms < 0 || ttl_ms > TIMESTAMP_LAST_MS - now_ms)
		return -1;
	table_row_number(row, UNTIL, now_ms + ttl_ms);
	return now_ms + ttl_ms;
}

/* People see until when a lock is held that nobody is about to give back. */
static void show_until(struct table_row *row, char shown[STATE_MAX_BYTES], bool is_by_hand,
		       int64_t until_ms, int64_t now_ms)
{
	char until[TIMESTAMP_MAX_BYTES];

	if (is_by_hand)
		snprintf(shown, STATE_MAX_BYTES, "by hand until %s",
			 timestamp_until_minute(until, until_ms, now_ms));
	else
		snprintf(shown, STATE_MAX_BYTES, "kept until %s",
			 timestamp_until(until, until_ms, now_ms));
	row->cells[STATE] = shown;
}

/* hold: one of the rows; NULL: the lock is free. */
static int add_line(struct look *look, const struct redisReply *lock, const struct redisReply *hold,
		    struct error *err)
{
	const int64_t now_ms = time_of(lock, LOCK_NOW);
	const bool is_kept = reply_number(hold, HOLD_IS_KEPT) == 1;
	const bool is_by_hand = reply_number(hold, HOLD_IS_BY_HAND) == 1;
	struct table_row row = {.cells = {[NAME] = reply_text(lock, LOCK_NAME),
					  [STATE] = !hold     ? "free"
						    : is_kept ? "kept"
							      : "held"},
				.colours[STATE] = !hold     ? TABLE_GREEN
						  : is_kept ? TABLE_YELLOW
							    : TABLE_MAGENTA};
	struct owner_process process;
	char shown[STATE_MAX_BYTES];

	if (hold && !reply_fits(hold, "siisssiisi"))
		return reply_nonsense(err);
	/* none is hidden below the edge of a screen; else NAMEs give the order */
	if (look->is_watched || look->invocation->argc == 0)
		row.rank = hold ? "0" : reply_number(lock, LOCK_WAITERS) > 0 ? "1" : "2";
	if (hold) {
		const int64_t until_ms = fill_hold(&row, hold, now_ms);

		row.cells[MODE] = mode_word(reply_text(lock, LOCK_MODE));
		if (!is_kept)
			fill_holder(&row, &process, hold);
		if ((is_kept || is_by_hand) && until_ms >= 0 && table_is_for_people(look->table))
			show_until(&row, shown, is_by_hand, until_ms, now_ms);
	}
	table_row_number(&row, WAITERS, reply_number(lock, LOCK_WAITERS));
	table_row_number(&row, LAST_START, time_of(lock, LOCK_LAST_START));
	table_row_number(&row, LAST_OK, time_of(lock, LOCK_LAST_OK));
	return table_add(look->table, &row, err);
}

static int add_lines(struct look *look, const struct redisReply *lock, bool is_held,
		     struct error *err)
{
	const struct redisReply *rows = reply_at(lock, LOCK_ROWS);

	if (!is_held)
		return add_line(look, lock, NULL, err);
	if (reply_count(rows) == 0)
		return reply_nonsense(err);
	for (size_t i = 0; i < reply_count(rows); i++)
		if (add_line(look, lock, reply_at(rows, i), err) < 0)
			return -1;
	return 0;
}

/* ---- Metrics ---- */

static int add_metrics(struct prometheus *metrics, const struct redisReply *lock, bool is_held,
		       struct error *err)
{
	const int64_t ttl_ms = reply_number(lock, LOCK_TTL);
	const int64_t held_ms = held_for(time_of(lock, LOCK_SINCE), time_of(lock, LOCK_NOW));
	const long long waiters = reply_number(lock, LOCK_WAITERS);
	const int64_t values[METRIC_COUNT] = {
		[METRIC_HELD] = is_held,
		[METRIC_HOLDERS] = reply_number(lock, LOCK_HOLDERS),
		[METRIC_SLOTS] = reply_number(lock, LOCK_SLOTS),
		[METRIC_HOLDS] = is_held ? reply_number(lock, LOCK_HOLDS) : 0,
		[METRIC_HOLD_MS] = is_held ? held_ms : 0,
		[METRIC_LEASE_MS] = !is_held       ? 0
				    : ttl_ms == -1 ? METRIC_ENDLESS
						   : ttl_ms,
		[METRIC_WAITERS] = waiters,
		[METRIC_OLDEST_WAIT_MS] = waiters > 0 ? reply_number(lock, LOCK_OLDEST_WAIT) : 0,
		[METRIC_GRANTS] = reply_number(lock, LOCK_GRANTS),
		[METRIC_EXPIRIES] = reply_number(lock, LOCK_EXPIRIES),
		[METRIC_BREAKS] = reply_number(lock, LOCK_BREAKS),
		[METRIC_LOSSES] = reply_number(lock, LOCK_LOSSES),
	};

	return prometheus_add(metrics, reply_text(lock, LOCK_NAME), values, err);
}

/* ---- The command ---- */

static int show(struct look *look, const struct lock_keys *keys, struct client *client,
		struct error *err)
{
	const struct redisReply *lock = client->reply;
	struct status_view *view = look->data;
	const bool is_held = *reply_text(lock, LOCK_OWNER) != '\0';
	const bool is_free = !is_held && reply_number(lock, LOCK_WAITERS) == 0;
	const bool is_named = look->invocation->argc > 0;
	char other[SHORT_MAX_BYTES];
	int result = 0;

	if (!reply_fits(lock, "siisssiissiiiiiissliisii"))
		return reply_nonsense(err);
	if (strcmp(reply_text(lock, LOCK_NAME), keys->name) != 0)
		return fail(err, STATUS_USAGE,
			    "cannot use the name %s: it shares keys with lock %s, which is in use",
			    keys->shown, shorten(other, reply_text(lock, LOCK_NAME)));
	view->held |= is_held;
	if (is_free && !is_named && reply_number(lock, LOCK_IS_ONCE) == 1)
		return 0;
	if (view->metrics)
		result = add_metrics(view->metrics, lock, is_held, err);
	else if (is_free && !is_named && !look->invocation->options->all)
		look->hidden++;
	else if (look->table)
		result = add_lines(look, lock, is_held, err);
	if (is_free && (look->table || view->metrics))
		look_check_name(look, keys, client);
	return result;
}

/* A list of locks may be read where none can be taken. That must not look well; metrics say it
 * themselves. */
static void ask_for_grants(struct look *look, struct client *client)
{
	struct status_view *view = look->data;
	struct error why;

	if (!look->table && !view->metrics)
		return;
	connection_trace_ask(client, "whether the server grants locks", "");
	switch (grants_ask(client, &why)) {
	case GRANTS_NOT_KNOWN:
		break;
	case GRANTS_LOCKS:
		connection_trace_answer(client);
		if (view->grants == METRIC_UNKNOWN)
			view->grants = 1;
		break;
	case GRANTS_NONE:
		view->grants = 0;
		if (!view->metrics)
			look->trouble = why;
		break;
	}
}

static int print_metrics(struct look *look, struct error *err)
{
	struct prometheus metrics = {0};
	struct status_view *view = look->data;
	int result;

	view->metrics = &metrics;
	result = look_at_locks(look, err);
	metrics.unseen_slots = look->unseen;
	metrics.grants = look->unseen > 0 ? 0 : view->grants;
	if (result == 0)
		prometheus_print(&metrics);
	prometheus_free(&metrics);
	return result;
}

/* 0: one is held; 1: all are free. If one is held, that is the answer, whatever else cannot be
 * seen. */
static int answer(struct look *look, int *status, struct error *err)
{
	const struct status_view *view = look->data;

	if (look_at_locks(look, err) < 0)
		return -1;
	*status = view->held ? 0 : look->status == STATUS_OK ? 1 : look->status;
	return view->held ? 0 : look_end(look, err);
}

static int run_status(const struct invocation *invocation, int *status, struct error *err)
{
	const struct options *options = invocation->options;
	/* a default for all commands is no question */
	const bool is_question =
		options->quiet && !options->prometheus && !options->watch_ms &&
		options_origin(options, option_named("quiet"))->source == SOURCE_FLAG;
	struct status_view view = {.grants = METRIC_UNKNOWN};
	struct look look = {.invocation = invocation,
			    .what = "status",
			    .question = "who holds lock",
			    .show = show,
			    .ask_node = ask_for_grants,
			    .data = &view,
			    .layout = status_layout};
	int result;

	if (is_question)
		return answer(&look, status, err);
	result = options->prometheus ? print_metrics(&look, err)
				     : look_run(&look, "fairlock status", err);
	*status = look.status;
	return result == 0 ? look_end(&look, err) : result;
}

const struct command status_command = {
	.name = "status",
	.operands = "[NAME...]",
	.summary = "show the holder of each lock, and the number of waiters",
	.examples = "  fairlock status                          the locks that are in use\n"
		    "  fairlock status --watch backup deploy    two locks, redrawn every second\n"
		    "  fairlock status -q backup && echo busy   exit with 0 if it is held\n",
	.table = &status_layout,
	.bit = COMMAND_STATUS,
	.most = OPERANDS_UNLIMITED,
	.run = run_status,
};
